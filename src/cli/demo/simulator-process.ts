/** The simulator of the demonstration: a child process that is restarted when it dies. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { programFile } from '../../installation.ts'
import type { Logger } from '../../logger.ts'
import { isDoneWithin } from '../serve/stop-signal.ts'

const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 30_000
/**
 * A child that lived this long was not in a restart loop: the next delay is the first one again.
 */
const HEALTHY_MS = 60_000
const STOP_TIMEOUT_MS = 5000
/**
 * The time between two uplinks of a device. A command waits for an uplink, and a person should see
 * the answer while watching.
 */
const INTERVAL = '5s'
/**
 * The simulator's options. Most devices have joined before, so that events come at once. MQTT 5
 * says why an event was refused. Each event about a command carries the command's id.
 */
const DEVICES_IN_SERVICE = ['--resumed', '0.7', '--mqtt', '5', '--carry-ids']
/**
 * The simulator's exit codes after which a restart would not help: wrong options, credential,
 * certificate or subscription.
 */
const HOPELESS = new Set([2, 3, 4, 5])

/**
 * The options of the simulator. The credential is passed in the environment, because other users
 * can see the arguments of a process.
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
  /** Ends the child, and resolves when it has ended. */
  stop(): Promise<void>
}

/** Starts the simulator and keeps it running. The simulator never outlives this process. */
export function startSimulator(options: SimulatorOptions): KeptProcess {
  return keepRunning(() => spawnSimulator(options), options.log)
}

/**
 * Starts a child, and restarts it when it dies, after a longer delay each time. A child whose exit
 * code is in `HOPELESS` is not restarted.
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
  const script = fileURLToPath(programFile('simulator/main'))
  const trust = caFile === undefined ? [] : ['--ca', caFile]
  const { PATH, TZ, NODE_EXTRA_CA_CERTS } = process.env
  const args = ['--url', url, '--devices', devicesFile, '--interval', INTERVAL, ...trust, ...DEVICES_IN_SERVICE]
  return spawn(process.execPath, [script, ...args], {
    // The service's settings and secrets are not passed on, nor a home: Bun writes a cache there.
    env: { PATH, TZ, NODE_EXTRA_CA_CERTS, SIMULATOR_USER_NAME: userName, SIMULATOR_PASSWORD: password },
    // The channel ends the simulator when this process is killed. In a process group of its own it
    // does not get the terminal's Ctrl-C: the simulator is stopped in order, by `stop`.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  })
}
