/**
 * Many rows for one statement, as one parameter. A parameter for each value would make Kysely build
 * and compile thousands of nodes for a statement, which costs more than the statement itself.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Store } from './store.ts'

/** The type of a column; SQLite and PostgreSQL know all of them. */
export type ColumnType = 'text' | 'integer' | 'bigint' | 'double precision'

/** A row: its values in the order of the columns. A text has no character U+0000. */
export type RowValues = readonly (string | number | null)[]

const SOURCES = {
  sqlite: sql.raw('json_each('),
  postgres: sql.raw('jsonb_array_elements('),
}

/**
 * A `select` of these rows, with the types of their columns in order. It stands in the place of
 * `values`: `with seen (dev_eui, at) as (${rowsAsJson(store, ['text', 'bigint'], rows)})`.
 */
export function rowsAsJson(
  { dialect }: Pick<Store, 'dialect'>,
  types: readonly ColumnType[],
  rows: readonly RowValues[],
): RawBuilder<unknown> {
  const columns = types.map((type, index) => `cast(value ->> ${index} as ${type})`)
  return sql`select ${sql.raw(columns.join(', '))}
    from ${SOURCES[dialect]}cast(${JSON.stringify(rows)} as ${sql.raw(dialect === 'sqlite' ? 'text' : 'jsonb')})) as rows`
}
