/** The totals of the played devices, for the lines at the end. */
export interface LorawanStatistics {
  joinRequests: number
  joins: number
  uplinks: number
  acknowledgedUplinks: number
  unacknowledgedUplinks: number
  /** Downlinks of applications. */
  commands: number
}

export function createStatistics(): LorawanStatistics {
  return { joinRequests: 0, joins: 0, uplinks: 0, acknowledgedUplinks: 0, unacknowledgedUplinks: 0, commands: 0 }
}

/** The lines at the end. */
export function summaryOf(statistics: LorawanStatistics): string[] {
  const { joinRequests, joins, uplinks, acknowledgedUplinks, unacknowledgedUplinks, commands } = statistics
  return [
    `Join requests ${joinRequests}, joins ${joins}`,
    `Uplinks ${uplinks}; confirmed ones acknowledged ${acknowledgedUplinks}, given up ${unacknowledgedUplinks}`,
    `Downlinks of applications ${commands}`,
  ]
}
