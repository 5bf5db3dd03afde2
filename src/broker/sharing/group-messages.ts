/** The messages between nodes about shared subscriptions: JSON. */
import type { Place } from '../ports/message.ts'

export const GROUP_KINDS = {
  /** To the home: the members of a node, and the messages that they hold. */
  members: 'group.members',
  /** From the home: messages of the log for members of the node. */
  give: 'group.give',
  /** To the home: messages that a node does not hold any more. */
  over: 'group.over',
  /** From the home: a QoS 0 message for one member of the node. */
  pass: 'group.pass',
  /** From a new home to all nodes: which of these groups have members, and what they hold. */
  held: 'group.held',
  /** To the successor of a node that is gone: what Sessions had stored when they came to it. */
  stored: 'group.stored',
} as const

/** Answers to messages that the home gives. */
export const TAKEN = Buffer.from('taken')
export const NO_MEMBERS = Buffer.from('no members')

/** Places as pairs of partition and offset. */
export type Places = readonly (readonly [partition: number, offset: number])[]

/** The members of a node. */
export interface MembersOf {
  readonly key: string
  readonly members: number
  readonly connected: number
  /** Grows with each change of the members: older news do not count. */
  readonly version?: number
  /** True when the Session of a member has gone to another node. */
  readonly hasMoved?: boolean
  /** The messages that members have or wait for. */
  readonly holds: Places
  /** QoS 2 messages that Sessions of members have taken over a short time ago. */
  readonly took: Places
}

export interface Given {
  readonly key: string
  readonly places: Places
}

export interface Over {
  readonly key: string
  /** Brought to their end, or taken over by a Session. */
  readonly done: Places
  /** To be given to another member. */
  readonly back: Places
  /** The members as they are now: the news of them may have got lost. */
  readonly connected?: number
  readonly version?: number
}

/** QoS 2 messages of a group that Sessions had stored. */
export interface Stored {
  readonly key: string
  readonly places: Places
}

export function encode(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}

/** The body is of another node of this deployment: of a version that has the same messages. */
export function decode(body: Buffer): unknown {
  return JSON.parse(body.toString())
}

export function placesOf(places: Iterable<Place>): Places {
  return [...places].map(({ partition, offset }) => [partition, offset])
}

export function placeOf([partition, offset]: Places[number]): Place {
  return { partition, offset }
}
