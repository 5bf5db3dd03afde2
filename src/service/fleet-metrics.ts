/** The number of devices in each state, as metrics. */
import { Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import { later } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'
import { DEVICE_STATES } from '../identity/devices/device.ts'
import type { StateCount } from '../identity/devices/device-states.ts'
import type { Logger } from '../logger.ts'
import type { Parts } from './parts.ts'

/** The registry counts all devices at most once in this time. */
const COUNT_MS = 10_000

interface CountedParts {
  readonly count: () => Promise<readonly StateCount[]>
  /** Names the organizations of which there are metrics. */
  readonly nearBounds: Pick<Parts['nearBounds'], 'measured'>
  readonly clock: Pick<Clock, 'steady'>
  readonly log: Logger
}

/**
 * Registers the devices of the deployment by state, and those of the measured organizations. While
 * the registry does not answer, the metrics have no devices.
 */
export function registerDeviceStates(registry: MetricsRegistry, parts: CountedParts): void {
  const counts = countsOf(parts)
  const deployment = new Gauge({
    name: 'fieldgate_devices',
    help: 'The devices of the deployment by state.',
    labelNames: ['state'],
    registers: [],
    async collect() {
      const counted = await counts()
      this.reset()
      if (counted === undefined) return
      for (const state of DEVICE_STATES) {
        const ofState = counted.filter((count) => count.state === state)
        this.set(
          { state },
          ofState.reduce((sum, { devices }) => sum + devices, 0),
        )
      }
    },
  })
  const organizations = new Gauge({
    name: 'fieldgate_organization_devices',
    help: 'The devices of an organization by state.',
    labelNames: ['organization', 'state'],
    registers: [],
    async collect() {
      const counted = (await counts()) ?? []
      const measured = new Set(parts.nearBounds.measured)
      this.reset()
      for (const { organizationId, state, devices } of counted) {
        if (measured.has(organizationId)) this.set({ organization: organizationId, state }, devices)
      }
    },
  })
  registry.registerMetric(deployment)
  registry.registerMetric(organizations)
}

/** The counts, remembered for a time. Undefined when the registry does not answer. */
function countsOf({ count, clock, log }: CountedParts): () => Promise<readonly StateCount[] | undefined> {
  let counts: Promise<readonly StateCount[] | undefined> = Promise.resolve([])
  let nextCount: SteadyMs = clock.steady()
  return () => {
    const now = clock.steady()
    if (now >= nextCount) {
      nextCount = later(now, COUNT_MS)
      counts = count().catch((error: unknown) => {
        log.error({ error }, 'fleet.count_failed')
        return undefined
      })
    }
    return counts
  }
}
