/** The keys of the broker's own state in the engine. */

export const STATE_KEYS = {
  /** The tails of the log up to which everything saved holds. */
  checkpoint: 'checkpoint',
  sessions: 'session/',
  subscriptions: 'subscription/',
  groups: 'group/',
  sentMessages: 'sent/',
  receivedMessages: 'received/',
  retainedMessages: 'retained/',
  session: (sessionKey: string): string => `session/${sessionKey}`,
  subscription: (sessionKey: string, topicFilter: string): string => `subscription/${sessionKey}\0${topicFilter}`,
  group: (groupKey: string): string => `group/${groupKey}`,
  /** A QoS 2 message that was sent to the Session. */
  sent: (sessionKey: string, partition: number, offset: number): string =>
    `sent/${sessionKey}\0${partition}\0${offset}`,
  /** A QoS 2 message that the Session published and has not released. */
  received: (sessionKey: string, packetId: number): string => `received/${sessionKey}\0${packetId}`,
  retained: (topicName: string): string => `retained/${topicName}`,
} as const

/** Texts of MQTT have no NUL [MQTT-1.5.4-2], nor have tenants and identities. */
export function splitKey(key: string): readonly string[] {
  return key.slice(key.indexOf('/') + 1).split('\0')
}
