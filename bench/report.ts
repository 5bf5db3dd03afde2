/** The report, for the terminal and for the document. */
import { spawnSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'
import type { BrokerKind } from './brokers/broker.ts'
import { runtimeVersions } from './brokers/runtimes.ts'
import type { Run } from './compare.ts'
import { table } from './markdown.ts'
import type { Row, Timing } from './scenarios/scenario.ts'
import { STANDING_COLUMNS, standingRows } from './standings.ts'
import {
  FLOW_COLUMNS,
  flowRows,
  figureRows,
  RETURN_COLUMNS,
  returnRows,
  WAITING_COLUMNS,
  waitingRows,
} from './tables.ts'

const MARKERS = { begin: '<!-- figures: npm run bench -- --write -->', end: '<!-- end of figures -->' }

/** The circumstances of a comparison. */
export interface Circumstances {
  readonly rows: readonly Row[]
  readonly brokers: readonly BrokerKind[]
  readonly timing: Timing
  readonly date: Date
}

/** The whole report, as Markdown that also reads well unrendered. */
export function report(runs: readonly Run[], circumstances: Circumstances): string {
  const { rows, brokers } = circumstances
  const sections: [text: string, head: readonly string[], rows: readonly (readonly string[])[]][] = [
    [
      'CPU time and memory, medians:',
      ['scenario', 'unit', ...brokers.map(({ title }) => title), 'runs'],
      figureRows(runs, rows, brokers),
    ],
    [
      'Fieldgate against its bounds, and beside the programs that show whose cost it is; medians of the ratios in each round:',
      STANDING_COLUMNS,
      standingRows(runs, rows, brokers),
    ],
    [
      'Throughput in that window, and latency: at half of that throughput for what went flat out, else in the window itself:',
      FLOW_COLUMNS,
      flowRows(runs, rows, brokers),
    ],
    [
      'Clients that wait for each acknowledgement before their next message:',
      WAITING_COLUMNS,
      waitingRows(runs, rows, brokers),
    ],
    [
      'Clients that are all cut and come back at once, while others send messages:',
      RETURN_COLUMNS,
      returnRows(runs, rows, brokers),
    ],
  ]
  const tables = sections.flatMap(([text, head, lines]) => (lines.length > 0 ? [text, table(head, lines)] : []))
  const faults = faultLines(runs)
  const faultTexts = faults.length > 0 ? ['Runs with a fault, which have no figure:', faults.join('\n')] : []
  return `${[circumstancesText(circumstances), ...tables, ...faultTexts].join('\n\n')}\n`
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

function circumstancesText({ brokers, timing, date }: Circumstances): string {
  const [cpu] = cpus()
  const machine = `${cpus().length} × ${cpu?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}`
  const versions = [...brokers.map(({ title, version }) => `${title}: ${version()}`), ...runtimeVersions()]
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout.trim()
  return [
    `- Date: ${date.toISOString().slice(0, 10)}${commit === '' ? '' : `, at commit ${commit}`}`,
    `- Machine: ${machine}; brokers and load generator share it`,
    `- Versions: ${versions.join('; ')}`,
    `- Measured window: ${timing.measureMs / 1000} s of each run, after ${timing.warmUpMs / 1000} s of load`,
  ].join('\n')
}

function faultLines(runs: readonly Run[]): string[] {
  return runs.flatMap(({ row, broker, round, outcome }) =>
    outcome.ok ? [] : [`- ${row}, ${broker}, round ${round + 1}: ${outcome.fault.replaceAll(/\s+/g, ' ')}`],
  )
}
