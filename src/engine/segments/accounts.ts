/**
 * Accounts of stored bytes. The messages of one topic branch (the first two levels of a Topic Name,
 * `application/<id>`) have one account, and each account belongs to a tenant. Each segment knows
 * its share of every account.
 */

/**
 * The most accounts. Bounds their memory, some 20 MB, against a tenant that publishes under names
 * without end. The messages of further branches are in the account of nobody.
 */
const MAXIMUM_ACCOUNTS = 65_535
/**
 * The messages of a longer branch are in the account of nobody. Bounds the memory of one account.
 */
const MAXIMUM_BRANCH_UNITS = 128

/**
 * Tells the tenant of a topic branch. Undefined: the branch has none, for example because its
 * application was deleted.
 */
export type TenantOfBranch = (topicBranch: string) => string | undefined | Promise<string | undefined>

export class Account {
  readonly topicBranch: string
  /** Empty while no tenant is known. */
  tenant: string
  /** Bytes of the records that can be read. */
  storedBytes = 0
  /** The segment whose table was asked last, and the account's number there. */
  lastShares: SegmentShares | undefined = undefined
  lastNumber = 0

  constructor(topicBranch: string, tenant: string) {
    this.topicBranch = topicBranch
    this.tenant = tenant
  }
}

export class Accounts {
  /** The account of messages without an account of their own. */
  readonly nobody = new Account('', '')
  /** Grows when new messages of a branch are to get another account than before. */
  generation = 0
  readonly #tenantOf: TenantOfBranch
  /** By branch: the account of new messages. */
  readonly #current = new Map<string, Account>()
  /** By branch and tenant: the accounts that files may name. */
  readonly #known = new Map<string, Account>()
  readonly #byTenant = new Map<string, Set<Account>>()
  /** Accounts whose tenant is not known yet. */
  readonly #unknown = new Set<Account>()

  constructor(tenantOf: TenantOfBranch = () => undefined) {
    this.#tenantOf = tenantOf
  }

  /** The account for new messages of this Topic Name. */
  ofTopic(topicName: string): Account {
    const first = topicName.indexOf('/')
    const second = first === -1 ? -1 : topicName.indexOf('/', first + 1)
    return this.of(second === -1 ? topicName : topicName.slice(0, second))
  }

  /**
   * The account of a branch. `tenant` is the tenant that a file names; empty: the branch's tenant
   * of today.
   */
  of(topicBranch: string, tenant = ''): Account {
    const known = tenant === '' ? this.#current.get(topicBranch) : this.#known.get(keyOf(topicBranch, tenant))
    if (known !== undefined) return known
    const isFull = this.#known.size + this.#unknown.size >= MAXIMUM_ACCOUNTS
    if (topicBranch === '' || topicBranch.length > MAXIMUM_BRANCH_UNITS || isFull) return this.nobody
    const account = new Account(topicBranch, '')
    if (tenant !== '') {
      this.#settle(account, tenant)
      return account
    }
    this.#current.set(topicBranch, account)
    this.#unknown.add(account)
    void this.#ask(account)
    return account
  }

  /** Bytes of the tenant's messages that can be read. */
  storedBytesOf(tenant: string): number {
    let bytes = 0
    for (const { storedBytes } of this.#byTenant.get(tenant) ?? []) bytes += storedBytes
    return bytes
  }

  /** The tenants that have accounts. */
  tenants(): Iterable<string> {
    return this.#byTenant.keys()
  }

  /** Stored bytes by tenant. The empty tenant stands for all accounts without a known tenant. */
  storedBytesByTenant(): Map<string, number> {
    const all = new Map<string, number>()
    let ofNobody = this.nobody.storedBytes
    for (const { storedBytes } of this.#unknown) ofNobody += storedBytes
    all.set('', ofNobody)
    for (const tenant of this.#byTenant.keys()) all.set(tenant, this.storedBytesOf(tenant))
    return all
  }

  /**
   * Asks again for the tenants that are not known yet, and for those of the accounts in use. An
   * application may be deleted, and made again by another organization: then new messages get
   * another account, and the old messages keep theirs.
   */
  async resolve(inUse: Iterable<Account>): Promise<void> {
    for (const account of this.#unknown) await this.#ask(account)
    for (const account of inUse) {
      const { topicBranch, tenant } = account
      if (tenant === '' || this.#current.get(topicBranch) !== account) continue
      if ((await this.#tenantNow(topicBranch)) === tenant) continue
      this.#current.delete(topicBranch)
      this.generation += 1
    }
  }

  async #ask(account: Account): Promise<void> {
    const answer = this.#tenantNow(account.topicBranch)
    // Most answers are at hand. Then the tenant is known before the first message is counted.
    const tenant = answer instanceof Promise ? await answer : answer
    if (tenant !== '') this.#settle(account, tenant)
  }

  /** The tenant of a branch; empty if there is none, or if the registry could not be read. */
  #tenantNow(topicBranch: string): string | Promise<string> {
    try {
      const answer = this.#tenantOf(topicBranch)
      if (!(answer instanceof Promise)) return answer ?? ''
      return answer.then(
        (tenant) => tenant ?? '',
        () => '',
      )
    } catch {
      return ''
    }
  }

  #settle(account: Account, tenant: string): void {
    if (account.tenant !== '') return
    account.tenant = tenant
    this.#unknown.delete(account)
    const accounts = this.#byTenant.get(tenant) ?? new Set()
    this.#byTenant.set(tenant, accounts.add(account))
    const key = keyOf(account.topicBranch, tenant)
    if (!this.#known.has(key)) this.#known.set(key, account)
  }
}

function keyOf(topicBranch: string, tenant: string): string {
  return `${topicBranch}\0${tenant}`
}

/** One segment's share of each account. Number 0 is the account of nobody. */
export class SegmentShares {
  readonly accounts: Account[] = []
  readonly bytes: number[] = []
  readonly messages: number[] = []
  /** By number: 1 for an account whose messages in this segment were removed. */
  removed: Uint8Array | undefined = undefined
  removedBytes = 0
  /** Bytes of the messages that were not removed. */
  keptBytes = 0
  /** The number of messages that were not removed. */
  keptMessages = 0
  readonly #numbers = new Map<Account, number>()
  #isCounted = false

  /** A new table has the account of nobody; undefined: it is empty, to be filled from a file. */
  constructor(nobody: Account | undefined) {
    if (nobody !== undefined) this.append(nobody, 0, 0)
  }

  isRemoved(number: number): boolean {
    return this.removed?.[number] === 1
  }

  /** The account's number in this segment. */
  numberOf(account: Account): number {
    if (account.lastShares === this) return account.lastNumber
    let number = this.#numbers.get(account)
    if (number === undefined) {
      number = this.accounts.length
      this.#numbers.set(account, number)
      this.accounts.push(account)
      this.bytes.push(0)
      this.messages.push(0)
    }
    account.lastShares = this
    account.lastNumber = number
    return number
  }

  /**
   * Appends an account as a file has it: under the next number. A file that names more accounts
   * than the process can have gives several numbers to the account of nobody.
   */
  append(account: Account, bytes: number, messages: number): void {
    const number = this.accounts.push(account) - 1
    this.bytes.push(bytes)
    this.messages.push(messages)
    this.keptBytes += bytes
    this.keptMessages += messages
    if (!this.#numbers.has(account)) this.#numbers.set(account, number)
  }

  /** Adds a message of an account, whose record has this many bytes. */
  add(number: number, bytes: number): void {
    this.bytes[number] = (this.bytes[number] as number) + bytes
    this.messages[number] = (this.messages[number] as number) + 1
    this.keptBytes += bytes
    this.keptMessages += 1
    if (this.#isCounted) (this.accounts[number] as Account).storedBytes += bytes
  }

  /** Counts the kept messages for their accounts, from now on. */
  count(): void {
    if (this.#isCounted) return
    this.#isCounted = true
    for (const [number, account] of this.accounts.entries()) {
      if (!this.isRemoved(number)) account.storedBytes += this.bytes[number] as number
    }
  }

  /** Counts nothing any more: the segment is no longer part of the log. */
  uncount(): void {
    if (!this.#isCounted) return
    this.#isCounted = false
    for (const [number, account] of this.accounts.entries()) {
      if (!this.isRemoved(number)) account.storedBytes -= this.bytes[number] as number
    }
  }

  /**
   * Removes all messages of an account: they can't be read any more. The segment must be sealed.
   */
  remove(number: number): void {
    if (this.isRemoved(number)) return
    this.removed ??= new Uint8Array(this.accounts.length)
    this.removed[number] = 1
    this.removedBytes += this.bytes[number] as number
    this.keptBytes -= this.bytes[number] as number
    this.keptMessages -= this.messages[number] as number
    if (this.#isCounted) (this.accounts[number] as Account).storedBytes -= this.bytes[number] as number
  }

  /** Removes the messages of the accounts that are removed in another table of the same segment. */
  removeAs(other: SegmentShares): void {
    for (const [number, account] of other.accounts.entries()) {
      if (other.isRemoved(number) && this.#numbers.has(account)) this.remove(this.numberOf(account))
    }
  }
}
