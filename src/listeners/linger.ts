/**
 * The bounds of a connection that the broker has ended, until its client has closed its end too.
 */

/**
 * How long a client has to receive the last bytes and to close its end. Then the socket is cut off.
 */
export const LINGER_MS = 1_000
/**
 * Bytes that are still read from a closing socket, so that a reset does not overtake our last
 * packet. The bound stops a flood.
 */
export const LINGER_BYTES = 65_536
