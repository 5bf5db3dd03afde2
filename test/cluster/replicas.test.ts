/** The wait for the replicas of streams, under load and without it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilReplicated } from './replicas.ts'
import type { LastSequences } from './replicas.ts'

/** Longer than any of these waits, ms. */
const LONGEST_MS = 20_000

test('the wait ends under load, though some server is always some messages behind', async () => {
  let last = 100
  const replication = await untilReplicated(
    {
      streams: () => Promise.resolve(new Map([['log', last]])),
      servers: () => {
        last += 2
        return Promise.resolve(
          new Map([
            ['n1', new Map([['log', last]])],
            ['n2', new Map([['log', last - 3]])],
          ]),
        )
      },
    },
    LONGEST_MS,
  )
  assert.deepEqual(replication.lacking, [])
  assert.ok(replication.tookMs < LONGEST_MS)
})

test('the wait lasts until a server has the last message of each stream', async () => {
  const states: LastSequences[] = [
    new Map(),
    new Map([['log', 8]]),
    new Map([
      ['log', 8],
      ['state', 2],
    ]),
    new Map([
      ['log', 8],
      ['state', 3],
    ]),
  ]
  const wanted: LastSequences = new Map([
    ['log', 8],
    ['state', 3],
  ])
  let looks = 0
  const { lacking } = await untilReplicated(
    {
      streams: () => Promise.resolve(wanted),
      servers: () => {
        const state = states[looks] as LastSequences
        looks += 1
        return Promise.resolve(new Map([['n1', state]]))
      },
    },
    LONGEST_MS,
  )
  assert.deepEqual(lacking, [])
  assert.equal(looks, states.length)
})

test('a wait in vain tells which server lacks how much of which stream', async () => {
  const { tookMs, lacking } = await untilReplicated(
    {
      streams: () => Promise.resolve(new Map([['log', 8]])),
      servers: () => Promise.resolve(new Map([['n1', new Map([['log', 5]])]])),
    },
    0,
  )
  assert.equal(tookMs, Infinity)
  assert.deepEqual(lacking, ['n1 has 5 of 8 of log'])
})

test('the wait goes on while no server answers', async () => {
  let asked = 0
  const { lacking } = await untilReplicated(
    {
      streams: () => {
        asked += 1
        return asked === 1 ? Promise.reject(new Error('no leader')) : Promise.resolve(new Map([['log', 8]]))
      },
      servers: () => Promise.resolve(new Map([['n1', new Map([['log', 8]])]])),
    },
    LONGEST_MS,
  )
  assert.deepEqual(lacking, [])
  assert.equal(asked, 2)
})
