/**
 * The order in which passwords are hashed. Networks take turns, and within a network the accounts:
 * a network or an account that sends many passwords waits for itself.
 */

/** The client for whom a password is hashed. */
export interface Asker {
  /** The client's network; "" for people who are signed in. */
  readonly network: string
  /** The user name, or the id of the user. */
  readonly account: string
}

/** Called with true when it is the asker's turn, with false when another asker took the place. */
type Waiting = (isTurn: boolean) => void

/** The hashes that wait of one network, by account. The map's order is the order of the turns. */
type Accounts = Map<string, Waiting[]>

/** Hashes that wait for a thread, at most as many as its bound. */
export class HashTurns {
  readonly #maximum: number
  /** By network. The map's order is the order of the turns. */
  readonly #networks = new Map<string, Accounts>()
  #size = 0

  constructor(maximum: number) {
    this.#maximum = maximum
  }

  /**
   * Waits for a turn. Resolves with false when there is no place. With all places taken, the last
   * hash of the account with the most hashes, in the network with the most, loses its place to a
   * network or an account with fewer. So a flood can't keep others out.
   */
  wait({ network, account }: Asker): Promise<boolean> {
    if (this.#size >= this.#maximum && !this.#makeRoom(network, account)) return Promise.resolve(false)
    const accounts: Accounts = this.#networks.get(network) ?? new Map<string, Waiting[]>()
    this.#networks.set(network, accounts)
    const waiting = accounts.get(account) ?? []
    accounts.set(account, waiting)
    this.#size += 1
    return new Promise((resolve) => waiting.push(resolve))
  }

  /** Gives the next hash its turn. Returns false when none waits. */
  next(): boolean {
    for (const [network, accounts] of this.#networks) {
      for (const [account, waiting] of accounts) {
        const first = waiting.shift() as Waiting
        this.#size -= 1
        // Behind all others, if there is more.
        accounts.delete(account)
        if (waiting.length > 0) accounts.set(account, waiting)
        this.#networks.delete(network)
        if (accounts.size > 0) this.#networks.set(network, accounts)
        first(true)
        return true
      }
    }
    return false
  }

  #makeRoom(network: string, account: string): boolean {
    const [fullest, accounts] = mostOf(this.#networks, sizeOf)
    const [greediest, waiting] = mostOf(accounts, ({ length }) => length)
    const own = this.#networks.get(network)
    const isBehind =
      fullest === network ? (own?.get(account)?.length ?? 0) + 1 >= waiting.length : sizeOf(own) + 1 >= sizeOf(accounts)
    if (isBehind) return false
    waiting.pop()?.(false)
    if (waiting.length === 0) accounts.delete(greediest)
    if (accounts.size === 0) this.#networks.delete(fullest)
    this.#size -= 1
    return true
  }
}

function sizeOf(accounts: Accounts | undefined): number {
  let size = 0
  for (const waiting of accounts?.values() ?? []) size += waiting.length
  return size
}

/** The entry with the greatest measure, of a map that is not empty. */
function mostOf<Value>(entries: ReadonlyMap<string, Value>, measure: (value: Value) => number): [string, Value] {
  let most: [string, Value] | undefined
  for (const entry of entries) {
    if (most === undefined || measure(entry[1]) > measure(most[1])) most = entry
  }
  return most as [string, Value]
}
