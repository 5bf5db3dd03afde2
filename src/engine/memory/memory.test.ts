import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, messageOf } from '../engine-client.testing.ts'
import { describeEngine, timeOf } from '../engine-contract.testing.ts'
import { MemoryEngine } from './memory.ts'
import { TestClock } from '../../clock.testing.ts'

describeEngine('The memory engine with a history', async ({ retainedBytes, arrivals }) => {
  const clock = new TestClock()
  const engine = new MemoryEngine({ maximumBytes: retainedBytes, retainedMessages: 1_000_000, clock })
  await engine.open({ lowestNeeded: () => Infinity }, arrivals)
  return { engine, ...timeOf(clock), retain: async () => {}, reopen: undefined }
})

describeEngine('The memory engine without one, while a reader is behind', async ({ retainedBytes, arrivals }) => {
  const clock = new TestClock()
  const engine = new MemoryEngine({ maximumBytes: retainedBytes, clock })
  await engine.open({ lowestNeeded: () => 0 }, arrivals)
  return { engine, ...timeOf(clock), retain: async () => {}, reopen: undefined }
})

test('a history holds the asked number of messages, few more, and those that a reader still needs', async () => {
  let needed = Infinity
  const engine = new MemoryEngine({ partitions: 1, retainedMessages: 100 })
  await engine.open({ lowestNeeded: () => needed })
  const appendMany = async (): Promise<void> => {
    for (let number = 0; number < 2_000; number += 1) {
      await append(engine, 0, messageOf('application/5/device/0102030405060708/event/up', `${number}`.padEnd(200)))
    }
  }
  await appendMany()
  const { messages, bytes } = engine.usage()
  assert.ok(messages >= 100 && messages < 600, `${messages}`)
  assert.ok(bytes >= 100 * 200 && bytes < 200_000, `${bytes}`)
  needed = 1_950
  await appendMany()
  assert.equal(engine.read(0, 1_950, 1).messages[0]?.payload.toString().trim(), '1950')
  needed = Infinity
  await append(engine, 0, messageOf('a', 'x'))
  assert.ok(engine.usage().messages < 600)
})
