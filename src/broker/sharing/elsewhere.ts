/**
 * The members here of a group whose home is another node. The home gives messages by their places
 * in the log. They wait in the group's `returned`, until a member has room. The home is told which
 * messages are over, and which ones another member is to have.
 */
import type { Clock } from '../../clock.ts'
import type { Place } from '../ports/message.ts'
import { placeKey } from '../sessions/session.ts'
import type { Inflight, Owed } from '../sessions/session.ts'
import type { GroupElsewhere, SharedGroup } from '../sessions/shared-group.ts'
import { placesOf } from './group-messages.ts'
import type { MembersOf, Over } from './group-messages.ts'

/** QoS 2 messages that are remembered after a Session took them over. */
const MAXIMUM_TOOK = 10_000

export class Elsewhere implements GroupElsewhere {
  readonly group: SharedGroup
  /** True when the home does not know the members as they are now. */
  isNews = true
  readonly #clock: Clock
  readonly #flush: () => void
  readonly #nextVersion: () => number
  #version: number
  readonly #inflight = new Map<string, Place>()
  readonly #took = new Map<string, Place>()
  #hasMoved = false
  #done: Place[] = []
  #back: Place[] = []
  #isFlushing = false

  /**
   * `flush` is called after a turn in which there was news for the home. `nextVersion` gives a
   * larger number each time.
   */
  constructor(group: SharedGroup, clock: Clock, flush: () => void, nextVersion: () => number) {
    this.group = group
    this.#clock = clock
    this.#flush = flush
    this.#nextVersion = nextVersion
    this.#version = nextVersion()
  }

  /** The group had members here before: the QoS 2 messages that they took do not come again. */
  goOnFrom(earlier: Elsewhere): void {
    for (const [key, place] of earlier.#took) this.#took.set(key, place)
    this.#hasMoved = earlier.#hasMoved
  }

  /** Messages that the home gives. One that is here already is not taken twice. */
  take(places: readonly Place[]): void {
    const waiting = new Set(this.group.returned.map(({ partition, offset }) => placeKey(partition, offset)))
    for (const { partition, offset } of places) {
      const key = placeKey(partition, offset)
      if (waiting.has(key) || this.#inflight.has(key) || this.#took.has(key)) continue
      this.group.returned.push({ message: undefined, partition, offset })
    }
  }

  sent(entry: Inflight): void {
    const { partition, offset, qos, isStored } = entry
    if (offset < 0) return
    this.#inflight.set(placeKey(partition, offset), { partition, offset })
    if (qos === 2 && isStored) this.stored(entry)
  }

  stored({ partition, offset, qos }: Inflight): void {
    const key = placeKey(partition, offset)
    if (qos !== 2 || !this.#inflight.delete(key)) return
    this.#took.set(key, { partition, offset })
    const [oldest] = this.#took.keys()
    if (this.#took.size > MAXIMUM_TOOK && oldest !== undefined) this.#took.delete(oldest)
    this.#isOver({ partition, offset })
  }

  left(entry: Inflight): void {
    const { partition, offset, qos } = entry
    // It may have left with its Session for another node: a new home must not give it again.
    if (qos === 2) this.stored(entry)
    else if (this.#inflight.delete(placeKey(partition, offset))) this.#isOver({ partition, offset })
  }

  offered({ partition, offset }: Place): void {
    const key = placeKey(partition, offset)
    if (!this.#inflight.has(key) && !this.#took.has(key)) this.#isOver({ partition, offset })
  }

  giveBack({ partition, offset }: Owed): void {
    this.#inflight.delete(placeKey(partition, offset))
  }

  memberMoves(): void {
    this.#hasMoved = true
  }

  /** Without a connected member here, the messages that wait go back to the home. */
  giveUpWaiting(): void {
    const { returned, hasConnectedMember } = this.group
    if (hasConnectedMember || returned.length === 0) return
    this.#back.push(...returned.splice(0))
    this.#news()
  }

  /** The members here have changed. */
  changed(): void {
    this.isNews = true
    this.#version = this.#nextVersion()
    this.giveUpWaiting()
    this.#news()
  }

  /** The news for the home: they are the caller's from here on. Undefined: there are none. */
  takeOver(): Over | undefined {
    if (this.#done.length === 0 && this.#back.length === 0) return undefined
    const { key, connectedHere: connected } = this.group
    const version = this.#version
    const over = { key, done: placesOf(this.#done), back: placesOf(this.#back), connected, version }
    this.#done = []
    this.#back = []
    return over
  }

  /** The home did not get these news. */
  putBack({ done, back }: Over): void {
    this.#done.push(...done.map(([partition, offset]) => ({ partition, offset })))
    this.#back.push(...back.map(([partition, offset]) => ({ partition, offset })))
  }

  members(): MembersOf {
    const { key, members, connectedHere, returned } = this.group
    const holds = placesOf([...returned, ...this.#inflight.values()])
    const took = placesOf(this.#took.values())
    const version = this.#version
    return { key, members: members.size, connected: connectedHere, version, hasMoved: this.#hasMoved, holds, took }
  }

  #isOver(place: Place): void {
    this.#done.push(place)
    this.#news()
  }

  #news(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    this.#clock.afterTurn(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }
}
