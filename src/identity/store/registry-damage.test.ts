/** A registry whose file is damaged tells it, changes nothing, and reads what can be read. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { checkRegistry } from './check-registry.ts'
import { RegistryError } from './migrations.ts'
import { openRegistry } from '../registry.ts'
import type { Registry } from '../registry.ts'
import { isDamage } from './registry-health.ts'
import { createQuickHasher, createTestClock, nobody, valueOf } from '../registry.testing.ts'

/** Damages that the test tries; more with `FIELDGATE_DAMAGES=1000`. */
const DAMAGES = Number(process.env['FIELDGATE_DAMAGES'] ?? 120) / 4
const EVERYTHING = { userId: '0', isAdmin: true }
const PAGE_BYTES = 4096

let folder: string
let file: string
let whole: Buffer

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-registry-'))
  file = join(folder, 'registry.db')
  const registry = await open([])
  for (let number = 0; number < 40; number += 1) {
    const fields = { name: `organization-${number}`, displayName: `Organization ${number}`, canHaveGateways: false }
    valueOf(await registry.organizations.create(fields, nobody))
  }
  await registry.close()
  whole = await readFile(file)
})

after(() => rm(folder, { recursive: true, force: true }))

function open(problems: string[]): Promise<Registry> {
  const log = {
    warn: () => {},
    error: (fields: object, message: string) => void problems.push(`${message} ${JSON.stringify(fields)}`),
  }
  return openRegistry({ file, clock: createTestClock(), passwordHasher: createQuickHasher(), log })
}

async function replace(bytes: Buffer): Promise<void> {
  for (const name of [`${file}-wal`, `${file}-shm`]) await rm(name, { force: true })
  await writeFile(file, bytes)
}

const create = (registry: Registry) =>
  registry.organizations.create({ name: 'new', displayName: 'New', canHaveGateways: false }, nobody)

test('a registry with a damaged page is told at the start, read as far as it goes, and not changed', async () => {
  const bytes = Buffer.from(whole)
  // The page that holds the rows of organizations.
  const page = Math.floor(bytes.lastIndexOf('Organization 39') / PAGE_BYTES)
  bytes.fill(0xa5, page * PAGE_BYTES, page * PAGE_BYTES + 512)
  await replace(bytes)
  const told: string[] = []
  const registry = await open(told)
  assert.match(told.join(), /registry\.damaged .*fieldgate restore/)
  assert.match(registry.health(), /damaged: a backup must be restored/)
  assert.equal((await registry.users.list({ limit: 1, offset: 0 })).totalCount, 0, 'what is whole is read')
  await assert.rejects(registry.organizations.list(EVERYTHING, { limit: 100, offset: 0 }), isDamage)
  await assert.rejects(create(registry), { code: 'registry_damaged' })
  await registry.close()
  assert.deepEqual((await readFile(file)).subarray(PAGE_BYTES), bytes.subarray(PAGE_BYTES), 'nothing was written')
  assert.ok(checkRegistry(file).problems.length > 0)
})

test('a registry that is damaged while it is open is told by its health', async () => {
  await replace(whole)
  const registry = await open([])
  assert.equal(registry.health(), '')
  await registry.close()
  const again = await open([])
  const bytes = Buffer.from(whole)
  bytes.fill(0, 0, PAGE_BYTES)
  await writeFile(file, bytes)
  assert.match(again.health(), /damaged/)
  await again.close().catch(() => {})
})

test('a registry that is no database any more is refused with what is wrong and what to do', async () => {
  await replace(Buffer.alloc(whole.length, 0x55))
  await assert.rejects(open([]), {
    code: 'registry_damaged',
    message: /is damaged: .*Restore|is damaged: .*restore a backup/,
  })
})

test('damage at random places of a registry is told by the start and by check, or nothing is wrong with what is read', async () => {
  let seed = 1
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  let told = 0
  for (let count = 0; count < DAMAGES; count += 1) {
    const bytes = Buffer.from(whole)
    const at = Math.floor(random() * bytes.length)
    const kind = Math.floor(random() * 4)
    if (kind === 0) bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8))
    else if (kind === 1) bytes.fill(Math.floor(random() * 256), at, Math.min(bytes.length, at + 64))
    else if (kind === 2) bytes.fill(0, at - (at % 512), at - (at % 512) + 512)
    await replace(kind === 3 ? bytes.subarray(0, at) : bytes)
    const { problems } = checkRegistry(file)
    const what = `damage ${count}, kind ${kind} at ${at}`
    let registry: Registry
    try {
      registry = await open([])
    } catch (error) {
      assert.ok(error instanceof RegistryError, `${what}: ${String(error)}`)
      assert.ok(problems.length > 0, `${what}: ${error.message}`)
      told += 1
      continue
    }
    if (registry.health() !== '') {
      told += 1
      assert.ok(problems.length > 0, `${what}: check tells it, too`)
      await assert.rejects(create(registry), { code: 'registry_damaged' })
    }
    const listed = await registry.organizations.list(EVERYTHING, { limit: 100, offset: 0 }).catch((error: unknown) => {
      assert.ok(isDamage(error), `${what}: ${String(error)}`)
      assert.notEqual(registry.health(), '', what)
    })
    if (problems.length === 0) assert.equal(listed?.items.length, 40, what)
    await registry.close().catch(() => {})
  }
  assert.ok(told > 0)
})
