/**
 * Bounds the connections of one address before its client has authenticated: open sockets, sockets
 * without a handshake, and new connections a second. Stops thousands of half-open TLS connections,
 * and password guessing by reconnecting. All IPv6 addresses with the same 64 bits in front count as
 * one address: their client takes another one as often as it likes (`networkOf`).
 */
import { networkOf } from '../client-network.ts'
import type { SteadyMs } from '../clock.ts'

export interface AddressLimits {
  /**
   * Connections that one address may open in a second, on average over ten seconds; 0 for no bound.
   */
  readonly attemptsPerSecond: number
  /** Connections that one address may have open at once; 0 for no bound. */
  readonly openPerAddress: number
  /**
   * Open connections of one address that are silent, or have not finished their first step (the TLS
   * handshake, an HTTP request); 0 for no bound.
   */
  readonly pendingPerAddress: number
}

/** Networks that are remembered; at the bound the oldest without connections is forgotten. */
const MAXIMUM_NETWORKS = 65_536
const BURST_SECONDS = 10

interface Account {
  open: number
  /** The addresses with the ports of the pending connections. */
  readonly pending: Set<string>
  tokens: number
  refilledAt: SteadyMs
}

export class AddressLimiter {
  readonly #limits: AddressLimits
  readonly #accounts = new Map<string, Account>()

  constructor(limits: AddressLimits) {
    this.#limits = limits
  }

  /**
   * True when the address may have this connection. The connection is pending then, and `closed`
   * must follow once.
   */
  admit(address: string, port: number, now: SteadyMs): boolean {
    const { attemptsPerSecond, openPerAddress, pendingPerAddress } = this.#limits
    const burst = attemptsPerSecond * BURST_SECONDS
    const network = networkOf(address)
    let account = this.#accounts.get(network)
    if (account === undefined) {
      account = { open: 0, pending: new Set(), tokens: burst, refilledAt: now }
      this.#remember(network, account)
    }
    if (openPerAddress > 0 && account.open >= openPerAddress) return false
    if (pendingPerAddress > 0 && account.pending.size >= pendingPerAddress) return false
    if (attemptsPerSecond > 0) {
      account.tokens = Math.min(burst, account.tokens + ((now - account.refilledAt) / 1000) * attemptsPerSecond)
      account.refilledAt = now
      if (account.tokens < 1) return false
      account.tokens -= 1
    }
    account.open += 1
    account.pending.add(keyOf(address, port))
    return true
  }

  /** The connection has finished its first step. */
  settled(address: string, port: number): void {
    this.#accounts.get(networkOf(address))?.pending.delete(keyOf(address, port))
  }

  closed(address: string, port: number): void {
    const account = this.#accounts.get(networkOf(address))
    if (account === undefined) return
    account.pending.delete(keyOf(address, port))
    if (account.open > 0) account.open -= 1
  }

  #remember(network: string, account: Account): void {
    if (this.#accounts.size >= MAXIMUM_NETWORKS) {
      // Idle networks are forgotten first. The map is in the order of arrival.
      for (const [known, { open }] of this.#accounts) {
        if (open > 0) continue
        this.#accounts.delete(known)
        break
      }
      if (this.#accounts.size >= MAXIMUM_NETWORKS) return
    }
    this.#accounts.set(network, account)
  }
}

/** Two addresses of one network may have the same port. */
function keyOf(address: string, port: number): string {
  return `${address} ${port}`
}
