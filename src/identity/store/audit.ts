/** Reads the audit, and forgets its old entries. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import { writeAuditEntry } from './audit-log.ts'
import type { Deed } from './audit-log.ts'
import { listPage } from './list-page.ts'
import type { Actor, Listed, Page, Viewer } from './result.ts'
import type { Schema } from './schema.ts'
import type { Store } from './store.ts'
import { parseId } from './text-rules.ts'

/** A deed, with its time and its actor. */
export interface AuditEntry extends Deed {
  readonly id: string
  readonly atMs: number
  /**
   * The operator of the machine acts by the command line, the service by itself. In entries of
   * older versions, `service` stands for both.
   */
  readonly actor: 'user' | 'operator' | 'service' | 'apiKey'
  /** `null` unless the actor is a user. */
  readonly actorUserId: string | null
  /** `null` unless the actor is an API key. */
  readonly actorApiKeyId: string | null
}

/** A page of the audit. */
export interface AuditPage extends Page {
  readonly organizationId?: string
  readonly consoleTokens?: boolean
}

/**
 * The record of all deeds. Entries are kept for 90 days, and 100,000 of them at most: then the
 * organization with the most entries loses its own oldest.
 */
export interface Audit {
  record(actor: Actor, deed: Deed): Promise<void>
  /**
   * Newest first. `search` looks into action and subject. A global admin sees all entries, another
   * user those of its organizations. With `consoleTokens` false, the tokens that pages of the
   * console took and gave back are left out.
   */
  list(viewer: Viewer, page: AuditPage): Promise<Listed<AuditEntry>>
}

const MAXIMUM_AGE_MS = 90 * 86_400_000
/** Entries that one statement deletes. */
const PRUNE_BATCH = 500

/** The audit of a store. */
export function createAudit(store: Store): Audit & { prune(): Promise<void> } {
  const { db, clock } = store
  return {
    async record(actor, deed) {
      await store.transaction((trx) => writeAuditEntry(trx, clock.now(), actor, deed))
    },

    list(viewer, page) {
      let scope = db.selectFrom('audit_entries')
      if (page.organizationId !== undefined) scope = scope.where('organization_id', '=', page.organizationId)
      if (page.consoleTokens === false) scope = scope.where('is_of_console', '=', 0)
      if (!viewer.isAdmin) {
        const userId = parseId(viewer.userId) ?? 0
        scope = scope.where('organization_id', 'in', (eb) =>
          eb
            .selectFrom('members')
            .select((inner) => inner.cast<string>('organization_id', 'text').as('id'))
            .where('user_id', '=', userId),
        )
      }
      return listPage(scope, page, {
        searched: 'search_text',
        sorted: (rows) => rows.selectAll().orderBy('id', 'desc'),
        itemOf: entryOf,
      })
    },

    async prune() {
      const before = clock.now() - MAXIMUM_AGE_MS
      for (;;) {
        const { numDeletedRows } = await store.transaction((trx) =>
          trx
            .deleteFrom('audit_entries')
            .where('id', 'in', (eb) =>
              eb.selectFrom('audit_entries').select('id').where('at', '<', before).orderBy('at').limit(PRUNE_BATCH),
            )
            .executeTakeFirstOrThrow(),
        )
        if (numDeletedRows < BigInt(PRUNE_BATCH)) return
        await nextTurn()
      }
    },
  }
}

function actorOf(row: Selectable<Schema['audit_entries']>): AuditEntry['actor'] {
  if (row.is_operator === 1) return 'operator'
  if (row.actor_api_key_id !== null) return 'apiKey'
  return row.actor_user_id === null ? 'service' : 'user'
}

function entryOf(row: Selectable<Schema['audit_entries']>): AuditEntry {
  return {
    id: String(row.id),
    atMs: row.at,
    actor: actorOf(row),
    actorUserId: row.actor_user_id,
    actorApiKeyId: row.actor_api_key_id,
    action: row.action,
    subject: row.subject,
    organizationId: row.organization_id,
    detail: JSON.parse(row.detail) as Record<string, unknown>,
  }
}
