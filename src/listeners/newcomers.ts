/**
 * The connections of an HTTP server before their first request, by the sockets of the runtime:
 * bounded by address, and cut when the server closes.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { AddressLimiter } from './address-limiter.ts'
import { bun } from './bun.ts'
import { BunNewcomers } from './bun-newcomers.ts'
import { NodeNewcomers } from './node-newcomers.ts'
import type { NodeNewcomersOptions } from './node-newcomers.ts'
import type { TlsMaterial } from './tls-listener.ts'

/** Holds each connection from its TCP handshake until `settled` is called for it. */
export interface Newcomers {
  /** True if this part does the TLS of the connections that it gives to the server. */
  readonly speaksTls: boolean
  /** Must be called once for each server, before the server listens. */
  watch(server: Server, tls: TlsMaterial | undefined): void
  /** Puts another certificate in place, where this part does the TLS. */
  setCertificate(tls: TlsMaterial): void
  /** The connection has finished its first step. From now on another part bounds and ends it. */
  settled(socket: Socket): void
  /** Whether a proxy in front of the server opened the connection for a client of its own. */
  isForwarded(socket: Socket): boolean
  /** Cuts all silent connections, and every new one: a closing server waits for its last socket. */
  close(): void
}

/** `refused` is called for each connection beyond the bounds of its address. */
export function createNewcomers(
  limiter: AddressLimiter,
  refused: () => void,
  options: NodeNewcomersOptions = {},
): Newcomers {
  return bun === undefined ? new NodeNewcomers(limiter, refused, options) : new BunNewcomers(limiter, refused, options)
}
