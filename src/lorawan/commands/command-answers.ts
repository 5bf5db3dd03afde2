/**
 * Messages about commands: answers on Response Topics, and error events on the topics of devices.
 * Every client that may see the events of a device gets its error events.
 */
import type { Publisher } from '../../broker/ports/consumer.ts'
import type { SteadyMs } from '../../clock.ts'
import { given } from '../../given.ts'
import type { QoS } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { CommandAnswer, CommandRefused, CommandTarget } from './commands.ts'
import type { CommandPorts } from './command-ports.ts'
import type { DeviceNames } from './command-registry.ts'
import type { DownlinkItem } from './downlink-item.ts'
import type { ErrorType, EventPayloads } from '../events.ts'
import { shapeEvent } from '../shapes/shape-event.ts'
import { eventTopic } from '../topics.ts'

/** The facts about a command in its error event, in both families. */
interface CommandFacts {
  /** The command's id; empty when it could not be read. */
  readonly commandId: string
  /** Stable: docs/errors.md has a paragraph for each. */
  readonly code: string
  /** The member at fault; empty when the command as a whole is. */
  readonly member: string
}

/** The error event of a command in family A: an error event with four more members. */
export interface CommandErrorEvent extends Omit<EventPayloads['error'], never>, CommandFacts {
  readonly level: ErrorLevel
}

/** `INFO` is no failure: somebody has cancelled or replaced the command. */
type ErrorLevel = 'ERROR' | 'INFO'

/**
 * The error event of a command in family B: a log event of ChirpStack v4 with the facts about the
 * command.
 */
interface CommandErrorEventB extends CommandFacts {
  /** RFC 3339. */
  readonly time: string
  /** Ids that only the network server knows are empty. */
  readonly deviceInfo: Readonly<Record<string, unknown>>
  readonly level: ErrorLevel
  readonly description: string
  readonly context: Readonly<Record<string, string>>
}

/** The Response Topic of a command, and how to answer on it. */
export interface ResponseWanted {
  readonly topicName: string
  readonly correlationData: Buffer | undefined
  readonly qos: QoS
}

export interface CommandAnswersOptions extends Pick<CommandPorts, 'publisher' | 'registry' | 'clock' | 'log'> {
  /** True when the events of the application's devices are of family B. */
  readonly isFamilyB: (applicationId: string) => boolean
}

/**
 * Error events about refused commands, for each organization. Without this bound a hostile sender
 * of invalid commands would fill the log, and its neighbours' subscriptions. Beyond it the sender
 * gets only the acknowledgement.
 */
const REFUSALS_PER_SECOND = 10
const REFUSALS_AT_ONCE = 100
/** These are no failures: somebody wanted them. */
const CANCELLED: ReadonlySet<string> = new Set(['command_cancelled', 'command_replaced'])
/**
 * Failures without an error event: nobody may hear of them, or the network server has reported them
 * in an event of its own.
 */
const UNTOLD: ReadonlySet<string> = new Set(['command_discarded', 'command_device_removed'])

export class CommandAnswers {
  readonly counts = { errorEvents: 0, errorEventsWithheld: 0, responses: 0 }
  readonly #options: CommandAnswersOptions
  /** One entry for each organization; the registry bounds their number. */
  readonly #allowances = new Map<string, { left: number; atMs: SteadyMs }>()

  constructor(options: CommandAnswersOptions) {
    this.#options = options
  }

  /**
   * Publishes the error event of a refused command. Returns false when its organization has used up
   * its share of error events. Only for senders that may send commands to the device.
   */
  refused(organization: string, target: CommandTarget, refusal: CommandRefused): boolean {
    // Nobody may hear of a device that does not exist.
    if (refusal.reasonCode === ReasonCodes.notAuthorized && refusal.code === 'command_device_unknown') return true
    if (!this.#mayTell(organization)) {
      this.counts.errorEventsWithheld += 1
      return false
    }
    const { id = '', code, member = '', message } = refusal
    void this.#publishError(target, { commandId: id, code, member, message })
    return true
  }

  /**
   * Publishes the error event of an accepted command that will not reach its device. Each command
   * has at most one, so that it needs no bound.
   */
  fate({ content, failure }: DownlinkItem): void {
    if (failure !== undefined && !UNTOLD.has(failure.code)) this.discarded({ content, failure })
  }

  /**
   * Publishes the error event of a command if the network server has reported its failure in an
   * event that did not name the command.
   */
  discarded({ content, failure }: Pick<DownlinkItem, 'content' | 'failure'>): void {
    if (failure === undefined) return
    const { id, applicationId, devEui } = content
    const member = failure.code === 'command_expired' ? 'expiresAt' : ''
    const about = { commandId: id, code: failure.code, member, message: failure.reason }
    void this.#publishError({ applicationId, devEui }, about)
  }

  /**
   * Publishes the answer to a command on its Response Topic. The sender may subscribe to that
   * topic.
   */
  respond({ applicationId, devEui }: CommandTarget, answer: CommandAnswer, wanted: ResponseWanted): void {
    const body = answer.ok
      ? {
          applicationId,
          devEui,
          id: answer.id,
          accepted: true,
          state: answer.state,
          repeated: answer.isRepeated,
          ...given({ warnings: answer.warnings }),
        }
      : {
          applicationId,
          devEui,
          id: answer.id ?? '',
          accepted: false,
          code: answer.code,
          member: answer.member ?? '',
          error: answer.message,
        }
    this.counts.responses += 1
    const { topicName, correlationData, qos } = wanted
    const properties = {
      payloadFormatIndicator: 1,
      contentType: 'application/json',
      ...given({ correlationData }),
    } as const
    void this.#publish(topicName, Buffer.from(JSON.stringify(body)), qos, properties)
  }

  async #publishError(
    { applicationId, devEui }: CommandTarget,
    { message, ...about }: CommandFacts & { readonly message: string },
  ): Promise<void> {
    const { registry, log } = this.#options
    try {
      const names = await registry.namesOf(devEui)
      if (names === undefined) return
      const level: ErrorLevel = CANCELLED.has(about.code) ? 'INFO' : 'ERROR'
      const told = { level, message, ...about }
      const event = this.#options.isFamilyB(names.applicationId)
        ? eventOfB(devEui, names, told, this.#options.clock.now())
        : eventOfA(devEui, names, told)
      this.counts.errorEvents += 1
      const topicName = eventTopic(names.applicationId, devEui, 'error')
      const payload = Buffer.from(JSON.stringify(event))
      await this.#publish(topicName, this.#inShape(names, devEui, payload), 1, undefined)
    } catch (error) {
      log.error({ devEui, applicationId, error }, 'command.answer_failed')
    }
  }

  /** The event as the application's other events go out. An error event can always be read. */
  #inShape({ applicationId, eventShape = '' }: DeviceNames, devEui: string, payload: Buffer): Buffer {
    if (eventShape === '') return payload
    const event = { kind: 'error', applicationId, devEui, payload, receivedAtMs: this.#options.clock.now() } as const
    const shaped = shapeEvent(event, eventShape)
    return shaped.ok ? shaped.payload : payload
  }

  async #publish(
    topicName: string,
    payload: Buffer,
    qos: QoS,
    properties: Parameters<Publisher['publish']>[0]['properties'],
  ): Promise<void> {
    try {
      const message = { topicName, payload, qos, ...given({ properties }) }
      await this.#options.publisher.publish(message)
    } catch (error) {
      this.#options.log.error({ topicName, error }, 'command.answer_failed')
    }
  }

  #mayTell(organization: string): boolean {
    const now = this.#options.clock.steady()
    const allowance = this.#allowances.get(organization) ?? { left: REFUSALS_AT_ONCE, atMs: now }
    const earned = ((now - allowance.atMs) * REFUSALS_PER_SECOND) / 1_000
    const left = Math.min(REFUSALS_AT_ONCE, allowance.left + earned)
    const may = left >= 1
    this.#allowances.set(organization, { left: may ? left - 1 : left, atMs: now })
    return may
  }
}

type Told = CommandFacts & { readonly level: ErrorLevel; readonly message: string }

function eventOfA(devEui: string, names: DeviceNames, { message, level, ...about }: Told): CommandErrorEvent {
  return {
    applicationID: names.applicationId,
    applicationName: names.applicationName,
    deviceName: names.deviceName,
    devEUI: devEui,
    tags: names.tags,
    type: errorTypeOf(about.code),
    error: message,
    fCnt: 0,
    ...about,
    level,
  }
}

function eventOfB(devEui: string, names: DeviceNames, told: Told, nowMs: number): CommandErrorEventB {
  const { message, level, code, commandId, member } = told
  const { applicationId, applicationName, deviceProfileName, deviceName, tags } = names
  const ids = { tenantId: '', tenantName: '', applicationId, applicationName, deviceProfileId: '', deviceProfileName }
  return {
    time: new Date(nowMs).toISOString(),
    deviceInfo: { ...ids, deviceName, devEui, tags },
    level,
    code,
    description: message,
    context: {},
    commandId,
    member,
  }
}

function errorTypeOf(code: string): ErrorType {
  if (code.startsWith('command_codec_')) return 'DOWNLINK_CODEC'
  return code === 'command_data_too_long' ? 'DOWNLINK_PAYLOAD_SIZE' : 'UNKNOWN'
}
