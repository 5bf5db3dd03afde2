/**
 * The choice of a server after a lost connection. The client’s library tries the last server first,
 * and a paused one takes connections and never answers. That costs 2 s, and a node that is silent
 * for 3 s is dead.
 */
import type { ConnectionOptions } from '@nats-io/transport-node'

type ServerChoice = NonNullable<ConnectionOptions['reconnectToServer']>

/** Chooses the server that was tried least recently. For `reconnectToServer` of the connection. */
export const anotherServer: ServerChoice = (servers) =>
  servers.reduce((best, one) => (one.lastConnect < best.lastConnect ? one : best))
