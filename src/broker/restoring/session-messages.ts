/**
 * The messages between nodes about Sessions that move: JSON, since the records are JSON as well.
 */
import type { StateEntry } from '../ports/engine.ts'

/** Asks the home of a Session for it, or for a further page of it. */
export interface LeaveRequest {
  /** The key of the Session. */
  readonly key: string
  /** The page of the Session's records, from 0 on. */
  readonly page: number
}

/** The Session has left its home, or there was none. */
export interface LeaveAnswer {
  /** The records of this page; no records at all: there was no Session. */
  readonly entries: readonly StateEntry[]
  readonly pages: number
  /** By partition: the offset after the last message that the Session’s home had routed. */
  readonly tails: readonly number[]
}

export function encodeLeaveRequest(request: LeaveRequest): Buffer {
  return Buffer.from(JSON.stringify(request))
}

export function decodeLeaveRequest(body: Buffer): LeaveRequest {
  return JSON.parse(body.toString()) as LeaveRequest
}

interface WireAnswer extends Omit<LeaveAnswer, 'entries'> {
  readonly entries: readonly (readonly [key: string, text: string])[]
}

export function encodeLeaveAnswer({ entries, pages, tails }: LeaveAnswer): Buffer {
  const wire: WireAnswer = { entries: entries.map(({ key, value }) => [key, value.toString()]), pages, tails }
  return Buffer.from(JSON.stringify(wire))
}

export function decodeLeaveAnswer(body: Buffer): LeaveAnswer {
  const { entries, pages, tails } = JSON.parse(body.toString()) as WireAnswer
  return { entries: entries.map(([key, text]) => ({ key, value: Buffer.from(text) })), pages, tails }
}
