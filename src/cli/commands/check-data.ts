/** The work of `fieldgate check`: checks a data directory, and reports damage and losses. */
import { checkDataDirectory } from '../../data/check.ts'
import type { DataDirectoryReport } from '../../data/check.ts'
import type { LogReport } from '../../engine/opening/check-log.ts'
import { openDataDirectory } from '../../data/data-directory.ts'
import type { RegistryReport } from '../../identity/store/check-registry.ts'
import { systemClock } from '../../clock.ts'
import { showJson } from './administration.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { formatBytes } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The exit code when something is damaged, but no data is lost. */
const DAMAGED = 1
/** The exit code when data is lost. */
const LOST = 2

export interface CheckOptions {
  readonly isJson: boolean
  readonly isRegistryElsewhere: boolean
  readonly areMessagesElsewhere: boolean
}

/**
 * Shows the contents of a data directory and its damage; resolves with the exit code. Throws
 * CommandFailure when the directory can't be taken.
 */
export async function checkData(
  terminal: Terminal,
  directory: string,
  { isJson, isRegistryElsewhere, areMessagesElsewhere }: CheckOptions,
): Promise<number> {
  const opened = await openDataDirectory(directory, { purpose: 'check', clock: systemClock, mustExist: true })
  if (!opened.ok) throw new CommandFailure(opened.message)
  try {
    const report = await checkDataDirectory(directory, isRegistryElsewhere)
    if (isJson) {
      showJson(terminal, forPrograms(report))
      return exitCodeOf(report)
    }
    terminal.out(describe(report, areMessagesElsewhere))
    for (const problem of report.problems) terminal.error(`${problem}\n`)
    if (report.problems.length === 0) return exitCodeOf(report)
    const advice = report.isLossy
      ? 'The service serves the intact data. To get the rest back, restore a backup into a new directory.'
      : 'Nothing is lost: the next start rebuilds the damaged part from intact data.'
    terminal.error(`fieldgate: ${directory} is damaged. ${advice}\n`)
    return exitCodeOf(report)
  } finally {
    await opened.dataDirectory.release()
  }
}

function exitCodeOf({ problems, isLossy }: DataDirectoryReport): number {
  if (problems.length === 0) return 0
  return isLossy ? LOST : DAMAGED
}

/** The report as JSON: counts and sentences. Each damage has its sentence in `problems`. */
function forPrograms({ registry, log, problems, isLossy }: DataDirectoryReport): unknown {
  const { problems: ___, ...counts } = registry ?? { problems: [] }
  const { damages: _, problems: __, ...messages } = log ?? { damages: [], problems: [] }
  return { registry: registry && counts, messages: log && messages, problems, isLossy }
}

function describe({ registry, log, problems }: DataDirectoryReport, areMessagesElsewhere: boolean): string {
  const lines = [`registry  ${registry === undefined ? 'in PostgreSQL, and not looked at' : contentsOf(registry)}`]
  if (log !== undefined) {
    const { messages, segments, bytes, stateKeys, tornBytes, keptAside } = log
    lines.push(`messages  ${messages} in ${counted(segments, 'segment')}, ${formatBytes(bytes)}`)
    lines.push(`state     ${counted(stateKeys, 'key')} of the state`)
    if (tornBytes > 0) {
      lines.push(`          ${tornBytes} bytes at the end were not written completely; none of them was acknowledged`)
    }
    if (keptAside > 0) lines.push(`          ${keptAside} files with damaged bytes were kept in messages/damaged/`)
    if (log.damages.length > 0) lines.push(`damaged   ${formatBytes(log.damagedBytes)} of them; ${lossOf(log)}`)
  }
  if (areMessagesElsewhere) lines.push('messages  on servers of NATS, and not looked at')
  lines.push(problems.length === 0 ? 'all is well' : counted(problems.length, 'problem'))
  return `${lines.join('\n')}\n`
}

function contentsOf({ organizations, users, devices }: RegistryReport): string {
  return `${counted(organizations, 'organization')}, ${counted(users, 'user')}, ${counted(devices, 'device')}`
}

function lossOf({ lostMessages, furtherAtMost }: LogReport): string {
  if (lostMessages + furtherAtMost === 0) return 'no message is lost'
  const further = furtherAtMost === 0 ? '' : `, and ${furtherAtMost} more at most`
  return `messages that are lost: ${lostMessages}${further}`
}
