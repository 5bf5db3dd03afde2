/** The check of a data directory: reads everything in it, reports damage, and changes nothing. */
import { messagesIn, registryFileIn } from './data-directory.ts'
import { checkLog } from '../engine/opening/check-log.ts'
import type { LogReport } from '../engine/opening/check-log.ts'
import { losesSomething } from '../engine/opening/log-damage.ts'
import { LogDirectoryError } from '../engine/segments/log-directory.ts'
import { nodeDisk } from '../engine/ports/node-disk.ts'
import { checkRegistry } from '../identity/store/check-registry.ts'
import type { RegistryReport } from '../identity/store/check-registry.ts'

/** The contents of a data directory, and the damage that was found. */
export interface DataDirectoryReport {
  /** Undefined when the registry is in PostgreSQL. */
  readonly registry: RegistryReport | undefined
  /** Undefined when messages were in memory, or when `problems` says why the log can't be read. */
  readonly log: LogReport | undefined
  /** Sentences for people; empty when nothing is damaged. */
  readonly problems: readonly string[]
  /** True when stored data is lost, or can't be read as it is. */
  readonly isLossy: boolean
}

/** Checks a data directory that this process holds. No engine may have it open. */
export async function checkDataDirectory(
  directory: string,
  isRegistryElsewhere: boolean,
): Promise<DataDirectoryReport> {
  const registry = isRegistryElsewhere ? undefined : checkRegistry(registryFileIn(directory))
  const problems = (registry?.problems ?? []).map((problem) => `registry: ${problem}`)
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
