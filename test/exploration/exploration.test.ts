/** A short exploration of all stories. `npm run explore` plays more runs, with new seeds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draw, enumerate, playing } from './explore.ts'
import type { Deviation } from './schedule.ts'
import { play } from './stories.ts'
import { STORIES } from './the-stories.ts'

const DRAWN_RUNS = 40
const SEED = 20_260

/** A claim takes a Session from a dead node when the heir has asked for the claims. */
const LATE_CLAIM: readonly Deviation[] = [
  [1, 1],
  [2, 1],
  [3, 4],
  [4, 4],
  [5, 1],
  [6, 2],
  [7, 4],
  [8, 4],
  [9, 3],
  [10, 5],
  [11, 4],
  [12, 5],
  [14, 1],
  [15, 3],
  [17, 2],
  [23, 3],
  [24, 3],
  [25, 3],
  [26, 4],
  [28, 4],
  [33, 3],
  [35, 1],
  [36, 3],
  [37, 2],
  [38, 1],
  [39, 2],
  [40, 1],
  [41, 2],
  [42, 1],
  [44, 2],
]

/** Choices with which Sessions were doubled, or messages came twice or got lost. */
const REGRESSIONS: readonly (readonly [story: string, deviations: readonly Deviation[]])[] = [
  [
    'a client goes to two nodes with patience, and messages get lost',
    [
      [1, 3],
      [9, 1],
      [11, 4],
      [21, 4],
      [34, 4],
    ],
  ],
  [
    'a client goes to two nodes in haste, and messages get lost',
    [
      [13, 6],
      [23, 4],
      [24, 2],
      [36, 1],
      [40, 3],
    ],
  ],
  [
    'a client goes to two nodes with patience, and a node dies',
    [
      [24, 3],
      [47, 6],
      [57, 3],
    ],
  ],
  ['a client goes to two nodes with patience, and everything goes wrong', [[39, 12]]],
  [
    'a client goes to two nodes with patience, and everything goes wrong',
    [
      [2, 3],
      [40, 8],
    ],
  ],
  ['a client goes to two nodes in haste, and everything goes wrong', [[31, 10]]],
  [
    'clients share a subscription at QoS 2 with patience, and messages get lost',
    [
      [59, 8],
      [85, 6],
    ],
  ],
  [
    'clients share a subscription at QoS 2 with patience, and messages get lost',
    [
      [1, 5],
      [15, 1],
      [18, 5],
      [19, 9],
    ],
  ],
  [
    'clients share a subscription at QoS 2 with patience, and a node dies',
    [
      [1, 7],
      [6, 4],
      [24, 4],
    ],
  ],
  [
    'clients share a subscription at QoS 2 with patience, and a node dies',
    [
      [2, 1],
      [3, 2],
      [9, 7],
      [17, 7],
    ],
  ],
  [
    'clients share a subscription at QoS 1 with patience, and everything goes wrong',
    [
      [0, 4],
      [3, 6],
      [10, 2],
      [15, 3],
    ],
  ],
  [
    'clients share a subscription at QoS 1 in haste, and a node dies',
    [
      [0, 4],
      [3, 4],
      [5, 6],
      [10, 2],
      [15, 3],
    ],
  ],
  [
    'clients share a subscription at QoS 1 in haste, and everything goes wrong',
    [
      [0, 6],
      [4, 6],
      [7, 3],
      [8, 5],
    ],
  ],
  [
    'the node of a client ends in order with patience, and messages get lost',
    [
      [0, 1],
      [1, 4],
      [2, 4],
      [6, 1],
      [7, 2],
      [8, 5],
      [9, 3],
      [10, 4],
    ],
  ],
  ['the node of a client ends in order with patience', LATE_CLAIM],
  [
    'a client with a window of one message goes to two nodes with patience, and a node dies',
    [
      [9, 4],
      [30, 4],
      [33, 4],
      [46, 5],
    ],
  ],
]

for (const story of STORIES) {
  test(`${story.name}: drawn runs`, { timeout: 60_000 }, async () => {
    assert.deepEqual((await draw(story, DRAWN_RUNS, SEED)).found, undefined)
  })
}

test('a node dies at every step of two moves', { timeout: 60_000 }, async () => {
  const story = STORIES.find(({ name }) => name === 'a client goes to two nodes in haste, and a node dies')
  assert(story !== undefined)
  assert.deepEqual((await enumerate(story, 1)).found, undefined)
})

test('what once went wrong', async () => {
  for (const [name, deviations] of REGRESSIONS) {
    const story = STORIES.find((candidate) => candidate.name === name)
    assert(story !== undefined, name)
    assert.equal((await play(story, playing(deviations))).fault, undefined, name)
  }
})
