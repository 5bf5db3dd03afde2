/**
 * Each documented way to start the service ends it in order by a signal to the started process, and
 * leaves nothing behind.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Program } from '../support/program.ts'
import { makeFolder } from '../support/running-service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const launcher = join(root, 'bin', 'fieldgate.mjs')
/**
 * Imitates a Node before 22.15, which can't replace its own process: the launcher stays, with the
 * service as its child.
 */
const WITHOUT_EXECVE = ['--import', 'data:text/javascript,process.execve=undefined']
const hasProc = existsSync('/proc/self/stat')
const START_MS = 60_000
const END_MS = 20_000

/**
 * A way to start and stop. `to` is the process of the chain that gets the signal. Default: the
 * started process.
 */
interface Way {
  readonly command: readonly string[]
  readonly signal: NodeJS.Signals
  readonly to?: 'shell'
}

const NPX = ['npx', 'fieldgate', 'serve']
const NPM_START = ['npm', 'start']
const NPM_RUN = ['npm', 'run', 'fieldgate', '--', 'serve']
const START = ['node', 'scripts/start.mjs']
const LAUNCHER = ['node', launcher, 'serve']
const OLD_NODE = ['node', ...WITHOUT_EXECVE, launcher, 'serve']

const WAYS: readonly Way[] = [
  // SIGINT to npx alone has no effect: npx passes it to its shell, which waits for the service. A
  // terminal sends it to the service as well.
  { command: NPX, signal: 'SIGTERM' },
  { command: NPX, signal: 'SIGHUP' },
  { command: NPX, signal: 'SIGTERM', to: 'shell' },
  { command: NPM_START, signal: 'SIGTERM' },
  { command: NPM_START, signal: 'SIGHUP' },
  { command: NPM_RUN, signal: 'SIGTERM' },
  { command: START, signal: 'SIGINT' },
  { command: LAUNCHER, signal: 'SIGTERM' },
  { command: LAUNCHER, signal: 'SIGINT' },
  { command: OLD_NODE, signal: 'SIGTERM' },
  // Nobody can pass SIGKILL on: the service notices that its launcher is gone.
  { command: OLD_NODE, signal: 'SIGKILL' },
]

for (const { command, signal, to } of WAYS) {
  const name = command.join(' ').replace(root, '')
  const skip = to !== undefined && !hasProc ? 'there is no /proc to find the process by' : false
  test(
    `${signal} to ${to === undefined ? '' : `the ${to} of `}${name} ends the service in order`,
    { skip },
    async () => {
      const folder = await makeFolder()
      const program = start(command, folder)
      let servicePid: number | undefined
      try {
        const started = JSON.parse((await program.complaint(/^.*"service\.started".*$/m, START_MS))[0]) as Ports
        servicePid = await holderOf(folder)
        process.kill(pidOf(program, to, servicePid), signal)
        // The output closes when all its writers have ended, including the service.
        const { stderr } = await program.ended(END_MS)
        assert.match(stderr, /"stop\.asked"/)
        assert.match(stderr, /"service\.stopped"/)
        await assertFree(started.httpsPort)
        await assertFree(started.mqttsPort)
        servicePid = undefined
      } finally {
        if (servicePid !== undefined) killIfThere(servicePid)
        await program[Symbol.asyncDispose]()
        await rm(folder, { recursive: true, force: true })
      }
    },
  )
}

interface Ports {
  readonly httpsPort: number
  readonly mqttsPort: number
}

function start([command = '', ...args]: readonly string[], folder: string): Program {
  const environment = {
    HOME: folder,
    PATH: `${join(root, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`,
    FIELDGATE_DATA_DIR: join(folder, 'data'),
    FIELDGATE_HOST: '127.0.0.1',
    FIELDGATE_HTTPS_PORT: '0',
    FIELDGATE_MQTTS_PORT: '0',
    FIELDGATE_LOG_LEVEL: 'info',
    FIELDGATE_LOG_FORMAT: 'json',
  }
  return new Program(command, args, { environment, folder: root })
}

/** The id of the process that serves, as the service itself tells it. */
async function holderOf(folder: string): Promise<number> {
  const { pid } = JSON.parse(await readFile(join(folder, 'data', 'instance.json'), 'utf8')) as { readonly pid: number }
  return pid
}

function pidOf(program: Program, to: Way['to'], servicePid: number): number {
  if (to === 'shell') {
    const parent = Number(
      / \S (\d+) /.exec(readFileSync(`/proc/${servicePid}/stat`, 'utf8').replace(/^.*\)/s, ''))?.[1],
    )
    assert.match(readFileSync(`/proc/${parent}/cmdline`, 'utf8'), /^(?:\S*\/)?sh\0-c\0/)
    return parent
  }
  assert.ok(program.pid !== undefined)
  return program.pid
}

async function assertFree(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}
