/** Runs the rows against the brokers, round by round, and keeps the results. */
import { join } from 'node:path'
import type { BrokerKind, BrokerName, Workspace } from './brokers.ts'
import { besideProbe } from './disk-probe.ts'
import type { Answer, Job, JobQoS, JobResult } from './load/job.ts'
import type { Percentiles } from './load/latency-histogram.ts'
import { runJob } from './run-job.ts'
import type { Row, Timing } from './scenarios/scenario.ts'
import { median, medianRatio } from './statistics.ts'

/** A run of a row against a broker. */
export interface Run {
  readonly row: string
  readonly broker: BrokerName
  readonly round: number
  readonly outcome:
    | {
        readonly ok: true
        readonly figure: number
        readonly result: JobResult
        /** The disk's own syncs meanwhile; undefined where the broker waits for no disk. */
        readonly sync: Percentiles | undefined
      }
    | { readonly ok: false; readonly fault: string }
}

/**
 * Runs each row in turn. In each round of a row every broker has its turn, so that a machine that
 * is slow for a while is slow for all of them. `report` gets each run when it ends.
 */
export async function compare(
  rows: readonly Row[],
  brokers: readonly BrokerKind[],
  workspace: Workspace,
  options: { readonly runs: number; readonly timing: Timing },
  report: (run: Run) => void,
): Promise<readonly Run[]> {
  const runs: Run[] = []
  for (const row of rows) {
    for (let round = 0; round < Math.min(options.runs, row.maximumRuns); round += 1) {
      for (const broker of brokers) {
        const job = row.job(broker.prepare(workspace), options.timing)
        const { answer, sync } = await measure(broker, workspace, job)
        const run: Run = {
          row: row.title,
          broker: broker.name,
          round,
          outcome:
            answer.kind === 'result'
              ? { ok: true, figure: row.figure(answer.result), result: answer.result, sync }
              : { ok: false, fault: answer.text },
        }
        runs.push(run)
        report(run)
      }
    }
  }
  return runs
}

async function measure(
  broker: BrokerKind,
  workspace: Workspace,
  job: Job,
): Promise<{ readonly answer: Answer; readonly sync: Percentiles | undefined }> {
  if (!broker.isDurable) return { answer: await runJob(broker, workspace, job), sync: undefined }
  const directory = join(workspace.directory, 'service')
  const { result: answer, sync } = await besideProbe(directory, () => runJob(broker, workspace, job))
  return { answer, sync }
}

/** The rows of these scenarios and QoS; a row without its own QoS is always included. */
export function chooseRows(
  rows: readonly Row[],
  chosen: { readonly scenarios: readonly string[]; readonly qos: readonly JobQoS[] },
): readonly Row[] {
  return rows.filter(
    ({ scenario, qos }) => chosen.scenarios.includes(scenario) && (qos === undefined || chosen.qos.includes(qos)),
  )
}

/** A broker's figures in a row, by round; failed runs have none. */
function figuresOf(runs: readonly Run[], row: string, broker: BrokerName): ReadonlyMap<number, number> {
  const figures = new Map<number, number>()
  for (const run of runs) {
    if (run.row === row && run.broker === broker && run.outcome.ok) figures.set(run.round, run.outcome.figure)
  }
  return figures
}

/** The median of a broker's figures in a row; NaN if there are none. */
export function medianOf(runs: readonly Run[], row: string, broker: BrokerName): number {
  return median([...figuresOf(runs, row, broker).values()])
}

/**
 * The messages a second of each client of a row, and the median of their ratios to mosquitto's in
 * the same round.
 */
export function clientRates(
  runs: readonly Run[],
  { title, clients = NaN }: Row,
  broker: BrokerName,
): { readonly perSecond: number; readonly ofMosquittos: number } {
  const ratesOf = (name: BrokerName): ReadonlyMap<number, number> => {
    const rates = new Map<number, number>()
    for (const { row, broker: of, round, outcome } of runs) {
      if (row !== title || of !== name || !outcome.ok || outcome.result.kind !== 'flow') continue
      rates.set(round, outcome.result.published / outcome.result.seconds / clients)
    }
    return rates
  }
  const rates = ratesOf(broker)
  return { perSecond: median([...rates.values()]), ofMosquittos: medianRatio(rates, ratesOf('mosquitto')) }
}

/** A broker's figure compared with a row's bound. */
export interface Standing {
  /** The compared value in words: `0.48 × mosquitto`. */
  readonly text: string
  readonly bound: string
  /** Undefined: a figure is missing. */
  readonly isMet: boolean | undefined
}

/** Compares the broker with the row's bound; undefined: the row has no bound. */
export function standingOf(runs: readonly Run[], row: Row, broker: BrokerName): Standing | undefined {
  const { title, unit } = row
  const bound = broker === 'fieldgate-durable' ? (row.durableBound ?? row.bound) : row.bound
  if (bound === undefined) return undefined
  const figures = figuresOf(runs, title, broker)
  switch (bound.kind) {
    case 'ratio': {
      const ratio = medianRatio(figures, figuresOf(runs, title, 'mosquitto'))
      return standing(ratio, bound.maximum, '× mosquitto')
    }
    case 'absolute':
      return standing(median([...figures.values()]), bound.maximum, unit)
    case 'row': {
      const ratio = medianOf(runs, title, broker) / medianOf(runs, bound.row, broker)
      return standing(ratio, bound.maximum, `× ${bound.shortName}`)
    }
  }
}

function standing(value: number, maximum: number, of: string): Standing {
  const bound = `≤ ${maximum.toFixed(2).replace(/\.00$/, '')}`
  if (Number.isNaN(value)) return { text: '–', bound, isMet: undefined }
  return { text: `${value.toFixed(2)} ${of}`, bound, isMet: value <= maximum }
}
