/** Shows what became of the profiles of a collection. */
import { counted } from '../terminal/counted.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

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

/** Shows all profiles but the unchanged ones, and counts them. */
export function showImported(
  terminal: Terminal,
  imported: readonly Imported[],
  { look, update }: { readonly look?: true; readonly update?: true },
): void {
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
