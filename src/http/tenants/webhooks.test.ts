import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment
let url = ''

before(async () => {
  deployment = await openTestDeployment()
  url = `/api/organizations/${deployment.organizationId}/webhooks`
})

after(() => deployment.close())

async function ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) {
  const session = await deployment.session('organizationAdmin')
  const { statusCode, body } = await deployment.ask(session, { method, url: path, ...(payload && { payload }) })
  return { statusCode, body, json: JSON.parse(body) as Record<string, unknown> }
}

const WEBHOOK = {
  name: 'Billing',
  url: 'https://billing.example.org/events',
  headers: { Authorization: 'Bearer hidden' },
}

test('a secret and the values of header fields are told once, or never', async () => {
  const created = await ask('POST', url, { webhook: WEBHOOK })
  assert.equal(created.statusCode, 200)
  const { id, secret } = created.json as { id: string; secret: string }
  assert.match(secret, /^whsec_/)
  const rotated = await ask('POST', `${url}/${id}/rotate-secret`, { overlapSeconds: 60 })
  const bodies = [
    (await ask('GET', url)).body,
    (await ask('GET', `${url}/${id}`)).body,
    (await ask('GET', `${url}/${id}/deliveries`)).body,
    (await ask('POST', `${url}/${id}/test`)).body,
    (await ask('GET', '/api/internal/audit')).body,
    deployment.logLines.join(''),
  ]
  for (const body of bodies) {
    assert.ok(
      !body.includes(secret.slice(6)) && !body.includes('hidden') && !body.includes(String(rotated.json['secret'])),
    )
  }
  const details = (await ask('GET', `${url}/${id}`)).json as { webhook: Record<string, unknown> }
  assert.deepEqual(details.webhook['headerNames'], ['authorization'])
  assert.equal(details.webhook['secretsInForce'], 2)
  await ask('DELETE', `${url}/${id}`)
  assert.equal((await ask('GET', `${url}/${id}`)).statusCode, 404)
})

test('a change sets all settings, and leaves header fields that it does not name', async () => {
  const { id } = (await ask('POST', url, { webhook: { ...WEBHOOK, eventKinds: ['up'] } })).json as { id: string }
  const { headers: _, ...others } = WEBHOOK
  assert.equal((await ask('PUT', `${url}/${id}`, { webhook: { ...others, concurrency: 2 } })).statusCode, 200)
  const { webhook } = (await ask('GET', `${url}/${id}`)).json as { webhook: Record<string, unknown> }
  assert.deepEqual([webhook['eventKinds'], webhook['concurrency']], [undefined, 2])
  assert.deepEqual((await deployment.registry.webhooks.find(id))?.headers, { authorization: 'Bearer hidden' })
  await ask('DELETE', `${url}/${id}`)
})

test('settings that would send more or less than was meant are refused', async () => {
  const { foreignApplicationId } = deployment
  const cases: readonly (readonly [object, number, string])[] = [
    [{ eventKind: ['up'] }, 400, 'webhook: must have no other members'],
    [{ eventKinds: [] }, 400, 'webhook.eventKinds'],
    [{ eventKinds: ['uplink'] }, 400, 'webhook.eventKinds'],
    [{ devEuis: ['xyz'] }, 400, 'webhook.devEuis'],
    [{ applicationIds: [] }, 400, 'webhook.applicationIds'],
    [{ applicationIds: [foreignApplicationId] }, 404, 'object does not exist'],
    [{ applicationIds: ['987654321'] }, 404, 'object does not exist'],
    [{ tags: {} }, 400, 'webhook.tags'],
    [{ concurrency: 17 }, 400, 'webhook.concurrency'],
    [{ url: 'file:///etc/passwd' }, 400, 'url: must be an address'],
    [{ headers: { 'webhook-id': 'x' } }, 400, 'headers: must not set webhook-id'],
    [{ acceptsCommands: true, batch: { maximumEvents: 2, maximumBytes: 1024, waitMs: 0 } }, 400, 'acceptsCommands'],
    [{ caCertificate: 'none' }, 400, 'caCertificate'],
  ]
  for (const [fields, status, message] of cases) {
    const { statusCode, body } = await ask('POST', url, { webhook: { ...WEBHOOK, ...fields } })
    assert.equal(statusCode, status, JSON.stringify(fields))
    assert.ok(body.includes(message), body)
  }
})

test('a replay begins at a time, or at an event of the organization', async () => {
  const { id } = (await ask('POST', url, { webhook: WEBHOOK })).json as { id: string }
  const startOf = async () => (await deployment.registry.webhooks.find(id))?.startMs
  assert.equal((await ask('POST', `${url}/${id}/pause`)).statusCode, 200)
  assert.equal((await deployment.registry.webhooks.find(id))?.pause?.code, 'webhook_paused_by_person')
  assert.equal((await ask('POST', `${url}/${id}/resume`, { from: '2026-01-15T11:00:00+01:00' })).statusCode, 200)
  assert.equal(await startOf(), Date.UTC(2026, 0, 15, 10))
  assert.equal((await deployment.registry.webhooks.find(id))?.pause, undefined)
  assert.equal((await ask('POST', `${url}/${id}/resume`, { fromEventId: '1-1' })).statusCode, 200)
  assert.equal(await startOf(), deployment.clock.now() - 60_000)
  assert.equal((await ask('POST', `${url}/${id}/resume`, { fromEventId: '1-2' })).statusCode, 404)
  assert.equal((await ask('POST', `${url}/${id}/resume`, { from: 'yesterday' })).statusCode, 400)
  const both = { from: '2026-01-15T11:00:00Z', fromEventId: '1-1' }
  assert.equal((await ask('POST', `${url}/${id}/resume`, both)).statusCode, 400)
  await ask('DELETE', `${url}/${id}`)
})
