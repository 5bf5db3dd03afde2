/** Reads the settings for a command, and explains faults to people. */
import { checkSettings, describeFaults, readEnvironment } from '../../settings/settings.ts'
import type { Settings } from '../../settings/settings.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * Reads the settings of this process, with warnings about unknown variables. Throws CommandFailure
 * with all faults at once. `defaults` replace variables that are not set.
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
