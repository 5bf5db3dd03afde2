/**
 * The inventory of a real ChirpStack v4: looked at, imported with its codecs, and kept in step.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandLine, succeed } from '../../src/cli/command-line.testing.ts'
import { objectAt, objectsAt, textAt } from '../../src/json.ts'
import type { JsonObject } from '../../src/json.ts'
import { LorawanDevice } from '../../simulator/lorawan/device.ts'
import { connectGateway } from '../../simulator/lorawan/gateway.ts'
import { startChirpStackV4 } from './chirpstack-v4.ts'
import type { ChirpStackV4 } from './chirpstack-v4.ts'
import { FieldgateSide } from './fieldgate-side.ts'
import type { Integrator } from './integrator.ts'
import { join } from './place.ts'
import { describeWithNetworkServers } from './programs.ts'
import { startServers } from './servers.ts'
import type { Servers } from './servers.ts'
import { V4Administration } from './v4-administration.ts'

const KINDS = ['water', 'heat', 'valves'] as const
const DEVICES_OF_KIND = 80
const GATEWAY_ID = '0102030405060761'
const CALLS_AT_ONCE = 8

/** The script tells which profile has decoded, and reads a variable of the device. */
function scriptOf(kind: string): string {
  return `function decodeUplink(input) {
  return { data: { kind: '${kind}', value: input.bytes[0], scale: input.variables.scale || 'none' } }
}`
}

function devEuiOf(kind: number, index: number): string {
  return `b0b1c2d${kind}${index.toString(16).padStart(8, '0')}`
}

function objectIn(text: string): unknown {
  return (JSON.parse(text) as { readonly object?: unknown }).object
}

/** The numbers of devices that were created, updated, left, refused and missed. */
function counts({ createdCount, updatedCount, unchangedCount, refusedCount, missingCount }: JsonObject): unknown {
  return [createdCount, updatedCount, unchangedCount, refusedCount, missingCount]
}

/** Texts in an order that does not depend on that of a list. */
function sorted(items: readonly (readonly unknown[])[]): readonly string[] {
  return items.map((item) => item.join(' ')).toSorted()
}

await describeWithNetworkServers('the inventory of a real ChirpStack', { timeout: 240_000 }, (programs) => {
  let servers: Servers
  let fieldgate: FieldgateSide
  let v4: ChirpStackV4
  let chirpStack: V4Administration
  let organizationId: string
  let tenantId: string
  let meter: LorawanDevice
  let integrator: Integrator
  const applicationIds: string[] = []

  before(async () => {
    servers = await startServers(programs)
    fieldgate = await FieldgateSide.start(servers.folder)
    servers.closing(() => fieldgate.close())
    organizationId = await fieldgate.administration.organization('alpine-valley-water')
    const credential = await fieldgate.administration.serviceCredential(organizationId)
    const integration = fieldgate.mqttIntegration(credential, 'chirpstack-inventory')
    v4 = await startChirpStackV4({ ...servers, name: 'v4inventory', redisDatabase: 5, integration })
    servers.closing(() => v4.close())
    chirpStack = new V4Administration(v4)
    servers.closing(async () => chirpStack.close())
    tenantId = await chirpStack.tenant('Valley')
    await chirpStack.gateway(tenantId, GATEWAY_ID)
    const appKey = randomBytes(16).toString('hex')
    for (const [number, kind] of KINDS.entries()) {
      const applicationId = await chirpStack.application(tenantId, kind)
      applicationIds.push(applicationId)
      const profileId = await chirpStack.deviceProfile(tenantId, `Profile of ${kind}`, { codecScript: scriptOf(kind) })
      const indexes = Array.from({ length: DEVICES_OF_KIND }, (_, index) => index).values()
      const make = async (): Promise<void> => {
        for (const index of indexes) {
          const keys = { devEui: devEuiOf(number, index), joinEui: '0101010101010101', appKey }
          await chirpStack.device(applicationId, profileId, keys)
        }
      }
      await Promise.all(Array.from({ length: CALLS_AT_ONCE }, make))
    }
    await chirpStack.changeDevice(devEuiOf(0, 0), { name: 'Meter 0', variable: ['scale', 'litres'] })
    await chirpStack.changeDevice(devEuiOf(0, 1), { name: 'Meter 1', variable: ['scale', ''], isDisabled: true })

    const networkServer = {
      name: 'main',
      url: `http://127.0.0.1:${v4.apiPort}`,
      apiKey: v4.apiKey,
      tenants: { [tenantId]: organizationId },
      syncSeconds: 0,
    }
    await fieldgate.administration.must('POST', '/api/network-servers', { networkServer })
    // One application is here already, with the id that it has in ChirpStack.
    await fieldgate.application(organizationId, applicationIds[0] ?? '')
    integrator = await fieldgate.integrator(organizationId, applicationIds[0] ?? '')
    servers.closing(() => integrator.close())
    const gateway = await connectGateway({
      url: `mqtt://127.0.0.1:${servers.gatewayBroker.port}`,
      protocol: 'v4',
      topicPrefix: v4.topicPrefix,
      gatewayId: GATEWAY_ID,
    })
    servers.closing(() => gateway.close())
    const keys = { devEui: devEuiOf(0, 0), joinEui: '0101010101010101', appKey }
    meter = new LorawanDevice({ ...keys, deviceClass: 'A', gateways: [gateway] })
    servers.closing(async () => meter.close())
  })
  after(() => servers.close())

  const run = (dryRun: boolean, inventoryImport: object = { createApplications: true }): Promise<JsonObject> => {
    const body = { organizationID: organizationId, dryRun, inventoryImport }
    return fieldgate.administration.must('POST', '/api/inventories/main/import', body)
  }
  const deviceOf = async (devEui: string): Promise<JsonObject> =>
    objectAt(await fieldgate.administration.must('GET', `/api/devices/${devEui}`), 'device') ?? {}
  /** A look, once the network server and the service are ready for it. */
  const answered = async (): Promise<JsonObject> => {
    const deadline = performance.now() + 30_000
    for (;;) {
      const report = await run(true).catch((error: unknown) => String(error))
      if (typeof report !== 'string') return report
      assert.ok(performance.now() < deadline, report)
      await sleep(100)
    }
  }
  /** The step, once its last run is another one than before. */
  const stepAfter = async (lastRunAt: unknown): Promise<JsonObject> => {
    const deadline = performance.now() + 60_000
    for (;;) {
      const list = await fieldgate.administration.must('GET', `/api/inventories?organizationID=${organizationId}`)
      const step = objectAt(objectsAt(list, 'result')[0], 'step')
      if (step !== undefined && step['lastRunAt'] !== null && step['lastRunAt'] !== lastRunAt) return step
      assert.ok(performance.now() < deadline, `the step is ${JSON.stringify(step)}`)
      await sleep(200)
    }
  }

  it('keeps the events of a device that is not registered, shows in a look what an import would do, and does it', async () => {
    await join(meter)
    await meter.uplink(2, Buffer.from([17]))
    const waitingPath = `/api/unknown-devices?organizationID=${organizationId}`
    const deadline = performance.now() + 30_000
    for (;;) {
      const [waiting] = objectsAt(await fieldgate.administration.must('GET', waitingPath), 'result')
      if (Number(waiting?.['eventCount']) >= 2) break
      assert.ok(performance.now() < deadline, 'the events are kept')
      await sleep(50)
    }
    const look = await run(true)
    assert.deepEqual(counts(look), [240, 0, 0, 0, 0])
    assert.equal(integrator.events.length, 0)
    const done = await run(false)
    assert.deepEqual(counts(done), [240, 0, 0, 0, 0])
    const applications = objectsAt(done, 'applications')
    assert.deepEqual(
      sorted(applications.map((one) => [one['networkServerApplicationID'], one['applicationID'], one['outcome']])),
      sorted(applicationIds.map((id, index) => [id, id, index === 0 ? 'unchanged' : 'created'])),
    )
    assert.deepEqual(
      sorted(objectsAt(done, 'deviceProfiles').map(({ name, outcome }) => [name, outcome])),
      sorted(KINDS.map((kind) => [`Profile of ${kind}`, 'created'])),
    )
    const listed = objectsAt(done, 'devices').find(({ devEUI }) => devEUI === devEuiOf(1, 7))
    assert.equal(textAt(listed, 'joinEUI'), '0101010101010101')
    const device = await deviceOf(devEuiOf(0, 0))
    assert.deepEqual(
      [device['name'], device['deviceProfileName'], device['tags'], device['variables']],
      ['Meter 0', 'Profile of water', { valley: 'north' }, { scale: 'litres', inventoryOf: 'main' }],
    )
    assert.equal((await deviceOf(devEuiOf(0, 1)))['isDisabled'], true)
  })

  it('delivers the kept events in order, and the imported script decodes them and newer ones', async () => {
    const { devEui } = meter
    await integrator.find('the kept uplink', (event) => event.devEui === devEui && event.kind === 'up')
    assert.deepEqual(
      integrator.eventsOf(devEui).map(({ kind }) => kind),
      ['join', 'up'],
    )
    assert.deepEqual(objectIn(integrator.eventsOf(devEui, 'up')[0]?.text ?? '{}'), {
      kind: 'water',
      value: 17,
      scale: 'litres',
    })
    await meter.uplink(2, Buffer.from([18]))
    const newer = await integrator.until('a newer uplink', () => integrator.eventsOf(devEui, 'up')[1])
    assert.deepEqual(objectIn(newer.text), { kind: 'water', value: 18, scale: 'litres' })
  })

  it('changes nothing in a second run', async () => {
    assert.deepEqual(counts(await run(false)), [0, 0, 240, 0, 0])
  })

  it('keeps in step: a device that was renamed is renamed, and one that was removed is told and stays', async () => {
    await chirpStack.changeDevice(devEuiOf(1, 3), { name: 'Renamed', variable: ['scale', 'kWh'] })
    await chirpStack.removeDevice(devEuiOf(2, 5))
    const inventoryStep = { createApplications: true, intervalSeconds: 300 }
    const body = { organizationID: organizationId, inventoryStep }
    await fieldgate.administration.must('PUT', '/api/inventories/main/step', body)
    const step = await stepAfter(null)
    assert.equal(step['lastCode'], '')
    const report = objectAt(step, 'lastReport') ?? {}
    assert.deepEqual(counts(report), [0, 1, 238, 0, 1])
    assert.deepEqual(objectsAt(report, 'devices')[0]?.['members'], ['name', 'variables'])
    assert.deepEqual(report['missingDevEUIs'], [devEuiOf(2, 5)])
    const renamed = await deviceOf(devEuiOf(1, 3))
    assert.deepEqual([renamed['name'], objectAt(renamed, 'variables')?.['scale']], ['Renamed', 'kWh'])
    assert.equal((await deviceOf(devEuiOf(2, 5)))['deviceProfileName'], 'Profile of valves')
    await fieldgate.administration.must('DELETE', `/api/inventories/main/step?organizationID=${organizationId}`)
  })

  it('is imported by the lines of the documentation', async () => {
    const page = await readFile(new URL('../../docs/network-servers/inventory.md', import.meta.url), 'utf8')
    const section = /## From a ChirpStack v4\n([^]*?)\n## /.exec(page)?.[1] ?? ''
    const blocks = Array.from(section.matchAll(/```sh [^\n]*\n([^]*?)```/g), ([, block = '']) => block)
    const lines = blocks.flatMap((block) =>
      block
        .replaceAll(/ \\\n +/g, ' ')
        .trim()
        .split('\n'),
    )
    assert.equal(lines.length, 6)
    const key = path.join(servers.folder, 'key')
    await writeFile(key, v4.apiKey)
    const shell = commandLine(fieldgate.service.dataDirectory)
    const outputs: string[] = []
    for (const line of lines) {
      const own = line
        .replace(/^fieldgate /, '')
        .replace('http://chirpstack:8080', `http://127.0.0.1:${v4.apiPort}`)
        .replace('--api-key-file key', `--api-key-file ${key}`)
        .replace('52f14cd4-c6f1-4fbd-8f87-4025e1d49242', tenantId)
      outputs.push(await succeed(shell, own))
    }
    const [added, list, look, done, step, end] = outputs
    assert.match(added ?? '', /Added the network server chirpstack\.\n$/)
    assert.match(list ?? '', /\nmain +chirpstack-grpc.*\nchirpstack +chirpstack-grpc/)
    // The devices were imported from the network server by its other name.
    assert.match(look ?? '', /\n0 devices would be created, 239 changed, 0 as they are, 0 refused\.\n$/)
    assert.match(done ?? '', /\n0 devices created, 239 changed, 0 as they are, 0 refused\.\n$/)
    assert.equal(step, 'The organization is kept in step with chirpstack.\n')
    assert.equal(end, 'Removed the step with the network server chirpstack.\n')
  })

  it('tells of a ChirpStack that is away, and reads it again when it is back', async () => {
    // The run of the step that has ended may still be under way.
    await answered()
    await v4.part.stop()
    await assert.rejects(run(true), /inventory_unreachable/)
    await v4.part.start()
    // The device that was removed came from the network server by its first name.
    assert.deepEqual(counts(await answered()), [0, 239, 0, 0, 1])
  })
})
