/** The normative statements of the specifications, by number and in our own words. */

/** A numbered normative statement of MQTT 5.0 or MQTT 3.1.1. */
export interface Statement {
  /** As titles of tests carry it, without brackets: `MQTT-3.1.0-1`, `MQTT311-3.1.0-1`. */
  readonly tag: string
  readonly words: string
  /**
   * `client`: only clients are bound. If a server must answer a breach of the statement, a test may
   * still name it.
   */
  readonly concerns: 'server' | 'client'
  /** The reason why no test proves the statement, if it binds servers. */
  readonly leftOut?: string
}

/** The three kinds of rows in the list of one specification. */
export function rowsOf(prefix: 'MQTT' | 'MQTT311'): {
  readonly server: (number: string, words: string) => Statement
  readonly client: (number: string, words: string) => Statement
  readonly leftOut: (number: string, words: string, reason: string) => Statement
} {
  return {
    server: (number, words) => ({ tag: `${prefix}-${number}`, words, concerns: 'server' }),
    client: (number, words) => ({ tag: `${prefix}-${number}`, words, concerns: 'client' }),
    leftOut: (number, words, reason) => ({ tag: `${prefix}-${number}`, words, concerns: 'server', leftOut: reason }),
  }
}
