/** S8: clients that wait for each acknowledgement. */
import { eventTopic, integrator, networkServer } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import { flowJob } from './flows.ts'
import type { FlowParts } from './flows.ts'
import { cpuPerDelivery, USUAL_OPEN_FILES } from './scenario.ts'
import type { Row } from './scenario.ts'

const CLIENTS = 50

/**
 * The row of S8. Its latency is taken at full rate: a client's rate is another view of its latency.
 */
export const waitingRow: Row = {
  title: `S8 ${CLIENTS} clients that wait for each acknowledgement, QoS 1`,
  scenario: 's8',
  qos: 1,
  unit: 'µs/delivery',
  clients: CLIENTS,
  bound: undefined,
  openFiles: USUAL_OPEN_FILES,
  job: (deployment, timing) => flowJob(waiting(deployment), 1, { ...timing, latencyMs: 0 }),
  figure: cpuPerDelivery,
}

/**
 * Each client publishes to itself: by one connection, and back by another one, since no token of
 * the service allows both.
 */
function waiting(deployment: Deployment): FlowParts {
  const clients = Array.from({ length: CLIENTS }, (_, index) => index)
  const topicName = (index: number): string => eventTopic(deployment, index, 0)
  return {
    publishers: clients.map(() => networkServer(deployment)),
    receivers: clients.map((index) => ({ ...integrator(deployment, index), topicFilters: [topicName(index)] })),
    streams: clients.map((index) => ({ publisher: index, receivers: [index], topicNames: [topicName(index)] })),
    pace: { window: 1, perSecond: undefined },
  }
}
