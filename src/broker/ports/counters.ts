/**
 * The counters of the broker: plain numbers that only grow, except for those that say "Current".
 */
export interface Counters {
  connectionsOpened: number
  connectionsRefused: number
  /** Current: connections past CONNACK. */
  connections: number
  /** Current: Sessions, awake and asleep. */
  sessions: number
  /** Current: subscriptions of all Sessions. */
  subscriptions: number
  publishesReceived: number
  /** Pieces of the clients' byte streams, as the sockets gave them, that had a PUBLISH. */
  publishingChunks: number
  publishesRefused: number
  /** Messages that were inspected, had a fault, and went on. Few messages are inspected. */
  publishesFaulty: number
  publishesSent: number
  /** QoS 0 messages not sent because their reader was slow or absent. */
  publishesDropped: number
  /** Messages that expired before they could be sent. */
  publishesExpired: number
  /** Messages that retention or a Session's bound took before a Session could read them. */
  publishesLost: number
  subscribesRefused: number
  /** Seconds in which a tenant was not read to their end, because it had published too much. */
  secondsOverRate: number
  /**
   * Messages that found no room to wait for the log, because their tenant had more waiting than its
   * share.
   */
  publishesOverShare: number
  bytesReceived: number
  bytesSent: number
}

/** New counters, all zero. */
export function createCounters(): Counters {
  return {
    connectionsOpened: 0,
    connectionsRefused: 0,
    connections: 0,
    sessions: 0,
    subscriptions: 0,
    publishesReceived: 0,
    publishingChunks: 0,
    publishesRefused: 0,
    publishesFaulty: 0,
    publishesSent: 0,
    publishesDropped: 0,
    publishesExpired: 0,
    publishesLost: 0,
    subscribesRefused: 0,
    secondsOverRate: 0,
    publishesOverShare: 0,
    bytesReceived: 0,
    bytesSent: 0,
  }
}
