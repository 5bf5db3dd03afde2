/**
 * The status of the running service, read from the broker, its engine, the registry, the disk and
 * the process.
 */
import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../clock.ts'
import type { Parts, StartContext } from './parts.ts'
import { createServerStates } from './server-states.ts'
import { SampledStatus } from './sampled-status.ts'
import { runtime, version } from '../version.ts'

/**
 * The interval of the timer that measures the event loop's delay. Node includes the interval in
 * each measured value, Bun does not.
 */
const EVENT_LOOP_RESOLUTION_MS = 20

/** Opens the status; its owner calls `tick` about once a second. */
export function openStatus(
  { settings, dataDirectory, shutdown, readNatsServers }: StartContext,
  { registry, broker, nearBounds }: Pick<Parts, 'registry' | 'broker' | 'nearBounds'>,
): SampledStatus {
  const { engine } = broker
  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS })
  delay.enable()
  shutdown.add('status', () => void delay.disable())
  /** The smallest value so far: that of an event loop with nothing to do. */
  let idleMs = EVENT_LOOP_RESOLUTION_MS
  return new SampledStatus({
    version,
    runtime,
    clock: systemClock,
    broker,
    engine,
    retention: engine.isDurable ? { days: settings.retentionDays, bytes: settings.retentionBytes } : undefined,
    readRegistry: async () => {
      const fault = registry.health()
      if (fault !== '') throw new Error(fault)
      await registry.organizations.get('1')
    },
    disk: async () => {
      const { bavail, blocks, bsize } = await statfs(dataDirectory.path)
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
    },
    takeEventLoopDelayMs: () => {
      idleMs = Math.min(idleMs, delay.min / 1e6)
      const maximumMs = Math.max(0, delay.max / 1e6 - idleMs)
      delay.reset()
      return maximumMs
    },
    memoryBytes: () => process.memoryUsage.rss(),
    nearBounds,
    readServers: createServerStates({ nats: readNatsServers, database: registry.database }),
  })
}
