/** The command `fieldgate device history`. */
import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import { needsService } from './needs-service.ts'
import { given } from '../../given.ts'
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { secondsOf } from '../terminal/duration.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface HistoryOptions {
  readonly values?: string
  readonly bucket?: string
  readonly last?: string
  readonly from?: string
  readonly to?: string
  readonly json?: true
  readonly csv?: true
}

/** Adds the command to `fieldgate device`. It shows the stored events in buckets of time. */
export function addDeviceHistoryCommand(device: Command, terminal: Terminal): void {
  device
    .command('history')
    .description('show the signal, the lost uplinks, the battery and the values of a device over time')
    .argument('<devEui>')
    .option('--values <paths>', 'only these decoded numbers, with commas: temperatureSensor.1,battery')
    .option('--bucket <duration>', 'the length of a row: 15m, 1h, 1d; some 200 rows when not given')
    .option('--last <duration>', 'the span up to now: 24h, 7d; all stored events when neither it nor --from is given')
    .option('--from <time>', 'events from this time on, as in RFC 3339')
    .option('--to <time>', 'events before this time, as in RFC 3339')
    .option('--json', 'print the JSON of the API, for programs')
    .option('--csv', 'print all columns as CSV')
    .action(async (devEui: string, options: HistoryOptions, command: Command) => {
      const path = `/api/devices/${encodeURIComponent(devEui)}`
      const query = queryOf(options, Date.now())
      const found = await withClient(terminal, command, async (client) => {
        // A missing device is reported as missing, not as a missing history.
        await client.request('GET', path)
        const buckets = `${path}/events/buckets?${query.toString()}`
        return client.request('GET', buckets).catch(needsService('the stored events of a device'))
      })
      if (options.json === true) return showJson(terminal, found)
      const rows = objectsAt(found, 'result')
      const paths = textsAt(found, 'values')
      terminal.out(options.csv === true ? csvOf(rows, paths) : formatTable(columnsOf(paths), rows))
      const truncated = textsAt(found, 'truncated')
      if (truncated.length > 0) terminal.error(truncation(truncated, textAt(found, 'completeFrom') ?? ''))
      return undefined
    })
}

function queryOf({ values, bucket, last, from, to }: HistoryOptions, nowMs: number): URLSearchParams {
  if (last !== undefined && (from !== undefined || to !== undefined)) {
    throw new CommandFailure('Give either --last, or --from and --to.')
  }
  const seconds = Number(secondsOf(last ?? '0'))
  if (!Number.isInteger(seconds)) throw new CommandFailure('--last must be a duration, like 24h or 7d.')
  const start = last === undefined ? from : new Date(nowMs - seconds * 1000).toISOString()
  return new URLSearchParams(given({ values, bucket, from: start, to }))
}

function truncation(reasons: readonly string[], completeFrom: string): string {
  const older = reasons.some((reason) => reason !== 'values')
  const sentences = [
    older ? `The answer reached a bound: it has the events from ${completeFrom} on. Ask for a shorter span.` : '',
    reasons.includes('values') ? 'There are further values. Choose them by --values.' : '',
  ]
  return `${sentences.filter((sentence) => sentence !== '').join(' ')}\n`
}

/** For people: the medians, with the least and the greatest number of the values. */
function columnsOf(paths: readonly string[]): readonly Column<JsonObject>[] {
  return [
    { title: 'TIME', cell: (row) => row['time'] },
    { title: 'UPLINKS', cell: (row) => row['uplinks'] },
    { title: 'LOST', cell: (row) => row['lost'] },
    medianColumn('RSSI', 'rssi'),
    medianColumn('SNR', 'snr'),
    { title: 'SF', cell: (row) => countsOf(objectAt(row, 'spreadingFactors')) },
    medianColumn('BATTERY', 'battery'),
    ...paths.map((path) => ({ title: path, cell: (row: JsonObject) => spreadText(objectAt(row, 'values', path)) })),
  ]
}

function medianColumn(title: string, member: string): Column<JsonObject> {
  return { title, cell: (row) => numberAt(objectAt(row, member), 'median') }
}

function countsOf(counts: JsonObject | undefined): string {
  return Object.entries(counts ?? {})
    .map(([name, count]) => `${name}:${cellText(count)}`)
    .join(' ')
}

function spreadText(spread: JsonObject | undefined): string {
  if (spread === undefined) return ''
  const [min, median, max] = ['min', 'median', 'max'].map((member) => cellText(spread[member]))
  return min === max ? (median ?? '') : `${min} / ${median} / ${max}`
}

const SPREAD = ['min', 'median', 'max', 'count']
const SPREADS = ['rssi', 'snr', 'battery', 'margin']
const FACTORS = ['5', '6', '7', '8', '9', '10', '11', '12']

/** One line a bucket, by RFC 4180. A cell is empty where no event has the value. */
function csvOf(rows: readonly JsonObject[], paths: readonly string[]): string {
  const columns: readonly Column<JsonObject>[] = [
    ...['time', 'uplinks', 'lost', 'joins'].map((member) => ({
      title: member,
      cell: (row: JsonObject) => row[member],
    })),
    ...FACTORS.map((factor) => ({
      title: `sf${factor}`,
      cell: (row: JsonObject) => objectAt(row, 'spreadingFactors')?.[factor] ?? 0,
    })),
    ...SPREADS.flatMap((name) => spreadColumns(name, (row) => objectAt(row, name))),
    ...paths.flatMap((path) => spreadColumns(path, (row) => objectAt(row, 'values', path))),
  ]
  const lines = [
    columns.map(({ title }) => csvField(title)),
    ...rows.map((row) => columns.map(({ cell }) => csvField(cell(row)))),
  ]
  return lines.map((line) => `${line.join(',')}\n`).join('')
}

function spreadColumns(
  name: string,
  spreadOf: (row: JsonObject) => JsonObject | undefined,
): readonly Column<JsonObject>[] {
  return SPREAD.map((member) => ({ title: `${name} ${member}`, cell: (row) => spreadOf(row)?.[member] }))
}

function csvField(value: unknown): string {
  const text = cellText(value)
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
