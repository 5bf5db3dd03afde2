/**
 * Commands from all senders: each is judged, encoded, put into its device's queue, and answered.
 * The callers for MQTT and HTTP turn the answer into their own form.
 */
import { randomUUID } from 'node:crypto'
import { given } from '../../given.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import { dataLengthFault, objectFault } from './command.ts'
import type { Command, CommandFault, CommandResult } from './command.ts'
import { plainWait } from './command-waits.ts'
import type { CommandWait } from './command-waits.ts'
import type { CommandPorts } from './command-ports.ts'
import type { CommandCodec } from './command-registry.ts'
import { DeviceOrder } from './device-order.ts'
import type { DownlinkHandOver } from './downlink-hand-over.ts'
import { queueItemIdOf } from './downlink-item.ts'
import type { DownlinkContent, DownlinkItem, DownlinkState, EnqueueFault } from './downlink-item.ts'
import type { Cancellation, DownlinkQueue } from './downlink-queue.ts'

/** The device that a command is for, as its sender named it. */
export interface CommandTarget {
  readonly applicationId: string
  readonly devEui: string
}

/** The answer to a command that is in the queue. */
export interface CommandAccepted {
  readonly ok: true
  readonly id: string
  readonly state: DownlinkState
  /** True when the same command had come before. There is still only one in the queue. */
  readonly isRepeated: boolean
  /** Sentences about what its codec has done; left out where there are none. */
  readonly warnings?: readonly string[]
}

/** The answer to a command that is not in the queue. */
export interface CommandRefused {
  readonly ok: false
  /** The command's id, if it has one. */
  readonly id: string | undefined
  readonly reasonCode: ReasonCode
  /** Stable: docs/errors.md has a paragraph for each. */
  readonly code: string
  /** The member at fault; undefined when the command as a whole is. */
  readonly member: string | undefined
  /** For people; names the member and the fault, and repeats no text of the payload. */
  readonly message: string
}

export type CommandAnswer = CommandAccepted | CommandRefused

/** The ids of a device's commands after its queue was emptied. */
export interface Flushed {
  /** The cancelled commands, the earliest first. */
  readonly cancelled: readonly string[]
  /**
   * Commands that the network server has, and can't or won't forget: they may have been sent, or
   * will be.
   */
  readonly sent: readonly string[]
}

export interface CommandsOptions extends Pick<CommandPorts, 'places' | 'registry' | 'encoder' | 'clock' | 'log'> {
  readonly queue: DownlinkQueue
  readonly handOver: DownlinkHandOver
}

/** The content of a command: bytes, or an object for the network server's codec. */
type Payload = Pick<DownlinkContent, 'data' | 'object'> & {
  /** The port that the codec names, for a command that names none. */
  readonly fPort?: number
  readonly warnings?: readonly string[]
}

/** A command that the durable queue owns. */
interface Queued {
  readonly item: DownlinkItem
  readonly isRepeated: boolean
  /** The state when the queue owned the command. */
  readonly state: DownlinkState
  /** Resolves when a network server that judges downlinks has answered the offer. */
  readonly verdict: Promise<void> | undefined
  readonly warnings?: readonly string[]
}

/**
 * How long a sender waits for a network server that judges downlinks. It is longer than such a
 * network server needs, and so short that a hanging one does not hold up a client's connection.
 */
const VERDICT_WAIT_MS = 2_000

const REASON_CODE_OF: Readonly<Record<EnqueueFault, ReasonCode>> = {
  command_id_taken: ReasonCodes.payloadFormatInvalid,
  command_queue_full: ReasonCodes.quotaExceeded,
  command_not_stored: ReasonCodes.quotaExceeded,
}

export class Commands {
  readonly #options: CommandsOptions
  readonly #order = new DeviceOrder<CommandRefused | Queued>((owned) => 'code' in owned && isAway(owned.code))
  /** How many commands were refused, by `command:` and the code. */
  readonly refusals = new Map<string, number>()

  constructor(options: CommandsOptions) {
    this.#options = options
  }

  /**
   * Judges a command that was read from the wire. Resolves when the command is refused, or when the
   * durable queue owns it. The payload behind `read` is no longer needed then. Rejects only when
   * the registry can't be read.
   */
  async submit(target: CommandTarget, read: CommandResult): Promise<CommandAnswer> {
    const owned = await this.#own(target, read)
    return this.#counted(target, 'item' in owned ? await this.#answerOf(owned) : owned)
  }

  /**
   * As `submit`, but does not wait for a network server that judges downlinks. `awaitsVerdict`: its
   * verdict is to come, and `verdict` waits for it.
   */
  async take(
    target: CommandTarget,
    read: CommandResult,
  ): Promise<{ readonly answer: CommandAnswer; readonly awaitsVerdict: boolean }> {
    const owned = await this.#own(target, read)
    if (!('item' in owned)) return { answer: this.#counted(target, owned), awaitsVerdict: false }
    if (owned.verdict !== undefined) return { answer: acceptedFor(owned), awaitsVerdict: true }
    return { answer: this.#counted(target, await this.#answerOf(owned)), awaitsVerdict: false }
  }

  /**
   * The final answer to a command that awaited a verdict; waits for the verdict, but no longer than
   * `submit` does. Undefined for a command that is no longer known.
   */
  async verdict(target: CommandTarget, id: string, isRepeated: boolean): Promise<CommandAnswer | undefined> {
    const { queue, handOver } = this.#options
    const item = queue.find(target.devEui, queueItemIdOf(id))
    if (item === undefined) return undefined
    const owned = { item, isRepeated, state: item.state, verdict: handOver.verdictOn(item) }
    return this.#counted(target, await this.#answerOf(owned))
  }

  /** The refusal of a command because the node that keeps its queue does not answer. */
  refuseAway(target: CommandTarget, id: string | undefined): CommandRefused {
    const message =
      'the node that keeps the queue of the application does not answer; send the command again, with the same id'
    return this.#counted(target, refused(id, ReasonCodes.quotaExceeded, 'command_queue_away', message))
  }

  /** The device's commands, as `DownlinkQueue.list` gives them. */
  list(organizationId: string, devEui: string): readonly DownlinkItem[] {
    return this.#options.queue.list(organizationId, devEui)
  }

  /**
   * Why the command waits now, here or at its network server; undefined when it waits for nothing.
   */
  waitOf(item: DownlinkItem): CommandWait | undefined {
    if (item.state !== 'sent' || item.isForgotten) return this.#options.handOver.waitOf(item)
    if (item.awaitsWord) return plainWait('next_uplink')
    return item.content.confirmed ? plainWait('device_acknowledgement') : undefined
  }

  /** Cancels a command that waits. */
  cancel(organizationId: string, devEui: string, id: string): Promise<Cancellation> {
    return this.#options.queue.cancel(organizationId, devEui, id)
  }

  /**
   * Cancels all commands that wait, also at a network server that can forget them. Undefined when
   * the cancellation could not be stored.
   */
  async flush(organizationId: string, { applicationId, devEui }: CommandTarget): Promise<Flushed | undefined> {
    const { queue, handOver } = this.#options
    const cancelled = await queue.flush(organizationId, devEui)
    if (cancelled === undefined) return undefined
    const recalled = await handOver.flush(applicationId, devEui)
    return { cancelled: [...recalled, ...cancelled], sent: queue.away(organizationId, devEui) }
  }

  #own(target: CommandTarget, read: CommandResult): Promise<CommandRefused | Queued> {
    // The order of arrival is the order in the queue, even if one has to wait for a codec and the
    // next has not.
    return this.#order.run(
      target.devEui,
      async () => (read.ok ? this.#judge(target, read.command) : refusedFor(read)),
      () => (read.ok ? notStoredBefore(read.command.id) : refusedFor(read)),
    )
  }

  async #judge({ applicationId, devEui }: CommandTarget, command: Command): Promise<CommandRefused | Queued> {
    const { places, clock } = this.#options
    const { id } = command
    if (command.devEui !== undefined && command.devEui !== devEui) {
      const message = 'devEui: is another device than the one that is addressed'
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_device_mismatch', message, 'devEui')
    }
    if (command.expiresAtMs !== undefined && command.expiresAtMs <= clock.now()) {
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_expired', 'expiresAt: is in the past', 'expiresAt')
    }
    const place = await places.device(devEui)
    if (place?.applicationId !== applicationId) {
      const message = 'there is no such device in the application'
      return refused(id, ReasonCodes.notAuthorized, 'command_device_unknown', message)
    }
    if (place.isDisabled) {
      return refused(id, ReasonCodes.notAuthorized, 'command_device_disabled', 'the device is disabled')
    }
    const payload = await this.#payloadOf(applicationId, devEui, command)
    if ('ok' in payload) return payload
    return this.#enqueue(command, payload, { applicationId, devEui, organizationId: place.organizationId })
  }

  /** Whether the network server takes the objects of commands that nothing here encodes. */
  async #passesObjects(applicationId: string): Promise<boolean> {
    const { registry, handOver } = this.#options
    return handOver.takesObjects(applicationId) || (await registry.codecOf(applicationId))?.passesObjects === true
  }

  /**
   * The content to send. If the device's profile has a codec, or the application of a device
   * without a profile, it is the bytes that the codec makes of the object. Otherwise it is the
   * object itself, if the network server is known to have a codec, or if the application passes
   * objects on.
   */
  async #payloadOf(applicationId: string, devEui: string, command: Command): Promise<Payload | CommandRefused> {
    const { object, data, id } = command
    if (object === undefined) return { data: data ?? Buffer.alloc(0) }
    const configured = await this.#codecFor(applicationId, devEui)
    const { codec } = configured
    const goesOn = codec === '' && (await this.#passesObjects(applicationId))
    const fault = goesOn ? undefined : objectFault(object, codec)
    if (fault !== undefined) return refusedFor({ ...fault, id })
    if (codec === '' && data !== undefined) return { data }
    if (goesOn) return { data, object }
    if (codec === '') return noCodec(id)
    return this.#encode(configured, { ...command, object }, applicationId, devEui)
  }

  /** The codec of the device's profile, else that of its application. */
  async #codecFor(applicationId: string, devEui: string): Promise<CommandCodec> {
    const { registry } = this.#options
    const profileId = await registry.profileIdOf(devEui)
    const ofProfile = profileId === undefined ? undefined : await registry.profileCodecOf(profileId)
    return ofProfile ?? (await registry.codecOf(applicationId)) ?? { codec: '', encoderScript: '' }
  }

  async #encode(
    { codec, encoderScript, profile }: CommandCodec,
    { object, fPort, id }: Command & { readonly object: NonNullable<Command['object']> },
    applicationId: string,
    devEui: string,
  ): Promise<Payload | CommandRefused> {
    if (codec === '') return { data: Buffer.alloc(0) }
    const { registry, encoder } = this.#options
    const variables = codec === 'CUSTOM_JS' ? await registry.variablesOf(devEui) : {}
    const encoding = {
      applicationId,
      codec,
      script: encoderScript,
      fPort: fPort ?? 0,
      object,
      variables,
      ...given({ profile }),
    }
    const encoded = await encoder.encodeDownlink(encoding)
    if (!encoded.ok) {
      const message = `object: ${encoded.message}`
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_codec_failed', message, 'object')
    }
    const fault = dataLengthFault(encoded.data)
    if (fault !== undefined) return refusedFor({ ...fault, id })
    const { data, warnings = [] } = encoded
    const told = [...warnings, ...portWarning(fPort, encoded.fPort)]
    return { data, ...given({ fPort: encoded.fPort }), ...(told.length === 0 ? {} : { warnings: told }) }
  }

  async #enqueue(
    { id, confirmed, fPort: ownPort, priority, expiresAtMs, replace }: Command,
    { warnings, fPort: portOfCodec, ...payload }: Payload,
    whose: CommandTarget & { readonly organizationId: string },
  ): Promise<CommandRefused | Queued> {
    const { queue, handOver } = this.#options
    const fPort = ownPort ?? portOfCodec
    if (fPort === undefined) {
      const message = 'fPort: is missing, and no codec names one'
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_member_missing', message, 'fPort')
    }
    const content = { id: id ?? randomUUID(), confirmed, fPort, ...payload, priority, expiresAtMs, replaces: replace }
    const enqueued = await queue.enqueue({ ...content, ...whose })
    if (!enqueued.ok) {
      const { code, reason } = enqueued
      return refused(id, REASON_CODE_OF[code], code, reason, code === 'command_id_taken' ? 'id' : undefined)
    }
    const { item, isRepeated } = enqueued
    return { item, isRepeated, state: item.state, verdict: handOver.verdictOn(item), ...given({ warnings }) }
  }

  async #answerOf(queued: Queued): Promise<CommandAnswer> {
    const { item, verdict } = queued
    if (verdict !== undefined) await this.#waitFor(verdict)
    const state = verdict === undefined ? queued.state : item.state
    const { failure } = item
    if (state === 'failed' && failure?.code === 'command_refused') {
      return refused(item.content.id, ReasonCodes.implementationSpecificError, failure.code, failure.reason)
    }
    return acceptedFor({ ...queued, state })
  }

  /** Waits for the verdict, but no longer than `VERDICT_WAIT_MS`. */
  async #waitFor(verdict: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>()
    const stop = this.#options.clock.after(VERDICT_WAIT_MS, late.resolve)
    await Promise.race([verdict, late.promise])
    stop()
  }

  /** Returns the answer, and counts it when it is a refusal. */
  #counted<Answer extends CommandAnswer>({ devEui }: CommandTarget, answer: Answer): Answer {
    if (answer.ok) return answer
    const { code, id } = answer
    const key = `command:${code}`
    this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1)
    this.#options.log.warn({ devEui, commandId: id, code }, 'command.refused')
    return answer
  }
}

function acceptedFor({ item, isRepeated, state, warnings }: Omit<Queued, 'verdict'>): CommandAccepted {
  return { ok: true, id: item.content.id, state, isRepeated, ...given({ warnings }) }
}

/** The sender's own port wins. A script that names another one may mean another message. */
function portWarning(own: number | undefined, ofScript: number | undefined): readonly string[] {
  if (own === undefined || ofScript === undefined || own === ofScript) return []
  return [`fPort: the script names ${ofScript}; the command goes to its own fPort, ${own}`]
}

function noCodec(id: string | undefined): CommandRefused {
  const message =
    'object: neither the application nor its network server has a codec for it; send data, or set objectCommands of the application if its network server has a codec'
  return refused(id, ReasonCodes.payloadFormatInvalid, 'command_codec_missing', message, 'object')
}

/** The answer to a command that could not be read. */
/** True: the command could not be stored at present, and may be sent again. */
export function isAway(code: string): boolean {
  return code === 'command_not_stored' || code === 'command_queue_away'
}

function notStoredBefore(id: string | undefined): CommandRefused {
  const message =
    'an earlier command of the device could not be stored, and this one must not come before it: send both again, in order'
  return refused(id, REASON_CODE_OF.command_not_stored, 'command_not_stored', message)
}

function refusedFor({ id, member, code, message }: CommandFault): CommandRefused {
  return refused(id, ReasonCodes.payloadFormatInvalid, `command_${code}`, message, member)
}

function refused(
  id: string | undefined,
  reasonCode: ReasonCode,
  code: string,
  message: string,
  member?: string,
): CommandRefused {
  return { ok: false, id, reasonCode, code, member, message }
}
