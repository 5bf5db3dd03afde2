/** The steps of a diagnosis: the way of an event from the device to the client. */
import { timestamp } from '../api/fields.ts'

/** All steps, in the order of the way. */
export const STEPS = [
  'networkServer',
  'device',
  'events',
  'codec',
  'subscription',
  'token',
  'connection',
  'delivery',
] as const

export type StepName = (typeof STEPS)[number]

export const STEP_STATES = ['ok', 'problem', 'unknown'] as const

export type StepState = (typeof STEP_STATES)[number]

/** A step of the way, judged. */
export interface Step {
  readonly step: StepName
  readonly status: StepState
  /** Stable, for a problem: docs/why-no-data.md has a row for each; `""` otherwise. */
  readonly code: string
  /** Whole sentences for people. */
  readonly sentence: string
  /** The remedy, as a sentence; `""` where nothing is to be done. */
  readonly advice: string
  readonly facts: readonly Fact[]
}

/** A fact that the sentence rests on, for programs and for people who look closer. */
export interface Fact {
  readonly name: string
  readonly value: string
}

type Facts = Readonly<Record<string, string | number | null | undefined>>

/** The step is as it should be. */
export function ok(step: StepName, sentence: string, facts: Facts = {}): Step {
  return { step, status: 'ok', code: '', sentence, advice: '', facts: factsOf(facts) }
}

/** The step can't be judged. */
export function unknown(step: StepName, sentence: string, facts: Facts = {}): Step {
  return { step, status: 'unknown', code: '', sentence, advice: '', facts: factsOf(facts) }
}

/** The step is a cause of the silence. */
export function problem(step: StepName, code: string, [sentence, advice]: Told, facts: Facts = {}): Step {
  return { step, status: 'problem', code, sentence, advice, facts: factsOf(facts) }
}

/** A sentence, and the advice. */
export type Told = readonly [sentence: string, advice: string]

/** A time in a sentence or a fact; undefined where there is none. */
export function at(ms: number | null | undefined): string | undefined {
  return ms === null || ms === undefined ? undefined : timestamp(ms)
}

/** A clause as a sentence: with a capital, and with a full stop. */
export function asSentence(clause: string): string {
  const text = clause.charAt(0).toUpperCase() + clause.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function factsOf(facts: Facts): readonly Fact[] {
  return Object.entries(facts).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [{ name, value: String(value) }],
  )
}
