/** Deletes the devices of removed applications and organizations, batch by batch. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { deviceSearchOf } from './device-search.ts'
import type { DeviceRow } from './device-rows.ts'
import type { Schema } from '../store/schema.ts'
import type { Store } from '../store/store.ts'

/** Devices that one transaction takes away: it holds up the event loop for some 5 ms. */
const MAXIMUM_BATCH = 100

/** Deletes the devices of removed applications, after a mark has hidden them. */
export interface DeviceRemoval {
  /** Resolves when all devices that were marked before the call are deleted. */
  run(): Promise<void>
  /** Calls the listener whenever devices were deleted. */
  onRemoved(listener: () => void): void
  /** Ends at the next batch. The next start deletes the rest. */
  stop(): Promise<void>
}

/** A removal that works on one batch at a time and gives the event loop a turn between two. */
export function createDeviceRemoval(store: Store): DeviceRemoval {
  const listeners: (() => void)[] = []
  let isStopped = false
  let running: Promise<void> = Promise.resolve()

  async function sweep(): Promise<void> {
    for (;;) {
      if (isStopped || !(await removeBatch(store))) return
      for (const listener of listeners) listener()
      await nextTurn()
    }
  }

  return {
    run() {
      // One sweep after the other: a sweep that is nearly through may have missed the newest mark.
      running = running.then(sweep, sweep)
      return running
    },
    onRemoved(listener) {
      listeners.push(listener)
    },
    async stop() {
      isStopped = true
      await running.catch(() => undefined)
    },
  }
}

/** Deletes devices and their entries in the search. The caller adjusts the counts. */
export async function deleteDevices(
  { dialect }: Pick<Store, 'dialect'>,
  db: Kysely<Schema>,
  ids: readonly number[],
): Promise<void> {
  await deviceSearchOf(dialect).forget(db, ids)
  await db.deleteFrom('devices').where('id', 'in', ids).execute()
}

/**
 * Keeps the counts of the applications and organizations that devices were added to or taken from.
 */
export async function adjustDeviceCounts(
  db: Kysely<Schema>,
  rows: readonly (Pick<DeviceRow, 'application_id' | 'organization_id'> & { readonly change: 1 | -1 })[],
): Promise<void> {
  const applications = new Map<number, number>()
  const organizations = new Map<number, number>()
  for (const { application_id, organization_id, change } of rows) {
    applications.set(application_id, (applications.get(application_id) ?? 0) + change)
    organizations.set(organization_id, (organizations.get(organization_id) ?? 0) + change)
  }
  for (const [table, counts] of [
    ['applications', applications],
    ['organizations', organizations],
  ] as const) {
    const values = Array.from(counts, ([id, change]) => sql`(cast(${id} as bigint), cast(${change} as bigint))`)
    await sql`
      with counted (id, change) as (values ${sql.join(values)})
      update ${sql.table(table)} set device_count = device_count + counted.change
      from counted where ${sql.table(table)}.id = counted.id`.execute(db)
  }
}

/**
 * Deletes one batch, or a marked application or organization that has become empty. Returns false
 * when nothing is left.
 */
async function removeBatch(store: Store): Promise<boolean> {
  return store.transaction(async (trx) => {
    const application = await trx
      .selectFrom('applications')
      .select('id')
      .where('removed_at', 'is not', null)
      .limit(1)
      .executeTakeFirst()
    if (application !== undefined) {
      const devices = await trx
        .selectFrom('devices')
        .select('id')
        .where('application_id', '=', application.id)
        .limit(MAXIMUM_BATCH)
        .execute()
      if (devices.length > 0) {
        await deleteDevices(
          store,
          trx,
          devices.map(({ id }) => id),
        )
      }
      if (devices.length < MAXIMUM_BATCH) {
        await trx.deleteFrom('applications').where('id', '=', application.id).execute()
      }
      return true
    }
    const { numDeletedRows } = await trx
      .deleteFrom('organizations')
      .where('removed_at', 'is not', null)
      .executeTakeFirst()
    return numDeletedRows > 0n
  })
}
