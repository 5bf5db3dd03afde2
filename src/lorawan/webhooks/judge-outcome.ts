/** The meaning of a request's outcome for the delivery and for its webhook. */
import type { WebhookOutcome } from './webhook-request.ts'

export type Verdict =
  | { readonly kind: 'delivered' }
  /** The receiver wants nothing any more. */
  | { readonly kind: 'gone'; readonly code: string; readonly reason: string }
  /** The receiver is there, and will not take these events. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }
  /** The receiver can't be reached, or is overloaded: other events would fail as well. */
  | { readonly kind: 'away'; readonly code: string; readonly reason: string; readonly retryAfterMs: number }
  /** The receiver failed; other events may go through. */
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }

/** The content is at fault, and not the receiver (RFC 9110 §15.5). */
const REFUSING = new Set([400, 413, 415, 422])
/** The receiver asks for time. */
const OVERLOADED = new Set([429, 503])

/** Judges an outcome. */
export function judgeOutcome(outcome: WebhookOutcome): Verdict {
  if (outcome.kind === 'failed') return { kind: 'away', code: outcome.code, reason: outcome.reason, retryAfterMs: 0 }
  const { status, retryAfterMs = 0 } = outcome
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  const reason = `the receiver answered ${status}`
  if (status === 410) return { kind: 'gone', code: 'webhook_gone', reason }
  if (REFUSING.has(status)) return { kind: 'refused', code: 'webhook_event_refused', reason }
  if (OVERLOADED.has(status)) return { kind: 'away', code: 'webhook_status', reason, retryAfterMs }
  if (status >= 300 && status < 400) {
    return { kind: 'failed', code: 'webhook_redirected', reason: `${reason}: redirects are not followed` }
  }
  return { kind: 'failed', code: 'webhook_status', reason }
}
