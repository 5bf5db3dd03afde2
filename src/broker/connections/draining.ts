/**
 * The end of the connections of a node that drains: one after the other, evenly over a time. So the
 * clients do not all come to the other nodes at the same moment.
 */
import { later } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Connection } from './connection.ts'
import { ENDING_MS } from './connection.ts'

/** The time between two looks at the clock, ms. */
const STEP_MS = 50

export interface DrainingOptions {
  readonly clock: Clock
  /** The connections past CONNACK, in the order in which they end. */
  readonly connections: readonly Connection[]
  /** The time over which they end, ms. */
  readonly durationMs: number
  /** Told of each connection that is about to end. */
  readonly ending: (connection: Connection) => void
  /** The connections past CONNACK at present. */
  readonly left: () => number
}

/**
 * Ends the connections: MQTT 5 by 0x8B, MQTT 3.1.1 without a word. The packets that a client has
 * sent are handled and acknowledged before. Resolves when none is left, or a second after the last
 * was told.
 */
export async function drainConnections(options: DrainingOptions): Promise<void> {
  const { clock, connections, durationMs, ending, left } = options
  const since = clock.steady()
  const deadline: SteadyMs = later(since, durationMs + ENDING_MS)
  let told = 0
  for (;;) {
    const now = clock.steady()
    const isOver = now - since >= durationMs
    const due = isOver ? connections.length : Math.floor((connections.length * (now - since)) / durationMs)
    for (; told < due; told += 1) {
      const connection = connections[told]
      if (connection === undefined || connection.isClosed) continue
      ending(connection)
      connection.endWhenRead(ReasonCodes.serverShuttingDown, 'the service drains: connect again', 'node_draining')
    }
    if (left() === 0 || now >= deadline) return
    await new Promise<void>((resolve) => void clock.after(STEP_MS, resolve))
  }
}
