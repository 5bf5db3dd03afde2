/**
 * `POST /api/devices/import`: many devices at once, row by row, with a report of what was refused.
 */
import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Viewer } from '../../identity/store/result.ts'
import { rowsOfUpload } from '../api/access.ts'
import { invalidArgument, RequestRefused } from '../api/errors.ts'
import { digits, optionalApplicationId, responses } from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { createPreview, createWriter } from './import-outcomes.ts'
import { creatingRows, updatingRows } from './import-updates.ts'
import type { RowWriter } from './import-updates.ts'
import { createRowCheck, cutCell, refusedRow } from './import-row-check.ts'
import type { CheckedRow, RefusedRow, RowCheck } from './import-row-check.ts'
import { csvRows, jsonLineRows, MAXIMUM_IMPORT_BYTES, uploadTooLarge } from './import-rows.ts'
import type { ImportRow } from './import-rows.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'
import type { Turns } from '../shares/work-turns.ts'
import { RULE, skipBody } from '../api/validate.ts'

/** The most rows of one import. A longer import stops there. */
const MAXIMUM_ROWS = 500_000

/**
 * Rows that are checked, and then created together: either holds up the event loop for some 5 ms.
 * Most of the time of a smaller batch would be the sync to the disk.
 */
const BATCH_ROWS = 50

/**
 * Refused rows that the report names. Further ones are only counted: the report of a wrong file
 * would have megabytes.
 */
const MAXIMUM_REPORTED_ROWS = 1000

/** Unknown columns that the report names; JSON lines may have others in each row. */
const MAXIMUM_UNKNOWN_COLUMNS = 100

/**
 * Imports at the same time in this process, and those of one organization or person; the next one
 * is answered with 429. Each holds a list of its DevEUIs, some 50 MB for the longest import.
 */
const MAXIMUM_IMPORTS = 8
const MAXIMUM_IMPORTS_OF_PAYER = 2

const IMPORT_TIMEOUT_MS = 600_000

const Report = Type.Object(
  {
    dryRun: Type.Boolean(),
    isComplete: Type.Boolean({ description: 'False when the import stopped before the end of the upload.' }),
    stopped: Type.String({ description: 'Why it stopped; "" when it did not.' }),
    totalCount: digits('Rows that were read.'),
    createdCount: digits('Devices that were created, or with dryRun would be.'),
    updatedCount: digits('Devices that were changed, or with dryRun would be; 0 without `update`.'),
    unchangedCount: digits('Devices that are as their row has them; 0 without `update`.'),
    refusedCount: digits('Rows that were refused.'),
    unknownColumns: Type.Array(Type.String(), {
      description: `Columns, or members of JSON lines, that no device has: nothing of them is imported. The first ${MAXIMUM_UNKNOWN_COLUMNS}.`,
    }),
    errors: Type.Array(
      Type.Object(
        {
          line: Type.Integer(),
          devEUI: Type.String({ description: 'As the row has it, where it is no DevEUI.' }),
          message: Type.String(),
          reason: Type.String({ description: 'A stable code.' }),
          sameAsLine: Type.Integer({ description: 'Of dev_eui_repeated: the line with the same DevEUI; otherwise 0.' }),
        },
        { description: 'A refused row', [NAME]: 'RefusedRow' },
      ),
      { description: `The first ${MAXIMUM_REPORTED_ROWS} refused rows, by line.` },
    ),
  },
  { description: 'Report of an import', [NAME]: 'ImportReport' },
)

/** The result of an upload's rows so far. */
interface Progress {
  rows: number
  created: number
  updated: number
  unchanged: number
  refused: number
  stopped: string
  readonly errors: RefusedRow[]
}

/**
 * Keeps the bodies of a scope as streams. The scope takes only the two content types of an upload.
 */
export function streamUploads(scope: HttpApp): void {
  scope.removeAllContentTypeParsers()
  for (const type of ['text/csv', 'application/x-ndjson']) {
    scope.addContentTypeParser(type, (_request, payload, done) => done(null, payload))
  }
}

/** The import, for a scope that `streamUploads` has prepared. */
export function importRoutes(
  registry: OwnershipRegistry,
  turns: Turns,
  parseJson: (text: string) => unknown,
): readonly Route[] {
  /** The payers of the running imports. */
  const running: string[] = []
  const takeSeat = (payer: string): void => {
    const own = running.filter((other) => other === payer).length
    if (running.length >= MAXIMUM_IMPORTS || own >= MAXIMUM_IMPORTS_OF_PAYER) {
      const headers = { 'retry-after': '10' }
      throw new RequestRefused('resource_exhausted', 'too many imports at once', 'import_busy', { headers })
    }
    running.push(payer)
  }
  const importDevices = route({
    method: 'POST',
    url: '/api/devices/import',
    may: rowsOfUpload('device.write', 'query.applicationID'),
    handlerTimeout: IMPORT_TIMEOUT_MS,
    validatorCompiler: skipBody,
    schema: {
      operationId: 'importDevices',
      summary: 'Import devices',
      description:
        'CSV (text/csv) with a header line, separated by commas, semicolons or tabs, or JSON lines (application/x-ndjson). ' +
        'Columns: devEUI, name, description, applicationID, profile, deviceProfileID, deviceProfileName, isDisabled, and tag:x and ' +
        'variable:x; the report names others. `profile` is the name of a device profile of the organization. A DevEUI may have blanks, "-", ":" or "." between its digits. ' +
        `Every row is created or refused by itself. At most ${MAXIMUM_ROWS} rows and ${MAXIMUM_IMPORT_BYTES} bytes. With dryRun=true nothing is written.`,
      consumes: ['text/csv', 'application/x-ndjson'],
      querystring: Type.Object({
        applicationID: optionalApplicationId('Application of rows that name none.'),
        dryRun: Type.Optional(Type.Boolean({ description: 'Only report.', [RULE]: 'must be true or false' })),
        update: Type.Optional(
          Type.Boolean({
            description:
              'A row whose DevEUI a device of the same organization has changes this device: the members that the row gives, and no others. When not given, the row is refused.',
            [RULE]: 'must be true or false',
          }),
        ),
      }),
      body: Type.Unsafe<Readable | null | undefined>({ type: 'string', description: 'CSV or JSON lines.' }),
      response: responses(Report),
    },
    before: ({ headers, body }) => {
      if (Number(headers['content-length'] ?? 0) > MAXIMUM_IMPORT_BYTES) throw uploadTooLarge()
      if (body === undefined || body === null) throw withoutBody()
    },
    handle: async ({ viewer, applicationId }, { body, query, headers, turnsOf }, reply) => {
      if (body === undefined || body === null) throw withoutBody()
      takeSeat(turnsOf)
      try {
        const isCsv = /^\s*text\/csv\b/i.test(headers['content-type'] ?? '')
        const inTurn: InTurn = (slice) => turns.run(turnsOf, slice)
        const { dryRun = false, update = false } = query
        const upload = { body, isCsv, dryRun, update, applicationId, gone: goneSignal(reply), inTurn }
        return await importUpload(registry, viewer, upload, parseJson)
      } finally {
        running.splice(running.indexOf(turnsOf), 1)
        // Reads the rest of the upload of an import that stopped early: a client that is still
        // sending would not see the answer.
        body.resume()
      }
    },
  })
  return resource('Devices', [importDevices])
}

/** Runs a slice of work in a turn of the payer of the import. */
type InTurn = <T>(slice: () => Promise<T>) => Promise<T>

interface Upload {
  readonly body: Readable
  readonly isCsv: boolean
  readonly dryRun: boolean
  /** Rows change devices that exist. */
  readonly update: boolean
  /** The application of the rows that name none. */
  readonly applicationId: string | undefined
  /** Aborted when the client is gone. */
  readonly gone: AbortSignal
  readonly inTurn: InTurn
}

async function importUpload(
  registry: OwnershipRegistry,
  viewer: Viewer,
  { body, isCsv, dryRun, update, applicationId, gone, inTurn }: Upload,
  parseJson: (text: string) => unknown,
) {
  // Destroying the request would cut the connection before the answer is out.
  const upload = body.iterator({ destroyOnReturn: false })
  const unknownColumns = new Set<string>()
  const onUnknownColumn = (name: string): void => {
    if (unknownColumns.size < MAXIMUM_UNKNOWN_COLUMNS) unknownColumns.add(cutCell(name))
  }
  const rows = isCsv ? csvRows(upload, onUnknownColumn) : jsonLineRows(upload, parseJson)
  const check = createRowCheck(registry, viewer, applicationId, onUnknownColumn)
  const create = dryRun ? createPreview(registry, viewer) : createWriter(registry, viewer)
  const write = update ? updatingRows(registry, viewer, create, dryRun) : creatingRows(create)
  const progress: Progress = { rows: 0, created: 0, updated: 0, unchanged: 0, refused: 0, stopped: '', errors: [] }
  const take = async (batch: readonly ImportRow[]): Promise<void> => {
    const checked = await inTurn(() => checkBatch(batch, check))
    await takeBatch(checked, write, inTurn, progress)
  }
  await importRows(rows, take, progress, gone)
  return {
    dryRun,
    isComplete: progress.stopped === '',
    stopped: progress.stopped,
    totalCount: String(progress.rows),
    createdCount: String(progress.created),
    updatedCount: String(progress.updated),
    unchangedCount: String(progress.unchanged),
    refusedCount: String(progress.refused),
    unknownColumns: [...unknownColumns],
    errors: progress.errors,
  }
}

/**
 * Aborted when the connection closes before the answer is out. Not the request's own signal: that
 * is aborted as soon as the body has been read, while most of its rows are still to be written.
 */
function goneSignal(reply: Pick<FastifyReply, 'raw'>): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  return gone.signal
}

/**
 * Takes rows in batches. A fault of the upload as a whole stops the import. If no device was
 * created yet, the fault is the answer; otherwise the report says where the import stopped.
 */
async function importRows(
  rows: AsyncIterable<ImportRow>,
  take: (batch: readonly ImportRow[]) => Promise<void>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  let batch: ImportRow[] = []
  const flush = async (): Promise<void> => {
    const full = batch
    batch = []
    await take(full)
  }
  try {
    for await (const row of rows) {
      signal.throwIfAborted()
      if (progress.rows === MAXIMUM_ROWS) throw tooManyRows()
      progress.rows += 1
      batch.push(row)
      if (batch.length === BATCH_ROWS) await flush()
    }
  } catch (error) {
    const refused = refusalOf(error, signal)
    if (refused === undefined || progress.created + progress.updated === 0) throw refused ?? error
    progress.stopped = refused.message
  }
  // Nobody reads the report of an upload whose connection is gone, and the service may be about to
  // close.
  if (batch.length > 0 && !signal.aborted) await flush()
}

async function checkBatch(batch: readonly ImportRow[], check: RowCheck): Promise<readonly CheckedRow[]> {
  const checked: CheckedRow[] = []
  for (const row of batch) checked.push(await check(row))
  return checked
}

/**
 * Writes the good rows of a batch together, then notes the refused rows in the order of the lines.
 */
async function takeBatch(
  batch: readonly CheckedRow[],
  write: RowWriter,
  inTurn: InTurn,
  progress: Progress,
): Promise<void> {
  const rows = batch.flatMap((row) => ('device' in row ? [row] : []))
  const room = MAXIMUM_REPORTED_ROWS - progress.errors.length
  const outcomes = (await inTurn(() => write(rows, room))).values()
  for (const row of batch) {
    if (!('device' in row)) {
      note(progress, row)
      continue
    }
    const { value: outcome } = outcomes.next()
    if (outcome === undefined || outcome.ok) progress[outcome?.did ?? 'created'] += 1
    else note(progress, refusedRow(row.line, row.device.devEui, outcome.message, outcome.reason))
  }
}

/** The refusal of a broken upload. A client that went away is no fault of the service. */
function refusalOf(error: unknown, signal: AbortSignal): RequestRefused | undefined {
  if (error instanceof RequestRefused) return error
  const isGone = signal.aborted || (error instanceof Error && 'code' in error && error.code === 'ECONNRESET')
  return isGone ? invalidArgument('the upload broke off', 'unreadable_request') : undefined
}

function withoutBody(): RequestRefused {
  return invalidArgument('the upload is missing: send CSV (text/csv) or JSON lines (application/x-ndjson)')
}

function tooManyRows(): RequestRefused {
  return new RequestRefused('resource_exhausted', `an import has at most ${MAXIMUM_ROWS} rows`, 'too_many_rows', {
    statusCode: 413,
  })
}

function note(progress: Progress, refusal: RefusedRow): void {
  progress.refused += 1
  if (progress.errors.length < MAXIMUM_REPORTED_ROWS) progress.errors.push(refusal)
}
