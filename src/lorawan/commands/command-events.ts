/**
 * What network servers tell of commands: their txack, ack, error and log events are matched with
 * the commands that they are about, which come to their fates by them, and get the command's id as
 * a further member on their way through.
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
  /** Is told of each word about a command of a device. */
  readonly words: Pick<AwaitedWords, 'spoke'>
  /** Learns which network servers name commands. */
  readonly naming: Pick<CommandNaming, 'saw'>
  /**
   * Resolves when the id of the device's command on offer is known, or can't be waited for;
   * undefined when none will come.
   */
  readonly idComes: (devEui: string) => Promise<void> | undefined
  /** Told of a command whose failure an event has told that went on without its id. */
  readonly onDiscarded: (item: DownlinkItem) => void
}

/**
 * The largest event that is read, in bytes; real ones have some 500. A larger one passes as it is.
 */
const MAXIMUM_EVENT_BYTES = 65_536
/** Of a network server's sentence, in characters. */
const MAXIMUM_REASON_LENGTH = 200
/**
 * Codes of log events (family B) and types of error events (family A) by which a command is over.
 * DOWNLINK_GATEWAY is none: a gateway could not send the frame, and the network server sends the
 * command with the next one.
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

/** Looks at each event that may be about a command, as it passes. */
export class CommandEvents {
  /** Commands that a gateway has sent. */
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

  /**
   * True for the Topic Names of events that may be about a command; asked for each message, so it
   * is cheap.
   */
  wants(topicName: string): boolean {
    // `up`, which nearly all are, is told apart by one character.
    if (topicName.endsWith('p')) return false
    return TAILS.some((tail) => topicName.endsWith(tail))
  }

  /**
   * Undefined when `apply` can be asked at once. Else it resolves when it can: the event names a
   * downlink by an id that the network server may just be giving to a command.
   */
  named({ devEui, payload }: CommandEvent): Promise<void> | undefined {
    if (payload.length > MAXIMUM_EVENT_BYTES) return undefined
    const coming = this.#idComes(devEui)
    if (coming === undefined) return undefined
    const id = downlinkIdIn(membersOf(payload) ?? {})
    return id === undefined || this.#queue.findNamed(devEui, id) !== undefined ? undefined : coming
  }

  /**
   * Ids of downlinks that events of the item's device have named, and that no command is known to
   * be; the earliest first.
   */
  unclaimedIds({ content: { organizationId, devEui } }: DownlinkItem): readonly string[] {
    return this.#unclaimed.ids(organizationId, devEui)
  }

  /**
   * A network server that gives ids has answered the offer: what events have said of the id that
   * the item has got is the item's.
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
   * Brings the command that the event is about to what the event says. Gives the event's payload
   * with the command's id as its first member, `commandId`; the very same payload where it is about
   * no command that is known.
   */
  apply({ devEui, kind, payload }: CommandEvent): Buffer {
    if (payload.length > MAXIMUM_EVENT_BYTES || !this.#queue.knows(devEui)) return payload
    const members = membersOf(payload)
    if (members === undefined) return payload
    const item = this.#applyTo(devEui, kind, members)
    this.#note(devEui, kind, members, item)
    if (item === undefined) this.#keep({ devEui, kind, payload }, downlinkIdIn(members))
    if (item === undefined || Object.hasOwn(members, 'commandId')) return payload
    return withCommandId(payload, item.content.id)
  }

  /** Keeps an event of a downlink that may be a command of which that is not known yet. */
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
    // Family B leaves false out when it is told to.
    if (item !== undefined) this.#queue.answered(item, acknowledged === true, fCnt)
    return item
  }

  #logged(devEui: string, { context, level, code, description }: JsonObject): DownlinkItem | undefined {
    const item = this.#named(devEui, objectOf(context)?.['queue_item_id'])
    if (item === undefined) return undefined
    if (level === 'ERROR' || EXPIRED_CODES.has(code) || FAILED_CODES.has(code)) this.#fail(item, code, description)
    // What it has a word on it has, even where its answer to the offer was lost.
    else this.#queue.taken(item)
    return item
  }

  #fail(item: DownlinkItem, code: unknown, said: unknown, fCnt?: number): void {
    const failure = { code: 'command_discarded', reason: sentence(said) }
    if (EXPIRED_CODES.has(code)) this.#queue.expired(item, failure)
    else this.#queue.failed(item, failure, fCnt)
  }

  /** Family B names the command. */
  #named(devEui: string, queueItemId: unknown): DownlinkItem | undefined {
    return typeof queueItemId === 'string' ? this.#queue.findNamed(devEui, queueItemId.toLowerCase()) : undefined
  }

  /**
   * What the event tells beside the fate of a command: that there is a word, and whether commands
   * are named in it.
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
