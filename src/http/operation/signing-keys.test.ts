import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { openTestDeployment, PASSWORD } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment

beforeEach(async () => {
  deployment = await openTestDeployment()
})

afterEach(async () => {
  await deployment.close()
})

const DAY_MS = 86_400_000

async function ask(token: string | undefined, method: 'GET' | 'POST', url: string, payload?: object) {
  const answer = await deployment.ask(token, { method, url, ...(payload === undefined ? {} : { payload }) })
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() }
}

async function logIn(): Promise<string> {
  const { body } = await ask(undefined, 'POST', '/api/internal/login', {
    username: 'global-admin@example.org',
    password: PASSWORD,
  })
  return String(body['jwt'])
}

async function issueBrokerToken(session: string, ttlInSeconds: string): Promise<string> {
  const { organizationId } = deployment
  const { body } = await ask(session, 'POST', '/api/mosquitto-auth/login', { organizationId, ttlInSeconds })
  return String(body['jwtMqttAuth'])
}

/** Endpoint 7, which takes sessions and broker-access tokens. */
async function statusFor(token: string): Promise<number> {
  const { devEui, organizationId } = deployment
  const query = `devEui=${devEui}&organizationId=${organizationId}`
  return (await ask(token, 'GET', `/api/mosquitto-auth/send-command?${query}`)).status
}

async function publicKeys(): Promise<JSONWebKeySet> {
  return (await ask(undefined, 'GET', '/.well-known/jwks.json')).body as unknown as JSONWebKeySet
}

async function rotate(session: string): Promise<string> {
  const { status, body } = await ask(session, 'POST', '/api/internal/keys/rotate')
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['kid'])
  return String(body['kid'])
}

const kidOf = (token: string): string | undefined => decodeProtectedHeader(token).kid

test('tokens from before a rotation stay good, and those from after it carry the new key’s id', async () => {
  const session = await logIn()
  const brokerToken = await issueBrokerToken(session, '3600')
  const oldKid = kidOf(session)
  const kid = await rotate(session)
  assert.notEqual(kid, oldKid)
  assert.deepEqual([await statusFor(session), await statusFor(brokerToken)], [200, 200])
  const [newSession, newBrokerToken] = [await logIn(), await issueBrokerToken(session, '3600')]
  assert.deepEqual([kidOf(newSession), kidOf(newBrokerToken)], [kid, kid])
  assert.deepEqual([await statusFor(newSession), await statusFor(newBrokerToken)], [200, 200])
})

test('the public keys have both, and anybody can check tokens of either with them', async () => {
  const session = await logIn()
  const before = await issueBrokerToken(session, '3600')
  const kid = await rotate(session)
  const after = await issueBrokerToken(session, '3600')
  const keys = await publicKeys()
  assert.deepEqual(new Set(keys.keys.map((key) => key.kid)), new Set([kidOf(before), kid]))
  const keySet = createLocalJWKSet(keys)
  for (const token of [before, after]) {
    await jwtVerify(token, keySet, { currentDate: new Date(deployment.clock.now()) })
  }
})

test('an old key goes when the last token that it signed has expired, and no sooner', async () => {
  const session = await logIn()
  const brokerToken = await issueBrokerToken(session, String((30 * DAY_MS) / 1000))
  const kid = await rotate(session)
  deployment.clock.advance(30 * DAY_MS - 1000)
  await deployment.registry.pruneExpired()
  assert.equal(await statusFor(brokerToken), 200)
  assert.equal((await publicKeys()).keys.length, 2)
  // A day to spare, for the end of a key is written once a day.
  deployment.clock.advance(DAY_MS + 1000)
  await deployment.registry.pruneExpired()
  assert.deepEqual(
    (await publicKeys()).keys.map((key) => key.kid),
    [kid],
  )
  assert.equal(await statusFor(brokerToken), 401)
})

test('a rotation is in the audit log, with the one who asked for it', async () => {
  const session = await logIn()
  const kid = await rotate(session)
  const { body } = await ask(session, 'GET', '/api/audit-log?search=signing_key.rotated')
  const [entry] = body['result'] as { actorUserID: string; subject: string; organizationID: string }[]
  assert.deepEqual(
    [entry?.actorUserID, entry?.subject, entry?.organizationID],
    [deployment.userIds.globalAdmin, kid, ''],
  )
})

test('an organization’s admin can’t rotate, and nothing changes', async () => {
  const before = await publicKeys()
  const { status } = await ask(await deployment.session('organizationAdmin'), 'POST', '/api/internal/keys/rotate')
  assert.equal(status, 403)
  assert.deepEqual(await publicKeys(), before)
})
