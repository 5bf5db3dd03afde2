/**
 * The changes of all processes in one order. Each transaction writes its changes as a row with the
 * next number, and each process tells its own parts of all rows, one after the other.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Clock } from '../../clock.ts'
import type { Change } from '../store/changes.ts'
import { RegistryUnavailableError } from '../store/registry-unavailable.ts'
import type { Schema } from '../store/schema.ts'

/**
 * Tells other processes of changes sooner than they would ask, and while they can't ask: a process
 * that alone is cut from the database hears of a revocation.
 */
export interface ChangeFeed {
  /** Is called with the row of each transaction of this process, once it is committed. */
  committed(row: FedRow): void
  /** Calls the listener with the rows of other processes. Returns the function that ends this. */
  subscribe(listener: (row: FedRow) => void): () => void
}

/** A row of the outbox on its way to other processes: JSON has a form for it. */
export interface FedRow {
  /** The row before it. */
  readonly previous: Place
  readonly own: Place
  /** JSON. */
  readonly content: string
}

/** How often the outbox is asked for changes of other processes. */
const POLL_MS = 250
/**
 * Rows that are told one by one. A process that is further behind tells that it has missed some: to
 * look again costs less then.
 */
const MAXIMUM_ROWS = 2_000
/** Rows are kept so long. A process that was away for longer has missed some. */
const KEPT_MS = 3_600_000
/** Rows that are kept at most, some 200 bytes each. */
const MAXIMUM_KEPT = 100_000
/** How often old rows are deleted. */
const PRUNE_MS = 60_000
/**
 * Facts in memory are good for so long after the last successful question for changes. A
 * revocation can reach a process that is cut from the database only after that.
 */
const TRUSTED_MS = 60_000
/** After so long without an answer the process says that the database is away. */
const UNREACHABLE_MS = 3_000

/** A row of the outbox. */
export interface Place {
  readonly number: number
  readonly id: string
}

interface Row extends Place {
  /** `null` for the row that this very statement wrote. */
  readonly content: string | null
}

/** The rows up to that of a transaction, as the transaction saw them. */
export interface Written {
  readonly asked: Place
  readonly others: readonly Row[]
  readonly own: Place
  readonly changes: readonly Change[]
}

interface OutboxOptions {
  readonly db: Kysely<Schema>
  readonly clock: Pick<Clock, 'steady'>
  readonly tell: (change: Change) => void
  readonly feed: ChangeFeed | undefined
  /** Hears when the database goes away, with the error, and when it is there again. */
  readonly onReach: (error: unknown) => void
}

/** The outbox of one process. It asks for changes from `open` to `close`. */
export class Outbox {
  readonly #options: OutboxOptions
  #last: Place = { number: 0, id: '' }
  #heardAtMs = 0
  #prunedAtMs = 0
  #isAway = false
  #polling: Promise<void> | undefined
  /** A hint came while a question was under way: its answer may be too old. */
  #isHinted = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #unsubscribe: (() => void) | undefined

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Begins behind the newest row. To be called before anything of the registry is remembered. */
  async open(): Promise<void> {
    const { clock, feed } = this.#options
    this.#last = await this.#newest()
    this.#heardAtMs = clock.steady()
    this.#prunedAtMs = clock.steady()
    this.#unsubscribe = feed?.subscribe((row) => this.#fed(row))
    this.#schedule()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unsubscribe?.()
    clearTimeout(this.#timer)
    await this.#polling
  }

  /** Whether what this process remembers may be answered from. */
  get isTrusted(): boolean {
    return this.#options.clock.steady() - this.#heardAtMs <= TRUSTED_MS
  }

  get isReachable(): boolean {
    return !this.#isAway || this.#options.clock.steady() - this.#heardAtMs <= UNREACHABLE_MS
  }

  /** Writes the changes of a transaction that holds the lock of changes, as its last statement. */
  async write(trx: Kysely<Schema>, changes: readonly Change[]): Promise<Written> {
    const asked = this.#last
    const { rows } = await sql<Row>`
      with own as (
        insert into outbox (id, content, told_at) values (${randomUUID()}, ${JSON.stringify(changes)}, ${nowByDatabase})
        returning number, id)
      (select number, id, content from outbox where number >= ${asked.number} order by number limit ${MAXIMUM_ROWS + 1})
      union all select number, id, null from own order by number`.execute(trx)
    const own = rows.at(-1)
    if (own?.content !== null) throw new Error('the outbox has lost a row')
    return { asked, others: rows.slice(0, -1), own, changes }
  }

  /** Tells of the changes of a transaction that was committed, and of all before. */
  committed({ asked, others, own, changes }: Written): void {
    const { number, id } = others.at(-1) ?? asked
    this.#options.feed?.committed({ previous: { number, id }, own, content: JSON.stringify(changes) })
    // A question meanwhile may have told it already.
    if (this.#last.number >= own.number) return
    if (isWhole(asked, others)) this.#tellRows(others)
    else this.#tell(own, [{ kind: 'resynchronized' }])
    this.#tell(own, changes)
  }

  /** Asks for changes now. Throws RegistryUnavailableError when the database is away. */
  async poll(): Promise<void> {
    const { db, clock, onReach } = this.#options
    const startedMs = clock.steady()
    try {
      const asked = this.#last
      const { rows } = await sql<Row>`
        select number, id, content from outbox where number >= ${asked.number} order by number limit ${MAXIMUM_ROWS + 1}`.execute(
        db,
      )
      if (isWhole(asked, rows)) this.#tellRows(rows)
      // If changes were told meanwhile, the next question tells whether rows are missing.
      else if (this.#last === asked) this.#tell(await this.#newest(), [{ kind: 'resynchronized' }])
      this.#heardAtMs = startedMs
      if (this.#isAway) onReach(undefined)
      this.#isAway = false
    } catch (error) {
      if (!this.#isAway) onReach(error)
      this.#isAway = true
      throw error instanceof RegistryUnavailableError ? error : new RegistryUnavailableError(error)
    }
    if (startedMs - this.#prunedAtMs < PRUNE_MS) return
    this.#prunedAtMs = startedMs
    await this.#prune()
  }

  #tellRows(rows: readonly Row[]): void {
    for (const row of rows) {
      if (row.number > this.#last.number && row.content !== null) this.#tell(row, changesIn(row.content))
    }
  }

  #tell({ number, id }: Place, changes: readonly Change[]): void {
    this.#last = { number, id }
    for (const change of changes) this.#options.tell(change)
  }

  /** Tells a row that follows the last one; for others, and to be sure, the database is asked. */
  #fed({ previous, own, content }: FedRow): void {
    const last = this.#last
    const isNext = previous.number === last.number && previous.id === last.id && own.number > last.number
    if (isNext) this.#tell(own, changesIn(content))
    this.#isHinted = true
    this.#begin()
  }

  #begin(): void {
    if (this.#isClosed || this.#polling !== undefined) return
    clearTimeout(this.#timer)
    this.#isHinted = false
    this.#polling = this.poll()
      .catch(() => undefined)
      .finally(() => {
        this.#polling = undefined
        if (this.#isHinted) this.#begin()
        else this.#schedule()
      })
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => this.#begin(), POLL_MS)
    this.#timer.unref()
  }

  async #newest(): Promise<Place> {
    const row = await this.#options.db
      .selectFrom('outbox')
      .select(['number', 'id'])
      .orderBy('number', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row ?? { number: 0, id: '' }
  }

  /** The newest row stays: it is the place from which each process goes on. */
  async #prune(): Promise<void> {
    await sql`
      delete from outbox
      where number < (select max(number) from outbox)
        and (told_at < ${nowByDatabase} - ${sql.lit(KEPT_MS)}
          or number <= (select max(number) from outbox) - ${sql.lit(MAXIMUM_KEPT)})`.execute(this.#options.db)
  }
}

/**
 * Whether the rows are all that come behind the one that was asked for. Its own row comes first,
 * unless it was pruned or lost in a failover.
 */
function isWhole(asked: Place, rows: readonly Row[]): boolean {
  const [first] = rows
  return first?.number === asked.number && first.id === asked.id && rows.length <= MAXIMUM_ROWS
}

const nowByDatabase = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`

const KINDS: Readonly<Record<Change['kind'], true>> = {
  user_changed: true,
  member_added: true,
  member_changed: true,
  member_removed: true,
  organization_removed: true,
  organization_bounds_changed: true,
  application_created: true,
  application_changed: true,
  application_removed: true,
  last_events_ended: true,
  device_created: true,
  device_changed: true,
  device_removed: true,
  devices_changed: true,
  token_revoked: true,
  service_credential_revoked: true,
  api_key_revoked: true,
  api_key_changed: true,
  webhook_changed: true,
  device_profile_changed: true,
  registration_rules_changed: true,
  signing_key_rotated: true,
  resynchronized: true,
}

/** A kind that this version does not know comes from a newer one: everything is looked up again. */
function changesIn(content: string): readonly Change[] {
  const changes = JSON.parse(content) as readonly Change[]
  return changes.map((change) => (Object.hasOwn(KINDS, change.kind) ? change : { kind: 'resynchronized' }))
}
