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
const ada = { network: address, account: 'ada' }

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

test('guesses behind one address lock nobody out who has logged in from there before', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  await addUser(registry, 'ada')
  await addUser(registry, 'bea')
  assert.equal(await logIn(registry, 'ada', 'correct horse'), 'ok')
  for (let attempt = 0; attempt < 100; attempt += 1) await logIn(registry, `made up ${attempt}`, 'wrong horse')
  assert.equal(await logIn(registry, 'bea', 'correct horse'), 'login_throttled', 'the address has too many failures')
  assert.equal(await logIn(registry, 'ada', 'correct horse'), 'ok')
  clock.advance(30_000)
  assert.equal(await logIn(registry, 'bea', 'correct horse'), 'ok', 'the address has an attempt in 30 s')
  assert.equal(await logIn(registry, 'cyd', 'wrong horse'), 'login_failed')
  assert.equal(await logIn(registry, 'dot', 'wrong horse'), 'login_throttled')
  assert.equal(await logIn(registry, 'bea', 'correct horse'), 'ok', 'now it has logged in from there')
})

test('an account that has logged in from an address is guessed there no faster', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  await addUser(registry, 'ada')
  assert.equal(await logIn(registry, 'ada', 'correct horse'), 'ok')
  let guesses = 0
  for (let second = 0; second < 24 * 3600; second += 1) {
    if ((await logIn(registry, 'ada', 'wrong horse')) === 'login_failed') guesses += 1
    clock.advance(1000)
  }
  assert.ok(guesses < 120, `${guesses} guesses in a day`)
})

test('guesses from elsewhere lock no account out of the networks from which it has logged in', () => {
  const throttle = createLoginThrottle(createTestClock())
  throttle.begin('ada', address)?.succeed()
  const guess = (attempt: number) => throttle.begin('ada', `10.0.${attempt >> 8}.${attempt & 255}`)
  for (let attempt = 0; attempt < 1000; attempt += 1) guess(attempt)
  assert.equal(guess(1000), undefined)
  assert.ok(throttle.begin('ada', address))
})

test('an account is remembered in its eight newest networks: one account does not push out others', () => {
  const throttle = createLoginThrottle(createTestClock())
  throttle.begin('ada', address)?.succeed()
  for (let network = 0; network < 30_000; network += 1) throttle.begin('mallory', `network ${network}`)?.succeed()
  const block = (network: string): void => {
    for (let attempt = 0; attempt < 100; attempt += 1) throttle.begin(`made up ${attempt}`, network)
  }
  block(address)
  block('network 29991')
  block('network 29992')
  assert.ok(throttle.begin('ada', address))
  assert.equal(throttle.begin('mallory', 'network 29991'), undefined)
  assert.ok(throttle.begin('mallory', 'network 29992'))
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
  const hash = await hasher.hash('correct horse', ada)
  assert.match(hash ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(await hasher.verify(hash ?? '', 'correct horse', ada), true)
  assert.equal(await hasher.verify(hash ?? '', 'wrong horse', ada), false)
  const answers = await Promise.all(Array.from({ length: 70 }, () => hasher.verify(hash ?? '', 'wrong horse', ada)))
  assert.equal(answers.filter((answer) => answer === false).length, 66)
  assert.equal(answers.filter((answer) => answer === undefined).length, 4)
  assert.equal(await hasher.verify(hash ?? '', 'correct horse', ada), true)
})

test('a password is the same however its characters are composed', async () => {
  const hasher = createPasswordHasher()
  const hash = await hasher.hash('pässword'.normalize('NFC'), ada)
  assert.equal(await hasher.verify(hash ?? '', 'pässword'.normalize('NFD'), ada), true)
})

test('with the real hashes: nobody and a wrong password are compared with a hash of the same cost', async () => {
  const costs: string[] = []
  const real = createPasswordHasher()
  const passwordHasher: typeof real = {
    hash: (password, asker) => real.hash(password, asker),
    verify(hash, password, asker) {
      costs.push(hash.split('$').slice(0, 4).join('$'))
      return real.verify(hash, password, asker)
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
