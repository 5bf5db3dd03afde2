import type { HandOverAnswer } from '../../commands/network-server.ts'

/**
 * What has become of events and downlinks of the configured network servers, for the metrics. All
 * only grow.
 */
export interface NetworkServerCounters {
  eventsOwned: number
  /** Events that were looked at, went on, and that nobody can read. Few are looked at. */
  eventsUnreadable: number
  /** For good: unknown or disabled devices, unknown kinds, applications that are not mapped. */
  eventsRefused: number
  /** They come again. */
  eventsFailed: number
  downlinksTaken: number
  /** Offered while it was away; they stay queued. */
  downlinksAway: number
  downlinksRefused: number
  /** Connections or calls that failed. */
  failures: number
  synchronisations: number
}

/** Counters that start at zero. */
export function createCounters(): NetworkServerCounters {
  return {
    eventsOwned: 0,
    eventsUnreadable: 0,
    eventsRefused: 0,
    eventsFailed: 0,
    downlinksTaken: 0,
    downlinksAway: 0,
    downlinksRefused: 0,
    failures: 0,
    synchronisations: 0,
  }
}

/** The answer to a downlink, counted. */
export function counted(counters: NetworkServerCounters, answer: HandOverAnswer): HandOverAnswer {
  if (answer.outcome === 'taken') counters.downlinksTaken += 1
  else if (answer.outcome === 'away') counters.downlinksAway += 1
  else counters.downlinksRefused += 1
  return answer
}
