/**
 * The flow for Node-RED from the page Connect runs in a real Node-RED: events arrive, and its
 * button sends a command.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { snippetsFor } from '../../console/src/connect/snippets.ts'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { Administration } from '../support/administration.ts'
import { Authority } from '../support/authority.ts'
import { within } from '../support/bounded-wait.ts'
import { NodeRed } from '../support/node-red.ts'
import { npmParts } from '../support/npm-parts.ts'

const PARTS = fileURLToPath(new URL('parts', import.meta.url))
const CLIENT_ID = 'node-red-test'

let parts: string
let scratch: string
let world: World

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'fieldgate-node-red-'))
  parts = await npmParts(PARTS)
  world = await startWorld()
})

after(async () => {
  await world?.[Symbol.asyncDispose]()
  await rm(scratch, { recursive: true, force: true })
})

for (const [title, packageName] of [
  ['4.1', 'node-red-4'],
  ['5', 'node-red'],
] as const) {
  test(`Node-RED ${title} runs the flow as it is pasted: a device’s events arrive, and the button sends a command`, async () => {
    const [, device] = world.devices
    assert.ok(device !== undefined)
    await using nodeRed = await NodeRed.start(parts, packageName)
    await nodeRed.deploy(await flowFor(device.devEui, world.service.ca))
    await nodeRed.told(/"fill":"green"/)

    await world.publish(device, 'up', climateUplink(1))
    const event = await nodeRed.told(/"topic":"debug".*temperatureSensor/)
    assert.match(event, new RegExp(device.devEui))

    await nodeRed.press(`${CLIENT_ID}-command`)
    const command = await within(world.commands.next(), 'the command')
    assert.match(command.value.topicName, new RegExp(`/device/${device.devEui}/command/down$`))
    assert.match(command.value.text, /"data": ?"AQID"/)
  })

  test(`Node-RED ${title} with the flow connects to no server that another authority vouches for`, async () => {
    const [, device] = world.devices
    assert.ok(device !== undefined)
    const other = await readFile((await Authority.create(scratch)).caFile, 'utf8')
    await using nodeRed = await NodeRed.start(parts, packageName)
    await nodeRed.deploy(await flowFor(device.devEui, other))
    await nodeRed.logged(/Connection failed to broker/)
    assert.doesNotMatch(nodeRed.log, /Connected to broker/)
  })
}

/** The flow that the page Connect shows for a device. */
async function flowFor(devEui: string, authority: string): Promise<string> {
  const { service, organizationId, applicationId } = world
  const administration = new Administration(service)
  const session = await administration.login(world.anna.userName)
  const topics = `application/${applicationId}/device/${devEui}`
  const snippets = snippetsFor({
    host: 'localhost',
    port: service.mqttsPort,
    origin: service.https,
    token: await administration.brokerToken(session, organizationId),
    organizationId,
    eventTopic: `${topics}/event/+`,
    commandTopic: `${topics}/command/down`,
    authority,
    clientId: CLIENT_ID,
  })
  const text = snippets.find(({ id }) => id === 'node-red')?.blocks[0]?.text
  assert.ok(text !== undefined)
  return text
}
