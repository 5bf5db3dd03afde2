/** Publishes what must be stored before anything else goes on. */
import type { Clock } from '../../clock.ts'
import type { NatsLink } from './nats-link.ts'

const ANSWER_MS = 2_000
const ATTEMPTS = 15
const AGAIN_MS = 200

export interface SurePublish {
  readonly link: NatsLink
  readonly clock: Clock
  readonly subject: string
  readonly bytes: Buffer
  /** The same for all attempts to store the same. */
  readonly id: string
}

/**
 * Resolves with the sequence when a majority of the servers has the message. Throws a sentence when
 * they do not take it within 30 s; then it may be stored all the same.
 */
export async function publishSurely({ link, clock, subject, bytes, id }: SurePublish): Promise<number> {
  let reason = ''
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const answer = await link.publish(subject, bytes, { id }, ANSWER_MS)
    if ('sequence' in answer) return answer.sequence
    reason = answer.reason
    await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
  }
  throw new Error(`Nothing can be written to ${subject}. ${reason}`)
}
