import { checkDataDirectory } from '../check-data-directory.ts'
import type { DataDirectoryReport } from '../check-data-directory.ts'
import { openDataDirectory } from '../data-directory.ts'
import { systemClock } from '../identity/clock.ts'
import { CommandFailure } from './command-failure.ts'
import { formatBytes } from './progress.ts'
import type { Terminal } from './terminal.ts'

/** `fieldgate check`: says what is in a data directory, and what is wrong with it. Answers the exit code. Throws CommandFailure. */
export async function checkData(terminal: Terminal, directory: string): Promise<number> {
  const opened = await openDataDirectory(directory, { purpose: 'check', clock: systemClock, mustExist: true })
  if (!opened.ok) throw new CommandFailure(opened.message)
  try {
    const report = await checkDataDirectory(directory)
    terminal.out(describe(report))
    for (const problem of report.problems) terminal.error(`${problem}\n`)
    if (report.problems.length === 0) return 0
    terminal.error(
      `fieldgate: ${directory} is damaged. What can be read is served; to have the rest, restore a backup into a new directory.\n`,
    )
    return 1
  } finally {
    await opened.dataDirectory.release()
  }
}

function describe({ registry, log, problems }: DataDirectoryReport): string {
  const { organizations, users, devices } = registry
  const lines = [`registry  ${organizations} organizations, ${users} users, ${devices} devices`]
  if (log !== undefined) {
    const { messages, segments, bytes, stateKeys, tornBytes } = log
    lines.push(`messages  ${messages} in ${segments} segments, ${formatBytes(bytes)}`)
    lines.push(`state     ${stateKeys} keys in the snapshot`)
    if (tornBytes > 0) {
      lines.push(`          ${tornBytes} bytes at the end were not written completely; nothing of it was acknowledged`)
    }
  }
  lines.push(problems.length === 0 ? 'all is well' : `${problems.length} problems`)
  return `${lines.join('\n')}\n`
}
