/**
 * The package for Node-RED in a real Node-RED: events arrive, also those of an absence, a command
 * tells its fate, and a refused command reaches a catch node.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pinnedNode } from '../../scripts/setup.mjs'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { PASSWORD } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { NodeRed } from '../support/node-red.ts'
import { npmParts } from '../support/npm-parts.ts'
import { outputOf } from '../support/program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PARTS = join(ROOT, 'test', 'clients', 'parts')
const SDK = join(ROOT, 'sdk', 'typescript')
const missing = existsSync(join(SDK, 'package.json')) ? false : 'sdk/typescript is not there'

describe('the nodes of Fieldgate in Node-RED', { skip: missing }, () => {
  let parts: string
  let modules: string
  let world: World

  before(async () => {
    modules = await mkdtemp(join(tmpdir(), 'fieldgate-node-red-modules-'))
    parts = await npmParts(PARTS)
    await installNodes(modules)
    world = await startWorld()
  })

  after(async () => {
    await world?.[Symbol.asyncDispose]()
    await rm(modules, { recursive: true, force: true })
  })

  for (const packageName of ['node-red', 'node-red-4']) {
    test(`${packageName} runs the example: an event arrives, and a command tells its steps`, async () => {
      const [, device] = world.devices
      assert.ok(device !== undefined)
      await using nodeRed = await NodeRed.start(parts, packageName, withNodes)
      await nodeRed.deploy(await exampleFlow(device.devEui, packageName))
      await nodeRed.told(/status\/fg-events.*waiting for events/)

      await world.publish(device, 'up', climateUplink(1))
      const event = await nodeRed.told(/"topic":"debug".*temperatureSensor/)
      assert.match(event, /fg-debug/)

      await nodeRed.press('fg-button')
      await nodeRed.told(/"topic":"debug".*fg-fate.*accepted/)
      const command = await within(world.commands.next(), 'the command')
      const { id } = JSON.parse(command.value.text) as { readonly id: string }
      await world.publish(device, 'txack', { queueItemId: id, downlinkId: 1 })
      await nodeRed.told(/"topic":"debug".*fg-fate.*\\"sent\\"/)
      await world.publish(device, 'ack', { queueItemId: id, acknowledged: true })
      await nodeRed.told(/"topic":"debug".*fg-fate.*acknowledged/)
    })
  }

  test('a session goes on after Node-RED was away, and repeats nothing', async () => {
    const [, , device] = world.devices
    assert.ok(device !== undefined)
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-node-red-place-'))
    const flow = await exampleFlow(device.devEui, 'absence')
    const keepPlace = async (userFolder: string): Promise<void> => {
      await withNodes(userFolder)
      await symlink(folder, join(userFolder, 'fieldgate'))
    }
    {
      await using nodeRed = await NodeRed.start(parts, 'node-red', keepPlace)
      await nodeRed.deploy(flow)
      await nodeRed.told(/status\/fg-events.*waiting for events/)
      await world.publish(device, 'up', { ...climateUplink(2), object: { mark: { 1: 101 } } })
      await nodeRed.told(/"topic":"debug".*101/)
      await nodeRed.told(/status\/fg-events.*1 events/)
    }
    await world.publish(device, 'up', { ...climateUplink(3), object: { mark: { 1: 102 } } })
    {
      await using nodeRed = await NodeRed.start(parts, 'node-red', keepPlace)
      await nodeRed.deploy(flow)
      await nodeRed.told(/"topic":"debug".*102/)
      await world.publish(device, 'up', { ...climateUplink(4), object: { mark: { 1: 103 } } })
      await nodeRed.told(/"topic":"debug".*103/)
      assert.doesNotMatch(nodeRed.toldSoFar, /"topic":"debug".*101/)
    }
    await rm(folder, { recursive: true, force: true })
  })

  test('an event that has to be confirmed holds the next one back until its message returns', async () => {
    // A session begins with the second of its token: other tests publish for other devices.
    const [, , device] = world.devices
    assert.ok(device !== undefined)
    await using nodeRed = await NodeRed.start(parts, 'node-red', withNodes)
    const nodes = JSON.parse(await exampleFlow(device.devEui, 'confirmed')) as Record<string, unknown>[]
    const events = nodes.find((node) => node['id'] === 'fg-events')
    Object.assign(events ?? {}, { device: device.devEui, confirmed: true, wires: [['fg-hold']] })
    // The flow keeps each event until the button is pressed.
    const keep = 'if (msg.event) { context.set("kept", msg); return [null, msg] } return context.get("kept")'
    nodes.push(
      { id: 'fg-hold', type: 'function', z: 'fg-tab', func: keep, outputs: 2, wires: [['fg-events'], ['fg-debug']] },
      { id: 'fg-release', type: 'inject', z: 'fg-tab', props: [{ p: 'payload' }], payload: '', wires: [['fg-hold']] },
    )
    await nodeRed.deploy(JSON.stringify(nodes))
    await nodeRed.told(/status\/fg-events.*waiting for events/)
    for (const mark of [201, 202]) {
      await world.publish(device, 'up', { ...climateUplink(mark), object: { mark: { 1: mark } } })
    }
    await nodeRed.told(/"topic":"debug".*201/)
    assert.doesNotMatch(nodeRed.toldSoFar, /"topic":"debug".*202/)
    await nodeRed.press('fg-release')
    await nodeRed.told(/"topic":"debug".*202/)
  })

  test('a command that is refused reaches the catch node with its code', async () => {
    const [, device] = world.devices
    assert.ok(device !== undefined)
    await using nodeRed = await NodeRed.start(parts, 'node-red', withNodes)
    const flow = (await exampleFlow(device.devEui, 'refused')).replace(
      String.raw`\"fPort\":10`,
      String.raw`\"fPort\":300`,
    )
    await nodeRed.deploy(flow)
    await nodeRed.press('fg-button')
    await nodeRed.told(/"topic":"debug".*fg-fault.*command_out_of_range/)
  })

  async function withNodes(folder: string): Promise<void> {
    await symlink(join(modules, 'node_modules'), join(folder, 'node_modules'))
  }

  /** The example of the package, for this deployment. */
  async function exampleFlow(devEui: string, session: string): Promise<string> {
    const text = await readFile(join(ROOT, 'sdk', 'node-red', 'examples', 'events-and-command.json'), 'utf8')
    const nodes = JSON.parse(text) as Record<string, unknown>[]
    const { service, organizationId, applicationId, anna } = world
    const changed: Readonly<Record<string, object>> = {
      'fg-deployment': {
        url: service.https,
        organization: organizationId,
        ca: service.caFile,
        credentials: { username: anna.userName, password: PASSWORD },
      },
      'fg-events': { application: applicationId, session },
      'fg-command': { device: devEui },
    }
    for (const node of nodes) Object.assign(node, changed[String(node['id'])])
    return JSON.stringify(nodes)
  }
})

/** Installs the package as npm would, with the SDK built from its source. */
async function installNodes(folder: string): Promise<void> {
  const sdk = join(folder, 'node_modules', '@fieldgate', 'sdk')
  await mkdir(sdk, { recursive: true })
  await cp(join(ROOT, 'sdk', 'node-red'), join(folder, 'node_modules', 'node-red-contrib-fieldgate'), {
    recursive: true,
  })
  await cp(join(SDK, 'package.json'), join(sdk, 'package.json'))
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  await outputOf(pinnedNode, [compiler, '-p', SDK, '--outDir', join(sdk, 'dist')])
  await symlink(join(ROOT, 'node_modules', 'mqtt'), join(folder, 'node_modules', 'mqtt'))
}
