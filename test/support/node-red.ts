/** Node-RED as a program, with the messages that its editor gets. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { within } from './bounded-wait.ts'
import { freePort } from './free-port.ts'
import { Program } from './program.ts'

/** Presses of a button, while the deployed flow starts. */
const PRESSES = 100
const AGAIN_MS = 50

/**
 * A separate Node-RED, and the messages to its editor: the states of nodes, and all output of debug
 * nodes.
 */
export class NodeRed {
  readonly #program: Program
  readonly #address: string
  readonly #folder: string
  readonly #editor: WebSocket
  readonly #lines: string[] = []
  readonly #watchers = new Set<() => void>()

  /**
   * Starts Node-RED out of a folder that has `node_modules`. `prepare` puts further nodes into the
   * folder of its flows.
   */
  static async start(
    parts: string,
    packageName: string,
    prepare: (folder: string) => Promise<void> = async () => {},
  ): Promise<NodeRed> {
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-node-red-'))
    await prepare(folder)
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

  /** All messages to the editor so far, one a line. */
  get toldSoFar(): string {
    return this.#lines.join('\n')
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

  /** Presses the button of an inject node, as soon as the flow that was deployed has it. */
  async press(nodeId: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const answer = await fetch(`http://${this.#address}/inject/${nodeId}`, { method: 'POST' })
      const text = await answer.text()
      if (answer.status === 200) return
      assert.ok(answer.status === 404 && tries < PRESSES, `${answer.status}: ${text}`)
      await delay(AGAIN_MS)
    }
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
