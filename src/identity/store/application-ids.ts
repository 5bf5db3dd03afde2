/**
 * The ids of applications. For most applications the id is the row's number in digits. An
 * application that was synchronised from a network server with ids of its own (ChirpStack v4:
 * UUIDs) keeps that id, and is known by its UUID alone.
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
 * The greatest id of digits that may be asked for. The registry numbers new applications above the
 * greatest id that exists, so a huge id would use up all that follow.
 */
const MAXIMUM_REQUESTED = 999_999_999

/** The id of the application in the row. */
export function applicationIdOf({ id, uuid }: ApplicationIdColumns): string {
  return uuid ?? String(id)
}

/**
 * The columns that an asked-for id stands for. Undefined for a text that is neither a number up to
 * 999,999,999 nor a UUID in lower case.
 */
export function parseRequestedId(requested: string): Partial<ApplicationIdColumns> | undefined {
  if (UUID.test(requested)) return { uuid: requested }
  const id = parseId(requested)
  return id !== undefined && id <= MAXIMUM_REQUESTED ? { id } : undefined
}

/** SQL for "the row of `applications` with this id". A text that can't be an id finds no row. */
export function hasApplicationId(id: string): RawBuilder<SqlBool> {
  // A row with a UUID is not found by its number: an application has one id, wherever ids are
  // compared.
  if (UUID.test(id)) return sql<SqlBool>`applications.uuid = ${id}`
  return sql<SqlBool>`applications.id = ${parseId(id) ?? 0} and applications.uuid is null`
}
