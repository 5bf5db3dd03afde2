/** Shows what became of the profiles of a collection. */
import { given } from '../../given.ts'
import type { Library } from '../../lorawan/library/library-profile.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { showJson } from './administration.ts'
import { showProblems } from './read-codecs.ts'

/** `kept`: the profile exists, the collection has it otherwise, and `--update` is not given. */
export type Outcome = 'created' | 'changed' | 'unchanged' | 'kept' | 'refused'

/** The outcome of one profile of a collection. */
export interface Imported {
  readonly name: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly outcome: Outcome
  /** The members of a device profile that the collection has otherwise. */
  readonly members?: readonly string[]
  /** The test vectors of today that the new codec breaks. */
  readonly breaks?: readonly string[]
  /** Why the service refused it. */
  readonly reason?: string
}

/** The longest reason in the table, in characters; the JSON has all of it. */
const CELL_CHARACTERS = 200

const VERBS: Readonly<Record<Outcome, string>> = {
  created: 'created',
  changed: 'changed',
  unchanged: 'unchanged',
  kept: 'left as it is',
  refused: 'refused',
}

/** The outcomes of an import. */
export interface ImportProgress {
  readonly imported: readonly Imported[]
  /** Why the import ended before the last profile. */
  readonly stopped?: string
}

interface ReportOptions {
  readonly look?: true
  readonly update?: true
  readonly json?: true
}

/**
 * Reports an import of so many profiles of a collection. Throws CommandFailure when it stopped
 * early, or when a profile was refused.
 */
export function reportImport(
  terminal: Terminal,
  library: Library,
  { imported, stopped }: ImportProgress,
  count: number,
  options: ReportOptions,
): void {
  if (options.json === true) {
    const { layout, problems } = library
    showJson(terminal, { layout, look: options.look === true, profiles: imported, ...given({ stopped }), problems })
  } else {
    showImported(terminal, imported, options)
    showProblems(terminal, library)
  }
  if (stopped !== undefined) {
    throw new CommandFailure(`The import stopped after ${imported.length} of ${count} profiles: ${stopped}`)
  }
  const refused = imported.filter(({ outcome }) => outcome === 'refused').length
  if (refused > 0) throw new CommandFailure(`${refused} of ${counted(imported.length, 'profile')} refused.`)
}

/** Shows all profiles but the unchanged ones, and counts them. */
function showImported(terminal: Terminal, imported: readonly Imported[], { look, update }: ReportOptions): void {
  const columns = [
    { title: 'OUTCOME', cell: ({ outcome }: Imported) => (look === true ? `would be ${outcome}` : VERBS[outcome]) },
    { title: 'NAME', cell: ({ name }: Imported) => name },
    { title: 'DETAILS', cell: detailsOf },
  ]
  const told = imported.filter(({ outcome }) => outcome !== 'unchanged')
  if (told.length > 0) terminal.out(formatTable(columns, told))
  const counts = (Object.keys(VERBS) as Outcome[]).flatMap((outcome) => {
    const count = imported.filter((one) => one.outcome === outcome).length
    return count === 0 ? [] : [`${count} ${VERBS[outcome]}`]
  })
  const would = look === true ? 'nothing is changed; it would be: ' : ''
  terminal.error(`${counted(imported.length, 'profile')}: ${would}${counts.join(', ')}.\n`)
  const kept = imported.some(({ outcome }) => outcome === 'kept')
  if (kept && update !== true) terminal.error('The collection has other values for these: --update takes them.\n')
}

function detailsOf({ members = [], breaks = [], reason = '' }: Imported): string {
  const broken = breaks.length === 0 ? '' : `; breaks the test vectors of today: ${breaks.join(', ')}`
  const details = cellText(`${members.join(', ')}${broken}${reason}`)
  return details.length > CELL_CHARACTERS ? `${details.slice(0, CELL_CHARACTERS).toWellFormed()}…` : details
}
