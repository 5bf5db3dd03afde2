import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRegistry } from './registry.ts'
import {
  addOrganization,
  addUser,
  createQuickHasher,
  createTestClock,
  openTestRegistry,
  valueOf,
} from './registry.testing.ts'

function scratch(): { readonly directory: string } & Disposable {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-registry-'))
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) }
}

test('what was changed is there after the registry was closed and opened again', async () => {
  using place = scratch()
  const options = {
    file: join(place.directory, 'registry.db'),
    clock: createTestClock(),
    passwordHasher: createQuickHasher(),
  }
  const first = await openRegistry(options)
  const id = await addOrganization(first, 'acme')
  const { kid } = valueOf(await first.signingKeys.rotate({ userId: null }))
  await first.close()
  const second = await openRegistry(options)
  assert.equal((await second.organizations.get(id))?.name, 'acme')
  assert.ok(second.signingKeys.jwks().keys.some((key) => key.kid === kid))
  await second.close()
})

test('the file, which holds the signing keys, can be read by its owner alone', async () => {
  using place = scratch()
  const file = join(place.directory, 'registry.db')
  const registry = await openRegistry({ file, clock: createTestClock() })
  await addOrganization(registry, 'acme')
  for (const name of [file, `${file}-wal`]) assert.equal(statSync(name).mode & 0o077, 0, name)
  await registry.close()
})

test('a file that is no registry is refused with a code', async () => {
  using place = scratch()
  const file = join(place.directory, 'registry.db')
  writeFileSync(file, 'this is no database, however long one looks at it '.repeat(50))
  await assert.rejects(openRegistry({ file, clock: createTestClock() }), { code: 'registry_damaged' })
})

test('ids are digits, and are never given again', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const first = await addOrganization(registry, 'one')
  await registry.organizations.remove(first, { userId: null })
  const second = await addOrganization(registry, 'one')
  assert.match(first, /^[1-9][0-9]*$/)
  assert.notEqual(first, second)
  const user = await addUser(registry, 'u')
  await registry.users.remove(user, { userId: null })
  assert.notEqual(await addUser(registry, 'u'), user)
})
