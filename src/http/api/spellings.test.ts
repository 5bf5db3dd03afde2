import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Type } from 'typebox'
import { newApplication, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'
import { conflictSentence, withDocumentedSpellings } from './spellings.ts'

const Body = Type.Object({
  organizationID: Type.String(),
  devEui: Type.Optional(Type.String()),
  device: Type.Optional(Type.Object({ applicationID: Type.String(), tags: Type.Record(Type.String(), Type.String()) })),
  list: Type.Optional(Type.Array(Type.Object({ userID: Type.String() }))),
})

function spelled(value: unknown): unknown {
  const result = withDocumentedSpellings(Body, value)
  return 'conflict' in result ? conflictSentence(result.conflict) : result.value
}

test('a member is taken for the documented one in any case and with underscores, also inside and in lists', () => {
  for (const name of ['organizationId', 'organization_id', 'organizationid', 'ORGANIZATION_ID']) {
    assert.deepEqual(spelled({ [name]: '1' }), { organizationID: '1' })
  }
  assert.deepEqual(
    spelled({ dev_eui: 'x', device: { applicationId: '2', tags: { applicationId: '3' } }, list: [{ user_id: '4' }] }),
    { devEui: 'x', device: { applicationID: '2', tags: { applicationId: '3' } }, list: [{ userID: '4' }] },
  )
})

test('what is spelled as documented, or by no spelling, is the very same value', () => {
  const value = { organizationID: '1', organisation: '2', device: { applicationID: '1', tags: {} }, list: [] }
  assert.equal(spelled(value), value)
  for (const other of [null, 'x', 7, [1]]) assert.equal(spelled(other), other)
  const hostile: unknown = JSON.parse('{"__proto__":{"organizationID":"1"},"constructor":"x"}')
  assert.equal(spelled(hostile), hostile)
})

test('two spellings with one value are one; with different values they are refused by both names', () => {
  assert.deepEqual(spelled({ organizationID: '1', organizationId: '1' }), { organizationID: '1' })
  assert.equal(
    spelled({ organizationID: '1', organizationId: '2' }),
    'organizationId: is another spelling of organizationID, and has another value',
  )
  assert.equal(
    spelled({ device: { application_id: '1', applicationId: '2', tags: {} } }),
    'device.applicationId: is another spelling of device.application_id, and has another value',
  )
})

test('names that a schema has in two spellings are left alone', () => {
  const Both = Type.Object({ devEUI: Type.String(), devEui: Type.String() })
  const value = { dev_eui: 'x' }
  assert.deepEqual(withDocumentedSpellings(Both, value), { value })
})

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

interface Answered {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

async function ask(method: 'GET' | 'POST', url: string, payload?: object): Promise<Answered> {
  const session = await deployment.session('globalAdmin')
  const answer = await deployment.ask(session, { method, url, ...(payload === undefined ? {} : { payload }) })
  return { status: answer.statusCode, body: answer.json() }
}

test('the specification’s list of applications takes both spellings of the organization, and ignores neither', async () => {
  const { organizationId, foreignOrganizationId, registry } = deployment
  await newApplication(registry, foreignOrganizationId, 'foreign')
  const idsOf = async (query: string): Promise<unknown> => {
    const { body } = await ask('GET', `/api/applications?limit=999&offset=0&${query}`)
    return (body['result'] as { readonly id: string }[]).map(({ id }) => id)
  }
  const own = await idsOf(`organizationID=${organizationId}`)
  assert.deepEqual(await idsOf(`organizationId=${organizationId}`), own)
  assert.deepEqual(await idsOf(`organizationId=${organizationId}&organizationID=${organizationId}`), own)
  assert.notDeepEqual(await idsOf(''), own)
  const conflict = await ask('GET', `/api/applications?organizationID=${organizationId}&organizationId=7`)
  assert.equal(conflict.status, 400)
  assert.match(String(conflict.body['message']), /^organizationId: is another spelling of organizationID/)
})

test('the specification’s other endpoints take both spellings as well', async () => {
  const { organizationId, applicationId, devEui } = deployment
  for (const query of [
    `subscribe-application-events?applicationID=${applicationId}&organizationID=${organizationId}`,
    `subscribe-device-events?devEUI=${devEui}&organizationID=${organizationId}`,
    `send-command?dev_eui=${devEui}&organization_id=${organizationId}`,
  ]) {
    const { status, body } = await ask('GET', `/api/mosquitto-auth/${query}`)
    assert.equal(status, 200, JSON.stringify(body))
    assert.ok(body['topic'] !== undefined)
  }
  const login = await ask('POST', '/api/mosquitto-auth/login', { organizationID: organizationId, ttl_in_seconds: '60' })
  assert.equal(login.status, 200, JSON.stringify(login.body))
})
