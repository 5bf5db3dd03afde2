import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { openTestDeployment, PASSWORD } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment

beforeEach(async () => {
  deployment = await openTestDeployment()
})

afterEach(async () => {
  await deployment.close()
})

async function send(
  method: 'GET' | 'POST' | 'PUT',
  url: string,
  token: string | undefined,
  payload?: object,
  headers: Record<string, string> = {},
) {
  const answer = await deployment.ask(token, { method, url, headers, ...(payload === undefined ? {} : { payload }) })
  return { status: answer.statusCode, headers: answer.headers, body: answer.json<Record<string, unknown>>() }
}

async function logIn(password = PASSWORD, username = 'member@example.org') {
  return send('POST', '/api/internal/login', undefined, { username, password })
}

function codeOf(secret: unknown): Record<string, string> {
  const totp = new TOTP({ secret: Secret.fromBase32(String(secret)) })
  return { 'Grpc-Metadata-X-OTP': totp.generate({ timestamp: deployment.clock.now() }) }
}

async function turnSecondFactorOn(session: string) {
  const { body } = await send('POST', '/api/internal/totp-configuration', session, { qrCodeSize: 200 })
  const enabled = await send('POST', '/api/internal/totp-enable', session, {}, codeOf(body.secret))
  assert.equal(enabled.status, 200, JSON.stringify(enabled.body))
  deployment.clock.advance(30_000)
  return { secret: String(body.secret), url: String(body.url), recoveryCodes: body.recoveryCode as string[], ...body }
}

test('the configuration carries an otpauth URL, a secret, ten recovery codes and a PNG', async () => {
  const session = await deployment.session('member')
  const { body } = await send('POST', '/api/internal/totp-configuration', session, { qrCodeSize: 0 })
  assert.deepEqual(Object.keys(body), ['url', 'secret', 'recoveryCode', 'qrCode'])
  assert.match(String(body.url), /^otpauth:\/\/totp\//)
  const codes = body.recoveryCode as string[]
  assert.equal(codes.length, 10)
  for (const code of codes) assert.match(code, /^[a-z0-9]{5}-[a-z0-9]{5}$/)
  assert.deepEqual(Buffer.from(String(body.qrCode), 'base64').subarray(1, 4).toString(), 'PNG')
})

test('a login with the second factor on takes two steps, and a code is good once', async () => {
  const { secret } = await turnSecondFactorOn(await deployment.session('member'))
  const first = await logIn()
  assert.equal(first.body.is2faRequired, true)
  const step = String(first.body.jwt)

  assert.equal((await send('GET', '/api/internal/profile', step)).status, 401)
  const missing = await send('POST', '/api/internal/login-2fa', step, {})
  assert.equal(missing.status, 401)
  assert.deepEqual(missing.body.details, [{ reason: 'otp_missing' }])

  const second = await send('POST', '/api/internal/login-2fa', step, {}, codeOf(secret))
  assert.equal(second.status, 200)
  assert.equal(second.body.is2faRequired, false)
  assert.equal((await send('GET', '/api/internal/profile', String(second.body.jwt))).body.is2faEnabled, true)

  const again = await send('POST', '/api/internal/login-2fa', step, {}, codeOf(secret))
  assert.equal(again.status, 401)
  assert.deepEqual(again.body.details, [{ reason: 'otp_wrong' }])
})

test('a recovery code opens the second step, once', async () => {
  const { recoveryCodes } = await turnSecondFactorOn(await deployment.session('member'))
  const step = String((await logIn()).body.jwt)
  const headers = { 'grpc-metadata-x-otp': recoveryCodes[0] ?? '' }
  assert.equal((await send('POST', '/api/internal/login-2fa', step, undefined, headers)).status, 200)
  assert.equal((await send('POST', '/api/internal/login-2fa', step, undefined, headers)).status, 401)
})

test('the second step takes a step token alone, and not for longer than 600 s', async () => {
  const session = await deployment.session('member')
  const { secret } = await turnSecondFactorOn(session)
  assert.equal((await send('POST', '/api/internal/login-2fa', session, {}, codeOf(secret))).status, 401)
  const step = String((await logIn()).body.jwt)
  deployment.clock.advance(601_000)
  const late = await send('POST', '/api/internal/login-2fa', step, {}, codeOf(secret))
  assert.equal(late.status, 401)
  assert.deepEqual(late.body.details, [{ reason: 'token_expired' }])
})

test('wrong codes lock the second step for a while, with Retry-After', async () => {
  const { secret } = await turnSecondFactorOn(await deployment.session('member'))
  const step = String((await logIn()).body.jwt)
  const wrong = { 'Grpc-Metadata-X-OTP': 'wrong' }
  let locked = await send('POST', '/api/internal/login-2fa', step, {}, wrong)
  for (let tries = 0; tries < 10 && locked.status !== 429; tries += 1) {
    locked = await send('POST', '/api/internal/login-2fa', step, {}, wrong)
  }
  assert.equal(locked.status, 429)
  assert.equal(locked.body.code, 8)
  assert.match(String(locked.headers['retry-after']), /^[0-9]+$/)
  assert.equal((await send('POST', '/api/internal/login-2fa', step, {}, codeOf(secret))).status, 429)
})

test('recovery codes are made anew and the second factor is turned off with a code', async () => {
  const session = await deployment.session('member')
  const { secret, recoveryCodes } = await turnSecondFactorOn(session)
  const renewed = await send('POST', '/api/internal/totp-recovery-codes', session, { regenerate: true }, codeOf(secret))
  assert.equal((renewed.body.recoveryCode as string[]).length, 10)
  assert.notDeepEqual(renewed.body.recoveryCode, recoveryCodes)
  const notShown = await send('POST', '/api/internal/totp-recovery-codes', session, { regenerate: false })
  assert.equal(notShown.status, 400)
  deployment.clock.advance(30_000)
  assert.deepEqual((await send('GET', '/api/internal/totp-status', session)).body, { enabled: true })
  assert.equal((await send('POST', '/api/internal/totp-disable', session, {}, codeOf(secret))).status, 200)
  assert.deepEqual((await send('GET', '/api/internal/totp-status', session)).body, { enabled: false })
  assert.equal((await logIn()).body.is2faRequired, false)
})

test('guessing passwords is slowed down with 429 and Retry-After', async () => {
  let answer = await logIn('wrong')
  for (let tries = 0; tries < 20 && answer.status !== 429; tries += 1) answer = await logIn('wrong')
  assert.equal(answer.status, 429)
  assert.equal(answer.body.code, 8)
  assert.match(String(answer.headers['retry-after']), /^[0-9]+$/)
})

test('the own password changes with the old one alone, and ends the sessions', async () => {
  const session = await deployment.session('member')
  const wrong = await send('PUT', '/api/internal/password', session, { oldPassword: 'nope', password: `${PASSWORD}!` })
  assert.equal(wrong.status, 403)
  assert.deepEqual(wrong.body.details, [{ reason: 'old_password_wrong' }])
  deployment.clock.advance(2000)
  const payload = { oldPassword: PASSWORD, password: `${PASSWORD}!` }
  const changed = await send('PUT', '/api/internal/password', session, payload)
  assert.deepEqual([changed.status, changed.body], [200, {}])
  assert.equal((await send('GET', '/api/internal/profile', session)).status, 401)
  assert.equal((await logIn()).status, 401)
  assert.equal((await logIn(`${PASSWORD}!`)).status, 200)
})

test('the own password through /api/users needs the old one too, of a global admin as well', async () => {
  const { userIds } = deployment
  const admin = await deployment.session('globalAdmin')
  const url = `/api/users/${userIds.globalAdmin}/password`
  assert.equal((await send('PUT', url, admin, { password: `${PASSWORD}!` })).status, 400)
  deployment.clock.advance(2000)
  assert.equal((await send('PUT', url, admin, { password: `${PASSWORD}!`, oldPassword: PASSWORD })).status, 200)
})

test('signing out everywhere ends every session', async () => {
  const sessions = [await deployment.session('member'), await deployment.session('member')]
  deployment.clock.advance(2000)
  assert.equal((await send('POST', '/api/internal/sign-out-everywhere', sessions[0])).status, 200)
  for (const session of sessions) assert.equal((await send('GET', '/api/internal/profile', session)).status, 401)
})

test('the profile tells who I am and my roles', async () => {
  const { body } = await send('GET', '/api/internal/profile', await deployment.session('deviceAdmin'))
  assert.deepEqual(body, {
    user: {
      id: deployment.userIds.deviceAdmin,
      username: 'device-admin@example.org',
      email: 'device-admin@example.org',
      isAdmin: false,
      isActive: true,
      createdAt: '2026-01-15T12:00:00.000Z',
    },
    organizations: [
      {
        organizationID: deployment.organizationId,
        organizationName: 'acme',
        isAdmin: false,
        isDeviceAdmin: true,
        isGatewayAdmin: false,
        isReadOnly: false,
      },
    ],
    is2faEnabled: false,
  })
})

test('the operator of the machine sets a password without the old one, also of the admin in whose place it acts', async () => {
  const url = `/api/users/${deployment.userIds.globalAdmin}/password`
  const { tokens, audit, users } = deployment.registry
  const own = await deployment.session('globalAdmin')
  const operator = await tokens.issueOperatorSession({ id: deployment.userIds.globalAdmin })
  assert.equal((await send('PUT', url, operator, { password: `${PASSWORD}!` })).status, 200)
  assert.equal((await send('GET', '/api/users', own)).status, 401)
  const [entry] = (await audit.list({ userId: '0', isAdmin: true }, { limit: 1, offset: 0 })).items
  assert.deepEqual([entry?.action, entry?.actor, entry?.actorUserId], ['user.password_set', 'operator', null])
  await users.setPassword(deployment.userIds.globalAdmin, PASSWORD, { userId: null })
  const admin = await deployment.session('globalAdmin')
  const { result } = (await send('GET', '/api/audit-log?limit=2', admin)).body as { result: Record<string, string>[] }
  assert.deepEqual(
    result.map(({ actor, actorUserID }) => [actor, actorUserID]),
    [
      ['service', ''],
      ['operator', ''],
    ],
  )
})

test('neither passwords nor tokens nor codes reach the log', async () => {
  const session = await deployment.session('member')
  const { secret } = await turnSecondFactorOn(session)
  const step = String((await logIn()).body.jwt)
  const code = codeOf(secret)
  await send('POST', '/api/internal/login-2fa', step, {}, code)
  await logIn('a wrong password')
  const log = deployment.logLines.join('')
  assert.ok(log.includes('"request.completed"'))
  for (const hidden of [session, step, PASSWORD, 'a wrong password', code['Grpc-Metadata-X-OTP'] ?? '', secret]) {
    assert.ok(!log.includes(hidden))
  }
})
