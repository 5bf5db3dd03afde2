/** The events that are held back on the way of uplinks. */
import type { HeldMessage } from '../../broker/ports/consumer.ts'
import type { UplinkWithObject } from '../codecs/uplink-object.ts'
import type { ParsedTopic } from '../topics.ts'
import type { HeldSize } from './uplink-path-bounds.ts'
import type { RegisteredCodec } from './uplink-path-registry.ts'

/** The topic of an event. */
export type EventTopic = Extract<ParsedTopic, { kind: 'event' }>

/** Lets an event go on. `retains`: it is the last event of its device, and is retained. */
export type GoOn = (payload: Buffer, retains?: boolean) => void

/** An event that is held back. */
export interface Held {
  readonly topic: EventTopic
  readonly payload: Buffer
  readonly size: HeldSize
  readonly message: HeldMessage
  readonly goOn: GoOn
  /** The number of ticks when the event came. */
  readonly tick: number
  /** True for an event that waits for the id of its command only. */
  readonly awaitsName: boolean
  /**
   * The event as it goes on, once this is known; a sentence when the event goes on without
   * `object`.
   */
  outcome: UplinkWithObject | string | undefined
  /** The application as it was when the event came; undefined: not looked up yet. */
  application: RegisteredCodec | undefined
}

/** An event for which there is no room yet. Its connection waits, too. */
export interface Waiter {
  readonly held: Held
  readonly resolve: () => void
}
