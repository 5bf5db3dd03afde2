/** Writes the audit. */
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
 * Entries that are kept. At the bound the oldest go, so that nobody can fill the disk by its deeds.
 */
const MAXIMUM_ENTRIES = 100_000
/** Entries between two removals of the oldest. */
const PRUNE_STEP = 500
/** Longer detail is left out of its entry, so that hostile input can't fill the disk. */
const MAXIMUM_DETAIL_CHARACTERS = 4096

/** Adds an entry, within the transaction that does the deed. */
export async function appendAuditEntry(db: Kysely<Schema>, nowMs: number, actor: Actor, deed: Deed): Promise<void> {
  const detail = JSON.stringify(deed.detail)
  const subject = deed.subject.slice(0, 300).toWellFormed()
  const { id } = await db
    .insertInto('audit_entries')
    .values({
      at: nowMs,
      actor_user_id: actor.isOperator === true ? null : actor.userId,
      is_operator: Number(actor.isOperator === true),
      is_of_console: Number(deed.detail['isOfConsole'] === true),
      action: deed.action,
      subject,
      search_text: foldText(`${deed.action}\n${subject}`),
      organization_id: deed.organizationId,
      detail: detail.length > MAXIMUM_DETAIL_CHARACTERS ? '{"omitted":"too long"}' : detail,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (id % PRUNE_STEP === 0) {
    await db
      .deleteFrom('audit_entries')
      .where('id', '<=', id - MAXIMUM_ENTRIES)
      .execute()
  }
}
