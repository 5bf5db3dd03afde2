/** S10: all applications of an organization by one subscription, beside a subscription to each. */
import {
  ALL_APPLICATIONS_TOPIC_FILTER,
  applicationTopicFilter,
  APPLICATIONS_OF_AN_ORGANIZATION,
  DEVICES_OF_AN_APPLICATION,
  eventTopic,
  integrator,
  networkServer,
  readerOfAllApplications,
} from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import type { JobQoS, Subscriber } from '../load/job.ts'
import { FAN, fanOutTitle, flowJob, MANY, QOS, upTo } from './flows.ts'
import type { FlowParts } from './flows.ts'
import { cpuPerDelivery, USUAL_OPEN_FILES } from './scenario.ts'
import type { Bound, Row } from './scenario.ts'

/** The most that the one subscription may cost, as a multiple of one to each application. */
const MAXIMUM = 1.1

/** The rows of S10, those with the one subscription behind those that they are compared with. */
export const oneSubscriptionRows: readonly Row[] = [
  ...QOS.map((qos) => row(`fan-out 1 → ${FAN}, each to all applications`, qos, fanOut, within(fanOutTitle(qos), 'S2'))),
  ...QOS.map((qos) => row('10,000 devices → 1, by 100 subscriptions', qos, bySubscriptionToEach, undefined)),
  ...QOS.map((qos) =>
    row(
      '10,000 devices → 1, by one subscription',
      qos,
      bySubscriptionToAll,
      within(titleOf('10,000 devices → 1, by 100 subscriptions', qos), 'by 100 subscriptions'),
    ),
  ),
]

function row(name: string, qos: JobQoS, make: (deployment: Deployment) => FlowParts, bound: Bound | undefined): Row {
  return {
    title: titleOf(name, qos),
    scenario: 's10',
    qos,
    unit: 'µs/delivery',
    bound,
    openFiles: USUAL_OPEN_FILES,
    job: (deployment, timing) => flowJob(make(deployment), qos, timing),
    figure: cpuPerDelivery,
  }
}

function titleOf(name: string, qos: JobQoS): string {
  return `S10 ${name}, QoS ${qos}`
}

function within(title: string, shortName: string): Bound {
  return { kind: 'row', row: title, shortName, maximum: MAXIMUM }
}

function fanOut(deployment: Deployment): FlowParts {
  return {
    publishers: [networkServer(deployment)],
    receivers: upTo(FAN, () => ({
      ...readerOfAllApplications(deployment, 0),
      topicFilters: [ALL_APPLICATIONS_TOPIC_FILTER],
    })),
    streams: [{ publisher: 0, receivers: upTo(FAN, (index) => index), topicNames: [eventTopic(deployment, 0, 0)] }],
    pace: { window: MANY, perSecond: undefined },
  }
}

function bySubscriptionToEach(deployment: Deployment): FlowParts {
  const topicFilters = upTo(APPLICATIONS_OF_AN_ORGANIZATION, (index) => applicationTopicFilter(deployment, index))
  return allDevicesTo(deployment, { ...integrator(deployment, 0), topicFilters })
}

function bySubscriptionToAll(deployment: Deployment): FlowParts {
  const topicFilters = [ALL_APPLICATIONS_TOPIC_FILTER]
  return allDevicesTo(deployment, { ...readerOfAllApplications(deployment, 0), topicFilters })
}

/** The devices of an organization, in the order of S7: a stream for each application. */
function allDevicesTo(deployment: Deployment, receiver: Subscriber): FlowParts {
  return {
    publishers: [networkServer(deployment)],
    receivers: [receiver],
    streams: upTo(APPLICATIONS_OF_AN_ORGANIZATION, (application) => ({
      publisher: 0,
      receivers: [0],
      topicNames: upTo(DEVICES_OF_AN_APPLICATION, (device) => eventTopic(deployment, application, device)),
    })),
    pace: { window: MANY, perSecond: undefined },
    warmUpMessages: APPLICATIONS_OF_AN_ORGANIZATION * DEVICES_OF_AN_APPLICATION,
  }
}
