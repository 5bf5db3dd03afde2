/**
 * The end of a long-running command: in order after a signal, at once after a second signal, and
 * with a log line after an error that no code caught.
 */
import { steadyNow } from '../../clock.ts'
import type { PinoLogger } from '../../pino-logger.ts'
import { watchLaunchers } from './launchers.ts'

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const

/**
 * A signal within this time after the first signal is taken for the same one: a terminal sends it
 * to a whole group of processes, and npm and a launcher in the group pass it on.
 */
const ECHO_MS = 1_000

/** `received` resolves at the first signal. `ignore` restores the default effect of the signals. */
export interface StopSignal {
  readonly received: Promise<void>
  ignore(): void
}

/**
 * Listens for signals from now on. The first signal resolves `received`. A second signal that is no
 * echo of the first ends the process at once with 128 plus the signal's number. The end of a
 * launcher that must not be outlived (`launchers.ts`) counts as a first signal. The log says which
 * of them it was. An error that no code caught is logged as fatal and ends the process with 1,
 * because the state of the process is unknown then. `now` is a steady clock, in milliseconds.
 */
export function listenForStop(log: PinoLogger, now: () => number = steadyNow): StopSignal {
  const { promise, resolve } = Promise.withResolvers<void>()
  let stoppingSince: number | undefined
  const stop = (reason: string) => {
    stoppingSince = now()
    log.info({ reason }, 'stop.asked')
    resolve()
  }
  const listeners = Object.entries(SIGNALS).map(([name, number]) => {
    const listener = () => {
      if (stoppingSince === undefined) stop(name)
      else if (now() - stoppingSince >= ECHO_MS) process.exit(128 + number)
    }
    process.on(name, listener)
    return { name, listener }
  })
  const unwatch = watchLaunchers(process.env, () => {
    if (stoppingSince === undefined) stop('the program that started this one has ended')
  })
  const die = (error: unknown) => {
    log.fatal({ error }, 'process.failed')
    process.exit(1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
  const ignore = () => {
    unwatch()
    for (const { name, listener } of listeners) process.off(name, listener)
    process.off('uncaughtException', die)
    process.off('unhandledRejection', die)
  }
  return { received: promise, ignore }
}

/** Resolves with whether `work` was done within the time. */
export async function isDoneWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), ms)
  timer.unref()
  try {
    return await Promise.race([work.then(() => true), promise])
  } finally {
    clearTimeout(timer)
  }
}
