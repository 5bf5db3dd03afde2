import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureFirstAdmin } from './first-admin.ts'
import { openTestRegistry } from './registry.testing.ts'

test('the password is shown before the admin is made, and logs in', async () => {
  await using opened = await openTestRegistry()
  const { users, passwords } = opened.registry
  const shown: string[] = []
  let usersWhenShown: Promise<{ readonly totalCount: number }> | undefined
  await ensureFirstAdmin(opened.registry, undefined, (password) => {
    shown.push(password)
    usersWhenShown = users.list({ limit: 0, offset: 0 })
  })
  assert.equal((await usersWhenShown)?.totalCount, 0)
  const [password = ''] = shown
  const login = await passwords.authenticate({ userName: 'admin', password, address: '192.0.2.1' })
  assert.ok(login.ok && login.value.user.isAdmin)
})

test('a password that could not be shown makes no admin, and the next start shows another', async () => {
  await using opened = await openTestRegistry()
  const unseen: string[] = []
  const failing = ensureFirstAdmin(opened.registry, undefined, (password) => {
    unseen.push(password)
    throw new Error('nobody reads this')
  })
  await assert.rejects(failing, /nobody reads this/)
  assert.equal((await opened.registry.users.list({ limit: 0, offset: 0 })).totalCount, 0)
  const shown: string[] = []
  await ensureFirstAdmin(opened.registry, undefined, (password) => shown.push(password))
  assert.equal(shown.length, 1)
  assert.notEqual(shown[0], unseen[0])
})

test('a password that the operator chose is not shown, and nothing is where there are users', async () => {
  await using opened = await openTestRegistry()
  await ensureFirstAdmin(opened.registry, 'the operator’s own', neverShown)
  await ensureFirstAdmin(opened.registry, undefined, neverShown)
  assert.equal((await opened.registry.users.list({ limit: 0, offset: 0 })).totalCount, 1)
})

function neverShown(): never {
  assert.fail('it was shown')
}
