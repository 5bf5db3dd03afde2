/**
 * Commands survive crashes in the middle of a queue: of the network server, and of the service by
 * SIGKILL.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, it } from 'node:test'
import type { IPublishPacket } from 'mqtt-packet'
import { downlinkIdOf } from '../../src/lorawan/commands/downlink-item.ts'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

const COMMANDS = 60
const COMMAND_FILTER = 'application/+/device/+/command/+'

interface Queued {
  readonly id: string
  readonly state: string
}

let folder: string

before(async () => {
  folder = await makeFolder()
})

after(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** A network server that has just started, and knows nothing of its earlier life. */
async function networkServer(service: RunningService, credential: ServiceCredential): Promise<WireClient> {
  const client = await WireClient.open(service, 5)
  const login = { username: credential.userName, password: credential.password }
  assert.equal(await client.connect(login, { clientId: 'server', properties: { receiveMaximum: 7 } }), 0)
  assert.equal(await client.subscribe(COMMAND_FILTER), 1)
  return client
}

/** The sender's ids of commands, by the ids that the network server gets. */
const senderIds = new Map<string, string>()

/** The next command; `acknowledge` acknowledges it. */
async function nextCommand(client: WireClient): Promise<{ readonly packet: IPublishPacket; readonly id: string }> {
  const packet = await client.next()
  assert.equal(packet?.cmd, 'publish')
  const { id } = JSON.parse(String(packet.payload)) as { id: string }
  return { packet, id: senderIds.get(id) ?? id }
}

function acknowledge(client: WireClient, { messageId = 0 }: IPublishPacket): void {
  client.send({ cmd: 'puback', messageId })
}

async function queueOf(service: RunningService, devEui: string): Promise<readonly Queued[]> {
  const path = `/api/devices/${devEui}/queue`
  const { deviceQueueItems } = await service.http.must('GET', path, { token: service.adminSession })
  return deviceQueueItems as readonly Queued[]
}

async function send(service: RunningService, devEui: string, id: string): Promise<void> {
  senderIds.set(downlinkIdOf(devEui, id), id)
  const deviceQueueItem = { confirmed: true, fPort: 10, data: 'AQID', id }
  const path = `/api/devices/${devEui}/queue`
  await service.http.must('POST', path, { token: service.adminSession, json: { deviceQueueItem } })
}

/** A UUID, different for each number. */
function idOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

it('no accepted command is lost, and none comes again whose acknowledgement was stored', async (context) => {
  const taken: string[] = []
  const seen = new Map<string, number>()
  const see = (id: string): void => void seen.set(id, (seen.get(id) ?? 0) + 1)
  let devices: readonly string[]
  let credential: ServiceCredential
  {
    await using service = await startAsProcess(folder)
    const administration = new Administration(service)
    const organizationId = await administration.organization()
    const applicationId = await administration.application(organizationId)
    devices = [await administration.device(applicationId), await administration.device(applicationId)]
    credential = await administration.serviceCredential('')
    for (let number = 0; number < COMMANDS; number += 1) {
      await send(service, devices[number % 2] as string, idOf(number))
    }
    // The network server takes some commands, and dies with others on their way.
    const server = await networkServer(service, credential)
    for (let count = 0; count < 10; count += 1) {
      const { packet, id } = await nextCommand(server)
      acknowledge(server, packet)
      taken.push(id)
      see(id)
    }
    assert.notEqual(await server.ping(), 'closed')
    server.destroy()
    // Its successor takes more commands.
    const successor = await networkServer(service, credential)
    for (let count = 0; count < 10; count += 1) {
      const { packet, id } = await nextCommand(successor)
      assert.ok(!taken.includes(id), `${id} came again`)
      acknowledge(successor, packet)
      taken.push(id)
      see(id)
    }
    assert.notEqual(await successor.ping(), 'closed')
    // All writes share one order: if this command is stored, all earlier ones are.
    await send(service, devices[0] as string, idOf(COMMANDS))
    const { pid } = service.program
    assert.ok(pid !== undefined)
    service.program.signal('SIGKILL')
    await service.program.ended()
  }
  await using service = await startAsProcess(folder)
  const states = (await Promise.all(devices.map((devEui) => queueOf(service, devEui)))).flat()
  assert.equal(states.length, COMMANDS + 1)
  for (const id of taken) assert.equal(states.find((item) => item.id === id)?.state, 'sent', id)
  using server = await networkServer(service, credential)
  const rest: string[] = []
  while (rest.length < COMMANDS + 1 - taken.length) {
    const { packet, id } = await nextCommand(server)
    assert.ok(!taken.includes(id), `${id} came again after its acknowledgement`)
    acknowledge(server, packet)
    rest.push(id)
    see(id)
  }
  assert.deepEqual(await server.ping(), [])
  assert.equal(new Set([...taken, ...rest]).size, COMMANDS + 1)
  assertInOrder(rest)
  const ended = (await Promise.all(devices.map((devEui) => queueOf(service, devEui)))).flat()
  assert.deepEqual([...new Set(ended.map(({ state }) => state))], ['sent'])
  context.diagnostic(`${COMMANDS + 1} commands, ${taken.length} taken before the kill, ${rest.length} after it`)
})

/** Checks the order for each device: even numbers belong to one, odd numbers to the other. */
function assertInOrder(ids: readonly string[]): void {
  for (const device of [0, 1]) {
    const own = ids.map((id) => Number(id.slice(-12))).filter((number) => number % 2 === device)
    assert.deepEqual(
      own,
      own.toSorted((one, other) => one - other),
    )
  }
}
