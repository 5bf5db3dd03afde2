/** Writes the audit. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Actor } from './result.ts'
import type { Schema } from './schema.ts'
import { foldText } from './text-rules.ts'

/** A deed, without its time and its actor. */
export interface Deed {
  /** `noun.verb`, for example `user.created`. */
  readonly action: string
  /** The id, DevEUI or name of the thing that it was done to. */
  readonly subject: string
  readonly organizationId: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * Entries that are kept, so that nobody can fill the disk by its deeds. Above the bound, the
 * organization with the most entries loses its own oldest. The entries without an organization
 * count as those of one more organization.
 */
const MAXIMUM_ENTRIES = 100_000
/** Entries between two looks at the number of all entries. */
const PRUNE_STEP = 10
/**
 * Entries that one look deletes at most, so that no change waits for long. More than PRUNE_STEP, so
 * that the audit of an older version comes down to the bound.
 */
const MAXIMUM_PRUNED = 2 * PRUNE_STEP
/** Longer detail is left out of its entry, so that hostile input can't fill the disk. */
const MAXIMUM_DETAIL_CHARACTERS = 4096

/**
 * Adds an entry, within the transaction that does the deed, and returns its id. With the `entryId`
 * of an earlier transaction, that entry tells the deed instead, and keeps its time and its actor.
 */
export async function writeAuditEntry(
  db: Kysely<Schema>,
  nowMs: number,
  actor: Actor,
  deed: Deed,
  entryId?: number,
): Promise<number> {
  const told = columnsOf(deed)
  if (entryId !== undefined) {
    const changed = await db.updateTable('audit_entries').set(told).where('id', '=', entryId).executeTakeFirst()
    // None is changed if the entry was among the oldest that made room.
    if (changed.numUpdatedRows > 0n) return entryId
  }
  const { id } = await db
    .insertInto('audit_entries')
    .values({
      at: nowMs,
      actor_user_id: actor.isOperator === true || actor.apiKey !== undefined ? null : actor.userId,
      actor_api_key_id: actor.apiKey?.id ?? null,
      is_operator: Number(actor.isOperator === true),
      is_of_console: Number(deed.detail['isOfConsole'] === true),
      organization_id: deed.organizationId,
      ...told,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (id % PRUNE_STEP === 0) await makeRoom(db)
  return id
}

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- columns are the schema's
function columnsOf({ action, subject: fullSubject, detail: fullDetail }: Deed) {
  const detail = JSON.stringify(fullDetail)
  const subject = fullSubject.slice(0, 300).toWellFormed()
  return {
    action,
    subject,
    search_text: foldText(`${action}\n${subject}`),
    detail: detail.length > MAXIMUM_DETAIL_CHARACTERS ? '{"omitted":"too long"}' : detail,
  }
}

/** Deletes entries above the bound, each the oldest of the organization that has the most. */
async function makeRoom(db: Kysely<Schema>): Promise<void> {
  const { entries } = await db
    .selectFrom('audit_holders')
    .select(({ fn }) => fn.sum<number>('entries').as('entries'))
    .executeTakeFirstOrThrow()
  for (let left = Math.min(entries - MAXIMUM_ENTRIES, MAXIMUM_PRUNED); left > 0; left -= 1) {
    await sql`
      delete from audit_entries where id = (
        select id from audit_entries where organization_id is not distinct from (
          select nullif(organization_id, '') from audit_holders order by entries desc limit 1)
        order by id limit 1)`.execute(db)
  }
}
