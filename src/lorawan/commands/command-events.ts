/**
 * Events of network servers about commands. Each txack, ack, error and log event is matched with
 * the command that it is about, changes the state of that command, and goes on with the command's
 * id as a further member.
 */
import type { Clock } from '../../clock.ts'
import { objectOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { membersOf } from '../events.ts'
import type { AwaitedWords } from './awaited-words.ts'
import { downlinkIdIn, withCommandId } from './command-event.ts'
import type { CommandEvent } from './command-event.ts'
import type { CommandNaming } from './command-naming.ts'
import type { DownlinkItem } from './downlink-item.ts'
import type { DownlinkQueue } from './downlink-queue.ts'
import { itemOfAck, itemOfError, itemOfTxack } from './frame-counters.ts'
import { UnclaimedEvents } from './unclaimed-events.ts'

export interface CommandEventsOptions {
  readonly queue: DownlinkQueue
  readonly clock: Pick<Clock, 'now'>
  /** Notified of each event about a command of a device. */
  readonly words: Pick<AwaitedWords, 'spoke'>
  /** Learns which network servers name commands. */
  readonly naming: Pick<CommandNaming, 'saw'>
  /**
   * Resolves when the network server has given an id to the device's command on offer, or when the
   * event can't wait any longer. Undefined when no such id will come.
   */
  readonly idComes: (devEui: string) => Promise<void> | undefined
  /**
   * Called for a failed command if the event that reported the failure went on without the
   * command's id.
   */
  readonly onDiscarded: (item: DownlinkItem) => void
}

/**
 * The largest event that is read, in bytes; real ones have some 500. A larger event passes unread.
 */
export const MAXIMUM_EVENT_BYTES = 65_536
/** The length, in characters, to which a network server's sentence is cut. */
const MAXIMUM_REASON_LENGTH = 200
/**
 * Codes of log events (family B) and types of error events (family A) that end a command.
 * DOWNLINK_GATEWAY does not: a gateway could not send the frame, and the network server will send
 * the command with the next frame.
 */
const EXPIRED_CODES: ReadonlySet<unknown> = new Set(['EXPIRED'])
const FAILED_CODES: ReadonlySet<unknown> = new Set([
  'DOWNLINK_PAYLOAD_SIZE',
  'DOWNLINK_FCNT',
  'F_CNT_DOWN',
  'DOWNLINK_CODEC',
])
const KEPT_CODE = 'DOWNLINK_GATEWAY'
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g
const TAILS = ['/event/txack', '/event/ack', '/event/error', '/event/log', '/event/join']

/** The command events as the path of events sees them. */
export interface PassingCommandEvents {
  /**
   * True for the Topic Names of events that may be about a command. It is asked for each message,
   * so it has to be cheap.
   */
  wants(topicName: string): boolean
  /**
   * Applies the event to the command that it is about. Returns the payload, with the command's id
   * as a further member where that is known. A promise never rejects, and resolves within 2 s.
   */
  told(event: CommandEvent & { readonly applicationId: string }): Buffer | Promise<Buffer>
}

/** Reads each passing event that may be about a command. */
export class CommandEvents implements PassingCommandEvents {
  /** How many commands a gateway has sent. */
  transmitted = 0
  readonly #queue: DownlinkQueue
  readonly #clock: CommandEventsOptions['clock']
  readonly #words: CommandEventsOptions['words']
  readonly #naming: CommandEventsOptions['naming']
  readonly #idComes: CommandEventsOptions['idComes']
  readonly #onDiscarded: CommandEventsOptions['onDiscarded']
  readonly #unclaimed = new UnclaimedEvents()

  constructor(options: CommandEventsOptions) {
    this.#queue = options.queue
    this.#clock = options.clock
    this.#words = options.words
    this.#naming = options.naming
    this.#idComes = options.idComes
    this.#onDiscarded = options.onDiscarded
  }

  wants(topicName: string): boolean {
    // Nearly all events are `up`: one character tells them apart.
    if (topicName.endsWith('p')) return false
    return TAILS.some((tail) => topicName.endsWith(tail))
  }

  /**
   * Undefined when `apply` can be called at once. Otherwise the event names a downlink by an id
   * that the network server may just be giving to a command, and the promise resolves when `apply`
   * can be called.
   */
  named({ devEui, payload }: CommandEvent): Promise<void> | undefined {
    if (payload.length > MAXIMUM_EVENT_BYTES) return undefined
    const coming = this.#idComes(devEui)
    if (coming === undefined) return undefined
    const id = downlinkIdIn(membersOf(payload) ?? {})
    return id === undefined || this.#queue.findNamed(devEui, id) !== undefined ? undefined : coming
  }

  /**
   * Ids of downlinks that events of the item's device have named, and that belong to no known
   * command; the earliest first.
   */
  unclaimedIds({ content: { organizationId, devEui } }: DownlinkItem): readonly string[] {
    return this.#unclaimed.ids(organizationId, devEui)
  }

  /**
   * A network server that gives ids has answered the offer of the item. Applies the earlier events
   * that named the item's new id.
   */
  answered(item: DownlinkItem): void {
    const { organizationId, devEui } = item.content
    const id = item.networkServerItemId
    const events = id === undefined ? [] : this.#unclaimed.claim(organizationId, devEui, id)
    for (const { kind, payload } of events) this.#applyTo(devEui, kind, membersOf(payload) ?? {})
    if (events.length > 0) this.#onDiscarded(item)
    if (!this.#queue.isInDoubt(devEui)) this.#unclaimed.forget(devEui)
  }

  /**
   * Applies the event to the command that it is about. Returns the payload with the command's id,
   * `commandId`, as its first member; returns the same Buffer when the event is about no known
   * command.
   */
  apply(event: CommandEvent): Buffer {
    const commandId = this.match(event)
    return commandId === undefined ? event.payload : withCommandId(event.payload, commandId)
  }

  /**
   * Applies the event to the command that it is about. Returns the command's id; undefined when the
   * event is about no known command, or has the member `commandId` already.
   */
  match({ devEui, kind, payload }: CommandEvent): string | undefined {
    if (payload.length > MAXIMUM_EVENT_BYTES || !this.#queue.knows(devEui)) return undefined
    const members = membersOf(payload)
    if (members === undefined) return undefined
    const item = this.#applyTo(devEui, kind, members)
    this.#note(devEui, kind, members, item)
    if (item === undefined) this.#keep({ devEui, kind, payload }, downlinkIdIn(members))
    return Object.hasOwn(members, 'commandId') ? undefined : item?.content.id
  }

  told(event: CommandEvent): Buffer | Promise<Buffer> {
    const naming = this.named(event)
    return naming === undefined ? this.apply(event) : naming.then(() => this.apply(event))
  }

  /** Keeps an event about an unknown downlink if that downlink may turn out to be a command. */
  #keep(event: CommandEvent, id: string | undefined): void {
    const organizationId = this.#queue.organizationOf(event.devEui)
    if (id === undefined || organizationId === undefined || !this.#queue.isInDoubt(event.devEui)) return
    this.#unclaimed.keep(organizationId, id, event)
  }

  #applyTo(devEui: string, kind: string, members: JsonObject): DownlinkItem | undefined {
    switch (kind) {
      case 'txack':
        return this.#transmitted(devEui, members)
      case 'ack':
        return this.#answered(devEui, members)
      case 'error': {
        const item = FAILED_CODES.has(members['type']) ? itemOfError(this.#queue.left(devEui)) : undefined
        if (item !== undefined) this.#fail(item, members['type'], members['error'], frameCounter(members['fCnt']))
        return item
      }
      case 'log':
        return this.#logged(devEui, members)
      default:
        return undefined
    }
  }

  #transmitted(devEui: string, members: JsonObject): DownlinkItem | undefined {
    const { queueItemId } = members
    const fCnt = frameCounter(queueItemId === undefined ? members['fCnt'] : members['fCntDown'])
    const item =
      queueItemId === undefined ? itemOfTxack(this.#queue.left(devEui), fCnt) : this.#named(devEui, queueItemId)
    if (item === undefined) return undefined
    if (item.transmittedAtMs === 0) this.transmitted += 1
    this.#queue.transmitted(item, fCnt, this.#clock.now())
    return item
  }

  #answered(devEui: string, members: JsonObject): DownlinkItem | undefined {
    const { queueItemId, acknowledged } = members
    const fCnt = frameCounter(queueItemId === undefined ? members['fCnt'] : members['fCntDown'])
    const item =
      queueItemId === undefined ? itemOfAck(this.#queue.left(devEui), fCnt) : this.#named(devEui, queueItemId)
    // Family B may leave out members that are false.
    if (item !== undefined) this.#queue.answered(item, acknowledged === true, fCnt)
    return item
  }

  #logged(devEui: string, { context, level, code, description }: JsonObject): DownlinkItem | undefined {
    const item = this.#named(devEui, objectOf(context)?.['queue_item_id'])
    if (item === undefined) return undefined
    if (level === 'ERROR' || EXPIRED_CODES.has(code) || FAILED_CODES.has(code)) this.#fail(item, code, description)
    // The event proves that the network server has the command, even if its answer to the offer was
    // lost.
    else this.#queue.taken(item)
    return item
  }

  #fail(item: DownlinkItem, code: unknown, said: unknown, fCnt?: number): void {
    const failure = { code: 'command_discarded', reason: sentence(said) }
    if (EXPIRED_CODES.has(code)) this.#queue.expired(item, failure)
    else this.#queue.failed(item, failure, fCnt)
  }

  /** The command that an event of family B names. */
  #named(devEui: string, queueItemId: unknown): DownlinkItem | undefined {
    return typeof queueItemId === 'string' ? this.#queue.findNamed(devEui, queueItemId.toLowerCase()) : undefined
  }

  /**
   * Notes what the event tells besides the state of a command: that the network server reports on
   * commands, and whether it names them.
   */
  #note(devEui: string, kind: string, members: JsonObject, item: DownlinkItem | undefined): void {
    const isNamed = typeof members['queueItemId'] === 'string' || objectOf(members['deviceInfo']) !== undefined
    if (kind === 'join') {
      if (!isNamed) this.#queue.joined(devEui)
      return
    }
    const isSent = kind === 'txack' || kind === 'ack'
    if (isSent && item !== undefined) this.#naming.saw(item.content.applicationId, isNamed, item.downlinkId)
    const { type, code } = members
    if (isSent || item !== undefined || type === KEPT_CODE || code === KEPT_CODE) this.#words.spoke(devEui, isSent)
  }
}

function frameCounter(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}

function sentence(said: unknown): string {
  const text = typeof said === 'string' ? said.replace(CONTROL_CHARACTERS, ' ').slice(0, MAXIMUM_REASON_LENGTH) : ''
  return text === '' ? 'the network server has discarded it' : `the network server has discarded it: ${text}`
}
