/**
 * The ids of applications. Most are given by the registry: the digits of the row. A network server
 * that has ids of its own (ChirpStack v4: UUIDs) keeps them: such an application is known by its
 * UUID alone.
 */
import { sql } from 'kysely'
import type { RawBuilder, SqlBool } from 'kysely'
import { parseId } from './text-rules.ts'

/** The columns that an id is made of. */
interface ApplicationIdColumns {
  readonly id: number
  readonly uuid: string | null
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * The greatest id of digits that may be asked for. The registry goes on above the greatest that
 * there is, so a huge one would use up the ids that follow.
 */
const MAXIMUM_REQUESTED = 999_999_999

/** The id of the application in the row. */
export function applicationIdOf({ id, uuid }: ApplicationIdColumns): string {
  return uuid ?? String(id)
}

/**
 * The columns that an asked-for id stands for; undefined for what can't be one: not digits up to
 * 999,999,999, nor a UUID in lower case.
 */
export function parseRequestedId(requested: string): Partial<ApplicationIdColumns> | undefined {
  if (UUID.test(requested)) return { uuid: requested }
  const id = parseId(requested)
  return id !== undefined && id <= MAXIMUM_REQUESTED ? { id } : undefined
}

/** SQL for "the row of `applications` with this id"; none where the text can't be one. */
export function hasApplicationId(id: string): RawBuilder<SqlBool> {
  // A row with a UUID is not found by its number as well: one application has one id, whatever
  // compares them.
  if (UUID.test(id)) return sql<SqlBool>`applications.uuid = ${id}`
  return sql<SqlBool>`applications.id = ${parseId(id) ?? 0} and applications.uuid is null`
}
