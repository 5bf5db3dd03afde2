/**
 * Finds a page of a million devices within milliseconds (docs/decisions/0002-registry-search.md).
 * The counts are kept with each change. Pages are cut from an index that holds the order. Few
 * matches come from the trigram index. Many matches are counted by a walk through the order's index
 * in slices, with a turn of the event loop between two slices.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { RawBuilder, SqlBool } from 'kysely'
import { hasApplicationId } from '../store/application-ids.ts'
import type { Change, Changes } from '../store/changes.ts'
import type { DeviceRemoval } from './device-removal.ts'
import { deviceOf } from './device-rows.ts'
import { deviceSearchOf } from './device-search.ts'
import type { PlacedDeviceRow } from './device-rows.ts'
import type { Device, DeviceFlag, DeviceOrder, DevicePage, Devices } from './device.ts'
import { organizationsOf } from '../store/list-page.ts'
import { devicesWithin } from '../store/reach.ts'
import { boundedPage } from '../store/result.ts'
import type { Listed, Viewer } from '../store/result.ts'
import type { Store } from '../store/store.ts'
import { contains, parseId, parseSearch } from '../store/text-rules.ts'

/**
 * Up to this number of devices, one statement looks through all of them, which takes about 1 ms.
 */
const MAXIMUM_DIRECT = 16_384
/** Index entries that one statement skips to get to an offset. */
const MAXIMUM_SKIP = 16_384
/** Index entries of one slice of a walk. */
const SLICE_ENTRIES = 16_384
/**
 * Devices that one statement reads. A device may have 40 KB of tags and variables: a page of a
 * thousand of them would hold up the event loop for a tenth of a second.
 */
const READ_BATCH = 50
/**
 * Counted walks that are remembered, so that paging through a search doesn't count again; some KB
 * each.
 */
const MAXIMUM_WALKS = 32

/** The most devices that a list orders by something else than their names. */
export const MAXIMUM_SORTED = MAXIMUM_DIRECT

/** The devices from which a list is cut. */
interface Scope {
  readonly key: string
  /** The number of these devices. */
  readonly total: number
  /** The condition for these devices, if one index holds them in order. */
  readonly where: RawBuilder<SqlBool> | undefined
  /** The further condition, if no index holds them in order. */
  readonly filter: RawBuilder<SqlBool> | undefined
}

interface Slice {
  /** The slice begins behind this key. */
  readonly after: string
  /** The last key of the slice; `undefined` for the end of the index. */
  readonly last: string | undefined
  readonly hits: number
}

/**
 * The list of a store's devices. It remembers counts, and forgets them when the registry changes or
 * devices are deleted.
 */
export function createDeviceList(store: Store, changes: Changes, removal: DeviceRemoval): Devices['list'] {
  const walks = createWalks(store, changes, removal)
  return async (viewer, page) => {
    const search = parseSearch(page.search)
    const scope = search === null ? undefined : withinReach(store, viewer, await findScope(store, viewer, page))
    if (scope === undefined || search === null) return { totalCount: 0, items: [] }
    const { limit, offset } = boundedPage(page)
    const { orderBy = 'name' } = page
    if (orderBy !== 'name' && scope.total > MAXIMUM_SORTED) return { totalCount: 0, items: [], isTooLong: true }
    const asked = { search, health: healthCondition(page), orderBy, limit, offset }
    const found = await findIds(store, walks, scope, asked)
    return { totalCount: found.totalCount, items: await readDevices(store, found.items) }
  }
}

/** A page of a list. */
interface Asked {
  /** As `parseSearch` gives it. */
  readonly search: string | undefined
  /** The condition for the state and the flag of a device. */
  readonly health: RawBuilder<SqlBool> | undefined
  readonly orderBy: DeviceOrder
  readonly limit: number
  readonly offset: number
}

async function findIds({ db, dialect }: Store, walks: Walks, scope: Scope, asked: Asked): Promise<Listed<number>> {
  const { search, health, orderBy, limit, offset } = asked
  if (search === undefined && health === undefined && scope.filter === undefined && orderBy === 'name') {
    const items = await cutPage(db, scope, limit, offset)
    return { totalCount: scope.total, items }
  }
  const within = allOf([scope.filter, health])
  const condition = search === undefined ? within : allOf([within, contains(sql.ref('order_key'), search)])
  if (scope.total <= MAXIMUM_DIRECT) return findDirectly(db, scope, condition, asked)
  const key = `${scope.key} ${search ?? ''}`
  if (search !== undefined && (health !== undefined || !walks.isKnown(key))) {
    const few = await deviceSearchOf(dialect).findFew(db, allOf([scope.where, condition]), search)
    if (few !== undefined) return { totalCount: few.length, items: few.slice(offset, offset + limit) }
  }
  // A state changes without a change of the registry, so its count is not remembered.
  const slices = await walks.count(health === undefined ? key : undefined, scope, condition)
  return cutWalked(db, scope, condition, slices, limit, offset)
}

const FLAG_COLUMNS: Readonly<Record<DeviceFlag, string>> = {
  lowBattery: 'is_battery_low',
  weakSignal: 'is_signal_weak',
  losingFrames: 'is_losing_frames',
}

function healthCondition({ state, flag }: DevicePage): RawBuilder<SqlBool> | undefined {
  if (state === undefined && flag === undefined) return undefined
  return allOf([
    state === undefined ? undefined : sql<SqlBool>`devices.state = ${state}`,
    flag === undefined ? undefined : sql<SqlBool>`${sql.ref(FLAG_COLUMNS[flag])} = 1`,
  ])
}

/**
 * The columns of each order. The device that needs somebody first comes first: silent ones, those
 * that were not heard for the longest time, the emptiest battery.
 */
const ORDERS: Readonly<Record<DeviceOrder, string>> = {
  name: 'order_key',
  state: "case state when 'SILENT' then 0 when 'LATE' then 1 when 'ON_TIME' then 2 else 3 end, order_key",
  lastSeenAt: 'case when last_seen_at is null then 1 else 0 end, last_seen_at, order_key',
  battery: 'case when battery_level is null then 1 else 0 end, battery_level, order_key',
}

/** The devices of the scope that a restricted API key reaches. */
function withinReach({ dialect }: Store, { apiKey }: Viewer, scope: Scope | undefined): Scope | undefined {
  const within = devicesWithin(apiKey?.scope ?? {}, dialect)
  if (scope === undefined || within === undefined) return scope
  const key = `${scope.key} ${JSON.stringify(apiKey?.scope)}`
  // Devices that are named are found by their names, and never by a walk through all.
  const total = Math.min(scope.total, apiKey?.scope?.devEuis?.length ?? Infinity)
  return { ...scope, key, total, filter: allOf([scope.filter, within]) }
}

/** The devices for which the viewer asks; `undefined` when it may see none of them. */
async function findScope(
  { db }: Store,
  viewer: Viewer,
  asked: { readonly applicationId?: string; readonly organizationId?: string },
): Promise<Scope | undefined> {
  const memberships = sql<SqlBool>`organization_id in ${organizationsOf(viewer)}`
  if (asked.applicationId !== undefined) {
    let query = db
      .selectFrom('applications')
      .select(['id', 'device_count'])
      .where(hasApplicationId(asked.applicationId))
      .where('removed_at', 'is', null)
    if (!viewer.isAdmin) query = query.where(memberships)
    if (asked.organizationId !== undefined) {
      query = query.where('organization_id', '=', parseId(asked.organizationId) ?? 0)
    }
    const application = await query.executeTakeFirst()
    if (application === undefined) return undefined
    const where = sql<SqlBool>`application_id = ${application.id}`
    const key = `application ${application.id}`
    return { key, total: application.device_count, where, filter: undefined }
  }
  let query = db.selectFrom('organizations').where('removed_at', 'is', null)
  if (!viewer.isAdmin) {
    query = query.where('id', 'in', organizationsOf(viewer))
  }
  if (asked.organizationId !== undefined) query = query.where('id', '=', parseId(asked.organizationId) ?? 0)
  const { count, sum, first } = await query
    .select((eb) => [
      eb.fn.countAll<number>().as('count'),
      eb.fn.sum<number | null>('device_count').as('sum'),
      eb.fn.min<number | null>('id').as('first'),
    ])
    .executeTakeFirstOrThrow()
  const total = sum ?? 0
  if (viewer.isAdmin && asked.organizationId === undefined)
    return { key: 'all', total, where: undefined, filter: undefined }
  if (first === null) return undefined
  if (count === 1) {
    return { key: `organization ${first}`, total, where: sql<SqlBool>`organization_id = ${first}`, filter: undefined }
  }
  return { key: `member ${viewer.userId}`, total, where: undefined, filter: memberships }
}

/**
 * A page without a search: the offset is skipped within the index, from the end that is nearer,
 * some at a time with a turn of the event loop between two.
 */
async function cutPage(db: Store['db'], scope: Scope, limit: number, offset: number): Promise<readonly number[]> {
  const size = Math.min(limit, scope.total - offset)
  if (size <= 0) return []
  const isNearEnd = offset > scope.total / 2
  const order = sql.raw(isNearEnd ? 'desc' : 'asc')
  const beyond = sql.raw(isNearEnd ? '<' : '>')
  let skipped = isNearEnd ? scope.total - offset - size : offset
  let where = scope.where ?? sql<SqlBool>`1 = 1`
  for (; skipped > MAXIMUM_SKIP; skipped -= MAXIMUM_SKIP) {
    const { rows } = await sql<{ readonly order_key: string }>`
      select order_key from devices where ${where} order by order_key ${order} limit 1 offset ${MAXIMUM_SKIP - 1}`.execute(
      db,
    )
    const [last] = rows
    if (last === undefined) return []
    where = allOf([scope.where, sql<SqlBool>`order_key ${beyond} ${last.order_key}`])
    await nextTurn()
  }
  const { rows } = await sql<{ readonly id: number }>`
    select id from devices where ${where} order by order_key ${order} limit ${size} offset ${skipped}`.execute(db)
  const ids = rows.map(({ id }) => id)
  return isNearEnd ? ids.toReversed() : ids
}

/**
 * Looks through all devices of a small scope. The statement collects these devices first, so that
 * no query plan walks all other devices in order.
 */
async function findDirectly(
  db: Store['db'],
  scope: Scope,
  condition: RawBuilder<SqlBool>,
  { orderBy, limit, offset }: Asked,
): Promise<Listed<number>> {
  const found = sql`
    with found as materialized (select id, order_key, state, last_seen_at, battery_level
      from devices where ${allOf([scope.where, condition])})`
  const counted = await sql<{ readonly count: number }>`${found} select count(*) as count from found`.execute(db)
  const totalCount = counted.rows[0]?.count ?? 0
  if (limit === 0 || offset >= totalCount) return { totalCount, items: [] }
  await nextTurn()
  const { rows } = await sql<{ readonly id: number }>`
    ${found} select id from found order by ${sql.raw(ORDERS[orderBy])} limit ${limit} offset ${offset}`.execute(db)
  return { totalCount, items: rows.map(({ id }) => id) }
}

/** Cuts the page from the slices in which it lies. */
async function cutWalked(
  db: Store['db'],
  scope: Scope,
  condition: RawBuilder<SqlBool>,
  slices: readonly Slice[],
  limit: number,
  offset: number,
): Promise<Listed<number>> {
  const items: number[] = []
  let totalCount = 0
  for (const { after, last, hits } of slices) {
    const skipped = Math.max(offset - totalCount, 0)
    totalCount += hits
    if (hits <= skipped || items.length >= limit) continue
    const end = last === undefined ? undefined : sql<SqlBool>`order_key <= ${last}`
    const { rows } = await sql<{ readonly id: number }>`
      select id from devices where ${allOf([scope.where, condition, sql<SqlBool>`order_key > ${after}`, end])}
      order by order_key limit ${limit - items.length} offset ${skipped}`.execute(db)
    for (const { id } of rows) items.push(id)
    await nextTurn()
  }
  return { totalCount, items }
}

/** Changes that move no device in or out of a list. */
const GIVE_NO_DEVICES: ReadonlySet<Change['kind']> = new Set([
  'token_revoked',
  'service_credential_revoked',
  'api_key_revoked',
  'api_key_changed',
  'device_profile_changed',
])

/** Counts matches slice by slice. */
interface Walks {
  /** Whether the count is at hand. */
  isKnown(key: string): boolean
  /** The count is remembered under its key; without a key it is not remembered. */
  count(key: string | undefined, scope: Scope, condition: RawBuilder<SqlBool>): Promise<readonly Slice[]>
}

function createWalks({ db }: Store, changes: Changes, removal: DeviceRemoval): Walks {
  const remembered = new Map<string, readonly Slice[]>()
  // Grows with each change that may move a device in or out of a list.
  let generation = 0
  const forget = (): void => {
    generation += 1
    remembered.clear()
  }
  changes.subscribe(({ kind }) => {
    if (!GIVE_NO_DEVICES.has(kind)) forget()
  })
  removal.onRemoved(forget)
  // One walk at a time, so that a turn of the event loop holds one slice, however many callers ask.
  // The callers of `list` wait here; nothing else is kept for them.
  let last: Promise<unknown> = Promise.resolve()

  async function walk(
    key: string | undefined,
    scope: Scope,
    condition: RawBuilder<SqlBool>,
  ): Promise<readonly Slice[]> {
    const known = key === undefined ? undefined : remembered.get(key)
    if (known !== undefined) return known
    const begun = generation
    const slices: Slice[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const slice: Slice = await countSlice(db, scope, condition, after)
      slices.push(slice)
      after = slice.last
      await nextTurn()
    }
    if (key !== undefined && begun === generation) {
      for (const oldest of remembered.keys()) {
        if (remembered.size < MAXIMUM_WALKS) break
        remembered.delete(oldest)
      }
      remembered.set(key, slices)
    }
    return slices
  }

  return {
    isKnown: (key) => remembered.has(key),
    count(key, scope, condition) {
      const own = last.then(() => walk(key, scope, condition))
      last = own.catch(() => undefined)
      return own
    },
  }
}

async function countSlice(
  db: Store['db'],
  scope: Scope,
  condition: RawBuilder<SqlBool>,
  after: string,
): Promise<Slice> {
  const within = allOf([scope.where, sql<SqlBool>`order_key > ${after}`])
  const end = await sql<{ readonly order_key: string }>`
    select order_key from devices where ${within} order by order_key limit 1 offset ${SLICE_ENTRIES - 1}`.execute(db)
  const last = end.rows[0]?.order_key
  const bounded = last === undefined ? within : allOf([within, sql<SqlBool>`order_key <= ${last}`])
  const { rows } = await sql<{ readonly hits: number }>`
    select count(*) as hits from devices where ${bounded} and ${condition}`.execute(db)
  return { after, last, hits: rows[0]?.hits ?? 0 }
}

async function readDevices({ db }: Store, ids: readonly number[]): Promise<readonly Device[]> {
  const devices: Device[] = []
  for (let start = 0; start < ids.length; start += READ_BATCH) {
    if (start > 0) await nextTurn()
    devices.push(...(await readBatch(db, ids.slice(start, start + READ_BATCH))))
  }
  return devices
}

async function readBatch(db: Store['db'], ids: readonly number[]): Promise<readonly Device[]> {
  const rows = await db
    .selectFrom('devices')
    .innerJoin('applications', 'applications.id', 'devices.application_id')
    .selectAll('devices')
    .select('applications.uuid as application_uuid')
    .where('devices.id', 'in', ids)
    .where('applications.removed_at', 'is', null)
    .execute()
  const byId = new Map<number, PlacedDeviceRow>(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => {
    const row = byId.get(id)
    return row === undefined ? [] : [deviceOf(row)]
  })
}

function allOf(conditions: readonly (RawBuilder<SqlBool> | undefined)[]): RawBuilder<SqlBool> {
  const given = conditions.filter((condition) => condition !== undefined)
  return given.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`(${sql.join(given, sql` and `)})`
}
