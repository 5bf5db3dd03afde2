/**
 * Holds Fieldgate's figures against the bounds, and beside the programs that show whose cost they
 * are.
 */
import type { BrokerKind, BrokerName } from './brokers/broker.ts'
import type { Run } from './compare.ts'
import { medianOf, ratioOf } from './figures.ts'
import type { Row } from './scenarios/scenario.ts'

/**
 * The most that the service in memory may cost, as a multiple of the core alone, which has its
 * messages in memory as well.
 */
const CORE_MAXIMUM = 1.15

/** A broker's figure compared with another figure or a bound. */
export interface Standing {
  /** In words, with the bound if there is one: `0.48 × mosquitto (≤ 0.50)`. */
  readonly text: string
  /** Undefined: there is no bound, or a figure is missing. */
  readonly isMet: boolean | undefined
}

const NONE: Standing = { text: '', isMet: undefined }

/** Compares the broker with the row's bound, or with mosquitto where the row has none. */
export function standingOf(runs: readonly Run[], row: Row, { name, isDurable }: BrokerKind): Standing {
  const { title, unit } = row
  const bound = isDurable ? (row.durableBound ?? row.bound) : row.bound
  switch (bound?.kind) {
    case undefined:
    case 'ratio':
      return standing(ratioOf(runs, title, name, 'mosquitto'), '× mosquitto', bound?.maximum)
    case 'absolute':
      return standing(medianOf(runs, title, name), unit, bound.maximum)
    case 'row': {
      const ratio = medianOf(runs, title, name) / medianOf(runs, bound.row, name)
      return standing(ratio, `× ${bound.shortName}`, bound.maximum)
    }
  }
}

/** The columns of a table of standings. */
export const STANDING_COLUMNS = [
  'scenario',
  'broker',
  'stands at',
  '× its runtime’s TLS alone',
  '× the core',
  '× mosquitto, persistent',
] as const

/**
 * The rows of that table, for each broker that has references. A column is empty where the broker
 * beside did not run.
 */
export function standingRows(
  runs: readonly Run[],
  rows: readonly Row[],
  brokers: readonly BrokerKind[],
): readonly (readonly string[])[] {
  return rows.flatMap((row) =>
    brokers.flatMap((broker) => {
      const { name, title, isDurable, references } = broker
      if (references === undefined) return []
      const beside = (to: BrokerName | undefined, maximum?: number): string =>
        to === undefined ? '' : cellOf(standing(ratioOf(runs, row.title, name, to), '', maximum))
      const { bare, core } = references
      return [
        [
          row.title,
          title,
          cellOf(standingOf(runs, row, broker)),
          beside(bare),
          beside(core, isDurable ? undefined : CORE_MAXIMUM),
          isDurable && row.persistentMaximum !== undefined ? beside('mosquitto-persistent', row.persistentMaximum) : '',
        ],
      ]
    }),
  )
}

function standing(value: number, of: string, maximum: number | undefined): Standing {
  if (Number.isNaN(value)) return NONE
  // A ratio of a few hundredths needs its third digit beside a bound with two.
  const figure = `${value.toFixed(value < 0.1 ? 3 : 2)} ${of}`.trim()
  if (maximum === undefined) return { text: figure, isMet: undefined }
  return { text: `${figure} (≤ ${maximum.toFixed(2).replace(/\.00$/, '')})`, isMet: value <= maximum }
}

function cellOf({ text, isMet }: Standing): string {
  if (isMet === undefined) return text
  return `${text} ${isMet ? '✓' : '✗'}`
}
