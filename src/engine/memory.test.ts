import { describeEngine } from './engine-contract.testing.ts'
import { MemoryEngine } from './memory.ts'
import { TestClock } from './test-clock.testing.ts'

describeEngine('The memory engine', async ({ retainedBytes }) => {
  const clock = new TestClock()
  const engine = new MemoryEngine({ maximumBytes: retainedBytes, retainedMessages: 1_000_000, clock })
  await engine.open({ lowestNeeded: () => Infinity })
  return { engine, clock, retain: async () => {}, reopen: undefined }
})
