/**
 * Tells systemd that the service is ready, alive and stopping (sd_notify(3)), where systemd started
 * it with `Type=notify`. Node has no datagram sockets of the Unix domain, so systemd's own
 * `systemd-notify` sends: it is there wherever the receiver is. The unit needs `NotifyAccess=all`,
 * for the sender is a child of this process.
 */
import { spawn } from 'node:child_process'
import type { Logger } from '../../logger.ts'

const PROGRAM = 'systemd-notify'
/** More than `systemd-notify` itself waits for systemd. */
const SEND_TIMEOUT_MS = 10_000

/** The supervisor of this process, or nobody: then the calls do nothing. */
export interface Supervisor {
  /**
   * Clients can connect. From now on it is told regularly that this process is alive, when it wants
   * to know (`WatchdogSec=`).
   */
  ready(): void
  /** An orderly end has begun. */
  stopping(): void
  /** Ends the messages of being alive, and waits for a message that is under way. */
  close(): Promise<void>
}

/**
 * The supervisor that `NOTIFY_SOCKET` and `WATCHDOG_USEC` of the environment name. A message that
 * can't be sent is logged.
 */
export function openSupervisor(environment: Readonly<Record<string, string | undefined>>, log: Logger): Supervisor {
  if ((environment['NOTIFY_SOCKET'] ?? '') === '') {
    return { ready: () => {}, stopping: () => {}, close: () => Promise.resolve() }
  }
  let sending: Promise<void> = Promise.resolve()
  let isSending = false
  let alive: NodeJS.Timeout | undefined
  const tell = (...variables: readonly string[]): void => {
    isSending = true
    sending = sending
      .then(() => send(environment, variables))
      .catch((error: unknown) => log.warn({ error }, 'supervisor.not_told'))
      .finally(() => {
        isSending = false
      })
  }
  return {
    ready() {
      tell('READY=1')
      const watchdogMs = Number(environment['WATCHDOG_USEC'] ?? 0) / 1_000
      // Twice as often as demanded, so that one that comes late is no alarm; at most one is under
      // way.
      if (watchdogMs > 0) alive = setInterval(() => isSending || tell('WATCHDOG=1'), watchdogMs / 2)
    },
    stopping() {
      clearInterval(alive)
      tell('STOPPING=1')
    },
    close() {
      clearInterval(alive)
      return sending
    },
  }
}

function send(environment: Readonly<Record<string, string | undefined>>, variables: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const { PATH, NOTIFY_SOCKET } = environment
  const child = spawn(PROGRAM, [...variables], {
    env: { PATH, NOTIFY_SOCKET },
    stdio: 'ignore',
    timeout: SEND_TIMEOUT_MS,
  })
  child.on('error', reject)
  child.on('close', (code, signal) => {
    if (code === 0) resolve()
    else reject(new Error(`${PROGRAM} ended with ${code ?? signal}`))
  })
  return promise
}
