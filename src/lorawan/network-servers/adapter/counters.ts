/** The counts of the adapters, for the metrics. */
import type { HandOverAnswer } from '../../commands/network-server.ts'

/**
 * Counts of the events and downlinks of the configured network servers, for the metrics. No count
 * goes down.
 */
export interface NetworkServerCounters {
  eventsOwned: number
  /**
   * Inspected events that nobody can read, and that were published nevertheless. Only a few events
   * are inspected.
   */
  eventsUnreadable: number
  /**
   * Events that are refused for good: unknown or disabled devices, unknown kinds, applications that
   * are not mapped.
   */
  eventsRefused: number
  /** Events that could not be owned now, and will be sent again. */
  eventsFailed: number
  downlinksTaken: number
  /** Downlinks that were offered while the network server was away; they stay in the queue. */
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

/** Counts the answer to a downlink, and returns it. */
export function counted(counters: NetworkServerCounters, answer: HandOverAnswer): HandOverAnswer {
  if (answer.outcome === 'taken') counters.downlinksTaken += 1
  else if (answer.outcome === 'away') counters.downlinksAway += 1
  else counters.downlinksRefused += 1
  return answer
}
