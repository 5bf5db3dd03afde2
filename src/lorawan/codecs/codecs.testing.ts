/** Codecs for tests, with a clock that stands still. */
import type { SteadyMs } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { Codecs } from './codecs.ts'
import type { CodecsOptions } from './codecs.ts'

/**
 * Codecs that the test must close. No process is killed, however slow the machine is. Each
 * application has an organization of its own, unless the options say otherwise.
 */
export function openTestCodecs(options: Partial<CodecsOptions> = {}): Codecs {
  return new Codecs({
    organizationOf: async (applicationId) => `organization of ${applicationId}`,
    clock: { steady: () => 0 as SteadyMs, after: () => () => {} },
    log: silentLogger,
    ...options,
  })
}
