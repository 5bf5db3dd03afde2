/**
 * The connections of an HTTP server before their first request, by the sockets of the runtime:
 * bounded by address, and cut when the server closes.
 */
import type { AddressLimiter } from './address-limiter.ts'
import { bun } from './bun.ts'
import { BunNewcomers } from './bun-newcomers.ts'
import { NodeNewcomers } from './node-newcomers.ts'
import type { NodeNewcomersOptions } from './node-newcomers.ts'

/** Holds each connection from its TCP handshake until `settled` is called for it. */
export type Newcomers = BunNewcomers | NodeNewcomers

/** `refused` is called for each connection beyond the bounds of its address. */
export function createNewcomers(
  limiter: AddressLimiter,
  refused: () => void,
  options: NodeNewcomersOptions = {},
): Newcomers {
  return bun === undefined ? new NodeNewcomers(limiter, refused, options) : new BunNewcomers(limiter, refused, options)
}
