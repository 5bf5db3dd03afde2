/**
 * The signature of a webhook's requests, as the Standard Webhooks specification has it
 * (https://www.standardwebhooks.com, version 1).
 */
import { createHmac } from 'node:crypto'
import type { WebhookSecret } from '../../webhook-settings.ts'

const SECRET_PREFIX = 'whsec_'

/** The content of a request that is signed. */
export interface SignedContent {
  /** The same for each try to deliver the same events. */
  readonly id: string
  /** When the request is sent: seconds since 1970. */
  readonly timestampSeconds: number
  readonly body: string
}

/**
 * The three header fields of the specification. Each secret that has not retired signs, the current
 * one first, so that a receiver may take its time to change the secret.
 */
export function signatureHeaders(
  content: SignedContent,
  secrets: readonly WebhookSecret[],
  nowMs: number,
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const inForce = secrets.filter(({ retiresAtMs = Infinity }) => retiresAtMs > nowMs)
  return {
    'webhook-id': content.id,
    'webhook-timestamp': String(content.timestampSeconds),
    'webhook-signature': inForce.map(({ secret }) => `v1,${signatureOf(content, secret)}`).join(' '),
  }
}

/** Base64 of the HMAC-SHA-256 of `<id>.<timestamp>.<body>`, with the bytes of the secret. */
function signatureOf({ id, timestampSeconds, body }: SignedContent, secret: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')
}
