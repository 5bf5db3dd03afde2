/**
 * A program of a network server: can be started again at its place, killed, frozen and thawed; it
 * never outlives the test process.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { within } from '../support/bounded-wait.ts'

export interface PartSettings {
  /** The name in messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** The output by which the program is ready. */
  readonly ready: RegExp
  /** The user that it runs as, if this process is root. */
  readonly user?: string
  /** The working directory. */
  readonly folder: string
  /** The environment besides PATH and HOME. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The most characters that are kept of the output since one start. */
const KEPT_CHARACTERS = 8_000_000
const START_MS = 60_000

export class Part {
  readonly name: string
  readonly #settings: PartSettings
  #child: ChildProcess | undefined
  #exited: Promise<unknown> = Promise.resolve()
  #text = ''
  readonly #watchers = new Set<() => void>()

  constructor(settings: PartSettings) {
    this.name = settings.name
    this.#settings = settings
  }

  /** The output since the last start. */
  get text(): string {
    return this.#text
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** Resolves when the program is ready. */
  async start(): Promise<void> {
    if (this.#child !== undefined) throw new Error(`${this.name} runs already`)
    const { command, args, user, folder, ready, environment } = this.#settings
    const as =
      user !== undefined && process.getuid?.() === 0 ? [`--reuid=${user}`, `--regid=${user}`, '--init-groups'] : []
    // The kernel ends it when this process is gone, for whatever reason.
    const child = spawn('setpriv', [...as, '--pdeathsig', 'KILL', command, ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.#text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#said(text))
    }
    this.#exited = once(child, 'close').then(() => {
      if (this.#child === child) this.#child = undefined
      this.#said('')
      return undefined
    })
    await this.says(ready, START_MS)
  }

  /** Resolves when the output since the start matches; rejects if the program ends before that. */
  async says(pattern: RegExp, ms?: number): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
    const look = (): void => {
      const found = pattern.exec(this.#text)
      if (found !== null) resolve(found)
      else if (this.#child === undefined) reject(new Error(`${this.name} has ended`))
    }
    this.#watchers.add(look)
    look()
    try {
      return await within(promise, `${pattern} of ${this.name}`, ms)
    } catch (error) {
      throw new Error(`${String(error)}; it said: ${this.#text.slice(-4_000)}`, { cause: error })
    } finally {
      this.#watchers.delete(look)
    }
  }

  /** Ends it in order, and by force after the time limit. Does nothing if it is not running. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    try {
      await within(this.#exited, `the end of ${this.name}`, 10_000)
    } catch {
      await this.kill()
    }
  }

  /** Kills it, as a power cut would, or ends it by another signal. */
  async kill(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT' = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal)
    await within(this.#exited, `the end of ${this.name}`)
  }

  /** Waits until it has ended by itself, at most the time (ms). */
  async ended(ms: number): Promise<void> {
    await within(this.#exited, `the end of ${this.name}`, ms)
  }

  /** Freezes it, with its connections open. */
  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }

  #said(text: string): void {
    this.#text = (this.#text + text).slice(-KEPT_CHARACTERS)
    for (const look of this.#watchers) look()
  }
}
