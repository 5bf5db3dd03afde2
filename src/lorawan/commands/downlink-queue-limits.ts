/**
 * The bounds of the downlink queue. Each organization has a bound of its own beside them
 * (`maximumWaitingOf`), so that a tenant that fills its share takes no room from the others.
 */
export interface DownlinkQueueLimits {
  /**
   * Commands that wait for one device. A device of class A takes one command per uplink, so that a
   * hundred commands keep it busy for days.
   */
  readonly waitingPerDevice: number
  /**
   * Commands that wait in the whole service, some 600 bytes each. At this bound an organization
   * may still have `waitingAssured` commands waiting.
   */
  readonly waitingInAll: number
  /** Commands that an organization may have waiting, however many the others have. */
  readonly waitingAssured: number
  /**
   * Commands of one device that are kept after they left the queue: their fates can be listed, and
   * their ids are known.
   */
  readonly leftPerDevice: number
  /** Commands of one organization that are kept after they left the queue. */
  readonly leftPerOrganization: number
  /**
   * Commands of the whole service that are kept after they left the queue. At this bound the
   * organization with the most kept commands loses its earliest ones.
   */
  readonly leftInAll: number
  /** How long a command is kept after it left the queue. */
  readonly leftMs: number
  /**
   * How long a command is kept if its network server names no commands in its events and has said
   * nothing about this one: a late event about a forgotten command would pass for an event about
   * another command.
   */
  readonly unheardMs: number
}

export const DOWNLINK_QUEUE_LIMITS: DownlinkQueueLimits = {
  waitingPerDevice: 100,
  waitingInAll: 100_000,
  waitingAssured: 1_000,
  leftPerDevice: 100,
  leftPerOrganization: 20_000,
  leftInAll: 100_000,
  leftMs: 24 * 3_600_000,
  unheardMs: 30 * 24 * 3_600_000,
}
