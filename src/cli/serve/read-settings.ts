import { checkSettings, describeFaults, readEnvironment } from '../../settings/settings.ts'
import type { Settings } from '../../settings/settings.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * The settings of this process, and warnings about variables that nobody reads. Throws
 * CommandFailure with all faults at once. `defaults` stand in for variables that are not set.
 */
export function readSettings(
  terminal: Terminal,
  defaults: Readonly<Record<string, string>> = {},
): { readonly settings: Settings; readonly warnings: readonly string[] } {
  const result = checkSettings(readEnvironment(terminal.environment), defaults)
  if (result.ok) return result
  const lines = describeFaults(result.faults).map((line) => `  ${line}`)
  const notes = result.warnings.map((line) => `  (${line})`)
  const message = ['These settings can’t be used:', ...lines, ...notes, '`fieldgate settings` lists what each may be.']
  throw new CommandFailure(message.join('\n'), 2)
}
