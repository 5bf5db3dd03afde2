/** The stories that are explored. */
import assert from 'node:assert/strict'
import type { Robot } from './robot.ts'
import type { Story } from './stories.ts'
import type { FaultBounds } from './world.ts'

const READER = {
  clientId: 'reader',
  topicName: 'up/reader',
  topicFilter: 'down/+',
  qos: 2,
  at: 'a',
  isStepped: true,
} as const
const PARTNER = { clientId: 'partner', topicName: 'down/partner', topicFilter: 'up/+', qos: 2, at: 'c' } as const

/** Each message that the one has sent has come to the other once. */
function assertOnce(from: Robot, to: Robot): void {
  assert.deepEqual(to.got, from.owned, `from ${from.clientId} to ${to.clientId}`)
}

function bothWays(robots: ReadonlyMap<string, Robot>): void {
  const [reader, partner] = [robots.get('reader') as Robot, robots.get('partner') as Robot]
  assertOnce(partner, reader)
  assertOnce(reader, partner)
}

const MOVING = {
  robots: [READER, PARTNER],
  before: [{ robot: 'partner', publish: 'd0' }],
  within: [
    { robot: 'partner', publish: 'd1' },
    { robot: 'reader', publish: 'u1' },
    { robot: 'reader', connect: 'b' },
    { robot: 'partner', publish: 'd2' },
    { robot: 'reader', publish: 'u2' },
    { robot: 'reader', connect: 'c' },
  ],
  check: bothWays,
} as const satisfies Partial<Story>

/** The client has ended messages that its cursor still meets, for its new home reads slowly. */
const SLOW = {
  ...MOVING,
  robots: [{ ...READER, receiveMaximum: 1 }, PARTNER],
  within: [
    { robot: 'partner', publish: 'd1' },
    { robot: 'partner', publish: 'd2' },
    { robot: 'reader', connect: 'b' },
    { robot: 'partner', publish: 'd3' },
    { robot: 'reader', connect: 'c' },
  ],
} as const satisfies Partial<Story>

/** The node of a client ends in order while QoS 2 is in flight both ways. */
const LEAVING = {
  robots: [READER, PARTNER],
  before: [{ robot: 'partner', publish: 'd0' }],
  within: [
    { robot: 'partner', publish: 'd1' },
    { robot: 'partner', publish: 'd2' },
    { robot: 'reader', publish: 'u1' },
    { robot: 'reader', end: 'a' },
    { robot: 'reader', connect: 'b' },
    { robot: 'partner', publish: 'd3' },
    { robot: 'reader', publish: 'u2' },
    { robot: 'reader', connect: 'c' },
    { robot: 'partner', publish: 'd4' },
  ],
  check: bothWays,
} as const satisfies Partial<Story>

/** Each message that was sent to the group has come to one member, and at QoS 2 once. */
function toOne(qos: 1 | 2): Story['check'] {
  return (robots) => {
    const members = [...robots.values()].filter(({ topicFilter }) => topicFilter.startsWith('$share/'))
    const got = members.flatMap((member) => member.got).toSorted()
    const owned = (robots.get('partner') as Robot).owned.toSorted()
    const parts = members.map(({ clientId, got: part }) => `${clientId} got ${part.join()}`).join('; ')
    assert.deepEqual(qos === 2 ? got : [...new Set(got)], owned, parts)
  }
}

function sharing(qos: 1 | 2): Omit<Story, 'name' | 'isEager' | 'bounds'> {
  const member = { topicName: 'up/worker', topicFilter: '$share/workers/down/+', qos } as const
  return {
    robots: [
      { ...member, clientId: 'one', at: 'a' },
      { ...member, clientId: 'two', at: 'b' },
      { ...member, clientId: 'three', at: 'c' },
      { ...PARTNER, topicFilter: 'nothing' },
    ],
    before: [{ robot: 'partner', publish: 'd0' }],
    within: [
      { robot: 'partner', publish: 'd1' },
      { robot: 'partner', publish: 'd2' },
      { robot: 'partner', publish: 'd3' },
      { robot: 'two', drop: true },
      { robot: 'partner', publish: 'd4' },
      { robot: 'two', connect: 'c' },
      { robot: 'partner', publish: 'd5' },
      { robot: 'partner', publish: 'd6' },
    ],
    check: toOne(qos),
  }
}

/** The only member goes from node to node, and its group keeps its place meanwhile. */
function roaming(qos: 1 | 2): Omit<Story, 'name' | 'isEager' | 'bounds'> {
  return {
    robots: [
      { clientId: 'worker', topicName: 'up/worker', topicFilter: '$share/workers/down/+', qos, at: 'a' },
      { ...PARTNER, topicFilter: 'nothing' },
    ],
    before: [{ robot: 'partner', publish: 'd0' }],
    within: [
      { robot: 'partner', publish: 'd1' },
      { robot: 'worker', connect: 'b' },
      { robot: 'partner', publish: 'd2' },
      { robot: 'worker', drop: true },
      { robot: 'partner', publish: 'd3' },
      { robot: 'worker', connect: 'c' },
      { robot: 'partner', publish: 'd4' },
    ],
    check: toOne(qos),
  }
}

const BOUNDS: readonly (readonly [what: string, bounds: FaultBounds])[] = [
  ['', { ends: 0, losses: 0, stalls: 0 }],
  [', and messages get lost', { ends: 0, losses: 1, stalls: 1 }],
  [', and a node dies', { ends: 1, losses: 0, stalls: 0 }],
  [', and everything goes wrong', { ends: 1, losses: 1, stalls: 1 }],
]

function storiesOf(what: string, bounds: FaultBounds, isEager: boolean): readonly Story[] {
  const how = `${isEager ? 'in haste' : 'with patience'}${what}`
  return [
    { ...MOVING, name: `a client goes to two nodes ${how}`, isEager, bounds },
    { ...SLOW, name: `a client with a window of one message goes to two nodes ${how}`, isEager, bounds },
    // Two of three nodes would be gone, and the heir in the middle of its work.
    ...(bounds.ends > 0 ? [] : [{ ...LEAVING, name: `the node of a client ends in order ${how}`, isEager, bounds }]),
    { ...sharing(1), name: `clients share a subscription at QoS 1 ${how}`, isEager, bounds },
    { ...sharing(2), name: `clients share a subscription at QoS 2 ${how}`, isEager, bounds },
    { ...roaming(1), name: `the only member of a group roams at QoS 1 ${how}`, isEager, bounds },
    { ...roaming(2), name: `the only member of a group roams at QoS 2 ${how}`, isEager, bounds },
  ]
}

const ALL = [false, true].flatMap((isEager) => BOUNDS.flatMap(([what, bounds]) => storiesOf(what, bounds, isEager)))

/**
 * A request between nodes that times out is sent again, and the first one may still come through
 * later. When nothing arrives anywhere for longer than a request waits, a node may get a message of
 * a group once more that it has given back.
 */
function isOpen({ name, bounds }: Story): boolean {
  return name.includes('subscription at QoS 2') && bounds.ends > 0 && bounds.stalls > 0
}

/** The stories that hold whatever comes next. */
export const STORIES: readonly Story[] = ALL.filter((story) => !isOpen(story))

/** The stories with known faults: `npm run explore` shows them. */
export const OPEN_STORIES: readonly Story[] = ALL.filter(isOpen)
