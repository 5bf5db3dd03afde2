/** The metrics of all rooms, registered under their names. */
import type { Registry as MetricsRegistry } from 'prom-client'
import { CURRENT_DOWNLINK_NUMBERS } from '../lorawan/commands/downlinks.ts'
import { createTelemetry } from '../telemetry.ts'
import { registerOrganizationBounds } from './organization-metrics.ts'
import type { Parts } from './parts.ts'

/** The counters of the broker that are a current state; the others only grow. */
const CURRENT_BROKER_COUNTERS = ['connections', 'sessions', 'subscriptions']

/** Makes the metrics that `/metrics` serves. */
export function createMetrics(
  parts: Pick<
    Parts,
    'broker' | 'downlinks' | 'openedNetworkServers' | 'uplinkPath' | 'codecs' | 'usage' | 'bounds' | 'nearBounds'
  >,
): MetricsRegistry {
  const { broker, downlinks, openedNetworkServers, uplinkPath, codecs } = parts
  const telemetry = createTelemetry()
  telemetry.registerNumbers('broker', () => ({ ...broker.counters }), CURRENT_BROKER_COUNTERS)
  telemetry.registerCounts('broker', 'refusals', () => broker.refusals)
  telemetry.registerNumbers('commands', () => downlinks.numbers(), CURRENT_DOWNLINK_NUMBERS)
  telemetry.registerCounts('commands', 'refusals', () => downlinks.commands.refusals)
  telemetry.registerNumbers('network_servers', () => ({ ...openedNetworkServers.counters }))
  telemetry.registerNumbers('uplinks', () => uplinkPath.numbers(), ['held'])
  telemetry.registerNumbers('codecs', () => codecs.counters, ['waiting', 'workers'])
  registerOrganizationBounds(telemetry.registry, parts)
  return telemetry.registry
}
