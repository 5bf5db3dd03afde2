import { describeEngine, timeOf } from './engine-contract.testing.ts'
import { EmbeddedEngine } from './embedded.ts'
import type { EmbeddedEngineOptions } from './embedded.ts'
import { SimulatedDisk } from './ports/simulated-disk.testing.ts'
import { TestClock } from '../clock.testing.ts'

for (const [what, options] of [
  ['with everything in memory', {}],
  ['with nothing but the disk', { tailBytes: 0, cacheBytes: 0, decodedBytes: 0, indexBytes: 0, segmentBytes: 4_000 }],
] as const satisfies readonly (readonly [string, Partial<EmbeddedEngineOptions>])[]) {
  describeEngine(`The embedded engine, ${what},`, async ({ retainedBytes, arrivals }) => {
    const disk = new SimulatedDisk()
    const clock = new TestClock()
    const make = async (): Promise<EmbeddedEngine> => {
      const segmentBytes = Math.min(retainedBytes / 8, 1_048_576)
      const retention = { retentionBytes: retainedBytes, segmentBytes }
      const engine = new EmbeddedEngine({ disk, directory: '/data', clock, gatherMs: 0, ...retention, ...options })
      await engine.open(undefined, arrivals)
      return engine
    }
    const engine = await make()
    return { engine, ...timeOf(clock), retain: () => engine.maintain(), reopen: make }
  })
}
