/** The rows of the report's tables. */
import type { BrokerKind, BrokerName } from './brokers/broker.ts'
import type { Run } from './compare.ts'
import { clientRates, medianOf, resultsOf } from './figures.ts'
import type { FlowResult, ReturnResult } from './load/job.ts'
import type { Percentiles } from './load/latency-histogram.ts'
import { figure } from './markdown.ts'
import type { Row } from './scenarios/scenario.ts'
import { median } from './statistics.ts'

export const FLOW_COLUMNS = [
  'scenario',
  'broker',
  'deliveries/s',
  'broker’s CPUs',
  'generator’s CPUs',
  'p50 ms',
  'p99 ms',
  'greatest ms',
  'disk’s own sync, p50 ms',
  'p99 ms',
] as const

export const WAITING_COLUMNS = [
  'scenario',
  'broker',
  'messages/s of each client',
  '× mosquitto',
  'µs CPU each',
  'PUBACK p50 ms',
  'p99 ms',
] as const

export const RETURN_COLUMNS = [
  'scenario',
  'broker',
  'all are back after s',
  'failed attempts',
  'broker’s CPU s',
  'others’ messages, p50 ms',
  'p99 ms',
  'greatest ms',
] as const

/** The median of each broker in each row. */
export function figureRows(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.map((row) => {
    const rounds = new Set(runs.filter((run) => run.row === row.title).map(({ round }) => round)).size
    return [row.title, row.unit, ...brokers.map(({ name }) => figure(medianOf(runs, row.title, name))), String(rounds)]
  })
}

/** Throughput and latency. */
export function flowRows(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.flatMap((row) =>
    brokers.flatMap(({ name, title }) => {
      const flows = resultsOf(runs, row, name, 'flow')
      if (flows.length === 0) return []
      const middle = (of: (flow: FlowResult) => number): number => median(flows.map(of))
      return [
        [
          row.title,
          title,
          Math.round(middle((flow) => flow.deliveries / flow.seconds)).toLocaleString('en'),
          figure(middle((flow) => flow.brokerCpuNs / 1e9 / flow.seconds)),
          figure(middle((flow) => flow.generatorCpuNs / 1e9 / flow.seconds)),
          figure(middle((flow) => flow.latency.p50)),
          figure(middle((flow) => flow.latency.p99)),
          figure(middle((flow) => flow.latency.maximum)),
          ...syncFigures(runs, row, name),
        ],
      ]
    }),
  )
}

/** The medians of the disk's own times beside the broker; empty where it waits for no disk. */
function syncFigures(runs: readonly Run[], row: Row, name: BrokerName): string[] {
  const syncs = runs.flatMap(({ row: of, broker, outcome }) =>
    of === row.title && broker === name && outcome.ok && outcome.sync !== undefined ? [outcome.sync] : [],
  )
  if (syncs.length === 0) return ['', '']
  const middle = (of: (sync: Percentiles) => number): string => figure(median(syncs.map(of)))
  return [middle(({ p50 }) => p50), middle(({ p99 }) => p99)]
}

/** The rows in which the rate of each client counts. */
export function waitingRows(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.flatMap((row) => {
    if (row.clients === undefined) return []
    return brokers.flatMap(({ name, title }) => {
      const flows = resultsOf(runs, row, name, 'flow')
      if (flows.length === 0) return []
      const { perSecond, ofMosquittos } = clientRates(runs, row, name)
      return [
        [
          row.title,
          title,
          figure(perSecond),
          figure(ofMosquittos),
          figure(medianOf(runs, row.title, name)),
          figure(median(flows.map(({ acknowledgement }) => acknowledgement.p50))),
          figure(median(flows.map(({ acknowledgement }) => acknowledgement.p99))),
        ],
      ]
    })
  })
}

/** The rows in which all clients come back at once. */
export function returnRows(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.flatMap((row) =>
    brokers.flatMap(({ name, title }) => {
      const results = resultsOf(runs, row, name, 'return')
      if (results.length === 0) return []
      const middle = (of: (result: ReturnResult) => number): string => figure(median(results.map(of)))
      return [
        [
          row.title,
          title,
          middle(({ seconds }) => seconds),
          String(median(results.map(({ failedAttempts }) => failedAttempts))),
          middle(({ brokerCpuNs }) => brokerCpuNs / 1e9),
          middle(({ latency }) => latency.p50),
          middle(({ latency }) => latency.p99),
          middle(({ latency }) => latency.maximum),
        ],
      ]
    }),
  )
}
