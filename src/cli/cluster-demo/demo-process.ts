/** A program of the demonstration: its output goes to a file, and it ends with this process. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { isDoneWithin } from '../serve/stop-signal.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** The end of the output that a failure shows. */
const SHOWN_CHARACTERS = 2_000
/** The part of the output in which the line about readiness is looked for. */
const KEPT_CHARACTERS = 100_000
const READY_MS = 60_000
const STOP_MS = 10_000

export interface DemoProcessOptions {
  /** The name for people, and of the log's file. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** The user and group that it runs as. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  /** The folder for the log, which is also the working directory. */
  readonly folder: string
}

export class DemoProcess {
  readonly name: string
  readonly logFile: string
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #hasEnded = false
  #text = ''
  #look: () => void = () => {}

  constructor({ name, command, args, environment, owner, folder }: DemoProcessOptions) {
    this.name = name
    this.logFile = join(folder, `${name}.log`)
    const log = createWriteStream(this.logFile)
    const { PATH, TZ } = process.env
    // In a group of its own it does not get the terminal's Ctrl-C, and is ended in order.
    this.#child = spawn(command, args, {
      cwd: folder,
      env: { PATH, TZ, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...owner,
    })
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.setEncoding('utf8').on('data', (text: string) => {
        log.write(text)
        this.#text = (this.#text + text).slice(-KEPT_CHARACTERS)
        this.#look()
      })
    }
    this.#child.on('error', (error) => {
      this.#text += error.message
    })
    this.#ended = once(this.#child, 'close').then(
      () => this.#end(),
      () => this.#end(),
    )
    process.once('exit', () => this.#child.kill('SIGKILL'))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Resolves when the process has ended, for whatever reason. */
  get ended(): Promise<unknown> {
    return this.#ended
  }

  /** Resolves with the place in the output; throws CommandFailure when it does not come. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
    const fail = (): void =>
      reject(new CommandFailure(`${this.name} did not start: ${this.#text.slice(-SHOWN_CHARACTERS)}`))
    const timer = setTimeout(fail, READY_MS)
    this.#look = () => {
      const found = pattern.exec(this.#text)
      if (found !== null) resolve(found)
      else if (this.#hasEnded) fail()
    }
    this.#look()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#look = () => {}
    }
  }

  /** Ends it by the signal, and by force after a time. Resolves when it has ended. */
  async stop(signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<void> {
    if (this.#hasEnded) return
    // A process that somebody has paused would not see the signal.
    this.#child.kill('SIGCONT')
    this.#child.kill(signal)
    if (!(await isDoneWithin(this.#ended, STOP_MS))) this.#child.kill('SIGKILL')
    await this.#ended
  }

  #end(): void {
    this.#hasEnded = true
    this.#look()
  }
}
