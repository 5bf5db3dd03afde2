/** Writes and reads the values of bounds, in the units in which people think. */
import { NEAR_SHARE, usedShare } from '../../../src/organization-bounds.ts'
import type { BoundDefinition, BoundUnit } from '../../../src/organization-bounds.ts'

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const TENTHS = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** A step of a unit: `MiB` for bytes. */
export interface Step {
  readonly label: string
  readonly size: number
}

const BYTE_STEPS: readonly Step[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB'].map((label, power) => ({
  label,
  size: 1024 ** power,
}))

const SECOND = ' a second'

/** The part of a unit that stands behind its step or its number: ` a second`. */
export function suffixOf(unit: BoundUnit): string {
  if (unit === 'ms per second') return ` ms${SECOND}`
  return unit === 'count' || unit === 'bytes' ? '' : SECOND
}

/** The steps that a value can be given in. A unit without steps has none. */
export function stepsOf(unit: BoundUnit): readonly Step[] {
  return unit === 'bytes' || unit === 'bytes per second' ? BYTE_STEPS : []
}

/** Writes `12,340`, `12.3 MiB` or `8 MiB a second`. */
export function quantity(value: number, unit: BoundUnit): string {
  return stepped(value, unit) + suffixOf(unit)
}

/** Writes `12,340 of 50,000`, `12.3 MiB of 32 MiB` or `40 of 5,000 a second`. */
export function usePart(used: number, maximum: number, unit: BoundUnit): string {
  return `${stepped(used, unit)} of ${quantity(maximum, unit)}`
}

function stepped(value: number, unit: BoundUnit): string {
  const step = stepsOf(unit).findLast(({ size }) => value >= size) ?? stepsOf(unit)[0]
  return step === undefined ? short(value) : `${short(value / step.size)} ${step.label}`
}

function short(value: number): string {
  return (value < 100 ? TENTHS : WHOLE).format(value)
}

/** Writes the share of a bound that is used, rounded down: `100 %` means that nothing is left. */
export function percentText(used: number, maximum: number): string {
  const share = usedShare(used, maximum)
  return Number.isFinite(share) ? `${WHOLE.format(Math.floor(share * 100))} %` : 'over 100 %'
}

/** How near a use is to its bound. */
export type Nearness = 'far' | 'near' | 'at'

/**
 * A use in a second is an average, and wavers a little below the bound while the bound has its
 * effect.
 */
const AT_SHARE_OF_RATES = 0.95

/** Judges a use. A use that nobody counts is far. */
export function nearnessOf(used: number | null, maximum: number, unit: BoundUnit): Nearness {
  if (used === null) return 'far'
  const share = usedShare(used, maximum)
  if (share >= (isRate(unit) ? AT_SHARE_OF_RATES : 1)) return 'at'
  return share >= NEAR_SHARE ? 'near' : 'far'
}

/** True for a bound on work in a second; false for a bound on things that are kept. */
export function isRate(unit: BoundUnit): boolean {
  return suffixOf(unit) !== ''
}

/** A value as a person types it: `1.5` and `MiB`. */
export interface Typed {
  readonly text: string
  /** The label of a step; "" for a unit without steps. */
  readonly step: string
}

/** The exact text of a value, in the largest step that needs no fraction. */
export function typedOf(value: number, unit: BoundUnit): Typed {
  const step = stepsOf(unit).findLast(({ size }) => value >= size && value % size === 0) ?? stepsOf(unit)[0]
  return { text: String(value / (step?.size ?? 1)), step: step?.label ?? '' }
}

/** A value that was read, or a sentence about the fault of the text. */
export type Reading = { readonly ok: true; readonly value: number } | { readonly ok: false; readonly fault: string }

/** Commas stand between thousands only, as the console writes them. */
const NUMBER = /^(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$/

/** The unit of a bound, and the values that it can have. */
type Range = Pick<BoundDefinition, 'unit' | 'minimum' | 'maximum'>

/** Writes `1 to 10,000,000 a second`. */
export function rangeText({ unit, minimum, maximum }: Range): string {
  return `${stepped(minimum, unit)} to ${quantity(maximum, unit)}`
}

/** Reads a value that a person typed, and checks its range. */
export function readTyped({ text, step }: Typed, definition: Range): Reading {
  const { unit, minimum, maximum } = definition
  const trimmed = text.trim()
  const size = stepsOf(unit).find(({ label }) => label === step)?.size
  if (!NUMBER.test(trimmed)) return { ok: false, fault: 'Write a number, such as 20000.' }
  const number = Number(trimmed.replaceAll(',', ''))
  if (size === undefined && Math.trunc(number) !== number) return { ok: false, fault: 'Write a whole number.' }
  const value = Math.round(number * (size ?? 1))
  if (value >= minimum && value <= maximum) return { ok: true, value }
  return { ok: false, fault: `Choose a value from ${rangeText(definition)}.` }
}
