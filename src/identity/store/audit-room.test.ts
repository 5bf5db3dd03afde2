import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Kysely, sql } from 'kysely'
import { systemClock } from '../../clock.ts'
import { nobody, testStartMs } from '../registry.testing.ts'
import { createAudit } from './audit.ts'
import { allMigrations, migrate } from './migrations.ts'
import { RegistryFile } from './registry-file.ts'
import { RegistryHealth } from './registry-health.ts'
import type { Schema } from './schema.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import { createStore } from './store.ts'

const MAXIMUM_ENTRIES = 100_000
/** Entries that the whole may have above its bound, until the next removal. */
const SLACK = 10

/** The audit of an empty store in memory, with the schema of an older version if one is given. */
async function openAudit(version = Infinity) {
  const health = new RegistryHealth(() => {})
  const file = new RegistryFile(':memory:', health)
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(file, health) })
  await migrate(
    db,
    0,
    allMigrations.filter((migration) => migration.version <= version),
  )
  let nowMs = testStartMs
  const store = createStore(db, file, { ...systemClock, now: () => nowMs }, () => {})
  const audit = createAudit(store)
  return {
    db,
    store,
    audit,
    advance(ms: number) {
      nowMs += ms
    },
    /** Adds entries of the organization at once, numbered from 1. */
    fill: (organizationId: string | null, count: number) =>
      sql`with recursive numbers (number) as (values (1) union all select number + 1 from numbers where number < ${count})
        insert into audit_entries (at, action, subject, search_text, organization_id, detail)
        select ${nowMs}, 'test.filled', number, '', ${organizationId}, '{}' from numbers`.execute(db),
    async record(organizationId: string | null, count: number) {
      for (let number = 1; number <= count; number += 1) {
        await audit.record(nobody, { action: 'test.done', subject: String(number), organizationId, detail: {} })
      }
    },
    /** The number of entries of each organization, and of the deployment as `null`. */
    async counts() {
      const { rows } = await sql<{ id: string | null; count: number }>`select organization_id as id, count(*) as count
        from audit_entries group by organization_id order by organization_id`.execute(db)
      return new Map(rows.map(({ id, count }) => [id, count]))
    },
    /** The numbers of entries that the store itself keeps. */
    async keptCounts() {
      const rows = await db.selectFrom('audit_holders').selectAll().orderBy('organization_id').execute()
      return new Map(rows.map((row) => [row.organization_id === '' ? null : row.organization_id, row.entries]))
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}

test('an organization that fills the audit loses its own oldest entries, and nobody else loses one', async () => {
  await using opened = await openAudit()
  await opened.fill(null, 300)
  await opened.fill('2', 200)
  await opened.fill('1', MAXIMUM_ENTRIES - 500)
  await opened.record('1', 1005)
  const counts = await opened.counts()
  assert.deepEqual([counts.get(null), counts.get('2')], [300, 200])
  const held = counts.get('1') ?? 0
  assert.ok(held >= MAXIMUM_ENTRIES - 500 && held <= MAXIMUM_ENTRIES - 500 + SLACK, String(held))
  const { items } = await opened.audit.list(
    { userId: '1', isAdmin: true },
    { limit: 1, offset: held - 1, organizationId: '1' },
  )
  // 1005 came, and those above the bound went, from the oldest on.
  assert.equal(items[0]?.subject, String(MAXIMUM_ENTRIES - 500 + 1005 - held + 1))
})

test('the entries of a quiet organization stay while the deployment’s own entries fill the audit', async () => {
  await using opened = await openAudit()
  await opened.fill('2', 200)
  await opened.fill(null, MAXIMUM_ENTRIES - 200)
  await opened.record('2', 100)
  await opened.record(null, 100)
  const counts = await opened.counts()
  assert.equal(counts.get('2'), 300)
  const held = counts.get(null) ?? 0
  assert.ok(held >= MAXIMUM_ENTRIES - 300 && held <= MAXIMUM_ENTRIES - 300 + SLACK, String(held))
})

test('two organizations that fill the audit share it', async () => {
  await using opened = await openAudit()
  await opened.fill('1', MAXIMUM_ENTRIES / 2 + 50)
  await opened.fill('2', MAXIMUM_ENTRIES / 2 - 100)
  await opened.fill('3', 50)
  await opened.record('2', 300)
  const counts = await opened.counts()
  assert.equal(counts.get('3'), 50)
  for (const id of ['1', '2']) {
    const held = counts.get(id) ?? 0
    assert.ok(Math.abs(held - (MAXIMUM_ENTRIES / 2 - 25)) <= SLACK, `${id}: ${held}`)
  }
})

test('the numbers of entries stay right while entries come, go by age, and are taken back', async () => {
  await using opened = await openAudit()
  await opened.fill('1', 600)
  await opened.fill(null, 20)
  opened.advance(90 * 86_400_000)
  await opened.record('1', 3)
  await opened.record('2', 2)
  await assert.rejects(
    opened.store.change(nobody, async ({ audit }) => {
      await audit('test.done', 'x', '3')
      throw new Error('the change failed')
    }),
    /the change failed/,
  )
  assert.deepEqual(await opened.keptCounts(), await opened.counts())
  opened.advance(1)
  await opened.audit.prune()
  assert.deepEqual(
    await opened.keptCounts(),
    new Map([
      ['1', 3],
      ['2', 2],
    ]),
  )
})

test('an audit of an older version counts its entries, and comes down to the bound step by step', async () => {
  await using opened = await openAudit(8)
  await opened.fill('2', 100)
  await opened.fill(null, 100)
  await opened.fill('1', MAXIMUM_ENTRIES + 200)
  await migrate(opened.db, 0)
  assert.deepEqual(await opened.keptCounts(), await opened.counts())
  const before = (await opened.counts()).get('1') ?? 0
  await opened.record('1', 10)
  const after = (await opened.counts()).get('1') ?? 0
  // No single change pays for all that was above the bound.
  assert.ok(after < before + 10 && after >= before - 20, String(after))
  await opened.record('1', 490)
  assert.deepEqual(await opened.keptCounts(), await opened.counts())
  const counts = await opened.counts()
  assert.deepEqual([counts.get(null), counts.get('2')], [100, 100])
  assert.ok((counts.get('1') ?? 0) <= MAXIMUM_ENTRIES - 200 + SLACK)
})

test('an entry that is told anew stays one entry, and one that is gone by then comes again', async () => {
  await using opened = await openAudit()
  const { store, audit } = opened
  const actor = { userId: '7' }
  const list = async () => {
    const { items } = await audit.list({ userId: '1', isAdmin: true }, { limit: 9, offset: 0 })
    return items.map(({ id, atMs, actorUserId, ...deed }) => [
      id,
      atMs - testStartMs,
      actorUserId,
      deed.detail['count'],
    ])
  }
  const id = await store.change(actor, (unit) => unit.audit('test.done', 'x', '1', { count: 1 }))
  opened.advance(5)
  assert.equal(await store.change(actor, (unit) => unit.audit('test.done', 'x', '1', { count: 2 }, id)), id)
  assert.deepEqual(await list(), [[String(id), 0, '7', 2]])
  await opened.db.deleteFrom('audit_entries').execute()
  const again = await store.change(actor, (unit) => unit.audit('test.done', 'x', '1', { count: 3 }, id))
  assert.deepEqual(await list(), [[String(again), 5, '7', 3]])
})
