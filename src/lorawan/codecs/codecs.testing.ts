/** Codecs for tests, with a clock that stands still. */
import type { SteadyMs } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { Codecs } from './codecs.ts'
import type { CodecsOptions } from './codecs.ts'
import { GATHER_MS } from './script-limits.ts'

/**
 * Codecs that the test must close. No process is killed, however slow the machine is. Each
 * application has an organization of its own, unless the options say otherwise.
 */
export function openTestCodecs(options: Partial<CodecsOptions> = {}): Codecs {
  return new Codecs({
    organizationOf: async (applicationId) => `organization of ${applicationId}`,
    clock: { steady: () => 0 as SteadyMs, after: soonOrNever },
    log: silentLogger,
    ...options,
  })
}

function soonOrNever(ms: number, run: () => void): () => void {
  const soon = ms <= GATHER_MS ? setImmediate(run) : undefined
  return () => clearImmediate(soon)
}
