/**
 * A command in its device's queue: its content, its state, and its form in the durable state. An
 * item lives until some time after its fate is known, so that the command can be listed and its id
 * stays taken.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { StateChange } from '../../broker/ports/engine.ts'
import type { SteadyMs } from '../../clock.ts'
import { given } from '../../given.ts'
import type { CommandObject } from './command.ts'

/**
 * The state of a command. `queued`: it waits here. `sent`: its network server has it; a command
 * that asks for no acknowledgement stays `sent` after a gateway has sent it. `unconfirmed`: the
 * network server has said nothing about it for too long, so that its fate is unknown. The other
 * states are final, except that a later event of the network server still counts: an
 * acknowledgement of the device outweighs a failure.
 */
export type DownlinkState = (typeof DOWNLINK_STATES)[number]

/** All states of a command. */
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
 * The content of a command: everything that network servers are told about it, and its owner. It
 * does not change.
 */
export interface DownlinkContent {
  /** The sender's id, or a UUID that this service made. */
  readonly id: string
  readonly organizationId: string
  /** The device's application when the command was accepted. */
  readonly applicationId: string
  readonly devEui: string
  readonly confirmed: boolean
  readonly fPort: number
  /** The bytes to send; undefined when the network server's codec makes them from `object`. */
  readonly data: Buffer | undefined
  readonly object?: CommandObject | undefined
  readonly priority: number
  readonly expiresAtMs: number | undefined
  /**
   * True: the network server is to forget its other downlinks for the device before it gets this
   * one.
   */
  readonly replaces: boolean
}

/** Why a command failed or was never sent: a stable code and a sentence. */
export interface DownlinkFailure {
  readonly code: string
  readonly reason: string
}

/** The queue's answer to a command; a refusal has a stable code. */
export type Enqueued =
  | { readonly ok: true; readonly item: DownlinkItem; readonly isRepeated: boolean }
  | { readonly ok: false; readonly code: EnqueueFault; readonly reason: string }

export type EnqueueFault = 'command_id_taken' | 'command_queue_full' | 'command_not_stored'

/** The prefix of all keys of items in the durable state. */
export const QUEUE_PREFIX = 'queue/'

/**
 * The version of an item's form in the durable state. This program does not read a newer version.
 */
const FORM_VERSION = 1

/** The namespace of the UUIDs made from senders' ids. It was made once for this purpose. */
const NAMESPACE = Buffer.from('9f6a3f1c2f0f4f0aa6b3b9c4d7e81a52', 'hex')
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The UUID that stands for a sender's id among the commands of one device: the id itself in lower
 * case if it is a UUID, else a UUID made from it. Two ids with one UUID name one command.
 */
export function queueItemIdOf(id: string): string {
  return UUID.test(id) ? id.toLowerCase() : uuidOf(id)
}

/**
 * The UUID by which network servers know a command. It depends on the device as well, because
 * senders use one id for commands to many devices, and ChirpStack v4 silently drops a second
 * command with the same id, even for another device.
 */
export function downlinkIdOf(devEui: string, id: string): string {
  return uuidOf(`${devEui}/${queueItemIdOf(id)}`)
}

/** A UUID made from a text (RFC 9562 §5.5, version 5). */
function uuidOf(text: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(text, 'latin1').digest().subarray(0, 16)
  hash[6] = ((hash[6] as number) & 0x0f) | 0x50
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export class DownlinkItem {
  readonly content: DownlinkContent
  /** Identifies the command among the commands of its device. */
  readonly queueItemId: string
  /** Identifies the command to network servers. */
  readonly downlinkId: string
  /** Commands of one device and priority go in this order. */
  readonly sequence: number
  readonly createdAtMs: number
  state: DownlinkState = 'queued'
  /**
   * False until the durable state owns the item. Until then it is not handed over, since a power
   * cut could undo it.
   */
  isOwned = false
  /** True when the item is no longer kept, in memory or in the durable state. */
  isForgotten = false
  /** True while a network server is looking at the item: it can't be cancelled then. */
  isOffered = false
  /** The id that the network server gave to the item, if it gives ids; lower case. */
  networkServerItemId: string | undefined = undefined
  /** Since when the network server may have the item without this service knowing. */
  inDoubtSinceMs: SteadyMs | undefined = undefined
  /** Resolves with the answer to the sender; set while the durable state is being written. */
  accepted: Promise<Enqueued> | undefined = undefined
  /** When the item left the queue, for whatever reason; 0 while it waits. */
  leftAtMs = 0
  /** When a gateway sent the item (txack); 0 when that is unknown. */
  transmittedAtMs = 0
  /** The downlink frame counter, when the network server has reported it. */
  fCnt: number | undefined = undefined
  /**
   * True when the device's next command has to wait for an event about this one: its network server
   * names no commands in its events, or does not tell whether it is there.
   */
  holdsNext = false
  /** True when only an event that names the item is still taken for an event about it. */
  isGivenUp = false
  /** True when the device has joined since: the counter may belong to another frame now. */
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

  /** True when the network server has the item, and has reported nothing about it. */
  get awaitsWord(): boolean {
    return (
      (this.state === 'sent' || this.state === 'unconfirmed') && this.transmittedAtMs === 0 && this.fCnt === undefined
    )
  }

  /**
   * True when another command with the same id is this command, sent again: it asks for the same
   * bytes in the same way.
   */
  isSameAs(other: DownlinkContent): boolean {
    const { confirmed, fPort, data, object } = this.content
    if (confirmed !== other.confirmed || fPort !== other.fPort) return false
    if (data !== undefined && other.data !== undefined) return data.equals(other.data)
    return data === other.data && JSON.stringify(object) === JSON.stringify(other.object)
  }

  /** The item in its present state, for the durable state. */
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

  /** The item as it was stored. Throws when the value does not have this form. */
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
