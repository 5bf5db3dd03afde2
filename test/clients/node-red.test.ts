/**
 * The flow for Node-RED from the page Connect runs in a real Node-RED: events arrive, and its
 * button sends a command.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { snippetsFor } from '../../console/src/connect/snippets.ts'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { Administration } from '../support/administration.ts'
import { Authority } from '../support/authority.ts'
import { within } from '../support/bounded-wait.ts'
import { freePort } from '../support/free-port.ts'
import { npmParts } from '../support/npm-parts.ts'
import { Program } from '../support/program.ts'

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
    await using nodeRed = await NodeRed.start(packageName)
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
    await using nodeRed = await NodeRed.start(packageName)
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

/**
 * A separate Node-RED, and the messages to its editor: the states of nodes, and all output of debug
 * nodes.
 */
class NodeRed {
  readonly #program: Program
  readonly #address: string
  readonly #folder: string
  readonly #editor: WebSocket
  readonly #lines: string[] = []
  readonly #watchers = new Set<() => void>()

  static async start(packageName: string): Promise<NodeRed> {
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-node-red-'))
    const port = await freePort()
    const settings = { uiHost: '127.0.0.1', uiPort: port, flowFile: 'flows.json', credentialSecret: 'a test' }
    await writeFile(join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settings)}\n`)
    const red = join(parts, 'node_modules', packageName, 'red.js')
    const environment = { HOME: folder, NODE_RED_DISABLE_TELEMETRY: 'true' }
    const program = new Program('node', [red, '--userDir', folder], { environment })
    try {
      await program.output(/Started flows/, 60_000)
      await program.output(/Server now running at/)
      const address = `127.0.0.1:${port}`
      const editor = new WebSocket(`ws://${address}/comms`)
      const nodeRed = new NodeRed(program, address, folder, editor)
      await within(once(editor, 'open'), 'the editor’s connection to Node-RED')
      for (const topic of ['debug', 'status/#']) editor.send(JSON.stringify({ subscribe: topic }))
      return nodeRed
    } catch (error) {
      // A program that keeps running would keep the test's process alive.
      await program[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  private constructor(program: Program, address: string, folder: string, editor: WebSocket) {
    this.#program = program
    this.#address = address
    this.#folder = folder
    this.#editor = editor
    editor.on('message', (data: Buffer) => {
      const told: unknown = JSON.parse(data.toString())
      for (const one of Array.isArray(told) ? told : [told]) this.#lines.push(JSON.stringify(one))
      for (const look of this.#watchers) look()
    })
  }

  get log(): string {
    return this.#program.stdout
  }

  logged(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#program.output(pattern)
  }

  /** Deploys nodes as the editor does. */
  async deploy(flow: string): Promise<void> {
    const answer = await fetch(`http://${this.#address}/flows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: flow,
    })
    assert.equal(answer.status, 204, await answer.text())
  }

  /** Presses the button of an inject node. */
  async press(nodeId: string): Promise<void> {
    const answer = await fetch(`http://${this.#address}/inject/${nodeId}`, { method: 'POST' })
    assert.equal(answer.status, 200, await answer.text())
  }

  /** The first message to the editor, past or future, that matches. */
  async told(pattern: RegExp): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>()
    const look = (): void => {
      const found = this.#lines.find((line) => pattern.test(line))
      if (found !== undefined) resolve(found)
    }
    this.#watchers.add(look)
    look()
    try {
      return await within(promise, `${pattern} from Node-RED`)
    } catch (error) {
      throw new Error(`${String(error)}; it told: ${this.#lines.join('\n')}\n${this.log}`, { cause: error })
    } finally {
      this.#watchers.delete(look)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#editor.terminate()
    await this.#program[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true, force: true })
  }
}
