import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TOTP } from 'otpauth'
import type { Registry } from '../registry.ts'
import { addUser, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'
import type { TestClock } from '../registry.testing.ts'
import type { SecondFactorConfiguration } from './second-factor.ts'

interface Bench extends AsyncDisposable {
  readonly registry: Registry
  readonly clock: TestClock
  readonly userId: string
  readonly configuration: SecondFactorConfiguration
  /** The code that the authenticator shows, so many steps of 30 s from now. */
  code(steps?: number): string
}

async function openBench(isEnabled = true): Promise<Bench> {
  const opened = await openTestRegistry()
  const userId = await addUser(opened.registry, 'ada@example.org')
  const configuration = valueOf(await opened.registry.secondFactor.configure(userId, 256, nobody))
  const totp = new TOTP({ secret: configuration.secret })
  const code = (steps = 0): string => totp.generate({ timestamp: opened.clock.now() + steps * 30_000 })
  if (isEnabled) {
    valueOf(await opened.registry.secondFactor.enable(userId, code(), nobody))
    opened.clock.advance(60_000)
  }
  return { ...opened, userId, configuration, code }
}

test('the configuration is what an authenticator takes, and nothing is on before a code confirms it', async () => {
  await using bench = await openBench(false)
  const { registry, userId, configuration } = bench
  const { secondFactor } = registry
  assert.match(configuration.url, /^otpauth:\/\/totp\/Fieldgate:ada%40example.org\?.*secret=[A-Z2-7]{32}/)
  assert.equal(configuration.recoveryCodes.length, 10)
  for (const code of configuration.recoveryCodes) assert.match(code, /^[a-z2-7]{5}-[a-z2-7]{5}$/)
  assert.deepEqual([...Buffer.from(configuration.qrCode, 'base64').subarray(1, 4)], [...Buffer.from('PNG')])
  assert.deepEqual(await secondFactor.status(userId), { enabled: false })
  assert.equal(reasonOf(await secondFactor.verify(userId, bench.code())), 'second_factor_not_enabled')
  const [recoveryCode = ''] = configuration.recoveryCodes
  assert.equal(reasonOf(await secondFactor.enable(userId, recoveryCode, nobody)), 'otp_wrong')
  assert.equal(reasonOf(await secondFactor.enable(userId, bench.code(), nobody)), 'ok')
  assert.deepEqual(await secondFactor.status(userId), { enabled: true })
  assert.equal(reasonOf(await secondFactor.configure(userId, 0, nobody)), 'second_factor_enabled')
  const attempt = { userName: 'ada@example.org', password: 'correct horse', address: '192.0.2.1' }
  assert.equal(valueOf(await registry.passwords.authenticate(attempt)).secondFactor, true)
  assert.equal(reasonOf(await secondFactor.configure('99', 0, nobody)), 'user_not_found')
  assert.equal(reasonOf(await secondFactor.verify('99', '000000')), 'second_factor_not_configured')
})

test('the published vectors of RFC 6238 are met', () => {
  const totp = new TOTP({ secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', algorithm: 'SHA1', digits: 8, period: 30 })
  assert.equal(totp.generate({ timestamp: 59_000 }), '94287082')
  assert.equal(totp.generate({ timestamp: 1_111_111_109_000 }), '07081804')
})

test('a code is good for one step either way, and once', async () => {
  await using bench = await openBench()
  const verify = async (code: string): Promise<string> =>
    reasonOf(await bench.registry.secondFactor.verify(bench.userId, code))
  assert.equal(await verify(bench.code(-2)), 'otp_wrong')
  assert.equal(await verify(bench.code(2)), 'otp_wrong')
  assert.equal(await verify(bench.code(-1)), 'ok')
  assert.equal(await verify(bench.code(-1)), 'otp_wrong')
  assert.equal(await verify(bench.code(1)), 'ok')
  // Older than one that was used up.
  assert.equal(await verify(bench.code()), 'otp_wrong')
})

test('one code in many hands at once is taken once', async () => {
  await using bench = await openBench()
  const code = bench.code()
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => bench.registry.secondFactor.verify(bench.userId, code)),
  )
  assert.equal(answers.filter(({ ok }) => ok).length, 1)
})

test('a recovery code is good once, in any case', async () => {
  await using bench = await openBench()
  const { secondFactor } = bench.registry
  const [first = '', second = ''] = bench.configuration.recoveryCodes
  assert.equal(reasonOf(await secondFactor.verify(bench.userId, first.toUpperCase())), 'ok')
  assert.equal(reasonOf(await secondFactor.verify(bench.userId, first)), 'otp_wrong')
  const fresh = valueOf(await secondFactor.regenerateRecoveryCodes(bench.userId, bench.code(), nobody))
  assert.equal(fresh.length, 10)
  assert.equal(reasonOf(await secondFactor.verify(bench.userId, second)), 'otp_wrong')
  assert.equal(reasonOf(await secondFactor.verify(bench.userId, fresh[0] ?? '')), 'ok')
})

test('wrong codes lock the step for longer and longer, and a right one does not pass meanwhile', async () => {
  await using bench = await openBench()
  const { secondFactor } = bench.registry
  const verify = async (code: string): Promise<string> => reasonOf(await secondFactor.verify(bench.userId, code))
  const wrong = ['', 'abcdef', '12345', '1234567', '١٢٣٤٥٦']
  for (const code of wrong) assert.equal(await verify(code), 'otp_wrong', code)
  assert.equal(await verify(bench.code()), 'second_factor_locked')
  bench.clock.advance(60_000)
  for (const code of wrong) assert.equal(await verify(code), 'otp_wrong')
  bench.clock.advance(119_999)
  assert.equal(await verify(bench.code()), 'second_factor_locked')
  bench.clock.advance(1)
  assert.equal(await verify(bench.code()), 'ok')
  for (const code of wrong.slice(1)) assert.equal(await verify(code), 'otp_wrong')
  bench.clock.advance(30_000)
  assert.equal(await verify(bench.code()), 'ok')
})

test('it is turned off by a code, or by somebody who may reset it', async () => {
  await using bench = await openBench()
  const { secondFactor } = bench.registry
  assert.equal(reasonOf(await secondFactor.disable(bench.userId, '000000', nobody)), 'otp_wrong')
  assert.equal(reasonOf(await secondFactor.disable(bench.userId, bench.code(), nobody)), 'ok')
  assert.deepEqual(await secondFactor.status(bench.userId), { enabled: false })
  assert.equal(reasonOf(await secondFactor.reset(bench.userId, nobody)), 'second_factor_not_configured')
  valueOf(await secondFactor.configure(bench.userId, 100, nobody))
  assert.equal(reasonOf(await secondFactor.reset(bench.userId, nobody)), 'ok')
})
