/** Webhooks in a deployment of two nodes: one runs each, and the other goes on when it dies. */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { startTestServer } from '../postgresql/test-server.ts'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const TITLE = 'a webhook runs at one node, and at its heir'
const LONG = { timeout: 120_000 }
const EVENTS = 30
/** A node counts as dead after some seconds. */
const HEIR_MS = 40_000

const nats = natsServerProgram()
const database = await startTestServer(TITLE)

async function publish(
  { mqttsPort: port, ca }: RunningService,
  { userName: username, password }: ServiceCredential,
  topic: string,
  from: number,
): Promise<void> {
  const login = { username, password, reconnectPeriod: 0 }
  const client = await connectAsync({ host: 'localhost', port, protocol: 'mqtts', ca, ...login })
  for (let fCnt = from; fCnt < from + EVENTS; fCnt += 1) {
    await client.publishAsync(topic, JSON.stringify({ fCnt }), { qos: 1 })
  }
  await client.endAsync(true)
}

if ('missing' in nats) test(TITLE, { skip: nats.missing }, () => {})
else if (database !== undefined) {
  test(TITLE, LONG, async () => {
    await using servers = await NatsServers.start({ program: nats.program, count: 1 })
    const folder = await makeFolder()
    const seen: number[] = []
    const arrivals = new EventEmitter()
    const receiver = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        seen.push((JSON.parse(Buffer.concat(chunks).toString()) as { data: { fCnt: number } }).data.fCnt)
        response.end()
        arrivals.emit('event')
      })
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const until = async (events: number, ms: number): Promise<void> => {
      while (new Set(seen).size < events) await within(once(arrivals, 'event'), `${events} events`, ms)
    }
    const url = database.newDatabase()
    const environment = (name: string): Record<string, string> => ({
      FIELDGATE_ENGINE: 'nats',
      FIELDGATE_NATS_URL: servers.urls.join(),
      FIELDGATE_NATS_MONITORING_URL: servers.monitors.join(),
      FIELDGATE_NATS_DEVELOPMENT: 'true',
      FIELDGATE_NODE_NAME: name,
      FIELDGATE_DATABASE_URL: url,
      FIELDGATE_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
      FIELDGATE_RETENTION_BYTES: '1073741824',
      FIELDGATE_LOG_LEVEL: 'warn',
    })
    try {
      await using a = await startAsProcess(join(folder, 'a'), environment('a'))
      await using b = await startAsProcess(join(folder, 'b'), environment('b'))
      const administration = new Administration(a)
      const organizationId = await administration.organization()
      const applicationId = await administration.application(organizationId)
      const devEui = await administration.device(applicationId)
      const credential = await administration.serviceCredential('')
      const topic = `application/${applicationId}/device/${devEui}/event/up`
      const path = `/api/organizations/${organizationId}/webhooks`
      const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
      const { id } = await administration.must('POST', path, { webhook: { name: 'both', url: address } })
      await publish(b, credential, topic, 0)
      await until(EVENTS, HEIR_MS)
      assert.deepEqual(
        seen,
        Array.from({ length: EVENTS }, (_, fCnt) => fCnt),
      )
      const homes = [await isRunning(a), await isRunning(b)]
      assert.equal(homes.filter(Boolean).length, 1)
      for (const service of [a, b]) await deliveriesAre(service, `${path}/${String(id)}/deliveries`, EVENTS)
      const [home, heir] = homes[0] === true ? [a, b] : [b, a]
      home.program.signal('SIGKILL')
      await home.program.ended()
      await publish(heir, credential, topic, EVENTS)
      await until(2 * EVENTS, HEIR_MS)
      // Each event came first in its order.
      assert.deepEqual(
        [...new Set(seen)],
        Array.from({ length: 2 * EVENTS }, (_, fCnt) => fCnt),
      )
    } finally {
      receiver.closeAllConnections()
      receiver.close()
      await database.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}

/** Asks until the list has so many deliveries: the last one is listed after its answer was read. */
async function deliveriesAre(
  { http, adminSession: token }: RunningService,
  path: string,
  count: number,
): Promise<void> {
  const end = performance.now() + HEIR_MS
  for (;;) {
    const { totalCount } = await http.must('GET', path, { token })
    if (totalCount === String(count)) return
    assert.ok(performance.now() < end && Number(totalCount) < count, `${String(totalCount)} deliveries are listed`)
  }
}

/** Whether the webhook runs at this node. */
async function isRunning(service: RunningService): Promise<boolean> {
  const { text } = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  return /^fieldgate_webhooks_running 1$/m.test(text)
}
