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
import type { Row, ScenarioName, Timing } from './scenario.ts'

/**
 * Messages of one publisher on their way: a device's gateway sends a few at a time, a network
 * server sends as many as fit.
 */
const FEW = 8
export const MANY = 500
/**
 * Messages on their way at a fixed rate. A broker that is further behind gets less than the rate.
 */
const PACED = 64
export const FAN = 100
const FAN_OUT = `fan-out 1 → ${FAN}`
const PAIRS = 200
const PAIRS_PER_SECOND = 20_000
const PACED_DELIVERIES_PER_SECOND = 10_000

export const QOS: readonly JobQoS[] = [0, 1]
/** The bounds by QoS, as multiples of mosquitto's figure: in memory, and durable. */
type Maxima = readonly [memory: number, durable: number]
const MAXIMA = {
  s1: [
    [0.55, 0.65],
    [0.5, 0.7],
  ],
  s2: [
    [0.06, 0.06],
    [0.12, 0.14],
  ],
  s3: [
    [1, 1.1],
    [0.85, 1],
  ],
  s7: [
    [0.9, 1],
    [0.8, 0.95],
  ],
} as const satisfies Readonly<Partial<Record<ScenarioName, readonly [Maxima, Maxima]>>>
/** The durable service may cost no more than a broker whose persistence syncs nothing. */
const PERSISTENT_MAXIMUM = 1

/** The rows of S1, S2, S3 and S7. */
export const flowRows: readonly Row[] = [
  ...QOS.map((qos) => row('s1', `fan-in ${FAN} → 1`, qos, atMost(MAXIMA.s1[qos]), fanIn)),
  ...QOS.map((qos) => row('s2', FAN_OUT, qos, atMost(MAXIMA.s2[qos]), fanOut)),
  ...QOS.map((qos) => row('s2', 'fan-out at 10,000 deliveries/s', qos, { bound: undefined }, pacedFanOut)),
  ...QOS.map((qos) =>
    row(
      's3',
      `${PAIRS} pairs at 20,000/s`,
      qos,
      { ...atMost(MAXIMA.s3[qos]), ...(qos === 1 ? { persistentMaximum: PERSISTENT_MAXIMUM } : {}) },
      pairs,
    ),
  ),
  ...QOS.map((qos) =>
    row('s7', '1 network server, 100,000 devices, 1,000 subscribers', qos, atMost(MAXIMA.s7[qos]), manyDevices),
  ),
]

/** The parts in which scenarios differ. */
export type FlowParts = Pick<FlowJob, 'publishers' | 'receivers' | 'streams' | 'pace'> &
  Partial<Pick<FlowJob, 'bystanders' | 'warmUpMessages'>>

type Bounds = Pick<Row, 'bound' | 'durableBound' | 'persistentMaximum'>
type MakeJob = (deployment: Deployment) => FlowParts

function row(scenario: ScenarioName, name: string, qos: JobQoS, bounds: Bounds, make: MakeJob): Row {
  return {
    title: titleOf(scenario, name, qos),
    scenario,
    qos,
    unit: 'µs/delivery',
    ...bounds,
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

/** The title of S2 flat out. */
export function fanOutTitle(qos: JobQoS): string {
  return titleOf('s2', FAN_OUT, qos)
}

function titleOf(scenario: ScenarioName, name: string, qos: JobQoS): string {
  return `${scenario.toUpperCase()} ${name}, QoS ${qos}`
}

function atMost([memory, durable]: Maxima): Bounds {
  return { bound: { kind: 'ratio', maximum: memory }, durableBound: { kind: 'ratio', maximum: durable } }
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

/** The values for the numbers from 0 to below the count. */
export function upTo<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}
