/**
 * Tells systemd that the service is ready, alive and stopping (sd_notify(3)), if systemd started it
 * with `Type=notify`. Node has no datagram sockets of the Unix domain, so `systemd-notify` sends
 * the messages: each system with systemd has it. The unit needs `NotifyAccess=all`, because the
 * sender is a child of this process.
 */
import { spawn } from 'node:child_process'
import type { Logger } from '../../logger.ts'

const PROGRAM = 'systemd-notify'
/** Longer than `systemd-notify` itself waits for systemd. */
const SEND_TIMEOUT_MS = 10_000

/** The supervisor of this process. Without one, the calls do nothing. */
export interface Supervisor {
  /**
   * Says that clients can connect. If the unit has `WatchdogSec=`, the supervisor is told regularly
   * from now on that this process is alive.
   */
  ready(): void
  /** Says that an orderly end has begun. */
  stopping(): void
  /** Ends the regular messages, and waits for a message that is under way. */
  close(): Promise<void>
}

/**
 * Opens the supervisor that `NOTIFY_SOCKET` and `WATCHDOG_USEC` of the environment name. A message
 * that can't be sent is logged.
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
      // Messages go twice as often as required, so that a late message causes no alarm. At most one
      // message is under way.
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
