/**
 * Ends connections whose messages have waited for the log for long, while it answers nothing. A
 * client that waits for an answer for ever does not look for another node.
 */
import type { SteadyMs } from '../../clock.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from './connection.ts'

const STALLED_MS = 30_000

export class StalledPublishers {
  /** Since when messages of a connection are unanswered, while the log answers nothing. */
  readonly #since = new Map<Connection, SteadyMs>()

  /** The owner calls it about once a second. */
  tick(connections: Iterable<Connection>, isStalled: boolean, now: SteadyMs): void {
    if (!isStalled) {
      this.#since.clear()
      return
    }
    for (const connection of connections) {
      if (!connection.hasUnanswered) this.#since.delete(connection)
      else if (now - (this.#since.get(connection) ?? now) < STALLED_MS) {
        if (!this.#since.has(connection)) this.#since.set(connection, now)
      } else {
        this.#since.delete(connection)
        connection.disconnect(
          ReasonCodes.quotaExceeded,
          'the log has not taken its messages for 30 s; they are unanswered',
          'log_stalled',
        )
      }
    }
    for (const connection of this.#since.keys()) if (connection.isClosed) this.#since.delete(connection)
  }
}
