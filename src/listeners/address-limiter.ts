/**
 * Bounds what one address may ask of us before it has said who it is: sockets at once in a handshake or before CONNACK, and
 * new connections a second. Stops half-open TLS by the thousand and password guessing by reconnecting.
 */
export interface AddressLimits {
  /** Connections that one address may open in a second, on average over ten; 0: no bound. */
  readonly attemptsPerSecond: number
  /** Connections that one address may have open at once; 0: no bound. */
  readonly openPerAddress: number
}

/** Addresses remembered; at the bound the oldest is forgotten. */
const MAXIMUM_ADDRESSES = 65_536
const BURST_SECONDS = 10

interface Account {
  open: number
  tokens: number
  refilledAtMs: number
}

export class AddressLimiter {
  readonly #limits: AddressLimits
  readonly #accounts = new Map<string, Account>()

  constructor(limits: AddressLimits) {
    this.#limits = limits
  }

  /** True when the address may have this connection; then `closed` must follow once. */
  admit(address: string, nowMs: number): boolean {
    const { attemptsPerSecond, openPerAddress } = this.#limits
    const burst = attemptsPerSecond * BURST_SECONDS
    let account = this.#accounts.get(address)
    if (account === undefined) {
      account = { open: 0, tokens: burst, refilledAtMs: nowMs }
      this.#remember(address, account)
    }
    if (openPerAddress > 0 && account.open >= openPerAddress) return false
    if (attemptsPerSecond > 0) {
      account.tokens = Math.min(burst, account.tokens + ((nowMs - account.refilledAtMs) / 1000) * attemptsPerSecond)
      account.refilledAtMs = nowMs
      if (account.tokens < 1) return false
      account.tokens -= 1
    }
    account.open += 1
    return true
  }

  closed(address: string): void {
    const account = this.#accounts.get(address)
    if (account !== undefined && account.open > 0) account.open -= 1
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
