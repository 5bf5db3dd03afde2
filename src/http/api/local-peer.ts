/** Requests of programs of this machine. */
import type { FastifyRequest } from 'fastify'

/**
 * True for a peer on this machine that asks for itself: a proxy on this machine names the one that
 * it speaks for.
 */
export function isLocalPeer({ socket, headers }: FastifyRequest): boolean {
  const address = socket.remoteAddress ?? ''
  const isLoopback = address === '::1' || /^(::ffff:)?127\./.test(address)
  return isLoopback && headers.forwarded === undefined && headers['x-forwarded-for'] === undefined
}
