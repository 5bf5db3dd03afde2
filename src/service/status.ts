/**
 * The status of the running service, read from the broker, its engine, the registry, the disk and
 * the process.
 */
import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Broker } from '../broker/broker.ts'
import type { Settings } from '../settings/settings.ts'
import { systemClock } from '../identity/store/clock.ts'
import type { Registry } from '../identity/registry.ts'
import { SampledStatus } from './sampled-status.ts'
import { version } from '../version.ts'

/** The interval of the timer that measures the event loop's delay; it is in each value. */
const EVENT_LOOP_RESOLUTION_MS = 20

export interface StatusSources {
  readonly settings: Pick<Settings, 'retentionDays' | 'retentionBytes'>
  readonly dataDirectory: string
  readonly registry: Registry
  readonly broker: Broker
}

/** A status to be ticked about once a second, and closed at the end. */
export function openStatus(sources: StatusSources): { readonly status: SampledStatus; close(): void } {
  const { settings, dataDirectory, registry, broker } = sources
  const { engine } = broker
  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS })
  delay.enable()
  const status = new SampledStatus({
    version,
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
      const { bavail, blocks, bsize } = await statfs(dataDirectory)
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
    },
    takeEventLoopDelayMs: () => {
      const maximumMs = Math.max(0, delay.max / 1e6 - EVENT_LOOP_RESOLUTION_MS)
      delay.reset()
      return maximumMs
    },
    memoryBytes: () => process.memoryUsage.rss(),
  })
  return { status, close: () => void delay.disable() }
}
