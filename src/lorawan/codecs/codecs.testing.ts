/** Codecs for tests, with the machine's clock. */
import { silentLog } from '../../broker/log.ts'
import { Codecs } from './codecs.ts'
import type { CodecsOptions } from './codecs.ts'

/** To be closed. Each application is of an organization of its own, unless told otherwise. */
export function openTestCodecs(options: Partial<CodecsOptions> = {}): Codecs {
  return new Codecs({
    organizationOf: async (applicationId) => `organization of ${applicationId}`,
    clock: {
      now: () => performance.now(),
      after: (ms, run) => {
        const timer = setTimeout(run, ms)
        return () => clearTimeout(timer)
      },
    },
    log: silentLog,
    ...options,
  })
}
