/**
 * The common parts of the administration commands: a client while the command runs, and results as
 * a table or as JSON.
 */
import type { Command } from 'commander'
import type { ApiClient, JsonList } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { readSettings } from '../serve/read-settings.ts'
import { cellText, formatFields, formatTable } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The options of each command that lists. */
export interface ListOptions {
  readonly limit: string
  readonly offset: string
  readonly search?: string
  readonly json?: true
}

/**
 * Calls `use` with a client, and closes the client afterwards. The client has the session of
 * `userName`, or of the first global admin.
 */
export async function withClient<Result>(
  terminal: Terminal,
  command: Command,
  use: (client: ApiClient) => Promise<Result>,
  userName?: string,
): Promise<Result> {
  const { settings, warnings } = readSettings(terminal)
  for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
  // Loaded only now: `--help`, and commands that need no deployment, should not wait for it.
  const { openApiClient } = await import('../api/open-api-client.ts')
  const client = await openApiClient(settings, { purpose: commandPath(command), userName })
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

/** Adds the options of `ListOptions`. */
export function withListOptions(command: Command): Command {
  return command
    .option('--search <text>', 'show only entries that contain this text; upper and lower case are the same')
    .option('--limit <number>', 'show at most this number of entries', '100')
    .option('--offset <number>', 'skip this number of entries', '0')
    .option('--json', 'print the JSON of the API, for programs')
}

/** The query of a list, by its options. */
export function listQuery(options: ListOptions): Readonly<Record<string, string | undefined>> {
  return { limit: options.limit, offset: options.offset, search: options.search }
}

/** Shows a list as a table or as JSON. A table that is a part of the list says so. */
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

/**
 * Shows the fields of one object. The fields of an inner object (`{user: {...}, createdAt}`) come
 * first.
 */
export function showFields(terminal: Terminal, thing: JsonObject, isJson: boolean | undefined): void {
  if (isJson === true) return showJson(terminal, thing)
  const [key, inner] = Object.entries(thing)[0] ?? []
  const isNested = key !== undefined && typeof inner === 'object' && inner !== null
  const { [key ?? '']: _, ...outer } = thing
  terminal.out(formatFields(isNested ? { ...inner, ...outer } : thing))
  return undefined
}

/**
 * Shows the id of a new object, or its JSON. The id is alone on standard output, so that a shell
 * can take it. On a terminal, a sentence on standard error goes with it.
 */
export function showCreated(terminal: Terminal, created: JsonObject, what: string, isJson: boolean | undefined): void {
  if (isJson === true) return showJson(terminal, created)
  if (terminal.isInteractive) terminal.error(`Created the ${what}. Its id:\n`)
  terminal.out(`${cellText(created['id'] ?? created['devEUI'])}\n`)
  return undefined
}

/** Shows a JSON value on a line of its own. */
export function showJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${JSON.stringify(value)}\n`)
}

/** A column that shows the member of this name. */
export function column(title: string, member: string): Column<JsonObject> {
  return { title, cell: (row) => row[member] }
}

/** The words of the command without the program's name: `user create`. */
function commandPath(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${commandPath(parent)} ${command.name()}` : command.name()
}
