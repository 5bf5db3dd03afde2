/** The tables, for the terminal and for the document. */
import { spawnSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'
import type { BrokerKind, BrokerName } from './brokers.ts'
import { clientRates, medianOf, standingOf } from './compare.ts'
import type { Run } from './compare.ts'
import type { FlowResult } from './load/job.ts'
import type { Percentiles } from './load/latency-histogram.ts'
import type { Row } from './scenarios/scenario.ts'
import { median } from './statistics.ts'

/** The brokers whose figures are compared with the bounds. */
const BOUND_BROKERS: readonly BrokerName[] = ['fieldgate-service', 'fieldgate-durable', 'fieldgate']
const MARKERS = { begin: '<!-- figures: npm run bench -- --write -->', end: '<!-- end of figures -->' }

const FLOW_COLUMNS = [
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

/** The circumstances of a comparison. */
export interface Circumstances {
  readonly rows: readonly Row[]
  readonly brokers: readonly BrokerKind[]
  readonly seconds: number
  readonly date: Date
}

/** The whole report, as Markdown that also reads well unrendered. */
export function report(runs: readonly Run[], circumstances: Circumstances): string {
  const { rows, brokers } = circumstances
  const sections = [
    circumstancesText(circumstances),
    'CPU time and memory, medians; the bounds hold for the service, with its engine in memory and on disk:',
    table(
      ['scenario', 'unit', ...brokers.map(({ title }) => title), ...boundTitles(brokers)],
      figureRows(runs, rows, brokers),
    ),
  ]
  const flows = flowRowsOf(runs, rows, brokers)
  if (flows.length > 0) {
    sections.push(
      'Throughput in that window, and latency: at half of that throughput for what went flat out, else in the window itself:',
      table(FLOW_COLUMNS, flows),
    )
  }
  const waiting = waitingRowsOf(runs, rows, brokers)
  if (waiting.length > 0) {
    sections.push(
      'Clients that wait for each acknowledgement before their next message:',
      table(
        ['scenario', 'broker', 'messages/s of each client', '× mosquitto', 'µs CPU each', 'PUBACK p50 ms', 'p99 ms'],
        waiting,
      ),
    )
  }
  const faults = faultLines(runs)
  if (faults.length > 0) sections.push('Runs with a fault, which have no figure:', faults.join('\n'))
  return `${sections.join('\n\n')}\n`
}

/** One run as a line for the terminal. */
export function runLine({ row, broker, round, outcome }: Run, unit: string): string {
  const what = `${row}  #${round + 1}  ${broker}`.padEnd(86)
  return outcome.ok ? `${what} ${outcome.figure.toFixed(2)} ${unit}` : `${what} FAULT: ${outcome.fault}`
}

/** The document with these figures between its markers. Throws if it has no markers. */
export function withFigures(document: string, figures: string): string {
  const begin = document.indexOf(MARKERS.begin)
  const end = document.indexOf(MARKERS.end)
  if (begin < 0 || end < begin) throw new Error(`the document lacks ${MARKERS.begin} and ${MARKERS.end}`)
  return `${document.slice(0, begin + MARKERS.begin.length)}\n\n${figures}\n${document.slice(end)}`
}

function circumstancesText({ brokers, seconds, date }: Circumstances): string {
  const [cpu] = cpus()
  const machine = `${cpus().length} × ${cpu?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}`
  const versions = brokers.map(({ title, version }) => `${title} ${version()}`).join(', ')
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout.trim()
  return [
    `- Date: ${date.toISOString().slice(0, 10)}${commit === '' ? '' : `, at commit ${commit}`}`,
    `- Machine: ${machine}; brokers and load generator share it`,
    `- Versions: ${versions}; Node ${process.versions.node} with OpenSSL ${process.versions.openssl}`,
    `- Measured window: ${seconds} s of each run`,
  ].join('\n')
}

function boundTitles(brokers: readonly BrokerKind[]): string[] {
  return [...boundBrokers(brokers).map(({ title }) => `${title} stands at`), 'runs']
}

function boundBrokers(brokers: readonly BrokerKind[]): BrokerKind[] {
  return BOUND_BROKERS.flatMap((name) => brokers.filter((broker) => broker.name === name))
}

function figureRows(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.map((row) => {
    const bounded = boundBrokers(brokers).map(({ name }) => standingOf(runs, row, name))
    const standings = bounded.map((standing) =>
      standing === undefined ? '' : `${standing.text} (${standing.bound})${mark(standing.isMet)}`,
    )
    const rounds = new Set(runs.filter((run) => run.row === row.title).map(({ round }) => round)).size
    return [
      row.title,
      row.unit,
      ...brokers.map(({ name }) => figure(medianOf(runs, row.title, name))),
      ...standings,
      String(rounds),
    ]
  })
}

function mark(isMet: boolean | undefined): string {
  if (isMet === undefined) return ''
  return isMet ? ' ✓' : ' ✗'
}

function flowRowsOf(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.flatMap((row) =>
    brokers.flatMap(({ name, title }) => {
      const flows = flowsOf(runs, row, name)
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
function waitingRowsOf(runs: readonly Run[], rows: readonly Row[], brokers: readonly BrokerKind[]): string[][] {
  return rows.flatMap((row) => {
    if (row.clients === undefined) return []
    return brokers.flatMap(({ name, title }) => {
      const flows = flowsOf(runs, row, name)
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

function flowsOf(runs: readonly Run[], row: Row, name: BrokerName): FlowResult[] {
  return runs.flatMap(({ row: of, broker, outcome }) =>
    of === row.title && broker === name && outcome.ok && outcome.result.kind === 'flow' ? [outcome.result] : [],
  )
}

function faultLines(runs: readonly Run[]): string[] {
  return runs.flatMap(({ row, broker, round, outcome }) =>
    outcome.ok ? [] : [`- ${row}, ${broker}, round ${round + 1}: ${outcome.fault.replaceAll(/\s+/g, ' ')}`],
  )
}

/** Three significant digits are more than the machine's precision. */
function figure(value: number): string {
  if (Number.isNaN(value)) return '–'
  if (value >= 100) return value.toFixed(0)
  return value.toFixed(value >= 10 ? 1 : 2)
}

/** A table whose columns are as wide as their content, so that it reads well unrendered. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n')
}
