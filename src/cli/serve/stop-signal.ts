/**
 * How a long-running command ends: by a signal in order, by a second one at once, by a broken
 * invariant with a last word.
 */
import type { PinoLogger } from '../../pino-logger.ts'
import { watchLaunchers } from './launchers.ts'

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const

/**
 * A signal within this time after the first is the same wish: a terminal tells a whole group, of
 * which npm and a launcher pass it on.
 */
const ECHO_MS = 1_000

/** The wait for the first wish to stop; `ignore` gives the signals back to their defaults. */
export interface StopSignal {
  readonly received: Promise<void>
  ignore(): void
}

/**
 * Listens for signals from now on: the first resolves `received`, a second that is no echo of it
 * ends the process at once with 128 plus its number. So does the end of the program that started
 * this one, where it must not be outlived (`launchers.ts`). The log says which it was. From now on,
 * too, what nobody caught is logged as fatal and ends the process with 1: its state is unknown.
 * `now` is steady, in milliseconds.
 */
export function listenForStop(log: PinoLogger, now: () => number = () => performance.now()): StopSignal {
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
