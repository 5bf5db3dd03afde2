/**
 * The secrets of programs are told once, and stand nowhere else: not in the log, the audit log, the
 * lists and the metrics, also where a program puts its key into a wrong place.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { Administration } from '../support/administration.ts'
import { textIn } from '../support/https-client.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

const HEADER = 'the-value-of-a-header-of-the-receiver'

let service: RunningService
let organizationId: string
/** The key, its successor, the secrets of the webhook: texts that nobody may find. */
const secrets: string[] = [HEADER]

const receiver = createServer((request, response) => {
  response.writeHead(503).end()
  request.resume()
})

before(async () => {
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  service = await startInProcess({ environment: { FIELDGATE_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } })
  organizationId = await new Administration(service).organization()
})

after(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await service?.stop()
})

/** Asks as the global admin, and fails for any refusal. */
function admin(method: string, path: string, json?: object): Promise<Readonly<Record<string, unknown>>> {
  return service.http.must(method, path, {
    token: service.adminSession,
    ...(json === undefined ? {} : { json }),
  })
}

/** Puts the text, a key or a part of one, wherever a program may put it, rightly or wrongly. */
async function use(text: string): Promise<void> {
  const { http, adminSession: token } = service
  await http.ask('GET', '/api/applications', { headers: { authorization: `Bearer ${text}` } })
  await http.ask('GET', '/api/applications', { headers: { authorization: `Basic ${btoa(`key:${text}`)}` } })
  await http.ask('POST', '/api/mosquitto-auth/login', { token: text, json: { organizationId } })
  await http.ask('GET', `/api/applications?limit=1&api_key=${text}`, { token })
  await http.ask('GET', `/api/devices/${text}`, { token })
  await http.ask('GET', `/api/nowhere/${text}`, { token })
  await http.ask('POST', '/api/internal/login', { json: { username: text, password: text } })
  for (const login of [
    { username: text, password: 'default' },
    { username: 'default', password: text },
  ]) {
    const client = await WireClient.open(service, 5)
    await client.connect(login)
    client.destroy()
  }
}

test('no secret of a program stands in the log, the audit log, a list or the metrics', async () => {
  const keys = `/api/organizations/${organizationId}/api-keys`
  const rights = ['events.read', 'devices.read']
  const made = await admin('POST', keys, { apiKey: { name: 'lake', rights } })
  const [id, key] = [textIn(made, 'id'), textIn(made, 'key')]
  const rotated = textIn(await admin('POST', `${keys}/${id}/rotate`, { overlapSeconds: 60 }), 'key')
  const deployment = textIn(await admin('POST', '/api/api-keys', { apiKey: { name: 'all', rights } }), 'key')
  for (const one of [key, rotated, deployment]) secrets.push(secretOf(one))
  await use(key)
  await use(rotated.slice(0, -1))
  await admin('DELETE', `${keys}/${id}`)
  await use(rotated)

  const hooks = `/api/organizations/${organizationId}/webhooks`
  const { port } = receiver.address() as AddressInfo
  const webhook = { name: 'hook', url: `http://127.0.0.1:${port}/`, headers: { 'x-key': HEADER } }
  const hook = await admin('POST', hooks, { webhook })
  const next = await admin('POST', `${hooks}/${textIn(hook, 'id')}/rotate-secret`, { overlapSeconds: 60 })
  for (const one of [hook, next]) secrets.push(textIn(one, 'secret').slice('whsec_'.length))
  await admin('POST', `${hooks}/${textIn(hook, 'id')}/test`)
  await service.http.ask('GET', `/api/applications?secret=${textIn(hook, 'secret')}`)

  const page = 'limit=1000&offset=0'
  const looks = [
    `/api/audit-log?${page}`,
    `/api/audit-log?${page}&organizationID=${organizationId}`,
    `${keys}?${page}`,
    `/api/api-keys?${page}`,
    `${hooks}?${page}`,
    `${hooks}/${textIn(hook, 'id')}`,
    `/api/refusals?${page}`,
    `/api/connections?${page}`,
    `/api/broker-tokens?${page}`,
    '/api/status',
  ]
  for (const path of looks) assertTellsNothing(JSON.stringify(await admin('GET', path)), path)
  const metrics = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  assertTellsNothing(metrics.text, 'the metrics')
  const exported = await service.http.ask('GET', `/api/devices/export?organizationID=${organizationId}`, {
    token: service.adminSession,
  })
  assert.equal(exported.status, 200)
  assertTellsNothing(exported.text, 'the export of devices')
  const log = service.logText()
  assert.ok(log.includes('request.completed'), 'the log has the requests')
  assertTellsNothing(log, 'the log')
})

/** The part of a key that nobody may know. */
function secretOf(key: string): string {
  return key.slice('fg_0123456789ab_'.length)
}

/** Half of a secret is enough to fail. */
function assertTellsNothing(text: string, where: string): void {
  for (const secret of secrets) {
    const at = text.indexOf(secret.slice(0, 20))
    assert.equal(at, -1, `${where}: ${text.slice(Math.max(0, at - 200), at + 60)}`)
  }
}
