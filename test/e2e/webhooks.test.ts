/**
 * Webhooks of the real service: through a kill in the middle of the stream nothing is lost, order
 * holds for each device, and nobody sees another organization's events.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectAsync } from 'mqtt'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { textIn } from '../support/https-client.ts'
import { npmParts } from '../support/npm-parts.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const ENVIRONMENT = { FIELDGATE_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', FIELDGATE_LOG_LEVEL: 'warn' }

interface Received {
  readonly id: string
  readonly devEui: string
  readonly fCnt: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A receiver that answers 503 to each seventh request, and whose answers a test may hold back. */
class Receiver {
  readonly received: Received[] = []
  readonly #arrivals = new EventEmitter()
  readonly #server: Server
  #requests = 0

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        this.#requests += 1
        if (this.#requests % 7 === 0) {
          response.writeHead(503, { 'retry-after': '0' }).end('busy')
          return
        }
        const body = Buffer.concat(chunks).toString()
        const { devEui, data } = JSON.parse(body) as { devEui: string; data: { fCnt: number } }
        const headers = request.headers as Record<string, string>
        this.received.push({ id: headers['webhook-id'] ?? '', devEui, fCnt: data.fCnt, headers, body })
        response.writeHead(204).end()
        this.#arrivals.emit('event')
      })
    }).listen(0, '127.0.0.1')
  }

  async url(): Promise<string> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** Resolves when the condition holds. */
  async until(condition: () => boolean, what: string): Promise<void> {
    while (!condition()) await within(once(this.#arrivals, 'event'), what)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** The part of the package `standardwebhooks` that a receiver uses. */
interface Library {
  readonly Webhook: new (secret: string) => {
    /** Throws where the signature is not that of the body. */
    verify(body: string, headers: Readonly<Record<string, string>>): unknown
  }
}

let folder: string
let library: Library
const receiver = new Receiver()

before(async () => {
  folder = await makeFolder()
  const parts = await npmParts(fileURLToPath(new URL('./webhook-parts', import.meta.url)))
  library = createRequire(join(parts, 'package.json'))('standardwebhooks') as Library
})

after(async () => {
  receiver.close()
  await rm(folder, { recursive: true, force: true })
})

/** Publishes events one after the other, each acknowledged. */
async function publish(
  service: RunningService,
  credential: ServiceCredential,
  topics: readonly string[],
  fCnts: readonly [number, number],
): Promise<void> {
  const { mqttsPort: port, ca } = service
  const login = { username: credential.userName, password: credential.password }
  const client = await connectAsync({ host: 'localhost', port, protocol: 'mqtts', ca, ...login, reconnectPeriod: 0 })
  const sent: Promise<unknown>[] = []
  for (let fCnt = fCnts[0]; fCnt < fCnts[1]; fCnt += 1) {
    for (const topic of topics) sent.push(client.publishAsync(topic, JSON.stringify({ fCnt }), { qos: 1 }))
  }
  await Promise.all(sent)
  await client.endAsync(true)
}

test('no acknowledged event is lost over a kill, order holds, and the signature is right', async () => {
  let webhook: { readonly id: string; readonly secret: string }
  let credential: ServiceCredential
  let topics: readonly string[]
  let foreignTopic: string
  let path: string
  let devices: readonly string[]
  {
    await using service = await startAsProcess(folder, ENVIRONMENT)
    const administration = new Administration(service)
    const organizationId = await administration.organization()
    const foreign = await administration.application(await administration.organization())
    const applications = [
      await administration.application(organizationId),
      await administration.application(organizationId),
    ]
    devices = await Promise.all([0, 0, 1].map((at) => administration.device(applications[at] as string)))
    topics = devices.map((devEui, at) => `application/${applications[at === 2 ? 1 : 0]}/device/${devEui}/event/up`)
    foreignTopic = `application/${foreign}/device/${await administration.device(foreign)}/event/up`
    credential = await administration.serviceCredential('')
    path = `/api/organizations/${organizationId}/webhooks`
    const settings = { name: 'e2e', url: await receiver.url() }
    const made = await administration.must('POST', path, { webhook: settings })
    webhook = made as unknown as typeof webhook
    const publishing = publish(service, credential, [...topics, foreignTopic], [0, 60])
    await receiver.until(() => receiver.received.length >= 40, 'the first events')
    await publishing
    service.program.signal('SIGKILL')
    await service.program.ended()
  }
  await using service = await startAsProcess(folder, ENVIRONMENT)
  await publish(service, credential, [...topics, foreignTopic], [60, 80])
  const known = (): Set<string> => new Set(receiver.received.map(({ devEui, fCnt }) => `${devEui} ${fCnt}`))
  await receiver.until(() => known().size === 3 * 80, 'all events')
  // No event of another organization, and each device's events in their order.
  for (const devEui of devices) {
    const first = new Set(receiver.received.filter((event) => event.devEui === devEui).map(({ fCnt }) => fCnt))
    assert.deepEqual(
      [...first],
      Array.from({ length: 80 }, (_, fCnt) => fCnt),
    )
  }
  // An event that came twice came with one id.
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 3 * 80)
  for (const { headers, body } of receiver.received) {
    const key = Buffer.from(webhook.secret.slice('whsec_'.length), 'base64')
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  }
  // The library of the specification takes both secrets during an overlap, and no changed body.
  const secrets = [webhook.secret, await rotate(service, `${path}/${webhook.id}`)]
  const atRotation = receiver.received.length
  await publish(service, credential, topics, [80, 82])
  await receiver.until(() => known().size === 3 * 82, 'the events after the rotation')
  for (const { headers, body } of receiver.received.slice(atRotation)) {
    for (const secret of secrets) new library.Webhook(secret).verify(body, headers)
    assert.throws(() => new library.Webhook(webhook.secret).verify(`${body} `, headers))
  }
  // A replay from an event sends it again.
  const earlier = receiver.received.length
  const [event] = receiver.received.slice(-1)
  const token = service.adminSession
  const json = { fromEventId: event?.id }
  await service.http.must('POST', `${path}/${webhook.id}/resume`, { token, json })
  await receiver.until(() => receiver.received.slice(earlier).some(({ id }) => id === event?.id), 'the replay')
  const answer = await service.http.must('POST', `${path}/${webhook.id}/pause`, { token })
  assert.deepEqual(answer, {})
})

/** Gives the webhook a second secret. The first one stays good for an hour. */
async function rotate(service: RunningService, path: string): Promise<string> {
  const json = { overlapSeconds: 3600 }
  const made = await service.http.must('POST', `${path}/rotate-secret`, { token: service.adminSession, json })
  return textIn(made, 'secret')
}

test('a service calls no address of its own machine, unless its operator allows that', async () => {
  const data = await makeFolder()
  try {
    await using service = await startAsProcess(data, { FIELDGATE_LOG_LEVEL: 'warn' })
    const administration = new Administration(service)
    const path = `/api/organizations/${await administration.organization()}/webhooks`
    const { port } = new URL(await receiver.url())
    const earlier = receiver.received.length
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254']) {
      const settings = { name: host, url: `http://${host}:${port}/` }
      const { id } = await administration.must('POST', path, { webhook: settings })
      const tested = await administration.must('POST', `${path}/${String(id)}/test`)
      assert.equal(tested['code'], 'webhook_address_forbidden', host)
    }
    assert.equal(receiver.received.length, earlier)
  } finally {
    await rm(data, { recursive: true, force: true })
  }
})
