/** How a long-running command ends: by a signal in order, by a second one at once, by a broken invariant with a last word. */
import type { Log } from '../log.ts'

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const

/** The wait for the first signal; `ignore` gives the signals back to their defaults. */
export interface StopSignal {
  readonly received: Promise<keyof typeof SIGNALS>
  ignore(): void
}

/**
 * Listens for signals from now on: the first resolves `received`, a second ends the process at once with 128 plus its
 * number. From now on, too, what nobody caught is logged as fatal and ends the process with 1: its state is unknown.
 */
export function listenForStop(log: Log): StopSignal {
  const { promise, resolve } = Promise.withResolvers<keyof typeof SIGNALS>()
  let isStopping = false
  const listeners = Object.entries(SIGNALS).map(([name, number]) => {
    const listener = () => {
      if (isStopping) process.exit(128 + number)
      isStopping = true
      resolve(name as keyof typeof SIGNALS)
    }
    process.on(name, listener)
    return { name, listener }
  })
  const die = (error: unknown) => {
    log.fatal({ error }, 'process.failed')
    process.exit(1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
  const ignore = () => {
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
