/**
 * Bounds what one address may ask of us before it has said who it is: sockets at once, those among
 * them that have not shaken hands, and new connections a second. Stops half-open TLS by the
 * thousand and password guessing by reconnecting.
 */
import type { SteadyMs } from '../clock.ts'

export interface AddressLimits {
  /** Connections that one address may open in a second, on average over ten; 0: no bound. */
  readonly attemptsPerSecond: number
  /** Connections that one address may have open at once; 0: no bound. */
  readonly openPerAddress: number
  /**
   * Connections among them that are silent, or not through with what comes first (TLS, an HTTP
   * request); 0: no bound.
   */
  readonly pendingPerAddress: number
}

/**
 * Of MQTT, over WebSocket as well. A site behind one address has few hundred clients, and all of
 * them come back at once.
 */
export const MQTT_ADDRESS_LIMITS: AddressLimits = {
  attemptsPerSecond: 200,
  openPerAddress: 20_000,
  pendingPerAddress: 2_000,
}

/**
 * Of HTTPS: one address leaves half of all sockets to the others, and its silent ones take 100 MB
 * at most.
 */
export const HTTPS_ADDRESS_LIMITS: AddressLimits = {
  attemptsPerSecond: 200,
  openPerAddress: 10_000,
  pendingPerAddress: 1_000,
}

/** Addresses remembered; at the bound the oldest is forgotten. */
const MAXIMUM_ADDRESSES = 65_536
const BURST_SECONDS = 10

interface Account {
  open: number
  /** Remote ports of the connections that are pending. */
  readonly pending: Set<number>
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
   * True when the address may have this connection, which is pending now; then `closed` must follow
   * once.
   */
  admit(address: string, port: number, now: SteadyMs): boolean {
    const { attemptsPerSecond, openPerAddress, pendingPerAddress } = this.#limits
    const burst = attemptsPerSecond * BURST_SECONDS
    let account = this.#accounts.get(address)
    if (account === undefined) {
      account = { open: 0, pending: new Set(), tokens: burst, refilledAt: now }
      this.#remember(address, account)
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
    account.pending.add(port)
    return true
  }

  /** The connection is through with what comes first. */
  settled(address: string, port: number): void {
    this.#accounts.get(address)?.pending.delete(port)
  }

  closed(address: string, port: number): void {
    const account = this.#accounts.get(address)
    if (account === undefined) return
    account.pending.delete(port)
    if (account.open > 0) account.open -= 1
  }

  #remember(address: string, account: Account): void {
    if (this.#accounts.size >= MAXIMUM_ADDRESSES) {
      // Idle addresses go first; the map is in order of arrival.
      for (const [known, { open }] of this.#accounts) {
        if (open > 0) continue
        this.#accounts.delete(known)
        break
      }
      if (this.#accounts.size >= MAXIMUM_ADDRESSES) return
    }
    this.#accounts.set(address, account)
  }
}
