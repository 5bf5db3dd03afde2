import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Kysely, sql } from 'kysely'
import { createAudit } from './audit.ts'
import { systemClock } from '../../clock.ts'
import { openRegistry } from '../registry.ts'
import { allMigrations, migrate } from './migrations.ts'
import type { Migration } from './migrations.ts'
import type { Schema } from './schema.ts'
import { RegistryFile } from './registry-file.ts'
import { RegistryHealth } from './registry-health.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import { createStore } from './store.ts'

function open(file = ':memory:'): Kysely<Schema> {
  const health = new RegistryHealth(() => {})
  return new Kysely<Schema>({ dialect: createSqliteDialect(new RegistryFile(file, health), health) })
}

function makesTable(version: number, table: string): Migration {
  return {
    version,
    async up(trx) {
      await sql`create table ${sql.table(table)} (id integer primary key)`.execute(trx)
    },
  }
}

async function tablesOf(db: Kysely<Schema>): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db)
  return rows.map(({ name }) => name)
}

test('a step that fails halfway leaves the schema as it was before that step', async () => {
  const db = open()
  const fails: Migration = {
    version: 2,
    async up(trx) {
      await makesTable(2, 'second').up(trx)
      throw new Error('the power is gone')
    },
  }
  await assert.rejects(migrate(db, 0, [makesTable(1, 'first'), fails]), /the power is gone/)
  assert.deepEqual(await tablesOf(db), ['schema_versions', 'first'])
  await migrate(db, 0, [makesTable(1, 'first'), makesTable(2, 'second')])
  assert.deepEqual(await tablesOf(db), ['schema_versions', 'first', 'second'])
  await db.destroy()
})

test('a process that dies within a step leaves the schema as it was before that step', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-migrations-'))
  const file = join(directory, 'registry.db')
  const dying = open(file)
  await migrate(dying, 0, [makesTable(1, 'first')])
  let reached: () => void
  const midway = new Promise<void>((resolve) => {
    reached = resolve
  })
  // It never ends: another process finds of it what a killed process leaves.
  const never: Migration = {
    version: 2,
    async up(trx) {
      await makesTable(2, 'second').up(trx)
      reached()
      await new Promise(() => undefined)
    },
  }
  void migrate(dying, 0, [makesTable(1, 'first'), never])
  await midway
  const reader = open(file)
  assert.deepEqual(await tablesOf(reader), ['schema_versions', 'first'])
  await reader.destroy()
  rmSync(directory, { recursive: true })
})

test('a schema that is newer than this program is not opened', async () => {
  const db = open()
  await migrate(db, 0, [makesTable(1, 'first'), makesTable(7, 'seventh')])
  await assert.rejects(migrate(db, 0, [makesTable(1, 'first')]), {
    code: 'registry_newer',
    message: /version 7.*newer/,
  })
  await db.destroy()
})

test('an older registry is copied before the first step, once, and a new one is not', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-migrations-'))
  context.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'registry.db')
  const old = open(file)
  const before = allMigrations.filter(({ version }) => version <= 13)
  await migrate(old, 0, before)
  await sql`insert into organizations values (1, 'one', 'one', 'one', 'one', 'one', 0, 0, null, 0, 0, null)`.execute(
    old,
  )
  await old.destroy()
  const opening = { file, clock: systemClock }
  await (await openRegistry(opening)).close()
  await (await openRegistry(opening)).close()
  const copies = readdirSync(directory).filter((name) => name.includes('schema'))
  assert.deepEqual(copies, ['registry.db.schema-13'])
  const copy = join(directory, 'registry.db.schema-13')
  assert.equal(statSync(copy).mode & 0o777, 0o600)
  const saved = open(copy)
  const { rows } = await sql<{ version: number }>`select max(version) as version from schema_versions`.execute(saved)
  assert.equal(rows[0]?.version, 13)
  assert.equal((await sql`select id from organizations`.execute(saved)).rows.length, 1)
  await saved.destroy()
})

test('steps that were done are not done again', async () => {
  const db = open()
  const steps = [makesTable(1, 'first')]
  await migrate(db, 0, steps)
  await migrate(db, 0, steps)
  assert.deepEqual(await tablesOf(db), ['schema_versions', 'first'])
  await db.destroy()
})

test('entries of the audit stay those of their users, and of the service, when the operator gets its own', async () => {
  const db = open()
  await migrate(
    db,
    0,
    allMigrations.filter(({ version }) => version <= 4),
  )
  for (const actor of [`'7'`, 'null']) {
    await sql
      .raw(`insert into audit_entries values (null, 0, ${actor}, 'user.created', '8', '', null, '{}')`)
      .execute(db)
  }
  await migrate(db, 0)
  const audit = createAudit(createStore(db, { readAtOnce: () => undefined }, systemClock, () => {}))
  const { items } = await audit.list({ userId: '7', isAdmin: true }, { limit: 9, offset: 0 })
  assert.deepEqual(
    items.map(({ actor, actorUserId }) => [actor, actorUserId]),
    [
      ['service', null],
      ['user', '7'],
    ],
  )
  await db.destroy()
})

test('the rows of applications with a UUID leave the numbers above 0, with their devices', async () => {
  const db = open()
  await migrate(
    db,
    0,
    allMigrations.filter(({ version }) => version <= 2),
  )
  const statements = [
    `insert into organizations values (1, 'one', 'one', 'one', 'one', 'one', 0, 2, null, 0, 0, null)`,
    ...['null', `'7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'`].flatMap((uuid, index) => [
      `insert into applications values (${index + 1}, 1, 'app ${index}', '', '', '', '', '', '', '', 1, null, 0, 0, ${uuid})`,
      `insert into devices values (null, '000000000000000${index}', ${index + 1}, 1,
        'device', '', '', '', '', '{}', '{}', 0, null, null, null, 0, 0)`,
    ]),
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
  await migrate(db, 0)
  const { rows } = await sql<{ id: number; uuid: string | null; dev_eui: string }>`select applications.id, uuid, dev_eui
    from applications join devices on devices.application_id = applications.id order by dev_eui`.execute(db)
  assert.deepEqual(
    rows.map(({ id, uuid, dev_eui }) => ({ id, uuid, dev_eui })),
    [
      { id: 1, uuid: null, dev_eui: '0000000000000000' },
      { id: -2, uuid: '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11', dev_eui: '0000000000000001' },
    ],
  )
  await db.destroy()
})
