/** The bounds of organizations in words. */
import type { BoundName } from '../../../src/organization-bounds.ts'

/** The groups of the page, in the order in which the page shows them. */
export const GROUPS = ['Connections and Sessions', 'Messages', 'Kept for the organization', 'Codecs and HTTP'] as const

/** The words for one bound. */
export interface BoundWords {
  readonly group: (typeof GROUPS)[number]
  readonly label: string
  /** Says what the bound counts. */
  readonly meaning: string
  /** Says what happens at the bound. */
  readonly effect: string
}

const WORDS: Readonly<Record<BoundName, BoundWords>> = {
  connections: {
    group: 'Connections and Sessions',
    label: 'Connections',
    meaning: 'MQTT clients that are connected at the same time.',
    effect: 'New connections are refused. Open connections go on.',
  },
  connectsPerSecond: {
    group: 'Connections and Sessions',
    label: 'New connections',
    meaning: 'MQTT connections that clients open in a second, on average over ten seconds.',
    effect: 'Further connections are refused for some seconds. Open connections go on.',
  },
  sessions: {
    group: 'Connections and Sessions',
    label: 'Sessions',
    meaning: 'MQTT Sessions of connected clients, and of clients that are away and will come back.',
    effect: 'Clients without a Session are refused. Clients that have a Session connect as before.',
  },
  subscriptions: {
    group: 'Connections and Sessions',
    label: 'Subscriptions',
    meaning: 'Subscriptions of all Sessions together.',
    effect: 'New subscriptions are refused. Subscriptions that exist go on.',
  },
  topicFilterBytes: {
    group: 'Connections and Sessions',
    label: 'Size of Topic Filters',
    meaning: 'The Topic Filters of all subscriptions together.',
    effect: 'New subscriptions are refused. Subscriptions that exist go on.',
  },
  publishesPerSecond: {
    group: 'Messages',
    label: 'Published messages',
    meaning: 'Messages that all clients of the organization send in a second.',
    effect: 'The service reads these clients more slowly, so their messages arrive later. Nothing is refused.',
  },
  publishedBytesPerSecond: {
    group: 'Messages',
    label: 'Size of published messages',
    meaning: 'Bytes that all clients of the organization send in a second.',
    effect: 'The service reads these clients more slowly, so their messages arrive later. Nothing is refused.',
  },
  outgoingBytes: {
    group: 'Messages',
    label: 'Waiting for slow clients',
    meaning: 'Messages in memory that wait until slow clients read them.',
    effect: 'The slowest clients get their messages later, and lose messages of QoS 0.',
  },
  retainedMessages: {
    group: 'Kept for the organization',
    label: 'Retained messages',
    meaning: 'The last events that new subscribers get at once.',
    effect: 'Events still reach their subscribers. Events of further topics are not retained.',
  },
  retainedBytes: {
    group: 'Kept for the organization',
    label: 'Size of retained messages',
    meaning: 'All retained messages together.',
    effect: 'Events still reach their subscribers. Events for which there is no room are not retained.',
  },
  storedBytes: {
    group: 'Kept for the organization',
    label: 'Size of stored messages',
    meaning: 'The history of events, and messages for clients that are away.',
    effect: 'The oldest messages of the organization are deleted, so its history is shorter.',
  },
  waitingCommands: {
    group: 'Kept for the organization',
    label: 'Waiting commands',
    meaning: 'Commands that wait for their devices.',
    effect: 'New commands are refused until waiting commands are sent, expire or are cancelled.',
  },
  codecMsPerSecond: {
    group: 'Codecs and HTTP',
    label: 'Time of codecs',
    meaning: 'Processor time that the organization’s scripts take in a second, on average over ten seconds.',
    effect: 'Uplinks are decoded later, or go on without values. Commands with an object are refused.',
  },
  httpRequestsPerSecond: {
    group: 'Codecs and HTTP',
    label: 'HTTP requests',
    meaning: 'Requests that the organization makes in a second, on average over ten seconds.',
    effect: 'Further requests are answered with status 429 for some seconds.',
  },
}

/**
 * The words for a bound; undefined for a bound that a newer service has, and this console does not
 * know.
 */
export function wordsOf(name: string): BoundWords | undefined {
  return Object.hasOwn(WORDS, name) ? WORDS[name as BoundName] : undefined
}
