import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

const url = '/api/internal/console-session'
const OWN = { 'fieldgate-console': '1' }

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

/** The cookie that a browser would send back after signing in. */
async function cookieOf(session: string): Promise<string> {
  const kept = await deployment.ask(session, { method: 'POST', url })
  assert.equal(kept.statusCode, 200)
  return String(kept.headers['set-cookie']).split(';', 1)[0] as string
}

test('a kept session comes back by its cookie alone', async () => {
  const session = await deployment.session('member')
  const cookie = await cookieOf(session)
  const resumed = await deployment.ask(undefined, { method: 'GET', url, headers: { ...OWN, cookie: `a=b; ${cookie}` } })
  assert.deepEqual(resumed.json(), { jwt: session })
})

test('the cookie is out of reach of scripts, of clear text, of other sites and of neighbouring hosts', async () => {
  const kept = await deployment.ask(await deployment.session('member'), { method: 'POST', url })
  const [, ...attributes] = String(kept.headers['set-cookie']).split('; ')
  assert.deepEqual(attributes, ['Path=/', 'Secure', 'HttpOnly', 'SameSite=Strict'])
  assert.match(String(kept.headers['set-cookie']), /^__Host-/)
})

test('a page of another origin can neither ask for the session nor end it', async () => {
  const cookie = await cookieOf(await deployment.session('member'))
  for (const method of ['GET', 'DELETE'] as const) {
    const refused = await deployment.ask(undefined, { method, url, headers: { cookie } })
    assert.equal(refused.statusCode, 403)
    assert.equal(refused.json().details[0].reason, 'console_header_missing')
    assert.equal(refused.headers['set-cookie'], undefined)
  }
})

test('the cookie opens no other route', async () => {
  const cookie = await cookieOf(await deployment.session('globalAdmin'))
  const refused = await deployment.ask(undefined, { method: 'GET', url: '/api/users', headers: { ...OWN, cookie } })
  assert.equal(refused.statusCode, 401)
})

test('a session that was ended everywhere does not come back, and its cookie goes', async () => {
  const session = await deployment.session('member')
  const cookie = await cookieOf(session)
  await deployment.ask(session, { method: 'POST', url: '/api/internal/sign-out-everywhere' })
  const resumed = await deployment.ask(undefined, { method: 'GET', url, headers: { ...OWN, cookie } })
  assert.deepEqual(resumed.json(), { jwt: '' })
  assert.match(String(resumed.headers['set-cookie']), /Max-Age=0$/)
})

test('a broker-access token can not be kept as a session', async () => {
  const { registry, userIds, organizationId } = deployment
  const issued = await registry.tokens.issueBrokerAccess({ userId: userIds.member, organizationId, ttlSeconds: 60 })
  assert.ok(issued.ok)
  assert.equal((await deployment.ask(issued.value.jwt, { method: 'POST', url })).statusCode, 401)
  const cookie = `__Host-fieldgate-session=${issued.value.jwt}`
  const resumed = await deployment.ask(undefined, { method: 'GET', url, headers: { ...OWN, cookie } })
  assert.deepEqual(resumed.json(), { jwt: '' })
})
