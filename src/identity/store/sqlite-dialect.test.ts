import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { test } from 'node:test'
import { RegistryFile, UNSYNCED } from './registry-file.ts'
import { isWithoutRoom, RegistryHealth } from './registry-health.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'

interface Numbers {
  readonly numbers: { readonly id: number; readonly text: string }
}

function openNumbers(): Kysely<Numbers> {
  const health = new RegistryHealth(() => {})
  return new Kysely<Numbers>({ dialect: createSqliteDialect(new RegistryFile(':memory:', health), health) })
}

test('a transaction that finds no room says so, changes nothing, and the next one can go on', async () => {
  const db = openNumbers()
  await sql`create table numbers (id integer primary key, text text not null)`.execute(db)
  const insertMany = () =>
    db.transaction().execute(async (trx) => {
      for (let id = 1; id <= 50; id += 1) {
        await trx
          .insertInto('numbers')
          .values({ id, text: 'x'.repeat(4_000) })
          .execute()
      }
    })
  // A bound on the file's size acts like a full disk: SQLite rolls back by itself.
  await sql`pragma max_page_count = 8`.execute(db)
  await assert.rejects(insertMany(), (error) => isWithoutRoom(error))
  assert.equal((await db.selectFrom('numbers').selectAll().execute()).length, 0)
  await sql`pragma max_page_count = 1000`.execute(db)
  await insertMany()
  assert.equal((await db.selectFrom('numbers').selectAll().execute()).length, 50)
  await db.destroy()
})

test('rows are read at once, but never those of a transaction that may still be undone', async () => {
  const health = new RegistryHealth(() => {})
  const file = new RegistryFile(':memory:', health)
  const db = new Kysely<Numbers>({ dialect: createSqliteDialect(file, health) })
  await sql`create table numbers (id integer primary key, text text not null)`.execute(db)
  const read = () => file.readAtOnce('select text from numbers where id = ?', [1])
  assert.deepEqual(read(), [])
  await db.transaction().execute(async (trx) => {
    await trx.insertInto('numbers').values({ id: 1, text: 'one' }).execute()
    assert.equal(read(), undefined)
  })
  const [row] = read() ?? []
  assert.equal((row as { readonly text?: string } | undefined)?.text, 'one')
  assert.equal(file.readAtOnce('select text from letters', []), undefined)
  await db.destroy()
})

test('a statement that may be undone is not synced, and each other one is', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-registry-'))
  const health = new RegistryHealth(() => {})
  const file = new RegistryFile(join(directory, 'registry.db'), health)
  t.after(() => {
    file.close()
    rmSync(directory, { recursive: true })
  })
  const [normal, full] = [1, 2]
  const level = (mark: string): unknown => {
    const [row] = file.prepare(`${mark} select * from pragma_synchronous`).all([]) as readonly {
      readonly synchronous: number
    }[]
    return row?.synchronous
  }
  assert.deepEqual([level(''), level(UNSYNCED), level('')], [full, normal, full])
  file.prepare('create table numbers (id integer primary key)').run([])
  const insert = file.prepare(`${UNSYNCED} insert into numbers values (?)`)
  insert.run([1])
  assert.throws(() => insert.run([1]))
  assert.equal(level(''), full, 'also after a failure')
  file.prepare('begin').run([])
  assert.equal(level(UNSYNCED), full, 'a transaction is synced as a whole')
  file.prepare('commit').run([])
  assert.equal(level(''), full)
})
