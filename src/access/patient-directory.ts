/** A directory for the permits of live connections. It outlasts a short absence of the database. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Directory } from '../identity/devices/directory.ts'
import { isUnavailable } from '../identity/store/registry-unavailable.ts'

/**
 * How often a question is asked again, and the time between: 20 s in all, enough for a restart or a
 * failover of the database. Meanwhile the connection that asks is not read, so each connection has
 * one question at most. After that the connection ends, as with rights that can't be checked.
 */
const MAXIMUM_TRIES = 80
const TRY_AGAIN_MS = 250

/**
 * Answers like `directory`. A look-up that fails because the database is away is asked again.
 * Answers at hand are given at once. `wait` is for tests.
 */
export function patientDirectory(directory: Directory, wait: (ms: number) => Promise<unknown> = waitUnheld): Directory {
  const patiently = <T>(ask: () => T | Promise<T>): T | Promise<T> => {
    const answer = ask()
    return answer instanceof Promise ? answered(answer, ask, wait) : answer
  }
  return {
    applicationsOf: (organizationId) => patiently(() => directory.applicationsOf(organizationId)),
    organizationOf: (applicationId) => patiently(() => directory.organizationOf(applicationId)),
    device: (devEui) => patiently(() => directory.device(devEui)),
    get devicesVersion() {
      return directory.devicesVersion
    },
  }
}

/** Does not keep the process alive. */
function waitUnheld(ms: number): Promise<unknown> {
  return delay(ms, undefined, { ref: false })
}

async function answered<T>(
  first: Promise<T>,
  ask: () => T | Promise<T>,
  wait: (ms: number) => Promise<unknown>,
): Promise<T> {
  let answer: T | Promise<T> = first
  for (let tries = 1; ; tries += 1) {
    try {
      return await answer
    } catch (error) {
      if (!isUnavailable(error) || tries === MAXIMUM_TRIES) throw error
      await wait(TRY_AGAIN_MS)
      answer = ask()
    }
  }
}
