import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'

const UUID = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'

let deployment: TestDeployment

beforeEach(async () => {
  deployment = await openTestDeployment()
})

afterEach(async () => {
  await deployment.close()
})

async function send(person: Person, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
  const session = await deployment.session(person)
  const answer = await deployment.ask(session, { method, url, ...(payload === undefined ? {} : { payload }) })
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() }
}

function create(person: Person, id: unknown) {
  const application = { id, name: 'imported', organizationID: deployment.organizationId }
  return send(person, 'POST', '/api/applications', { application })
}

describe('an application of a network server with ids of its own', () => {
  it('has the UUID that a global admin asked for, in every endpoint', async () => {
    assert.deepEqual(await create('globalAdmin', UUID), { status: 200, body: { id: UUID } })
    const { status, body } = await send('member', 'GET', `/api/applications/${UUID}`)
    assert.deepEqual([status, (body['application'] as { id: string }).id], [200, UUID])
    const device = { devEUI: 'aabbccddeeff0011', name: 'meter', applicationID: UUID }
    assert.equal((await send('deviceAdmin', 'POST', '/api/devices', { device })).status, 200)
    const devices = await send('member', 'GET', `/api/devices?applicationID=${UUID}`)
    assert.equal(devices.body['totalCount'], '1')
    const organizationId = deployment.organizationId
    const topics = `/api/mosquitto-auth/subscribe-application-events?organizationId=${organizationId}&applicationId=${UUID}`
    const { body: answer } = await send('member', 'GET', topics)
    assert.deepEqual(answer, {
      topic: `Topic for subscribing to application ${UUID}: 'application/${UUID}/device/+/event/+'`,
    })
    assert.equal((await send('organizationAdmin', 'DELETE', `/api/applications/${UUID}`)).status, 200)
  })

  it('is nothing that an organization’s admin can ask for: it would get a neighbour’s events', async () => {
    for (const id of [UUID, '77', 77]) {
      const { status, body } = await create('organizationAdmin', id)
      assert.equal(status, 403)
      assert.deepEqual(body['details'], [{ reason: 'role_too_small' }])
    }
    assert.equal((await send('globalAdmin', 'GET', `/api/applications/${UUID}`)).status, 404)
  })

  it('can’t take the id of another application', async () => {
    assert.equal((await create('globalAdmin', deployment.foreignApplicationId)).status, 409)
  })

  for (const id of ['', 'app', UUID.toUpperCase(), '+', -1, 1.5, null]) {
    it(`can’t have the id ${JSON.stringify(id)}`, async () => {
      assert.equal((await create('globalAdmin', id)).status, 400)
    })
  }
})
