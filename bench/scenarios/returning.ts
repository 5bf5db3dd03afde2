/** S9: clients that lose their connections all at once, and come back all at once. */
import { eventTopic, integrator, networkServer } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import type { FlowJob } from '../load/job.ts'
import { flowJob } from './flows.ts'
import type { Row, Timing } from './scenario.ts'

const CONNECTIONS = 10_000
const PAIRS = 20
const PAIRS_PER_SECOND = 1_000
/**
 * The messages of a pair on their way. A broker that stands still for 20 seconds still gets each
 * message when it is due, so that no wait is left out of the latency.
 */
const WINDOW = 1_000

/** The row of S9; its figure is the time until the last client is back. */
export const returningRow: Row = {
  title: `S9 ${CONNECTIONS.toLocaleString('en')} clients that come back at once`,
  scenario: 's9',
  qos: undefined,
  unit: 's until all are back',
  bound: undefined,
  // The broker may still hold the connections that were cut.
  openFiles: 2 * CONNECTIONS,
  job: (deployment, timing) => ({
    kind: 'return',
    connections: CONNECTIONS,
    clients: deployment.tokens.map((credentials) => ({ credentials })),
    others: pairs(deployment, timing),
  }),
  figure: (result) => (result.kind === 'return' ? result.seconds : NaN),
}

function pairs(deployment: Deployment, timing: Timing): FlowJob {
  const numbers = Array.from({ length: PAIRS }, (_, index) => index)
  const topicName = (index: number): string => eventTopic(deployment, index, 0)
  const parts = {
    publishers: numbers.map(() => networkServer(deployment)),
    receivers: numbers.map((index) => ({ ...integrator(deployment, index), topicFilters: [topicName(index)] })),
    streams: numbers.map((index) => ({ publisher: index, receivers: [index], topicNames: [topicName(index)] })),
    pace: { window: WINDOW, perSecond: PAIRS_PER_SECOND },
  }
  return flowJob(parts, 1, timing)
}
