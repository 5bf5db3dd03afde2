/**
 * A command in its device's queue: what it says, where it stands, and its form in the durable
 * state. An item lives from its acceptance until some time after its fate is known, so that the
 * listing can tell it and its id stays taken.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { StateChange } from '../../broker/ports/engine.ts'
import type { SteadyMs } from '../../clock.ts'
import { given } from '../../given.ts'
import type { CommandObject } from './command.ts'

/**
 * Where a command stands. `queued`: it waits here. `sent`: its network server has it; it stays so
 * for an unconfirmed command that a gateway has sent. `unconfirmed`: the network server has said
 * nothing of it for too long, and nobody knows. The others are final. What a network server says
 * later counts nevertheless: an acknowledgement of the device outweighs a failure.
 */
export type DownlinkState = (typeof DOWNLINK_STATES)[number]

/** All of them. */
export const DOWNLINK_STATES = [
  'queued',
  'sent',
  'acknowledged',
  'not_acknowledged',
  'unconfirmed',
  'failed',
  'expired',
  'cancelled',
] as const

const STATES: ReadonlySet<string> = new Set(DOWNLINK_STATES)

/**
 * What a command says: all that is told of it to a network server, and whose it is. Does not
 * change.
 */
export interface DownlinkContent {
  /** The sender's text, or a UUID of ours. */
  readonly id: string
  readonly organizationId: string
  /** Of the device when the command was accepted. */
  readonly applicationId: string
  readonly devEui: string
  readonly confirmed: boolean
  readonly fPort: number
  /** What is sent; undefined where the network server's codec makes it of `object`. */
  readonly data: Buffer | undefined
  readonly object?: CommandObject | undefined
  readonly priority: number
  readonly expiresAtMs: number | undefined
  /** The network server is to forget what it has for the device before it gets this one. */
  readonly replaces: boolean
}

/** Why a command failed or did not come to be sent: a stable code and a sentence. */
export interface DownlinkFailure {
  readonly code: string
  readonly reason: string
}

/** The answer of the queue to a command; a refusal by its stable code. */
export type Enqueued =
  | { readonly ok: true; readonly item: DownlinkItem; readonly isRepeated: boolean }
  | { readonly ok: false; readonly code: EnqueueFault; readonly reason: string }

export type EnqueueFault = 'command_id_taken' | 'command_queue_full' | 'command_not_stored'

/** What all keys of items in the durable state begin with. */
export const QUEUE_PREFIX = 'queue/'

/** Of the form of an item in the durable state; a newer one is not this program's to read. */
const FORM_VERSION = 1

/** The namespace of UUIDs that stand for senders' ids; made once for this purpose. */
const NAMESPACE = Buffer.from('9f6a3f1c2f0f4f0aa6b3b9c4d7e81a52', 'hex')
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The UUID that stands for a sender's id among the commands of one device: the id itself where it
 * is one (in lower case), else a UUID made of it. Two ids with one UUID name one command.
 */
export function queueItemIdOf(id: string): string {
  return UUID.test(id) ? id.toLowerCase() : uuidOf(id)
}

/**
 * The UUID by which network servers know a command. It is made of the device as well: senders give
 * one id to commands for many devices, and ChirpStack v4 drops a second command of one id without a
 * word, whosever device it is for.
 */
export function downlinkIdOf(devEui: string, id: string): string {
  return uuidOf(`${devEui}/${queueItemIdOf(id)}`)
}

/** A UUID of a text (RFC 9562 §5.5, version 5). */
function uuidOf(text: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(text, 'latin1').digest().subarray(0, 16)
  hash[6] = ((hash[6] as number) & 0x0f) | 0x50
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export class DownlinkItem {
  readonly content: DownlinkContent
  /** Among the commands of its device. */
  readonly queueItemId: string
  /** By which network servers know it. */
  readonly downlinkId: string
  /** Commands of one device and priority go in this order. */
  readonly sequence: number
  readonly createdAtMs: number
  state: DownlinkState = 'queued'
  /** False until the durable state owns it: nothing is handed over that a power cut could undo. */
  isOwned = false
  /** True when it is kept no longer, in memory or in the durable state. */
  isForgotten = false
  /** True while a network server is looking at it: it can't be cancelled then. */
  isOffered = false
  /** The id that the network server gave it, where it gives ids; lower case. */
  networkServerItemId: string | undefined = undefined
  /** Since when the network server may have it without our knowing, by the steady clock. */
  inDoubtSinceMs: SteadyMs | undefined = undefined
  /** Settles with the answer to its sender, while the durable state is being asked. */
  accepted: Promise<Enqueued> | undefined = undefined
  /** When it left the queue, for whichever reason; 0 while it waits. */
  leftAtMs = 0
  /** When a gateway has sent it (txack); 0 where that is not known. */
  transmittedAtMs = 0
  /** The downlink frame counter, once the network server has told it. */
  fCnt: number | undefined = undefined
  /**
   * The device's next command waits for the word on it: its network server names no commands, or
   * does not tell whether it is there.
   */
  holdsNext = false
  /** No event is taken for the word on it any more, unless it names it. */
  isGivenUp = false
  /** The device has joined since: the counter may be another frame's by now. */
  isOfFormerSession = false
  failure: DownlinkFailure | undefined = undefined

  constructor(content: DownlinkContent, sequence: number, createdAtMs: number) {
    this.content = content
    this.queueItemId = queueItemIdOf(content.id)
    this.downlinkId = downlinkIdOf(content.devEui, content.id)
    this.sequence = sequence
    this.createdAtMs = createdAtMs
  }

  get key(): string {
    return `${QUEUE_PREFIX}${this.content.devEui}/${this.queueItemId}`
  }

  /** True when its network server has it, and has told nothing of it. */
  get awaitsWord(): boolean {
    return (
      (this.state === 'sent' || this.state === 'unconfirmed') && this.transmittedAtMs === 0 && this.fCnt === undefined
    )
  }

  /**
   * True when another command with the same id is this one, sent again: it asks for the same bytes
   * in the same way.
   */
  isSameAs(other: DownlinkContent): boolean {
    const { confirmed, fPort, data, object } = this.content
    if (confirmed !== other.confirmed || fPort !== other.fPort) return false
    if (data !== undefined && other.data !== undefined) return data.equals(other.data)
    return data === other.data && JSON.stringify(object) === JSON.stringify(other.object)
  }

  /** The item as it is now, for the durable state. */
  toChange(): StateChange {
    if (this.isForgotten) return { key: this.key, value: undefined }
    const { data, ...content } = this.content
    const form = {
      v: FORM_VERSION,
      ...content,
      data: data?.toString('base64'),
      sequence: this.sequence,
      createdAtMs: this.createdAtMs,
      state: this.state,
      leftAtMs: this.leftAtMs,
      transmittedAtMs: this.transmittedAtMs,
      fCnt: this.fCnt,
      holdsNext: this.holdsNext,
      isGivenUp: this.isGivenUp,
      isOfFormerSession: this.isOfFormerSession,
      networkServerItemId: this.networkServerItemId,
      failure: this.failure,
    }
    return { key: this.key, value: Buffer.from(JSON.stringify(form)) }
  }

  /** The item as it was stored. Throws when the value is none of this form. */
  static fromState(value: Buffer): DownlinkItem {
    const form = JSON.parse(value.toString()) as ItemForm
    assert(form.v === FORM_VERSION, 'an item of the downlink queue is of another version')
    assert(typeof form.id === 'string' && typeof form.devEui === 'string', 'an item has an id and a device')
    assert(STATES.has(form.state), 'an item has a state')
    assert(typeof form.data === 'string' || typeof form.object === 'object', 'an item has data or an object')
    const { id, organizationId, applicationId, devEui, confirmed, fPort, priority, expiresAtMs, replaces } = form
    const data = form.data === undefined ? undefined : Buffer.from(form.data, 'base64')
    const content = {
      id,
      organizationId,
      applicationId,
      devEui,
      confirmed,
      fPort,
      data,
      ...given({ object: form.object }),
      priority,
      expiresAtMs,
      replaces,
    }
    const item = new DownlinkItem(content, form.sequence, form.createdAtMs)
    item.state = form.state
    item.isOwned = true
    item.leftAtMs = form.leftAtMs
    item.transmittedAtMs = form.transmittedAtMs
    item.fCnt = form.fCnt
    item.holdsNext = form.holdsNext === true
    item.isGivenUp = form.isGivenUp === true
    item.isOfFormerSession = form.isOfFormerSession === true
    item.networkServerItemId = form.networkServerItemId
    item.failure = form.failure
    return item
  }
}

interface ItemForm extends Omit<DownlinkContent, 'data'> {
  readonly v: number
  readonly data: string | undefined
  readonly sequence: number
  readonly createdAtMs: number
  readonly state: DownlinkState
  readonly leftAtMs: number
  readonly transmittedAtMs: number
  readonly fCnt: number | undefined
  readonly holdsNext?: boolean
  readonly isGivenUp?: boolean
  readonly isOfFormerSession?: boolean
  readonly networkServerItemId: string | undefined
  readonly failure: DownlinkFailure | undefined
}
