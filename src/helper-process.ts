/**
 * Programs of ours that run in processes of their own, beside the service: work that may never come
 * to an end, and that nothing but the end of a process stops for sure. A helper gets one message
 * after the other and answers with messages, both as JSON. It gets nothing else of the service: no
 * variable of its environment, no open file, no folder.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** A running helper, as the process that started it knows it. */
export interface HelperProcess<Job> {
  /** A job that does not reach the helper is lost: then `onEnd` is called. */
  send(job: Job): void
  /** From now on the helper keeps this process alive, as it does at first. */
  hold(): void
  /** From now on the helper does not keep this process alive. It ends with this process. */
  release(): void
  /** Its resident memory; undefined where the system has no /proc, and when the helper is gone. */
  residentBytes(): number | undefined
  /** Ends the helper at once, whatever it does. Resolves when it is gone; never rejects. */
  kill(): Promise<void>
}

export interface HelperOptions<Message> {
  /** The file of the program, which calls `answerParent`. */
  readonly program: URL
  /** The heap of the helper's JavaScript, in MiB, where the runtime has such a bound. */
  readonly heapMb: number
  readonly onMessage: (message: Message) => void
  /** Called once: the helper has ended, for whatever reason, or it could not be started. */
  readonly onEnd: (reason: Error) => void
}

/** The differences between the runtimes, as far as helpers meet them. */
interface Runtime {
  readonly flagsOf: (heapMb: number) => readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** The part of the channel that keeps the parent alive beside the child itself. */
  readonly channelOf: (child: ChildProcess) => ChildProcess['channel']
  /** Called in the helper: makes it end with its parent, even while it is in an endless loop. */
  readonly watchParent: () => void
}

const NODE: Runtime = {
  // The stack is that of a thread of Node; the system gives 8 MiB to the first one of a process.
  flagsOf: (heapMb) => [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=4', '--stack-size=3900'],
  environment: {},
  channelOf: (child) => child.channel,
  watchParent: watchParentByThread,
}

const BUN: Runtime = {
  // With the first flag the kernel ends the helper. The others keep files of the folder out. With
  // a larger stack, a script that uses it up makes the engine of the codecs abort.
  flagsOf: () => ['--no-orphans', '--no-env-file', '--no-install'],
  environment: { BUN_JSC_maxPerThreadStackUsage: '1500000' },
  channelOf: () => null,
  watchParent: () => {},
}

const RUNTIME = process.versions.bun === undefined ? NODE : BUN

/** How often a helper under Node looks whether its parent is there. */
const PARENT_CHECK_MS = 1_000

/** Starts a helper under the runtime of this process. Throws where no process can be started. */
export function startHelper<Job extends object, Message>(options: HelperOptions<Message>): HelperProcess<Job> {
  const { program, heapMb, onMessage, onEnd } = options
  const child = fork(program, [], {
    execArgv: [...RUNTIME.flagsOf(heapMb)],
    // A tenant's script must make the same of a date on each machine.
    env: { ...RUNTIME.environment, TZ: 'UTC' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'json',
  })
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const end = (reason: Error): void => {
    resolve()
    onEnd(reason)
  }
  child.once('exit', (code, signal) => end(new Error(`it ended with ${signal ?? `code ${code}`}`)))
  // Without a process there is no exit. With one, an error of the channel comes before its exit.
  child.on('error', (error) => {
    if (child.pid === undefined) end(error)
  })
  child.on('message', (message) => onMessage(message as Message))
  const hold = (): void => {
    child.ref()
    RUNTIME.channelOf(child)?.ref()
  }
  return {
    send: (job) => void child.send(job, () => {}),
    hold,
    release: () => {
      child.unref()
      RUNTIME.channelOf(child)?.unref()
    },
    residentBytes: () => (child.exitCode === null && child.signalCode === null ? residentBytesOf(child) : undefined),
    kill: () => {
      hold()
      child.kill('SIGKILL')
      return gone
    },
  }
}

function residentBytesOf({ pid }: ChildProcess): number | undefined {
  try {
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}

/**
 * Called first in the helper. Returns the function that answers. From then on the helper ends with
 * its parent, and no signal to a group of processes ends it before: the parent may still need it
 * while it ends itself. The parent learns from a message that the helper can take jobs.
 */
export function answerParent(onJob: (job: unknown) => void): (message: object) => void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  RUNTIME.watchParent()
  process.on('message', onJob)
  return (message) => void process.send?.(message, undefined, {}, () => {})
}

/**
 * Node does not let the kernel do this. A thread runs beside any loop, and can end the process.
 */
function watchParentByThread(): void {
  // Asked by the thread itself, this could already be the process that takes over orphans.
  const parent = process.ppid
  const source = `setInterval(() => {
    if (process.ppid !== ${parent}) process.kill(process.pid, 'SIGKILL')
  }, ${PARENT_CHECK_MS})`
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 }
  new Worker(source, { eval: true, execArgv: [], resourceLimits }).unref()
}
