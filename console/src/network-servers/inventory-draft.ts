/** The settings of an import while a person edits them. */
import type {
  Inventory,
  InventoryImport,
  InventoryReport,
  InventoryStep,
  ProfileMode,
  TheirApplication,
} from '../api/inventories.ts'
import { asSentence } from '../api/sentence.ts'
import { pairsOf, recordOf } from '../devices/pairs.ts'
import type { Pair } from '../devices/pairs.ts'

/** An application of the network server, and the application here that its devices come to. */
export interface ApplicationRow {
  /** The key of the row. It stays the same while the applications are chosen. */
  readonly key: string
  /** The network server's own id; null while none is chosen. */
  readonly theirs: string | null
  /** The id here; null while none is chosen. */
  readonly ours: string | null
}

/** The settings as they are typed. */
export interface InventoryDraft {
  /** BY_NAME: each application goes to that with the same id or name. CHOSEN: as the rows say. */
  readonly applications: 'BY_NAME' | 'CHOSEN'
  readonly createApplications: boolean
  readonly rows: readonly ApplicationRow[]
  readonly profiles: ProfileMode
  readonly tags: readonly Pair[]
}

/** The choice of an application. */
export interface ApplicationChoice {
  readonly value: string
  readonly label: string
}

/** The faults of a row, at their fields. */
export interface RowFaults {
  readonly theirs?: string
  readonly ours?: string
}

/** A row without applications. */
export function emptyRow(): ApplicationRow {
  return rowOf(null, null)
}

/** The draft of the settings that a step has; otherwise of an import by names. */
export function draftOf(step: InventoryStep | null): InventoryDraft {
  const rows = Object.entries(step?.applications ?? {}).map(([theirs, ours]) => rowOf(theirs, ours))
  return {
    // The service writes an empty object for applications that go by their ids and names.
    applications: rows.length === 0 ? 'BY_NAME' : 'CHOSEN',
    createApplications: step?.createApplications ?? true,
    rows,
    profiles: step?.profiles ?? 'IMPORT',
    tags: pairsOf(step?.tags ?? {}),
  }
}

/** The settings of the draft; undefined while a row is not complete. */
export function settingsOf(
  { applications, createApplications, rows, profiles, tags }: InventoryDraft,
  { ofDeployment }: Pick<Inventory, 'ofDeployment'>,
): InventoryImport | undefined {
  const common = { profiles, tags: recordOf(tags), ofDeployment }
  if (applications === 'BY_NAME') return { ...common, createApplications }
  const chosen = new Map(rows.flatMap(({ theirs, ours }) => (theirs === null || ours === null ? [] : [[theirs, ours]])))
  if (rows.length === 0 || chosen.size < rows.length) return undefined
  return { ...common, createApplications: false, applications: Object.fromEntries(chosen) }
}

/**
 * The applications of the network server that a row may have: those that no other row has. An id
 * stands behind a name that several of them have.
 */
export function choicesFor(
  row: ApplicationRow,
  rows: readonly ApplicationRow[],
  listed: readonly TheirApplication[],
): readonly ApplicationChoice[] {
  const taken = new Set(rows.flatMap(({ key, theirs }) => (key === row.key ? [] : [theirs])))
  const counts = new Map<string, number>()
  for (const { name } of listed) counts.set(name, (counts.get(name) ?? 0) + 1)
  const choices = listed
    .filter(({ id }) => !taken.has(id))
    .map(({ id, name }) => ({ value: id, label: counts.get(name) === 1 ? name : `${name} (${id})` }))
  return withChosen(choices, row.theirs)
}

/** The choices, with the chosen one where they lack it: an id without a name. */
export function withChosen(choices: readonly ApplicationChoice[], chosen: string | null): readonly ApplicationChoice[] {
  if (chosen === null || choices.some(({ value }) => value === chosen)) return choices
  return [...choices, { value: chosen, label: chosen }]
}

/** Facts about applications that a row is held against; undefined where they are not known yet. */
interface KnownApplications {
  readonly theirs: readonly TheirApplication[] | undefined
  readonly ours: readonly { readonly id: string }[] | undefined
  readonly report: InventoryReport | undefined
}

/** The faults of a row. */
export function faultsOf(row: ApplicationRow, { theirs, ours, report }: KnownApplications): RowFaults {
  const isListed = row.theirs === null || theirs === undefined || theirs.some(({ id }) => id === row.theirs)
  const isHere = row.ours === null || ours === undefined || ours.some(({ id }) => id === row.ours)
  const reported = report?.applications.find(({ networkServerApplicationID: id }) => id === row.theirs)
  return {
    ...(isListed ? {} : { theirs: 'The network server lists no application with this id.' }),
    ...(isHere ? {} : { ours: 'The organization has no application with this id.' }),
    ...(reported?.outcome === 'missing' ? { theirs: asSentence(reported.message) } : {}),
    ...(reported?.outcome === 'refused' ? { ours: asSentence(reported.message) } : {}),
  }
}

function rowOf(theirs: string | null, ours: string | null): ApplicationRow {
  return { key: crypto.randomUUID(), theirs, ours }
}
