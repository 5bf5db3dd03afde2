/**
 * What is found damaged in a log's directory, and what is lost by it: in one form for the start,
 * which logs it, and for `fieldgate check`.
 */
import { messageId } from '../../broker/ports/message.ts'
import type { Stretch } from '../segments/scan-records.ts'

/** Messages of a partition that are lost: their offsets, from one up to another. */
export interface LostMessages {
  readonly partition: number
  readonly from: number
  readonly to: number
}

export interface LogDamage {
  /**
   * `records`: bytes of a segment are no records, or the file ends too early. `head`: the head of a
   * segment. `segment`: the file of a segment is missing. `index`: made again from its segment.
   * `snapshot`, `snapshot_missing`: a part of the state. `format`: its content stands in the
   * segments as well.
   */
  readonly kind: 'records' | 'head' | 'segment' | 'index' | 'snapshot' | 'snapshot_missing' | 'format'
  /** The damaged file, relative to the log's directory. */
  readonly file: string
  /**
   * The damaged bytes of the file, ascending; the first 1,000 stretches. Empty where all of it is
   * missing.
   */
  readonly stretches: readonly Stretch[]
  /** The messages that are known to be lost, by place; the first 1,000 runs. */
  readonly lost: readonly LostMessages[]
  /** All of these. */
  readonly lostMessages: number
  /** So many messages at most are lost besides: nobody knows what stood in the damaged bytes. */
  readonly furtherAtMost: number
  /**
   * Between which times the lost messages were taken, ms since 1970; undefined where nothing tells.
   */
  readonly betweenMs: readonly [from: number, to: number] | undefined
  /** What is lost of the state, in words; empty: nothing. */
  readonly state: string
}

/** How the words on a loss of the state begin where there is none. */
export const NOTHING_OF_THE_STATE = 'Nothing of the state is lost'

/** Runs that are listed. */
const MAXIMUM_RUNS = 1_000
/** Runs and stretches that a sentence names. */
const MAXIMUM_TOLD = 20

/** A damage by which nothing is lost, to be completed. */
export function damageOf(kind: LogDamage['kind'], file: string, found: Partial<LogDamage> = {}): LogDamage {
  const nothing = { stretches: [], lost: [], lostMessages: 0, furtherAtMost: 0, betweenMs: undefined, state: '' }
  const lostMessages = found.lost?.reduce((sum, { from, to }) => sum + to - from, 0) ?? 0
  const lost = found.lost?.slice(0, MAXIMUM_RUNS) ?? []
  return { kind, file, ...nothing, lostMessages, ...found, lost }
}

/** True where messages or a part of the state are lost. */
export function losesSomething({ lostMessages, furtherAtMost, state }: LogDamage): boolean {
  return lostMessages > 0 || furtherAtMost > 0 || (state !== '' && !state.startsWith(NOTHING_OF_THE_STATE))
}

/** Damaged bytes that are listed. */
export function bytesOf({ stretches }: LogDamage): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** A sentence or two for people: what is damaged, and what is lost. */
export function describeDamage(damage: LogDamage): string {
  const { kind, file, stretches, state } = damage
  const what = {
    records: stretches.length === 0 ? 'messages are missing' : `${bytesText(stretches)} damaged`,
    head: 'its head is damaged; its records are read without it',
    segment: 'the file is missing',
    index: 'it is damaged; it is made again from its segment',
    snapshot: stretches.length === 0 ? 'it is not whole' : `${bytesText(stretches)} damaged`,
    snapshot_missing: 'there is no snapshot of the state, and the log does not go back to its beginning',
    format: 'it is damaged or missing; what it said stands in the segments as well',
  }[kind]
  return `${file}: ${what}. ${[lostText(damage), state].filter((text) => text !== '').join(' ')}`
}

/** As the fields of a log line. */
export function damageFields(damage: LogDamage): Readonly<Record<string, unknown>> {
  const { kind, file, stretches, lost, lostMessages, furtherAtMost, betweenMs, state } = damage
  return {
    kind,
    file,
    bytes: bytesOf(damage),
    ...(stretches.length === 0
      ? {}
      : { stretches: stretches.slice(0, MAXIMUM_TOLD).map(({ from, to }) => [from, to]) }),
    lostMessages,
    ...(furtherAtMost === 0 ? {} : { furtherAtMost }),
    ...(lost.length === 0 ? {} : { lost: lost.slice(0, MAXIMUM_TOLD).map(runText) }),
    ...(betweenMs === undefined ? {} : { between: betweenMs.map(timeText) }),
    ...(state === '' ? {} : { state }),
  }
}

function lostText({ kind, lost, lostMessages, furtherAtMost, betweenMs, state }: LogDamage): string {
  if (lostMessages === 0 && furtherAtMost === 0) {
    const mayHoldState = kind === 'records' || kind === 'segment'
    if (state !== '') return ''
    return mayHoldState ? 'No message is lost.' : 'Nothing is lost.'
  }
  const known = lostMessages === 0 ? '' : `${lostMessages} ${lostMessages === 1 ? 'message is' : 'messages are'} lost`
  const further = furtherAtMost === 0 ? '' : `${known === '' ? '' : ' and '}${furtherAtMost} more at most`
  const taken = betweenMs === undefined ? '' : `, taken between ${betweenMs.map(timeText).join(' and ')}`
  const runs = lost.slice(0, MAXIMUM_TOLD).map(runText)
  const rest = lost.length > MAXIMUM_TOLD ? ', …' : ''
  const subject = known === '' ? `${furtherAtMost} messages at most are lost` : `${known}${further}`
  return `${subject}${taken}${runs.length === 0 ? '' : `: ${runs.join(', ')}${rest}`}.`
}

/** The ids are those of the events: a reader that has one knows that it has the event. */
function runText({ partition, from, to }: LostMessages): string {
  const offsets = to - from === 1 ? `offset ${from}` : `offsets ${from} to ${to - 1}`
  const ids = [messageId(partition, from), ...(to - from === 1 ? [] : [messageId(partition, to - 1)])]
  return `partition ${partition} ${offsets} (id ${ids.join(' to ')})`
}

function bytesText(stretches: readonly Stretch[]): string {
  const told = stretches.slice(0, MAXIMUM_TOLD).map(({ from, to }) => `${from} to ${to - 1}`)
  const bytes = stretches.reduce((sum, { from, to }) => sum + to - from, 0)
  const rest = stretches.length > MAXIMUM_TOLD ? ', …' : ''
  return `${bytes} bytes (${told.join(', ')}${rest}) are`
}

function timeText(ms: number): string {
  return Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : 'an unknown time'
}
