import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../logger.ts'
import { isDoneWithin } from '../serve/stop-signal.ts'

const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 30_000
/** One that lived this long is not in a loop: the next delay is the first again. */
const HEALTHY_MS = 60_000
const STOP_TIMEOUT_MS = 5000
/**
 * Between two uplinks of a device: often enough that a command, which waits for one, is answered
 * while somebody watches.
 */
const INTERVAL = '5s'
/**
 * Most devices have joined before, so that events come at once; MQTT 5 says why an event was
 * refused; each command is told its own fate.
 */
const DEVICES_IN_SERVICE = ['--resumed', '0.7', '--mqtt', '5', '--carry-ids']
/**
 * The simulator's exit codes that starting it again would not help: options, credential,
 * certificate, subscription.
 */
const HOPELESS = new Set([2, 3, 4, 5])

/**
 * What the simulator is started with. The credential goes by environment, for others see a
 * process's arguments.
 */
export interface SimulatorOptions {
  readonly url: string
  readonly caFile: string | undefined
  readonly devicesFile: string
  readonly userName: string
  readonly password: string
  readonly log: Logger
}

/** A child process that is kept running. */
export interface KeptProcess {
  /** Ends it, and resolves when it is gone. */
  stop(): Promise<void>
}

/** Starts the simulator and keeps it running; it never outlives this process. */
export function startSimulator(options: SimulatorOptions): KeptProcess {
  return keepRunning(() => spawnSimulator(options), options.log)
}

/**
 * Starts a child, and starts it again, later each time, when it dies; not when its exit code says
 * that it would not help.
 */
export function keepRunning(spawnChild: () => ChildProcess, log: Logger): KeptProcess {
  let child: ChildProcess | undefined
  let pending: NodeJS.Timeout | undefined
  let isStopped = false
  let delayMs = FIRST_DELAY_MS

  const start = () => {
    const startedMs = performance.now()
    const started = spawnChild()
    child = started
    if (started.stderr !== null) {
      createInterface({ input: started.stderr }).on('line', (line) => log.info({ line }, 'simulator.said'))
    }
    started.on('error', (error) => log.error({ error }, 'simulator.not_started'))
    started.on('close', (exitCode, signal) => {
      child = undefined
      if (isStopped) return
      if (exitCode !== null && HOPELESS.has(exitCode)) {
        log.error({ exitCode }, 'simulator.gave_up')
        return
      }
      if (performance.now() - startedMs >= HEALTHY_MS) delayMs = FIRST_DELAY_MS
      log.warn({ exitCode, signal, delayMs }, 'simulator.died')
      pending = setTimeout(start, delayMs)
      delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS)
    })
  }
  start()
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(pending)
      if (child === undefined) return
      const gone = once(child, 'close')
      child.kill('SIGTERM')
      if (!(await isDoneWithin(gone, STOP_TIMEOUT_MS))) child.kill('SIGKILL')
      await gone
    },
  }
}

function spawnSimulator({ url, caFile, devicesFile, userName, password }: SimulatorOptions): ChildProcess {
  // Beside this program: compiled if this is, else the source.
  const isSource = import.meta.url.endsWith('.ts')
  const script = fileURLToPath(new URL(`../../../simulator/main.${isSource ? 'ts' : 'js'}`, import.meta.url))
  const trust = caFile === undefined ? [] : ['--ca', caFile]
  const { PATH, HOME, TZ, NODE_EXTRA_CA_CERTS } = process.env
  const args = ['--url', url, '--devices', devicesFile, '--interval', INTERVAL, ...trust, ...DEVICES_IN_SERVICE]
  return spawn(process.execPath, [script, ...args], {
    // Nothing of the service's own settings and secrets.
    env: { PATH, HOME, TZ, NODE_EXTRA_CA_CERTS, SIMULATOR_USER_NAME: userName, SIMULATOR_PASSWORD: password },
    // The channel ends the simulator when this process is killed. A group of its own keeps a
    // terminal's Ctrl-C away from it: it is stopped in order, after the service's clients were
    // told.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  })
}
