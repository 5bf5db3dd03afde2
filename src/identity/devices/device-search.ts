/**
 * The trigram index of devices, which finds few matches among a million of devices
 * (docs/decisions/0002-registry-search.md). SQLite has a table of its own for it, PostgreSQL an
 * index of `devices.order_key`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely, RawBuilder, SqlBool } from 'kysely'
import type { Schema } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import type { DeviceRow } from './device-rows.ts'

/** With more candidates than these, the trigram index saves little over a walk. */
const MAXIMUM_CANDIDATES = 10_000
/** Candidates that one statement finds or checks. */
const CANDIDATES_BATCH = 500
/**
 * Row ids of one look into the trigram index, so that words with many candidates don't hold it up.
 */
const SEARCH_SPAN = 131_072
/** Further trigrams of a long word do not reduce the candidates. */
const MAXIMUM_TRIGRAMS = 24
/** The trigram index. Both dialects find the same devices in the same order. */
export interface DeviceSearch {
  add(db: Kysely<Schema>, rows: readonly Pick<DeviceRow, 'id' | 'order_key'>[]): Promise<void>
  forget(db: Kysely<Schema>, ids: readonly number[]): Promise<void>
  /**
   * The ids of all devices that meet the condition, in the order of the lists; undefined if they
   * may be many. `search` is part of the condition.
   */
  findFew(db: Kysely<Schema>, condition: RawBuilder<SqlBool>, search: string): Promise<readonly number[] | undefined>
}

/** The trigram index of the dialect. */
export function deviceSearchOf(dialect: Store['dialect']): DeviceSearch {
  return dialect === 'sqlite' ? sqliteSearch : postgresSearch
}

const sqliteSearch: DeviceSearch = {
  async add(db, rows) {
    const texts = rows.map((row) => ({ rowid: row.id, text: row.order_key }))
    await db.insertInto('device_search').values(texts).execute()
  },
  async forget(db, ids) {
    await db.deleteFrom('device_search').where('rowid', 'in', ids).execute()
  },
  findFew,
}

/** PostgreSQL keeps the index itself. */
const postgresSearch: DeviceSearch = {
  add: () => Promise.resolve(),
  forget: () => Promise.resolve(),
  async findFew(db, condition, search) {
    if (Array.from(search).length < 3) return undefined
    const { rows } = await sql<{ readonly id: number }>`
      with found as materialized (select id, order_key from devices where ${condition} limit ${MAXIMUM_CANDIDATES + 1})
      select id from found order by order_key`.execute(db)
    return rows.length > MAXIMUM_CANDIDATES ? undefined : rows.map(({ id }) => id)
  },
}

/** All matches in order, if the trigram index shows that they are few. */
async function findFew(
  db: Kysely<Schema>,
  condition: RawBuilder<SqlBool>,
  search: string,
): Promise<readonly number[] | undefined> {
  const characters = Array.from(search)
  if (characters.length < 3) return undefined
  const trigrams = new Set<string>()
  for (let at = 0; at + 3 <= characters.length && trigrams.size < MAXIMUM_TRIGRAMS; at += 1) {
    trigrams.add(
      `"${characters
        .slice(at, at + 3)
        .join('')
        .replaceAll('"', '""')}"`,
    )
  }
  const match = [...trigrams].join(' AND ')
  if (!(await areFew(db, match))) return undefined
  const found: { readonly id: number; readonly key: Buffer }[] = []
  for (let last = 0; ;) {
    const candidates = await sql<{ readonly id: number }>`
      select rowid as id from device_search where device_search match ${match} and rowid > ${last}
      order by rowid limit ${CANDIDATES_BATCH}`.execute(db)
    const ids = candidates.rows.map(({ id }) => id)
    const newest = ids.at(-1)
    if (newest === undefined) break
    last = newest
    const { rows } = await sql<{ readonly id: number; readonly order_key: string }>`
      select id, order_key from devices where id in (${sql.join(ids)}) and ${condition}`.execute(db)
    for (const row of rows) found.push({ id: row.id, key: Buffer.from(row.order_key) })
    await nextTurn()
  }
  // In the order of bytes, as the index has it.
  return found.toSorted((one, other) => one.key.compare(other.key)).map(({ id }) => id)
}

/** Whether the candidates are few enough to look at each. */
async function areFew(db: Kysely<Schema>, match: string): Promise<boolean> {
  const newest = await db
    .selectFrom('devices')
    .select((eb) => eb.fn.max('id').as('id'))
    .executeTakeFirst()
  let candidates = 0
  for (let from = 0; from < (newest?.id ?? 0); from += SEARCH_SPAN) {
    if (from > 0) await nextTurn()
    const { rows } = await sql<{ readonly count: number }>`
      select count(*) as count from (
        select 1 from device_search
        where device_search match ${match} and rowid > ${from} and rowid <= ${from + SEARCH_SPAN}
        limit ${MAXIMUM_CANDIDATES + 1})`.execute(db)
    candidates += rows[0]?.count ?? 0
    if (candidates > MAXIMUM_CANDIDATES) return false
  }
  return true
}
