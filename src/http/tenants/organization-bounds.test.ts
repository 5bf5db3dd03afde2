import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BOUND_NAMES, DEFAULT_ORGANIZATION_BOUNDS, ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

async function ask(person: Person, method: 'GET' | 'PUT', payload?: object) {
  const url = `/api/organizations/${deployment.organizationId}/bounds`
  const request = payload === undefined ? { method, url } : { method, url, payload }
  const answer = await deployment.ask(await deployment.session(person), request)
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() }
}

async function boundsFor(person: Person) {
  const { status, body } = await ask(person, 'GET')
  assert.equal(status, 200)
  return body['bounds'] as { readonly name: string }[]
}

async function boundNamed(name: string) {
  return (await boundsFor('member')).find((bound) => bound.name === name)
}

test('a member sees all bounds of the organization, with the use that is counted', async () => {
  const bounds = await boundsFor('member')
  assert.deepEqual(
    bounds.map(({ name }) => name),
    BOUND_NAMES,
  )
  const common = { isOverridden: false, isNear: false }
  const { unit, description } = ORGANIZATION_BOUNDS.sessions
  assert.deepEqual(
    bounds.find(({ name }) => name === 'sessions'),
    {
      ...common,
      name: 'sessions',
      unit,
      description,
      maximum: 10_000,
      deploymentMaximum: 10_000,
      used: 8_000,
      isNear: true,
    },
  )
  const { maximum, deploymentMaximum, used, isNear } = {
    maximum: 200,
    deploymentMaximum: 200,
    used: 3.3,
    isNear: false,
  }
  assert.partialDeepStrictEqual(
    bounds.find(({ name }) => name === 'connectsPerSecond'),
    { unit: 'per second', maximum, deploymentMaximum, used, isNear },
  )
  assert.partialDeepStrictEqual(
    bounds.find(({ name }) => name === 'storedBytes'),
    { unit: 'bytes', used: null, isNear: false },
  )
})

test('a global admin gives an organization bounds of its own, and takes them back by null', async () => {
  assert.deepEqual(await ask('globalAdmin', 'PUT', { bounds: { sessions: 20_000, retained_bytes: 1 } }), {
    status: 200,
    body: {},
  })
  const own = { maximum: 20_000, deploymentMaximum: 10_000, isOverridden: true, used: 8_000, isNear: false }
  assert.partialDeepStrictEqual(await boundNamed('sessions'), own)
  assert.partialDeepStrictEqual(await boundNamed('retainedBytes'), { maximum: 1, isOverridden: true })
  assert.deepEqual(await ask('globalAdmin', 'PUT', { bounds: { retainedBytes: null } }), { status: 200, body: {} })
  assert.partialDeepStrictEqual(await boundNamed('sessions'), own)
  assert.partialDeepStrictEqual(await boundNamed('retainedBytes'), {
    maximum: DEFAULT_ORGANIZATION_BOUNDS.retainedBytes,
    isOverridden: false,
  })
  assert.equal((await ask('globalAdmin', 'PUT', { bounds: { sessions: null } })).status, 200)
})

test('a refusal names the bound and its range, and nothing is changed', async () => {
  const former = await boundsFor('member')
  const range = 'sessions must be an integer from 1 to 10000000'
  const rule = 'bounds.sessions: must be an integer from 1 to 10000000, or null for the deployment’s bound'
  for (const [bounds, reason, message] of [
    [{ connections: 5, sessions: 0 }, 'invalid_bound', range],
    [{ connections: 5, sessions: 1.5 }, 'invalid_bound', range],
    [{ connections: 5, sessions: 10_000_001 }, 'invalid_bound', range],
    [{ connections: 5, sessions: '5' }, 'invalid_argument', rule],
    [
      { connections: 5, session: 5 },
      'invalid_argument',
      `bounds: must have no other members than ${BOUND_NAMES.join(', ')}`,
    ],
  ] as const) {
    const { status, body } = await ask('globalAdmin', 'PUT', { bounds })
    assert.deepEqual([status, body['message'], body['details']], [400, message, [{ reason }]])
  }
  const missing = await ask('globalAdmin', 'PUT', {})
  assert.deepEqual([missing.status, missing.body['message']], [400, 'bounds: is missing'])
  assert.deepEqual(await boundsFor('member'), former)
})
