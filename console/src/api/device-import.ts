/** Many devices out of a file. */
import { ApiFailure } from './request.ts'
import { piecesOf } from './table-pieces.ts'
import { upload } from './upload.ts'

/** A row that was refused. */
export interface RefusedRow {
  readonly line: number
  /** As it is written, where it is no DevEUI. */
  readonly devEUI: string
  readonly message: string
  /** Stable code of docs/errors.md. */
  readonly reason: string
  /** Of dev_eui_repeated: the line with the same DevEUI; otherwise 0. */
  readonly sameAsLine: number
}

export interface ImportReport {
  readonly dryRun: boolean
  readonly totalCount: string
  readonly createdCount: string
  readonly refusedCount: string
  /** Why it stopped before the end; "" when it did not. */
  readonly stopped: string
  /** Columns that no device has. */
  readonly unknownColumns: readonly string[]
  /** The first thousand. */
  readonly errors: readonly RefusedRow[]
}

interface ImportRequest {
  /** Of rows that name none. */
  readonly applicationId: string
  readonly file: File
  /** Only looks, and writes nothing. */
  readonly isTrial: boolean
  /**
   * What a look has found in the same file: rows that repeat others, which nobody sees in pieces.
   */
  readonly looked?: ImportReport | undefined
  readonly signal: AbortSignal
  /**
   * Hears which part of the file, from 0 to 1, is written; of one that is looked at, which part is
   * on its way.
   */
  readonly onProgress: (part: number) => void
}

/**
 * Of a table that is written, in bytes: some thousand rows, which take the service less than a
 * second.
 */
const PIECE_BYTES = 64 * 1024

/** The service names no more rows in a report. */
const LISTED_ROWS = 1000

/** Hands the file over: in one to look at it, piece by piece to write it. */
export async function importDevices(asked: ImportRequest): Promise<ImportReport> {
  if (asked.isTrial) return send(asked, asked.file)
  return write({ ...asked, file: await inUtf8(asked.file) })
}

/** A table in UTF-16, as spreadsheet programs save "Unicode text", can't be cut between bytes. */
export async function inUtf8(file: File): Promise<File> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (first !== 0xff || second !== 0xfe) return file
  return new File([new TextDecoder('utf-16le').decode(await file.arrayBuffer())], file.name)
}

/**
 * What is on its way can't be called back, and it may be megabytes; so no more than a piece is.
 * Cancelling ends it there, and the progress is that of rows that are written.
 */
async function write(asked: ImportRequest): Promise<ImportReport> {
  const { file, onProgress, looked } = asked
  const repeated = new Map(
    looked?.errors.filter(({ reason }) => reason === 'dev_eui_repeated').map((row) => [row.line, row]),
  )
  let whole: ImportReport | undefined
  for await (const { content, linesBefore, endsAt } of piecesOf(file, !isJsonLines(file), PIECE_BYTES)) {
    const report = await send({ ...asked, onProgress: ignore }, content).catch((error: unknown) => {
      // What is written is told all the same.
      if (whole === undefined || !(error instanceof ApiFailure)) throw error
      return { ...NOTHING, stopped: error.message }
    })
    whole = joined(whole ?? NOTHING, moved(report, linesBefore, repeated))
    if (whole.stopped !== '') break
    onProgress(endsAt / file.size)
  }
  return whole ?? NOTHING
}

const NOTHING: ImportReport = {
  dryRun: false,
  totalCount: '0',
  createdCount: '0',
  refusedCount: '0',
  stopped: '',
  unknownColumns: [],
  errors: [],
}

function ignore(): void {}

/** The report with the lines of the whole table. */
function moved(report: ImportReport, linesBefore: number, repeated: ReadonlyMap<number, RefusedRow>): ImportReport {
  return {
    ...report,
    stopped: report.stopped.replace(/\bline (\d+)/, (_, line: string) => `line ${Number(line) + linesBefore}`),
    errors: report.errors.map((row) => {
      const line = row.line + linesBefore
      if (row.reason === 'device_exists') return repeated.get(line) ?? { ...row, line }
      return { ...row, line, sameAsLine: row.sameAsLine === 0 ? 0 : row.sameAsLine + linesBefore }
    }),
  }
}

function joined(one: ImportReport, next: ImportReport): ImportReport {
  const sum = (member: 'totalCount' | 'createdCount' | 'refusedCount'): string =>
    String(Number(one[member]) + Number(next[member]))
  return {
    ...next,
    totalCount: sum('totalCount'),
    createdCount: sum('createdCount'),
    refusedCount: sum('refusedCount'),
    unknownColumns: [...new Set([...one.unknownColumns, ...next.unknownColumns])],
    errors: [...one.errors, ...next.errors].slice(0, LISTED_ROWS),
  }
}

function send(
  { applicationId, file, isTrial, signal, onProgress }: ImportRequest,
  content: Blob,
): Promise<ImportReport> {
  const contentType = isJsonLines(file) ? 'application/x-ndjson' : 'text/csv'
  const query = { applicationID: applicationId, dryRun: String(isTrial) }
  return upload<ImportReport>('/api/devices/import', { query, contentType, content, signal, onProgress })
}

/** Whether a file holds JSON lines, by its name; otherwise it is CSV. */
export function isJsonLines({ name }: File): boolean {
  return /\.(?:ndjson|jsonl)$/i.test(name)
}
