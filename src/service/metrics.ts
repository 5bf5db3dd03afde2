/** The metrics of all rooms, registered under their names. */
import type { Registry as MetricsRegistry } from 'prom-client'
import { systemClock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { CURRENT_DOWNLINK_NUMBERS } from '../lorawan/commands/downlinks.ts'
import type { Nodes } from '../nodes.ts'
import { createTelemetry } from '../telemetry.ts'
import { registerDeviceStates } from './fleet-metrics.ts'
import { registerNodes } from './node-metrics.ts'
import { registerOrganizationBounds } from './organization-metrics.ts'
import type { Parts } from './parts.ts'

/** The counters of the broker that are a current state; the others only grow. */
const CURRENT_BROKER_COUNTERS = ['connections', 'sessions', 'subscriptions']

/** The numbers of webhooks that are a current state. */
const CURRENT_WEBHOOK_NUMBERS = ['running', 'failing', 'paused']

/** Makes the metrics that `/metrics` serves. */
export function createMetrics(
  parts: Pick<
    Parts,
    | 'broker'
    | 'downlinks'
    | 'openedNetworkServers'
    | 'uplinkPath'
    | 'unknownDevices'
    | 'codecs'
    | 'usage'
    | 'bounds'
    | 'nearBounds'
    | 'webhooks'
    | 'registry'
  >,
  nodes: Nodes | undefined,
  log: Logger,
): MetricsRegistry {
  const { broker, downlinks, openedNetworkServers, uplinkPath, unknownDevices, codecs, webhooks } = parts
  const telemetry = createTelemetry()
  telemetry.registerNumbers('broker', () => ({ ...broker.counters }), CURRENT_BROKER_COUNTERS)
  telemetry.registerCounts('broker', 'refusals', () => broker.refusals)
  telemetry.registerNumbers('commands', () => downlinks.numbers(), CURRENT_DOWNLINK_NUMBERS)
  telemetry.registerCounts('commands', 'refusals', () => downlinks.commands.refusals)
  telemetry.registerNumbers('network_servers', () => ({ ...openedNetworkServers.counters }))
  telemetry.registerNumbers('uplinks', () => uplinkPath.numbers(), ['held'])
  telemetry.registerNumbers('unknown_devices', () => unknownDevices.numbers(), ['events', 'bytes'])
  telemetry.registerNumbers('codecs', () => codecs.counters, ['waiting', 'workers'])
  telemetry.registerNumbers(
    'webhooks',
    () => ({ ...webhooks.counters, ...webhooks.numbers() }),
    CURRENT_WEBHOOK_NUMBERS,
  )
  registerOrganizationBounds(telemetry.registry, parts)
  registerDeviceStates(telemetry.registry, {
    count: () => parts.registry.deviceStates.counts(),
    nearBounds: parts.nearBounds,
    clock: systemClock,
    log,
  })
  if (nodes !== undefined) registerNodes(telemetry.registry, nodes)
  return telemetry.registry
}
