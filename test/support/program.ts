/**
 * Programs of others, and the service as a child process: their output by lines, with a limit on
 * every wait, and nothing left behind.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { within } from './bounded-wait.ts'

export interface ProgramOptions {
  /** The whole environment except PATH. */
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: string
  /** The working directory. Default: this process's folder. */
  readonly folder?: string
}

export interface ProgramEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export class Program {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #closed: Promise<ProgramEnd>
  readonly #watchers = new Set<() => void>()
  #stdout = ''
  #stderr = ''
  #ended = false

  constructor(command: string, args: readonly string[], options: ProgramOptions = {}) {
    this.#name = `${command} ${args.join(' ')}`.slice(0, 80)
    const { PATH = '' } = process.env
    const env = { PATH, ...options.environment }
    this.#child = spawn(command, args, { env, cwd: options.folder, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
      this.#notify()
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
      this.#notify()
    })
    // A program that ends before it has read its input gives the reason on standard error.
    this.#child.stdin?.on('error', () => {})
    this.#child.stdin?.end(options.input)
    this.#closed = once(this.#child, 'close').then(([code, signal]: unknown[]) => {
      this.#ended = true
      this.#notify()
      const end = { code, signal } as Pick<ProgramEnd, 'code' | 'signal'>
      return { ...end, stdout: this.#stdout, stderr: this.#stderr }
    })
    this.#closed.catch(() => {})
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /**
   * Resolves with the first match in all of standard output so far; rejects if the program ends
   * without a match.
   */
  output(pattern: RegExp, ms?: number): Promise<RegExpExecArray> {
    return this.#match(() => this.#stdout, pattern, ms)
  }

  /** As `output`, for standard error. */
  complaint(pattern: RegExp, ms?: number): Promise<RegExpExecArray> {
    return this.#match(() => this.#stderr, pattern, ms)
  }

  /** Resolves when the program has ended. */
  ended(ms?: number): Promise<ProgramEnd> {
    return within(this.#closed, `the end of ${this.#name}`, ms)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Kills the program in any state, and resolves when it is gone. For the end of a test. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return
    this.#child.kill('SIGTERM')
    try {
      await within(this.#closed, 'SIGTERM', 5000)
    } catch {
      this.#child.kill('SIGKILL')
      // A child of the program may hold the other end open.
      this.#child.stdout?.destroy()
      this.#child.stderr?.destroy()
      await this.#closed
    }
  }

  #match(text: () => string, pattern: RegExp, ms?: number): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
    const look = (): void => {
      const found = pattern.exec(text())
      if (found !== null) resolve(found)
      else if (this.#ended) reject(new Error(`${this.#name} ended without ${pattern}: ${this.#stdout}${this.#stderr}`))
    }
    this.#watchers.add(look)
    look()
    const waited = within(promise, `${pattern} from ${this.#name}`, ms).catch((error: unknown) => {
      throw new Error(`${String(error)}; it said: ${this.#stdout}${this.#stderr}`)
    })
    return waited.finally(() => this.#watchers.delete(look))
  }

  #notify(): void {
    for (const look of this.#watchers) look()
  }
}

/** Runs a program to its end; `ms` is the time limit. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { ms, ...options }: ProgramOptions & { readonly ms?: number } = {},
): Promise<ProgramEnd> {
  await using program = new Program(command, args, options)
  return await program.ended(ms)
}

/** Runs a program that must succeed. Returns its standard output. */
export async function outputOf(
  command: string,
  args: readonly string[],
  options?: ProgramOptions & { readonly ms?: number },
): Promise<string> {
  const { code, stdout, stderr } = await runProgram(command, args, options)
  assert.equal(code, 0, `${command} ended with ${code}: ${stderr}${stdout}`)
  return stdout
}
