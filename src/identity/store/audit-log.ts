import type { Kysely } from 'kysely'
import type { Deed } from './audit.ts'
import type { Actor } from './result.ts'
import type { Schema } from './schema.ts'
import { foldText } from './text-rules.ts'

/**
 * The most entries that are kept: the oldest go, so that nobody can fill the disk with what it
 * does.
 */
const MAXIMUM_ENTRIES = 100_000
/** The oldest go so many at a time. */
const PRUNE_STEP = 500

/**
 * How much detail one entry holds; a longer one is left out, so that hostile input can't fill the
 * disk.
 */
const MAXIMUM_DETAIL_CHARACTERS = 4096

/** Adds an entry, within the transaction of what it tells about. */
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
