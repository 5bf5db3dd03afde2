/**
 * The runtime of the service is chosen at each start, and each runtime reads the data directory of
 * the other.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, readlink, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { Administration } from '../support/administration.ts'
import { makeFolder, spawnService, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Login } from '../support/wire-client.ts'

const hasProc = existsSync('/proc/self/exe')

let folder: string
let devEui: string
let topicName: string
let networkServer: Login
let integrator: Login

before(async () => {
  folder = await makeFolder()
  await using service = await startAsProcess(folder)
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  devEui = await administration.device(applicationId)
  topicName = `application/${applicationId}/device/${devEui}/event/up`
  const { userName, password } = await administration.serviceCredential('')
  networkServer = { username: userName, password }
  const person = await administration.person([{ organizationId }])
  integrator = { username: await administration.brokerToken(person.session, organizationId), password: 'default' }
  const client = await connectIntegrator(service)
  await client.subscribe(topicName)
  client.destroy()
  await publish(service, 'first')
})

after(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function connectIntegrator(service: RunningService): Promise<WireClient> {
  const client = await WireClient.open(service, 5)
  const lasting = { clientId: 'reader', clean: false, properties: { sessionExpiryInterval: 3_600 } }
  assert.equal(await client.connect(integrator, lasting), 0)
  return client
}

/** Publishes an event that is stored for the integrator, who is away. */
async function publish(service: RunningService, payload: string): Promise<void> {
  const client = await WireClient.open(service, 5)
  assert.equal(await client.connect(networkServer), 0)
  client.send(client.publishPacket(topicName, JSON.stringify({ payload }), 1))
  assert.equal((await client.next())?.cmd, 'puback')
  client.destroy()
}

/** The payload of the one event that the integrator's session has kept. */
async function keptPayload(service: RunningService): Promise<string> {
  const client = await connectIntegrator(service)
  const packet = await client.next()
  assert.equal(packet?.cmd, 'publish')
  client.send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
  assert.deepEqual(await client.ping(), [])
  client.destroy()
  return (JSON.parse(packet.payload.toString()) as { readonly payload: string }).payload
}

/** The name of the program that runs the service, as the system tells it. */
async function programOf({ dataDirectory }: RunningService): Promise<string> {
  const text = await readFile(join(dataDirectory, 'instance.json'), 'utf8')
  return basename(await readlink(`/proc/${(JSON.parse(text) as { readonly pid: number }).pid}/exe`))
}

test('each runtime goes on where the other has stopped', async () => {
  let payload = 'first'
  let events = 1
  for (const runtime of ['node', 'bun', 'node']) {
    await using service = await startAsProcess(folder, { FIELDGATE_RUNTIME: runtime })
    if (hasProc) assert.equal(await programOf(service), runtime)
    assert.equal(await keptPayload(service), payload)
    payload = `of ${runtime}`
    events += 1
    await publish(service, payload)
    const { result } = await service.http.must('GET', `/api/devices/${devEui}/events`, { token: service.adminSession })
    assert.equal((result as readonly unknown[]).length, events)
  }
})

test('a runtime that is none is refused, with the names of both', async () => {
  await using program = spawnService(folder, { FIELDGATE_RUNTIME: 'deno' })
  const { code, stderr } = await program.ended()
  assert.equal(code, 1)
  assert.equal(stderr, 'fieldgate: FIELDGATE_RUNTIME is "deno"; it must be "bun" or "node".\n')
})
