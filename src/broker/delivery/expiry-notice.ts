/**
 * The notice to a client that its permit ends soon: on a topic of its own, to the client's own
 * Session alone, so that a program can renew its token before its connection ends.
 */
import { Message } from '../ports/message.ts'
import type { Session } from '../sessions/session.ts'
import { mergeSubscriptions } from '../sessions/subscription-index.ts'

/**
 * A Session that subscribes to this Topic Name hears of the end of its connection's permit before
 * it comes. The name begins with $, so no wildcard of other subscriptions matches it
 * [MQTT-4.7.2-1].
 */
export const EXPIRY_TOPIC_NAME = '$notice/token-expires'

/** The part of a permit's life before its end in which the notice is given. */
const SHARE_OF_LIFE = 0.1
const SHORTEST_NOTICE_MS = 60_000
const LONGEST_NOTICE_MS = 600_000

/**
 * The time of day from which the notice is given: a tenth of the life before its end, and not less
 * than a minute or more than ten before it. May be before the beginning of a short life.
 */
export function expiryNoticeAt(beganAtMs: number, expiresAtMs: number): number {
  const share = (expiresAtMs - beganAtMs) * SHARE_OF_LIFE
  return expiresAtMs - Math.min(Math.max(share, SHORTEST_NOTICE_MS), LONGEST_NOTICE_MS)
}

/**
 * Sends the notice, if the Session subscribes to it. False: the client takes no bytes at present,
 * and the notice is to be tried again. It goes out at QoS 0: it is about this connection, and must
 * not come again on a later one, whose permit has another end.
 */
export function sendExpiryNotice(session: Session, expiresAtMs: number, nowMs: number): boolean {
  const { connection } = session
  const subscriptions = session.matching(EXPIRY_TOPIC_NAME)
  if (connection === undefined || subscriptions.length === 0) return true
  if (connection.congested) return false
  const secondsLeft = Math.max(0, Math.floor((expiresAtMs - nowMs) / 1000))
  const payload = Buffer.from(JSON.stringify({ expiresAt: new Date(expiresAtMs).toISOString(), secondsLeft }))
  const fields = {
    topicName: EXPIRY_TOPIC_NAME,
    payload,
    qos: 0,
    retain: false,
    properties: { contentType: 'application/json' },
    publisherKey: '',
  } as const
  const { subscriptionIdentifiers } = mergeSubscriptions(session, subscriptions)
  connection.sendPublish(new Message(fields, Infinity), 0, false, false, 0, subscriptionIdentifiers)
  return true
}
