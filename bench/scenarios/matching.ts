/** S6: the cost of a PUBLISH beside subscriptions that it does not match. */
import {
  applicationTopicFilter,
  APPLICATIONS_OF_AN_ORGANIZATION,
  DEVICES_OF_AN_APPLICATION,
  eventTopic,
  integrator,
  networkServer,
} from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import type { FlowJob } from '../load/job.ts'
import { flowJob } from './flows.ts'
import type { FlowParts } from './flows.ts'
import { cpuPerDelivery, USUAL_OPEN_FILES } from './scenario.ts'
import type { Row } from './scenario.ts'

/** The subscriptions of each connection: the service allows no more. */
const SUBSCRIPTIONS_EACH = 1_000
const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const
const WINDOW = 500

/** One row for each number of subscriptions. */
export const matchingRows: readonly Row[] = SIZES.map((size) => ({
  title: titleOf(size),
  scenario: 's6',
  qos: undefined,
  unit: 'µs/publish',
  bound: size === 1_000_000 ? { kind: 'row', row: titleOf(1_000), shortName: 'with 1,000', maximum: 1.3 } : undefined,
  // A million subscriptions take half a minute to make.
  maximumRuns: 1,
  openFiles: USUAL_OPEN_FILES,
  job: (deployment, timing) => flowJob(matching(deployment, size), 0, { ...timing, latencyMs: 0 }),
  figure: cpuPerDelivery,
}))

function titleOf(size: number): string {
  return `S6 a publish beside ${size.toLocaleString('en')} other subscriptions`
}

/**
 * All clients belong to one organization, so that only topic matching keeps them apart: the topics
 * of its devices, and filters for as many silent devices.
 */
function matching(deployment: Deployment, size: number): FlowParts {
  const applications = Array.from({ length: APPLICATIONS_OF_AN_ORGANIZATION }, (_, index) => index)
  const topicNames = Array.from({ length: DEVICES_OF_AN_APPLICATION }, (_, device) =>
    applications.map((application) => eventTopic(deployment, application, device)),
  ).flat()
  const bystanders: FlowJob['bystanders'] = {
    ...integrator(deployment, 0),
    connections: size / SUBSCRIPTIONS_EACH,
    subscriptionsEach: SUBSCRIPTIONS_EACH,
    applicationIds: applications.map((application) => deployment.applicationIds[application] as string),
  }
  return {
    publishers: [networkServer(deployment)],
    receivers: [
      {
        ...integrator(deployment, 0),
        topicFilters: applications.map((application) => applicationTopicFilter(deployment, application)),
      },
    ],
    streams: [{ publisher: 0, receivers: [0], topicNames }],
    pace: { window: WINDOW, perSecond: undefined },
    warmUpMessages: topicNames.length,
    bystanders,
  }
}
