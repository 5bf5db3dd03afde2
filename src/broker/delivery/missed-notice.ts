/**
 * What a Session is told when retention, or its bound, was faster than it: on a topic of its own,
 * never silently.
 */
import type { QoS } from '../../mqtt/packet.ts'
import { Message } from '../ports/message.ts'
import type { Session } from '../sessions/session.ts'

/**
 * Who subscribes to it learns what its Session missed. It begins with $, so no wildcard of others
 * matches it [MQTT-4.7.2-1].
 */
export const MISSED_TOPIC_NAME = '$notice/missed'

export interface MissedNotice {
  readonly message: Message
  readonly qos: QoS
}

/**
 * The notice for this Session alone; undefined when it does not want it. `atMost`: messages of its
 * branch of topics that are gone.
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
