/** Webhooks as the HTTP interface writes them, and what the page shows of them. */
import type { MantineColor } from '@mantine/core'

/** A webhook in the list. */
export interface Webhook {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly applicationIds?: readonly string[]
  readonly devEuis?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
  readonly eventKinds?: readonly string[]
  readonly headerNames: readonly string[]
  readonly batch?: object
  readonly concurrency: number
  readonly timeoutSeconds: number
  readonly giveUpSeconds: number
  readonly onRefused: 'pause' | 'skip'
  readonly acceptsCommands: boolean
  readonly caCertificate?: string
  readonly pausedAt: string | null
  readonly pauseCode: string
  readonly pauseReason: string
}

/** One request of a webhook, or a notice. */
export interface Delivery {
  readonly time: string
  readonly outcome: 'delivered' | 'failed' | 'skipped' | 'missed' | 'paused' | 'test'
  readonly webhookId: string
  readonly events: number
  readonly devEui: string
  readonly kind: string
  readonly tries: number
  readonly status: number | null
  readonly durationMs: number
  readonly code: string
  readonly reason: string
  readonly answer: string
  readonly command: { readonly id: string; readonly outcome: string; readonly reason: string } | null
}

/** The kinds of events that a webhook may choose. */
export const KINDS = [
  'up',
  'join',
  'ack',
  'error',
  'status',
  'location',
  'txack',
  'log',
  'integration',
  'state',
] as const

/** The path of an organization's webhooks, which is also the key of the list in the cache. */
export function webhooksPath(organizationId: string): string {
  return `/api/organizations/${organizationId}/webhooks`
}

/** The colour of an outcome. It repeats the word. */
export function colorOf({ outcome }: Pick<Delivery, 'outcome'>): MantineColor {
  return { delivered: 'field', failed: 'red', skipped: 'orange', missed: 'orange', paused: 'orange', test: 'blue' }[
    outcome
  ]
}

/** The answer of the receiver in a sentence. */
export function outcomeText({ status, reason, durationMs, code }: Delivery): string {
  const took = `after ${durationMs} ms`
  if (code === '') return `The receiver took the event: status ${status ?? '?'} ${took}.`
  return `The receiver did not take the event ${took}: ${reason}.`
}

/** The members of a webhook that a change sends: `PUT` sets all of them. */
export function settingsOf(webhook: Webhook): Record<string, unknown> {
  const { id: _id, headerNames: _names, pausedAt: _at, pauseCode: _code, pauseReason: _reason, ...settings } = webhook
  const others: Record<string, unknown> = settings
  for (const name of ['secretsInForce', 'createdAt', 'updatedAt']) delete others[name]
  return others
}
