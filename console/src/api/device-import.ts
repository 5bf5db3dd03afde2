/** Imports many devices from a file. */
import { ApiFailure } from './request.ts'
import { piecesOf } from './table-pieces.ts'
import { upload } from './upload.ts'

/** A row that the service refused. */
export interface RefusedRow {
  readonly line: number
  /** The text of the row, where it is not a DevEUI. */
  readonly devEUI: string
  readonly message: string
  /** A stable code of docs/errors.md. */
  readonly reason: string
  /** For `dev_eui_repeated`, the line with the same DevEUI; otherwise 0. */
  readonly sameAsLine: number
}

export interface ImportReport {
  readonly dryRun: boolean
  readonly totalCount: string
  readonly createdCount: string
  /** Devices that were changed, or will be. */
  readonly updatedCount: string
  /** Devices that are as the table has them. */
  readonly unchangedCount: string
  readonly refusedCount: string
  /** The reason why the import stopped before the end of the table; "" where it did not stop. */
  readonly stopped: string
  /** Columns of the table that devices do not have. */
  readonly unknownColumns: readonly string[]
  /** The first thousand refused rows. */
  readonly errors: readonly RefusedRow[]
}

interface ImportRequest {
  /** The application of rows that do not name one. */
  readonly applicationId: string
  readonly file: File
  /** Rows change devices that exist, instead of being refused. */
  readonly isUpdate: boolean
  /** Checks the table without writing anything. */
  readonly isTrial: boolean
  /**
   * The report of an earlier check of the same file. The check finds rows that repeat other rows,
   * which the import in pieces can't find.
   */
  readonly looked?: ImportReport | undefined
  readonly signal: AbortSignal
  /**
   * Is called with a part of the file, from 0 to 1: of an import the part that is written, of a
   * check the part that is sent.
   */
  readonly onProgress: (part: number) => void
}

/**
 * The size of the pieces in which a table is written. A piece has some thousand rows, and the
 * service needs less than a second for it.
 */
const PIECE_BYTES = 64 * 1024

/** A report of the service names no more rows than this. */
const LISTED_ROWS = 1000

/** Sends the file: in one request to check it, in pieces to write it. */
export async function importDevices(asked: ImportRequest): Promise<ImportReport> {
  if (asked.isTrial) return send(asked, asked.file)
  return write({ ...asked, file: await inUtf8(asked.file) })
}

/**
 * The file in UTF-8. Spreadsheet programs save "Unicode text" in UTF-16, which can't be cut at any
 * byte.
 */
export async function inUtf8(file: File): Promise<File> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (first !== 0xff || second !== 0xfe) return file
  return new File([new TextDecoder('utf-16le').decode(await file.arrayBuffer())], file.name)
}

/**
 * Writes the table piece by piece. A request on its way can't be called back, so a cancelled import
 * still writes the piece on its way, and no more. The progress is the part of the rows that are
 * written.
 */
async function write(asked: ImportRequest): Promise<ImportReport> {
  const { file, onProgress, looked } = asked
  const repeated = new Map(
    looked?.errors.filter(({ reason }) => reason === 'dev_eui_repeated').map((row) => [row.line, row]),
  )
  let whole: ImportReport | undefined
  for await (const { content, linesBefore, endsAt } of piecesOf(file, !isJsonLines(file), PIECE_BYTES)) {
    const report = await send({ ...asked, onProgress: ignore }, content).catch((error: unknown) => {
      // The report of the pieces before is shown, although this piece failed.
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
  updatedCount: '0',
  unchangedCount: '0',
  refusedCount: '0',
  stopped: '',
  unknownColumns: [],
  errors: [],
}

function ignore(): void {}

/** The report of a piece with the line numbers of the whole table. */
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
  const sum = (member: keyof ImportReport & `${string}Count`): string =>
    String(Number(one[member]) + Number(next[member]))
  return {
    ...next,
    totalCount: sum('totalCount'),
    createdCount: sum('createdCount'),
    updatedCount: sum('updatedCount'),
    unchangedCount: sum('unchangedCount'),
    refusedCount: sum('refusedCount'),
    unknownColumns: [...new Set([...one.unknownColumns, ...next.unknownColumns])],
    errors: [...one.errors, ...next.errors].slice(0, LISTED_ROWS),
  }
}

function send(
  { applicationId, isUpdate, file, isTrial, signal, onProgress }: ImportRequest,
  content: Blob,
): Promise<ImportReport> {
  const contentType = isJsonLines(file) ? 'application/x-ndjson' : 'text/csv'
  const query = { applicationID: applicationId, dryRun: String(isTrial), update: String(isUpdate) }
  return upload<ImportReport>('/api/devices/import', { query, contentType, content, signal, onProgress })
}

/** True for JSON lines, by the name of the file. Every other file is CSV. */
export function isJsonLines({ name }: File): boolean {
  return /\.(?:ndjson|jsonl)$/i.test(name)
}
