/** Reads and writes the interval between two imports, in the units in which people think. */

const UNITS = [
  { label: 'seconds', one: 'second', seconds: 1 },
  { label: 'minutes', one: 'minute', seconds: 60 },
  { label: 'hours', one: 'hour', seconds: 3_600 },
  { label: 'days', one: 'day', seconds: 86_400 },
] as const

/** The name of a unit, in the plural. */
export type IntervalUnit = (typeof UNITS)[number]['label']

/** The units, the smallest one first. */
export const INTERVAL_UNITS: readonly IntervalUnit[] = UNITS.map(({ label }) => label)

/** An interval as a person types it: `1.5` and `hours`. */
export interface TypedInterval {
  readonly text: string
  readonly unit: IntervalUnit
}

/** The interval of somebody who chooses none. */
export const EVERY_HOUR: TypedInterval = { text: '1', unit: 'hours' }

/** The bounds of the service: 5 minutes and 7 days. */
const SHORTEST_SECONDS = 300
const LONGEST_SECONDS = 604_800
const RANGE = '5 minutes to 7 days'

/** Seconds that were read, or a sentence about the fault of the text. */
export type IntervalReading =
  | { readonly ok: true; readonly seconds: number }
  | { readonly ok: false; readonly fault: string }

/** Writes an interval in the largest unit that needs no fraction. */
export function typedInterval(seconds: number): TypedInterval {
  const { label, seconds: size } = unitOf(seconds)
  return { text: String(seconds / size), unit: label }
}

/** Reads an interval, and checks its range. */
export function readInterval({ text, unit }: TypedInterval): IntervalReading {
  const trimmed = text.trim()
  if (!/^\d+(?:\.\d+)?$/.test(trimmed)) return { ok: false, fault: 'Write a number, such as 2.' }
  const size = UNITS.find(({ label }) => label === unit)?.seconds ?? 1
  const seconds = Math.round(Number(trimmed) * size)
  if (seconds >= SHORTEST_SECONDS && seconds <= LONGEST_SECONDS) return { ok: true, seconds }
  return { ok: false, fault: `Choose an interval from ${RANGE}.` }
}

/** Writes `every hour` or `every 90 minutes`. */
export function everyText(seconds: number): string {
  const { label, one, seconds: size } = unitOf(seconds)
  return seconds === size ? `every ${one}` : `every ${seconds / size} ${label}`
}

function unitOf(seconds: number): (typeof UNITS)[number] {
  return UNITS.findLast(({ seconds: size }) => seconds >= size && seconds % size === 0) ?? UNITS[0]
}
