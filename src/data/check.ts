/** Reads everything in a data directory and says what is wrong with it; changes nothing. */
import { messagesIn, registryFileIn } from './data-directory.ts'
import { checkLog } from '../engine/opening/check-log.ts'
import type { LogReport } from '../engine/opening/check-log.ts'
import { losesSomething } from '../engine/opening/log-damage.ts'
import { LogDirectoryError } from '../engine/segments/log-directory.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import { checkRegistry } from '../identity/store/check-registry.ts'
import type { RegistryReport } from '../identity/store/check-registry.ts'

/** What there is in a data directory, and what is wrong with it. */
export interface DataDirectoryReport {
  readonly registry: RegistryReport
  /**
   * Undefined where there is none that can be read: messages were in memory, or `problems` says
   * why.
   */
  readonly log: LogReport | undefined
  /** Sentences for people; none: all is well. */
  readonly problems: readonly string[]
  /** True: something that was stored is lost, or can't be read as it is. */
  readonly isLossy: boolean
}

/** Checks a data directory that this process holds, and that no engine has open. */
export async function checkDataDirectory(directory: string): Promise<DataDirectoryReport> {
  const registry = checkRegistry(registryFileIn(directory))
  const problems = registry.problems.map((problem) => `registry: ${problem}`)
  let log: LogReport | undefined
  let isLossy = problems.length > 0
  try {
    log = await checkLog(nodeDisk, messagesIn(directory))
    problems.push(...(log?.problems ?? []).map((problem) => `messages: ${problem}`))
    isLossy ||= log?.damages.some(losesSomething) === true
  } catch (error) {
    if (!(error instanceof LogDirectoryError)) throw error
    problems.push(`messages: ${error.message}`)
    isLossy = true
  }
  return { registry, log, problems, isLossy }
}
