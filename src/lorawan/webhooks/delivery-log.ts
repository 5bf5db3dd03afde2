/** The newest deliveries of one webhook, for people. They live as long as the process. */

/** The fate of a command in an answer. */
export interface AnsweredCommand {
  /** The command's id; empty where it has none. */
  readonly id: string
  /** `queued`, `repeated`, or the code of the refusal. */
  readonly outcome: string
  /** A sentence for people; empty for a command that is in the queue. */
  readonly reason: string
}

/** One request, or a notice without a request. */
export interface DeliveryEntry {
  /** When the request was sent, ms since 1970. */
  readonly atMs: number
  readonly outcome: 'delivered' | 'failed' | 'skipped' | 'missed' | 'paused' | 'test'
  /** `webhook-id` of the request; empty for a notice. */
  readonly webhookId: string
  readonly events: number
  /** The device and the kind of the first event; empty for a notice. */
  readonly devEui: string
  readonly kind: string
  /** The number of this try, from 1 on; 0 for a notice. */
  readonly tries: number
  /** The status of the answer; undefined: no answer came. */
  readonly status: number | undefined
  readonly durationMs: number
  /** Stable: docs/errors.md has a paragraph for each; empty for a delivery. */
  readonly code: string
  /** A sentence for people. */
  readonly reason: string
  /** The beginning of the answer, up to 1 KiB. */
  readonly answer: string
  readonly command: AnsweredCommand | undefined
}

/** Entries of one webhook: with 20 webhooks, an organization holds some 4 MB at most. */
const MAXIMUM_ENTRIES = 100
/** Bytes of an answer that are kept. */
const MAXIMUM_ANSWER_BYTES = 1_024

export class DeliveryLog {
  readonly #entries: DeliveryEntry[] = []

  add(entry: DeliveryEntry): void {
    this.#entries.push(entry)
    if (this.#entries.length > MAXIMUM_ENTRIES) this.#entries.shift()
  }

  /** The newest first. */
  list(): readonly DeliveryEntry[] {
    return this.#entries.toReversed()
  }
}

/** The beginning of an answer as text. */
export function answerText(body: Buffer): string {
  return body.subarray(0, MAXIMUM_ANSWER_BYTES).toString('utf8')
}

/** A notice without a request. */
export function noticeOf(
  outcome: 'missed' | 'paused',
  notice: Pick<DeliveryEntry, 'atMs' | 'events' | 'code' | 'reason'>,
): DeliveryEntry {
  const none = { webhookId: '', devEui: '', kind: '', tries: 0, durationMs: 0, answer: '' }
  return { ...none, ...notice, outcome, status: undefined, command: undefined }
}
