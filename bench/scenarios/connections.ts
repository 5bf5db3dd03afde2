/** S4: connections as fast as possible. S5: connections that do nothing. */
import { APPLICATIONS, eventTopic, integrator } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import type { IdleClient, JobResult } from '../load/job.ts'
import type { Bound, Row } from './scenario.ts'

const STORM_CONNECTIONS = 2_000
/**
 * Connections before the measurement, so that a runtime that compiles has compiled. Each has a
 * token of its own, and so has each connection that is measured.
 */
const STORM_WARM_UP = 2_000
const STORM_CONCURRENCY = 64
const IDLE_CONNECTIONS = 10_000
const SUBSCRIBED_CONNECTIONS = 15_000
/** The number of connections at which the count of memory begins. */
const IDLE_FIRST = 500
const IDLE_SETTLE_MS = 2_000

/** The rows of S4 and S5. */
export const connectionRows: readonly Row[] = [
  stormRow('full handshakes', false, { kind: 'ratio', maximum: 0.9 }),
  stormRow('resumed sessions', true, undefined),
  idleRow('10,000 idle connections', IDLE_CONNECTIONS, 10, silentClients),
  idleRow('15,000 with a subscription each', SUBSCRIBED_CONNECTIONS, 12, subscribedClients),
]

function stormRow(name: string, resumed: boolean, bound: Bound | undefined): Row {
  return {
    title: `S4 2,000 connections with a JWT, ${name}`,
    scenario: 's4',
    qos: undefined,
    unit: 'ms/connection',
    bound,
    openFiles: STORM_CONNECTIONS + STORM_WARM_UP + 1_000,
    job: ({ tokens }) => ({
      kind: 'storm',
      connections: STORM_CONNECTIONS,
      warmUpConnections: STORM_WARM_UP,
      concurrency: STORM_CONCURRENCY,
      resumed,
      clients: tokens.map((credentials) => ({ credentials })),
    }),
    figure: cpuPerConnection,
  }
}

function idleRow(
  name: string,
  connections: number,
  maximumKB: number,
  clients: (deployment: Deployment) => readonly IdleClient[],
): Row {
  return {
    title: `S5 ${name}`,
    scenario: 's5',
    qos: undefined,
    unit: 'KB each',
    bound: { kind: 'absolute', maximum: maximumKB },
    openFiles: connections + 1_000,
    job: (deployment) => ({
      kind: 'idle',
      connections,
      firstConnections: IDLE_FIRST,
      settleMs: IDLE_SETTLE_MS,
      clients: clients(deployment),
    }),
    figure: (result) => (result.kind === 'idle' ? result.bytesPerConnection / 1024 : NaN),
  }
}

/** The broker's CPU time per connection, in ms. */
function cpuPerConnection(result: JobResult): number {
  return result.kind === 'storm' ? result.brokerCpuNs / result.connections / 1e6 : NaN
}

function silentClients({ integrators }: Deployment): IdleClient[] {
  return integrators.map((credentials) => ({ credentials }))
}

/** Each client subscribes to the uplinks of a device of its own. */
function subscribedClients(deployment: Deployment): IdleClient[] {
  return Array.from({ length: SUBSCRIBED_CONNECTIONS }, (_, number) => {
    const application = number % APPLICATIONS
    const topicFilter = eventTopic(deployment, application, Math.floor(number / APPLICATIONS))
    return { ...integrator(deployment, application), topicFilters: [topicFilter] }
  })
}
