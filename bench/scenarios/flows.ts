/** S1: fan-in. S2: fan-out. S3: pairs. S7: one network server for many devices. */
import {
  applicationTopicFilter,
  APPLICATIONS,
  DEVICES_OF_AN_APPLICATION,
  eventTopic,
  integrator,
  networkServer,
} from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import type { FlowJob, JobQoS, Pace } from '../load/job.ts'
import { cpuPerDelivery, USUAL_OPEN_FILES } from './scenario.ts'
import type { Bound, Row, ScenarioName, Timing } from './scenario.ts'

/**
 * Messages of one publisher on their way: a device's gateway sends a few at a time, a network
 * server sends as many as fit.
 */
const FEW = 8
const MANY = 500
/**
 * Messages on their way at a fixed rate. A broker that is further behind gets less than the rate.
 */
const PACED = 64
const FAN = 100
const PAIRS = 200
const PAIRS_PER_SECOND = 20_000
const PACED_DELIVERIES_PER_SECOND = 10_000

const QOS: readonly JobQoS[] = [0, 1]
/** By QoS: the bounds of S1, and of S7, whose cost relative to mosquitto must not be higher. */
const FAN_IN_BOUNDS = [0.6, 0.55] as const
const DURABLE_FAN_IN_BOUNDS = [0.6, 0.95] as const

/** The rows of S1, S2, S3 and S7. */
export const flowRows: readonly Row[] = [
  ...QOS.map((qos) =>
    row('s1', `fan-in ${FAN} → 1`, qos, ratio(FAN_IN_BOUNDS[qos]), fanIn, ratio(DURABLE_FAN_IN_BOUNDS[qos])),
  ),
  ...QOS.map((qos) =>
    row('s2', `fan-out 1 → ${FAN}`, qos, ratio(qos === 0 ? 0.1 : 0.12), fanOut, ratio(qos === 0 ? 0.1 : 0.15)),
  ),
  ...QOS.map((qos) => row('s2', 'fan-out at 10,000 deliveries/s', qos, undefined, pacedFanOut)),
  ...QOS.map((qos) =>
    row('s3', `${PAIRS} pairs at 20,000/s`, qos, ratio(qos === 0 ? 1.2 : 1.05), pairs, ratio(qos === 0 ? 1.2 : 1.3)),
  ),
  ...QOS.map((qos) =>
    row(
      's7',
      '1 network server, 100,000 devices, 1,000 subscribers',
      qos,
      ratio(FAN_IN_BOUNDS[qos]),
      manyDevices,
      ratio(DURABLE_FAN_IN_BOUNDS[qos]),
    ),
  ),
]

/** The parts in which scenarios differ. */
export type FlowParts = Pick<FlowJob, 'publishers' | 'receivers' | 'streams' | 'pace'> &
  Partial<Pick<FlowJob, 'bystanders' | 'warmUpMessages'>>

type MakeJob = (deployment: Deployment) => FlowParts

function row(
  scenario: ScenarioName,
  name: string,
  qos: JobQoS,
  bound: Bound | undefined,
  make: MakeJob,
  durableBound?: Bound,
): Row {
  return {
    title: titleOf(scenario, name, qos),
    scenario,
    qos,
    unit: 'µs/delivery',
    bound,
    ...(durableBound === undefined ? {} : { durableBound }),
    // All devices of S7 must be seen once before its window begins.
    maximumRuns: scenario === 's7' ? 2 : Infinity,
    openFiles: USUAL_OPEN_FILES,
    job: (deployment, timing) => flowJob(make(deployment), qos, timing),
    figure: cpuPerDelivery,
  }
}

/**
 * At a fixed rate, the latency is taken within the window; without a rate, it is taken afterwards.
 */
export function flowJob(parts: FlowParts, qos: JobQoS, { warmUpMs, measureMs, latencyMs }: Timing): FlowJob {
  const after = parts.pace.perSecond === undefined ? latencyMs : 0
  return {
    kind: 'flow',
    qos,
    bystanders: undefined,
    warmUpMessages: 0,
    ...parts,
    warmUpMs,
    measureMs,
    latencyMs: after,
  }
}

function titleOf(scenario: ScenarioName, name: string, qos: JobQoS): string {
  return `${scenario.toUpperCase()} ${name}, QoS ${qos}`
}

function ratio(maximum: number): Bound {
  return { kind: 'ratio', maximum }
}

function fanIn(deployment: Deployment): FlowParts {
  return {
    publishers: upTo(FAN, () => networkServer(deployment)),
    receivers: [{ ...integrator(deployment, 0), topicFilters: [applicationTopicFilter(deployment, 0)] }],
    streams: upTo(FAN, (device) => ({
      publisher: device,
      receivers: [0],
      topicNames: [eventTopic(deployment, 0, device)],
    })),
    pace: { window: FEW, perSecond: undefined },
  }
}

function fanOut(deployment: Deployment): FlowParts {
  return fanOutAt(deployment, { window: MANY, perSecond: undefined })
}

function pacedFanOut(deployment: Deployment): FlowParts {
  return fanOutAt(deployment, { window: PACED, perSecond: PACED_DELIVERIES_PER_SECOND / FAN })
}

function fanOutAt(deployment: Deployment, pace: Pace): FlowParts {
  return {
    publishers: [networkServer(deployment)],
    receivers: upTo(FAN, () => ({
      ...integrator(deployment, 0),
      topicFilters: [applicationTopicFilter(deployment, 0)],
    })),
    streams: [{ publisher: 0, receivers: upTo(FAN, (index) => index), topicNames: [eventTopic(deployment, 0, 0)] }],
    pace,
  }
}

function pairs(deployment: Deployment): FlowParts {
  return {
    publishers: upTo(PAIRS, () => networkServer(deployment)),
    receivers: upTo(PAIRS, (index) => ({
      ...integrator(deployment, index),
      topicFilters: [eventTopic(deployment, index, 0)],
    })),
    streams: upTo(PAIRS, (index) => ({
      publisher: index,
      receivers: [index],
      topicNames: [eventTopic(deployment, index, 0)],
    })),
    pace: { window: PACED, perSecond: PAIRS_PER_SECOND },
  }
}

function manyDevices(deployment: Deployment): FlowParts {
  return {
    publishers: [networkServer(deployment)],
    receivers: upTo(APPLICATIONS, (application) => ({
      ...integrator(deployment, application),
      topicFilters: [applicationTopicFilter(deployment, application)],
    })),
    streams: upTo(APPLICATIONS, (application) => ({
      publisher: 0,
      receivers: [application],
      topicNames: upTo(DEVICES_OF_AN_APPLICATION, (device) => eventTopic(deployment, application, device)),
    })),
    pace: { window: MANY, perSecond: undefined },
    warmUpMessages: APPLICATIONS * DEVICES_OF_AN_APPLICATION,
  }
}

function upTo<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}
