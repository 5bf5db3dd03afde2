/**
 * The notice to a Session that retention, or the Session's bound, was faster than it: on a topic of
 * its own, so that no loss is silent.
 */
import type { QoS } from '../../mqtt/packet.ts'
import { Message } from '../ports/message.ts'
import type { Session } from '../sessions/session.ts'

/**
 * A Session that subscribes to this Topic Name learns how much it has missed. The name begins with
 * $, so no wildcard of other subscriptions matches it [MQTT-4.7.2-1].
 */
export const MISSED_TOPIC_NAME = '$notice/missed'

export interface MissedNotice {
  readonly message: Message
  readonly qos: QoS
}

/**
 * The notice for this Session alone; undefined when the Session does not subscribe to notices.
 * `atMost`: the number of messages in its branch of topics that are gone.
 */
export function missedNotice(session: Session, atMost: number, nowMs: number): MissedNotice | undefined {
  const subscriptions = session.matching(MISSED_TOPIC_NAME)
  if (subscriptions.length === 0) return undefined
  const qos = Math.max(...subscriptions.map((subscription) => Math.min(subscription.qos, 1))) as QoS
  const payload = Buffer.from(JSON.stringify({ missedAtMost: atMost, time: new Date(nowMs).toISOString() }))
  const fields = {
    topicName: MISSED_TOPIC_NAME,
    payload,
    qos: 1,
    retain: false,
    properties: { contentType: 'application/json' },
    publisherKey: '',
  } as const
  return { message: new Message(fields, Infinity), qos }
}
