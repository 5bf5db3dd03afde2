/**
 * What the administration's commands share: a client for their time, and results as a table or as
 * JSON.
 */
import type { Command } from 'commander'
import type { ApiClient, JsonList } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { readSettings } from '../serve/read-settings.ts'
import { cellText, formatFields, formatTable } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The options of every list. */
export interface ListOptions {
  readonly limit: string
  readonly offset: string
  readonly search?: string
  readonly json?: true
}

/**
 * Gives `use` a client, with the session of `userName` or of the first global admin, and closes it
 * after.
 */
export async function withClient<Result>(
  terminal: Terminal,
  command: Command,
  use: (client: ApiClient) => Promise<Result>,
  userName?: string,
): Promise<Result> {
  const { settings, warnings } = readSettings(terminal)
  for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
  // Loaded here and not above: `--help`, and commands that need no deployment, should not wait for
  // it.
  const { openApiClient } = await import('../api/open-api-client.ts')
  const client = await openApiClient(settings, { purpose: commandPath(command), userName })
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

/** Adds the options that every list has. */
export function withListOptions(command: Command): Command {
  return command
    .option('--search <text>', 'show only entries that contain this text; upper and lower case are the same')
    .option('--limit <number>', 'show at most this number of entries', '100')
    .option('--offset <number>', 'skip this number of entries', '0')
    .option('--json', 'print the JSON of the API, for programs')
}

/** The query of a list's options. */
export function listQuery(options: ListOptions): Readonly<Record<string, string | undefined>> {
  return { limit: options.limit, offset: options.offset, search: options.search }
}

/** Shows a list: a table and, when it is not all, how many there are; or the JSON. */
export function showList(
  terminal: Terminal,
  list: JsonList,
  options: ListOptions,
  columns: readonly Column<JsonObject>[],
): void {
  if (options.json === true) return showJson(terminal, list)
  terminal.out(formatTable(columns, list.result))
  const shown = list.result.length
  if (String(shown) !== list.totalCount) {
    terminal.error(`${shown} of ${list.totalCount}; see --limit, --offset and --search.\n`)
  }
  return undefined
}

/** Shows one thing's fields, those of an inner object (`{user: {...}, createdAt}`) first. */
export function showFields(terminal: Terminal, thing: JsonObject, isJson: boolean | undefined): void {
  if (isJson === true) return showJson(terminal, thing)
  const [key, inner] = Object.entries(thing)[0] ?? []
  const isNested = key !== undefined && typeof inner === 'object' && inner !== null
  const { [key ?? '']: _, ...outer } = thing
  terminal.out(formatFields(isNested ? { ...inner, ...outer } : thing))
  return undefined
}

/**
 * Shows the id of what was created, alone on standard output so that a shell can take it, or its
 * JSON. A person on a terminal reads in words what was done.
 */
export function showCreated(terminal: Terminal, created: JsonObject, what: string, isJson: boolean | undefined): void {
  if (isJson === true) return showJson(terminal, created)
  if (terminal.isInteractive) terminal.error(`Created the ${what}. Its id:\n`)
  terminal.out(`${cellText(created['id'] ?? created['devEUI'])}\n`)
  return undefined
}

/** One JSON value on a line of its own. */
export function showJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${JSON.stringify(value)}\n`)
}

/** A column of the member of that name. */
export function column(title: string, member: string): Column<JsonObject> {
  return { title, cell: (row) => row[member] }
}

/** `user create`, without the program's name. */
function commandPath(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${commandPath(parent)} ${command.name()}` : command.name()
}
