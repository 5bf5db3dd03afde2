/**
 * A damage in a log's directory and the loss that it causes, in one form for two readers: the
 * start, which logs it, and `fieldgate check`.
 */
import { given } from '../../given.ts'
import { messageId } from '../../broker/ports/message.ts'
import type { Stretch } from '../segments/scan-records.ts'

/** Lost messages of one partition: the offsets from `from` (included) to `to` (excluded). */
export interface LostMessages {
  readonly partition: number
  readonly from: number
  readonly to: number
}

export interface LogDamage {
  /**
   * The damaged part. `records`: bytes of a segment are no records, or the file ends too early.
   * `head`: the head of a segment. `segment`: the file of a segment is missing. `index`: an index,
   * which is made again from its segment. `snapshot`, `snapshot_missing`: a part of the state.
   * `format`: the file `format`, whose content the segments hold as well.
   */
  readonly kind: 'records' | 'head' | 'segment' | 'index' | 'snapshot' | 'snapshot_missing' | 'format'
  /** The damaged file, relative to the log's directory. */
  readonly file: string
  /**
   * The damaged bytes of the file, ascending; the first 1,000 stretches. Empty if the whole file is
   * missing.
   */
  readonly stretches: readonly Stretch[]
  /** The messages that are known to be lost, by place; the first 1,000 runs. */
  readonly lost: readonly LostMessages[]
  /** The number of all known lost messages, including the runs that `lost` leaves out. */
  readonly lostMessages: number
  /**
   * The largest number of messages that may be lost besides: nobody knows which records the damaged
   * bytes held.
   */
  readonly furtherAtMost: number
  /**
   * The earliest and the latest time at which the lost messages may have been taken, ms since 1970;
   * undefined: unknown.
   */
  readonly betweenMs: readonly [from: number, to: number] | undefined
  /** The lost part of the state, as a sentence; empty: nothing is lost. */
  readonly state: string
}

/** The beginning of the sentence about the state if nothing of it is lost. */
export const NOTHING_OF_THE_STATE = 'Nothing of the state is lost'
/** The loss of the state if a segment is missing. */
export const STATE_OF_MISSING = 'Changes of the state that stood there are lost.'
/** The loss of the state if records that it needs are damaged. */
export const STATE_OF_RECORDS = 'Changes of the state that stood there, if any, are lost.'

/** The most runs of lost messages that are listed. */
const MAXIMUM_RUNS = 1_000
/** The most runs and stretches that a sentence names. */
const MAXIMUM_TOLD = 20

/** A damage with the given members; the others say that nothing is lost. */
export function damageOf(kind: LogDamage['kind'], file: string, found: Partial<LogDamage> = {}): LogDamage {
  const nothing = { stretches: [], lost: [], lostMessages: 0, furtherAtMost: 0, betweenMs: undefined, state: '' }
  const lostMessages = found.lost?.reduce((sum, { from, to }) => sum + to - from, 0) ?? 0
  const lost = found.lost?.slice(0, MAXIMUM_RUNS) ?? []
  return { kind, file, ...nothing, lostMessages, ...found, lost }
}

/** True if messages or a part of the state are lost. */
export function losesSomething({ lostMessages, furtherAtMost, state }: LogDamage): boolean {
  return lostMessages > 0 || furtherAtMost > 0 || (state !== '' && !state.startsWith(NOTHING_OF_THE_STATE))
}

/** The sum of the bytes of the listed stretches. */
export function bytesOf({ stretches }: LogDamage): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** One or two sentences for people: the damaged file, and the loss. */
export function describeDamage(damage: LogDamage): string {
  const { kind, file, stretches, state } = damage
  const what = {
    records: stretches.length === 0 ? 'messages are missing' : `${bytesText(stretches)} damaged`,
    head: 'its head is damaged; its records are read without it',
    segment: 'the file is missing',
    index: 'it is damaged; it is made again from its segment',
    snapshot: stretches.length === 0 ? 'it is not whole' : `${bytesText(stretches)} damaged`,
    snapshot_missing: 'there is no snapshot of the state, and the log does not go back to its beginning',
    format: 'it is damaged or missing; the segments hold its content as well',
  }[kind]
  return `${file}: ${what}. ${[lostText(damage), state].filter((text) => text !== '').join(' ')}`
}

/** The damage as fields of a log line. */
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
    ...given({ between: betweenMs?.map(timeText) }),
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

/** The ids are the ids of the events, so a reader can compare them with the events that it has. */
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
