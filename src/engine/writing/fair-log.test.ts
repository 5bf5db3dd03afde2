/** The log of an engine while one owner has thousands of requests waiting. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { EmbeddedEngine } from '../embedded.ts'
import type { EmbeddedEngineOptions } from '../embedded.ts'
import { messageOf } from '../engine-client.testing.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'

const FLOOD = 5_000

interface Scene {
  readonly engine: EmbeddedEngine
  /** The owners of the messages, in the order in which they were told to be owned. */
  readonly told: string[]
  /** Appends messages of the owner. Resolves when the last of them is owned. */
  readonly append: (owner: string, count: number) => Promise<void>
}

function failed(): void {
  assert.fail('it is owned')
}

async function setUp(options: Partial<EmbeddedEngineOptions> = {}): Promise<Scene> {
  const clock = new TestClock()
  const engine = new EmbeddedEngine({ disk: new SimulatedDisk(), directory: '/data', clock, gatherMs: 0, ...options })
  await engine.open()
  const told: string[] = []
  const append = (owner: string, count: number): Promise<void> =>
    new Promise((resolve) => {
      for (let number = 0; number < count; number += 1) {
        const committed = (): void => {
          told.push(owner)
          if (number === count - 1) resolve()
        }
        engine.append(0, { message: messageOf('a/b', 'x'), owner, committed, failed })
      }
    })
  return { engine, told, append }
}

test('a message is owned before the rest of another owner’s thousands', async () => {
  const { engine, told, append } = await setUp()
  const flood = append('flood', FLOOD)
  await append('b', 1)
  const before = told.indexOf('b')
  assert.ok(before <= 512, `behind ${before} messages`)
  await flood
  assert.equal(told.length, FLOOD + 1)
  await engine.close()
})

test('each message of an owner that waits for its answers is in the next batch', async () => {
  const { engine, told, append } = await setUp()
  await append('b', 1)
  const flood = append('flood', 2 * FLOOD)
  for (let round = 0; round < 5; round += 1) await append('b', 1)
  const places = told.flatMap((owner, place) => (owner === 'b' ? [place] : []))
  for (const [index, place] of places.entries()) {
    const before = place - (places[index - 1] ?? 0)
    // The batch that was on its way, and the batch of the message.
    assert.ok(before <= 2 * 512 + 1, `behind ${before} messages`)
  }
  await flood
  await engine.close()
})

test('messages of different owners that share a partition have offsets in one order', async () => {
  const { engine, append } = await setUp()
  await Promise.all([append('a', 700), append('b', 700), append('c', 3)])
  const { offsets, lost } = await engine.read(0, 0, 2_000)
  assert.deepEqual(
    offsets,
    Array.from({ length: 1_403 }, (_, offset) => offset),
  )
  assert.equal(lost, 0)
  await engine.close()
})

test('an owner that fills the room leaves some to the next owner and to the service, and is refused alone', async () => {
  const { engine } = await setUp({ waitingBytes: 10_000 })
  const outcomes: string[] = []
  const ask = (owner: string | undefined, count: number): Promise<unknown>[] =>
    Array.from({ length: count }, (_, number) => {
      const changes = [{ key: `${number}`, value: Buffer.alloc(600) }]
      return new Promise<void>((resolve) => {
        const end = (outcome: string) => () => {
          outcomes.push(`${owner ?? 'service'} ${outcome}`)
          resolve()
        }
        engine.write({ owner, changes, committed: end('owned'), failed: end('refused') })
      })
    })
  await Promise.all([...ask('flood', 100), ...ask('b', 3), ...ask(undefined, 2)])
  const groups = Map.groupBy(outcomes, String).entries()
  assert.deepEqual(Object.fromEntries(groups.map(([name, all]) => [name, all.length])), {
    'flood owned': 6,
    'flood refused': 94,
    'b owned': 3,
    'service owned': 2,
  })
  await engine.close()
})
