/** The figures of the runs: medians over the rounds, and ratios within them. */
import type { BrokerName } from './brokers/broker.ts'
import type { Run } from './compare.ts'
import type { JobResult } from './load/job.ts'
import type { Row } from './scenarios/scenario.ts'
import { median, medianRatio } from './statistics.ts'

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

/** The median of the ratios of a broker's figures to another's, in a row; NaN if there are none. */
export function ratioOf(runs: readonly Run[], row: string, broker: BrokerName, to: BrokerName): number {
  return medianRatio(figuresOf(runs, row, broker), figuresOf(runs, row, to))
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

/** The results of this kind that a broker had in a row. */
export function resultsOf<Kind extends JobResult['kind']>(
  runs: readonly Run[],
  { title }: Row,
  broker: BrokerName,
  kind: Kind,
): Extract<JobResult, { readonly kind: Kind }>[] {
  const isWanted = (result: JobResult): result is Extract<JobResult, { readonly kind: Kind }> => result.kind === kind
  return runs.flatMap(({ row, broker: of, outcome }) =>
    row === title && of === broker && outcome.ok && isWanted(outcome.result) ? [outcome.result] : [],
  )
}
