/**
 * Web pages of other hosts: the HTTP API and MQTT over WebSocket answer the hosts that the
 * deployment's settings name.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const APP = 'https://app.example.org'
const EVIL = 'https://evil.example.org'

/** True if a page of this origin gets a WebSocket. */
async function canConnect(service: RunningService, origin: string): Promise<boolean> {
  const webSocket = new WebSocket(`${service.https.replace('https:', 'wss:')}/mqtt`, 'mqtt', { ca: service.ca, origin })
  const opened = once(webSocket, 'open').then(() => true)
  const refused = once(webSocket, 'unexpected-response').then(() => false)
  webSocket.on('error', () => {})
  try {
    return await Promise.any([opened, refused])
  } finally {
    webSocket.terminate()
  }
}

test('FIELDGATE_ALLOWED_ORIGINS and FIELDGATE_HSTS open the service to pages of the hosts that they name, and tell browsers of HTTPS', async () => {
  const environment = { FIELDGATE_ALLOWED_ORIGINS: APP, FIELDGATE_HSTS: 'true' }
  await using service = await startInProcess({ environment })
  for (const [origin, answered] of [
    [APP, APP],
    [EVIL, undefined],
  ] as const) {
    const { headers } = await service.http.ask('GET', '/api/organizations', { headers: { origin } })
    assert.equal(headers['access-control-allow-origin'], answered)
    assert.equal(headers['strict-transport-security'], 'max-age=31536000')
    assert.equal(await canConnect(service, origin), origin === APP)
  }
  assert.equal(await canConnect(service, service.https), true)
})

test('without these settings no page of another host gets an answer, and there is no HSTS', async () => {
  await using service = await startInProcess()
  const { headers } = await service.http.ask('GET', '/api/organizations', { headers: { origin: APP } })
  assert.equal(headers['access-control-allow-origin'], undefined)
  assert.equal(headers['strict-transport-security'], undefined)
  assert.equal(await canConnect(service, APP), false)
  assert.equal(await canConnect(service, service.https), true)
})
