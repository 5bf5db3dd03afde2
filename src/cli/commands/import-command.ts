/** The command `fieldgate import`: sends the parts of a file, and reports the refused rows. */
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { Option } from 'commander'
import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import { pathWith } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { objectsAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { fileFailure } from '../terminal/file-failure.ts'
import type { ImportFormat, ImportPart } from './import-parts.ts'
import { applicationIdOf } from './references.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface ImportOptions {
  readonly application?: string
  readonly format?: ImportFormat
  readonly dryRun?: true
  readonly update?: true
  readonly json?: true
}

/** The results of the rows of a file. */
interface Outcome {
  rows: number
  created: number
  updated: number
  unchanged: number
  refused: number
  /** The names of columns that no device has. */
  readonly unknownColumns: Set<string>
  /** The refused rows. The service names the first thousand of each part and counts the rest. */
  readonly errors: JsonObject[]
}

/** How many refused rows are kept for the JSON. */
const MAXIMUM_KEPT_ERRORS = 1000
/** How many unknown columns of a file are kept: each row of JSON lines may have new ones. */
const MAXIMUM_UNKNOWN_COLUMNS = 100
/**
 * How many DevEUIs are remembered with their lines, to report a DevEUI that is in the file twice.
 * They take some 100 MB. A repeated DevEUI beyond them is reported as a device that exists.
 */
const MAXIMUM_REMEMBERED_DEV_EUIS = 1_000_000
/** How many refused rows are shown to people. A wrong file would fill the screen with more. */
const MAXIMUM_SHOWN_ERRORS = 50

/** Adds the command to the program. */
export function addImportCommand(program: Command, terminal: Terminal): void {
  program
    .command('import')
    .description('create or change devices from a file: CSV with a header line, or JSON lines')
    .argument('<file>', '"-" for standard input')
    .option('--application <application>', 'the application of rows that do not name one')
    .addOption(
      new Option('--format <format>', 'needed when the name of the file does not end in .csv or .jsonl').choices([
        'csv',
        'jsonl',
      ]),
    )
    .option('--update', 'change devices that exist: the members that a row gives, and no others')
    .option('--dry-run', 'show what would happen; change nothing')
    .option('--json', 'print the counts and the refused rows as JSON')
    .addHelpText(
      'after',
      `
Columns: devEUI, name, description, applicationID, profile, deviceProfileID, deviceProfileName, isDisabled, and any number of
tag:<name> and variable:<name>. In JSON lines, tags and variables are objects. Other columns are reported, and not
imported. The separator of a table may be a comma, a semicolon or a tab. A DevEUI may have - or : between its digits.
Each row is taken or refused by itself. With --update, tags and variables that a row does not name stay. Refused rows are listed with their line, and the exit code is 1.

Examples:
  fieldgate import meters.csv --application water-network --dry-run
  fieldgate import meters.csv --application water-network
  fieldgate device export --application water-network > meters.csv
  fieldgate import meters.csv --application water-network --update
  generate-devices | fieldgate import - --format jsonl`,
    )
    .action(async (file: string, options: ImportOptions, command: Command) => {
      const format = options.format ?? formatOf(file)
      const input = file === '-' ? terminal.input : await openFile(file)
      const outcome = await withClient(terminal, command, (client) =>
        importAll(terminal, client, input, format, options),
      )
      report(terminal, outcome, options)
      if (outcome.refused > 0)
        throw new CommandFailure(`${outcome.refused} of ${counted(outcome.rows, 'row')} refused.`)
    })
}

async function importAll(
  terminal: Terminal,
  client: ApiClient,
  input: Readable,
  format: ImportFormat,
  options: ImportOptions,
): Promise<Outcome> {
  const { importParts } = await import('./import-parts.ts')
  const applicationID =
    options.application === undefined ? undefined : await applicationIdOf(client, options.application)
  const dryRun = options.dryRun === true
  const path = pathWith('/api/devices/import', {
    applicationID,
    dryRun: String(dryRun),
    update: String(options.update === true),
  })
  const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson'
  const outcome: Outcome = {
    rows: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    refused: 0,
    unknownColumns: new Set(),
    errors: [],
  }
  const lineOfDevEui = new Map<string, number>()
  // A dry run is sent in one part: only then the service sees that a DevEUI is in the file twice.
  for await (const part of importParts(input, format, { whole: dryRun })) {
    const answer = await client.upload(path, type, part.content)
    outcome.rows += part.rows
    outcome.created += Number(answer['createdCount'])
    outcome.updated += Number(answer['updatedCount'])
    outcome.unchanged += Number(answer['unchangedCount'])
    outcome.refused += Number(answer['refusedCount'])
    for (const name of textsAt(answer, 'unknownColumns')) {
      if (outcome.unknownColumns.size < MAXIMUM_UNKNOWN_COLUMNS) outcome.unknownColumns.add(name)
    }
    const errors = objectsAt(answer, 'errors')
    for (const error of errors.slice(0, MAXIMUM_KEPT_ERRORS - outcome.errors.length)) {
      outcome.errors.push(inFile(error, part, lineOfDevEui))
    }
    for (const [devEui, line] of part.lineOfDevEui) {
      if (lineOfDevEui.size < MAXIMUM_REMEMBERED_DEV_EUIS && !lineOfDevEui.has(devEui)) lineOfDevEui.set(devEui, line)
    }
    if (terminal.isInteractive)
      terminal.error(
        `\r${counted(outcome.rows, 'row')}, ${counted(outcome.created, 'device')}, ${outcome.refused} refused`,
      )
    if (answer['isComplete'] === false) {
      throw new CommandFailure(
        `The import stopped after ${counted(outcome.rows, 'row')}: ${String(answer['stopped'])}.`,
      )
    }
  }
  if (terminal.isInteractive) terminal.error('\n')
  return outcome
}

/**
 * Rewrites the line numbers of a refused row: the service counts the lines of the part, people
 * count the lines of the file. The service sees one part at a time, and takes the DevEUI of an
 * earlier part for the DevEUI of an existing device.
 */
function inFile(error: JsonObject, part: ImportPart, earlier: ReadonlyMap<string, number>): JsonObject {
  const { reason, sameAsLine, devEUI } = error
  const line = part.fileLine(Number(error['line']))
  const sameAs =
    reason === 'dev_eui_repeated'
      ? part.fileLine(Number(sameAsLine))
      : reason === 'device_exists'
        ? earlier.get(String(devEUI))
        : undefined
  if (sameAs === undefined) return { ...error, line }
  const message = `line ${sameAs} has the same DevEUI`
  return { ...error, line, message, reason: 'dev_eui_repeated', sameAsLine: sameAs }
}

function report(terminal: Terminal, outcome: Outcome, options: ImportOptions): void {
  const unknownColumns = [...outcome.unknownColumns]
  if (options.json === true) return showJson(terminal, { dryRun: options.dryRun === true, ...outcome, unknownColumns })
  if (unknownColumns.length > 0) {
    const names = unknownColumns.map(cellText).join(', ')
    terminal.error(`Not imported, because no device has such a column: ${names}\n`)
  }
  const shown = outcome.errors.slice(0, MAXIMUM_SHOWN_ERRORS)
  for (const { line, devEUI, message } of shown) {
    const device = devEUI === '' ? '' : ` ${cellText(devEUI)}`
    terminal.error(`line ${String(line)}${device}: ${cellText(message)}\n`)
  }
  if (outcome.refused > shown.length) terminal.error(`... and ${outcome.refused - shown.length} more\n`)
  const verb = options.dryRun === true ? 'would be created' : 'created'
  terminal.out(`${counted(outcome.created, 'device')} ${verb}\n`)
  if (options.update === true) {
    const changed = options.dryRun === true ? 'would be changed' : 'changed'
    terminal.out(`${counted(outcome.updated, 'device')} ${changed}, ${outcome.unchanged} as they were\n`)
  }
  return undefined
}

function formatOf(file: string): ImportFormat {
  if (/\.csv$/i.test(file)) return 'csv'
  if (/\.(?:jsonl|ndjson)$/i.test(file)) return 'jsonl'
  throw new CommandFailure(`The name ${file} does not tell the format: give --format csv or --format jsonl.`, 2)
}

async function openFile(file: string): Promise<Readable> {
  try {
    const stream = createReadStream(file)
    await once(stream, 'readable')
    return stream
  } catch (error) {
    throw fileFailure(file, error)
  }
}
