import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLoginThrottle } from './login-throttle.ts'
import { createPasswordHasher } from './password-hasher.ts'
import type { Registry } from '../registry.ts'
import {
  addUser,
  createQuickHasher,
  createTestClock,
  nobody,
  openTestRegistry,
  reasonOf,
  valueOf,
} from '../registry.testing.ts'

const address = '192.0.2.1'

async function logIn(registry: Registry, userName: string, password: string, from = address): Promise<string> {
  return reasonOf(await registry.passwords.authenticate({ userName, password, address: from }))
}

test('unknown user, wrong password and inactive user are answered alike after the same work', async () => {
  const passwordHasher = createQuickHasher()
  await using opened = await openTestRegistry({ passwordHasher })
  const { registry } = opened
  await addUser(registry, 'Ada')
  await addUser(registry, 'idle', { isActive: false })
  const attempts = [
    ['ada', 'wrong horse'],
    ['nobody', 'correct horse'],
    ['idle', 'correct horse'],
    ['', 'correct horse'],
    ['ada', ''],
    ['ada\0', 'correct horse'],
    ['ada', 'correct horse\0'],
    ['x'.repeat(1_000_000), 'correct horse'],
    ['ada', 'x'.repeat(1_000_000)],
    ["ada' or '1'='1", 'correct horse'],
    ['__proto__', 'correct horse'],
  ] as const
  const answers = []
  for (const [index, [userName, password]] of attempts.entries()) {
    const before = passwordHasher.comparisons()
    answers.push(await registry.passwords.authenticate({ userName, password, address: `192.0.2.${index}` }))
    assert.equal(passwordHasher.comparisons() - before, 1, userName.slice(0, 20))
  }
  for (const answer of answers) {
    assert.deepEqual(answer, {
      ok: false,
      code: 'unauthenticated',
      reason: 'login_failed',
      message: 'wrong user name or password',
    })
  }
  const { user, secondFactor } = valueOf(
    await registry.passwords.authenticate({ userName: 'ADA', password: 'correct horse', address }),
  )
  assert.deepEqual([user.email, secondFactor], ['Ada', false])
})

test('guessing from one address at one account has to wait longer and longer, others do not', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  await addUser(registry, 'ada')
  for (let attempt = 0; attempt < 6; attempt += 1)
    assert.equal(await logIn(registry, 'ada', 'wrong horse'), 'login_failed')
  assert.equal(await logIn(registry, 'ada', 'correct horse'), 'login_throttled')
  assert.equal(await logIn(registry, 'ada', 'correct horse', '192.0.2.9'), 'ok')
  clock.advance(1000)
  assert.equal(await logIn(registry, 'ada', 'wrong horse'), 'login_failed')
  clock.advance(1999)
  assert.equal(await logIn(registry, 'ada', 'correct horse'), 'login_throttled')
  clock.advance(1)
  assert.equal(await logIn(registry, 'ada', 'correct horse'), 'ok')
  assert.equal(await logIn(registry, 'ada', 'wrong horse'), 'login_failed')
})

test('a burst of parallel guesses is no way around the throttle', async () => {
  await using opened = await openTestRegistry()
  await addUser(opened.registry, 'ada')
  const answers = await Promise.all(Array.from({ length: 50 }, () => logIn(opened.registry, 'ada', 'wrong horse')))
  assert.equal(answers.filter((reason) => reason === 'login_failed').length, 6)
})

test('many accounts from one address are throttled, and an account of its own does not help', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  await addUser(registry, 'mallory')
  for (let attempt = 0; attempt < 31; attempt += 1) {
    assert.equal(
      await logIn(registry, `user${attempt}`, 'wrong horse', `2001:db8::${attempt.toString(16)}`),
      'login_failed',
    )
    if (attempt % 10 === 0 && attempt < 30)
      assert.equal(await logIn(registry, 'mallory', 'correct horse', '2001:db8::1'), 'ok')
  }
  assert.equal(await logIn(registry, 'another', 'wrong horse', '2001:db8:0:0:ffff::1'), 'login_throttled')
  assert.equal(await logIn(registry, 'another', 'wrong horse', '2001:db8:0:1::1'), 'login_failed')
})

test('one account from many addresses is throttled, for a minute at most', () => {
  const clock = createTestClock()
  const throttle = createLoginThrottle(clock)
  let admitted = 0
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    if (throttle.begin('ada', `10.0.${attempt >> 8}.${attempt & 255}`) !== undefined) admitted += 1
  }
  assert.equal(admitted, 51)
  for (let minute = 0; minute < 20; minute += 1) {
    clock.advance(60_000)
    assert.ok(throttle.begin('ada', `10.1.0.${minute}`) !== undefined)
    assert.equal(throttle.begin('ada', `10.2.0.${minute}`), undefined)
  }
})

test('an attempt that was not looked at does not count', () => {
  const throttle = createLoginThrottle(createTestClock())
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const begun = throttle.begin('ada', address)
    assert.ok(begun)
    begun.forget()
  }
})

test('argon2id: two at once, a bounded number in waiting, the rest refused', async () => {
  const hasher = createPasswordHasher()
  const hash = await hasher.hash('correct horse')
  assert.match(hash ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(await hasher.verify(hash ?? '', 'correct horse'), true)
  assert.equal(await hasher.verify(hash ?? '', 'wrong horse'), false)
  const answers = await Promise.all(Array.from({ length: 70 }, () => hasher.verify(hash ?? '', 'wrong horse')))
  assert.equal(answers.filter((answer) => answer === false).length, 66)
  assert.equal(answers.filter((answer) => answer === undefined).length, 4)
  assert.equal(await hasher.verify(hash ?? '', 'correct horse'), true)
})

test('a password is the same however its characters are composed', async () => {
  const hasher = createPasswordHasher()
  const hash = await hasher.hash('pässword'.normalize('NFC'))
  assert.equal(await hasher.verify(hash ?? '', 'pässword'.normalize('NFD')), true)
})

test('with the real hashes: nobody and a wrong password are compared with a hash of the same cost', async () => {
  const costs: string[] = []
  const real = createPasswordHasher()
  const passwordHasher: typeof real = {
    hash: (password) => real.hash(password),
    verify(hash, password) {
      costs.push(hash.split('$').slice(0, 4).join('$'))
      return real.verify(hash, password)
    },
  }
  await using opened = await openTestRegistry({ passwordHasher })
  const id = await addUser(opened.registry, 'ada')
  assert.equal(await logIn(opened.registry, 'ada', 'wrong horse'), 'login_failed')
  assert.equal(await logIn(opened.registry, 'nobody', 'wrong horse'), 'login_failed')
  assert.deepEqual(new Set(costs), new Set(['$argon2id$v=19$m=19456,t=2,p=1']))
  valueOf(await opened.registry.users.setPassword(id, 'another horse', nobody))
  assert.equal(await logIn(opened.registry, 'ada', 'another horse'), 'ok')
})
