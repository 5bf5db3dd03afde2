/** `POST /api/devices/import`: many devices at once, row by row, with a report of what was refused. */
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { NewDevice } from '../identity/devices.ts'
import { parseDevEui } from '../identity/eui.ts'
import type { Viewer } from '../identity/result.ts'
import { viewerOf } from './authenticate.ts'
import { deviceChanges, type GivenDevice, WritableDevice } from './device-fields.ts'
import { invalidArgument, RequestRefused } from './errors.ts'
import { digits, givenId, idText, optionalApplicationId, responses } from './fields.ts'
import type { HttpApp } from './http-app.ts'
import { csvRows, type ImportRow, jsonLineRows, MAXIMUM_IMPORT_BYTES, uploadTooLarge } from './import-rows.ts'
import { SESSION_SECURITY } from './openapi.ts'
import { applicationFor, type OwnershipRegistry, roleIn } from './ownership.ts'
import { NAME } from './schema-keywords.ts'
import { compileValidator, faultSentence, RULE } from './validate.ts'

/** Of one import. Beyond it the import stops. */
const MAXIMUM_ROWS = 500_000

/** Rows that are created together. */
const BATCH_ROWS = 500

/** Refused rows that the report names; the rest is only counted, for a wrong file would answer megabytes. */
const MAXIMUM_REPORTED_ROWS = 1000

/** Imports at the same time in this process; the next one hears 429. Keeps uploads from starving other writes. */
const MAXIMUM_IMPORTS = 4

const IMPORT_TIMEOUT_MS = 600_000

/** Applications whose permission is remembered during an import. */
const MAXIMUM_REMEMBERED_APPLICATIONS = 10_000

const Report = Type.Object(
  {
    dryRun: Type.Boolean(),
    isComplete: Type.Boolean({ description: 'False when the import stopped before the end of the upload.' }),
    stopped: Type.String({ description: 'Why it stopped; "" when it did not.' }),
    totalCount: digits('Rows that were read.'),
    createdCount: digits('Devices that were created, or with dryRun would be.'),
    refusedCount: digits('Rows that were refused.'),
    errors: Type.Array(
      Type.Object(
        { line: Type.Integer(), devEUI: Type.String(), message: Type.String(), reason: Type.String() },
        { description: 'A refused row', [NAME]: 'RefusedRow' },
      ),
      { description: `The first ${MAXIMUM_REPORTED_ROWS} refused rows.` },
    ),
  },
  { description: 'Report of an import', [NAME]: 'ImportReport' },
)

interface Refusal {
  readonly line: number
  readonly devEUI: string
  readonly message: string
  readonly reason: string
}

/** What the rows of an upload came to so far. */
interface Progress {
  rows: number
  created: number
  refused: number
  stopped: string
  readonly errors: Refusal[]
}

/** Registers the import, in a scope whose only content types are the two of an upload. */
export async function addImportRoute(
  app: HttpApp,
  registry: OwnershipRegistry,
  parseJson: (text: string) => unknown,
): Promise<void> {
  let running = 0
  await app.register(async (scope: HttpApp) => {
    scope.removeAllContentTypeParsers()
    for (const type of ['text/csv', 'application/x-ndjson']) {
      scope.addContentTypeParser(type, (_request, payload, done) => done(null, payload))
    }
    scope.route({
      method: 'POST',
      url: '/api/devices/import',
      config: { credential: 'session' },
      handlerTimeout: IMPORT_TIMEOUT_MS,
      validatorCompiler: skipBody,
      schema: {
        tags: ['Devices'],
        operationId: 'importDevices',
        summary: 'Import devices',
        description:
          'CSV (text/csv) with a header line, or JSON lines (application/x-ndjson). Columns: devEUI, name, description, ' +
          'applicationID, deviceProfileID, deviceProfileName, isDisabled, and tag:x and variable:x. Every row is created or ' +
          `refused by itself. At most ${MAXIMUM_ROWS} rows and ${MAXIMUM_IMPORT_BYTES} bytes. With dryRun=true nothing is written.`,
        security: SESSION_SECURITY,
        consumes: ['text/csv', 'application/x-ndjson'],
        querystring: Type.Object({
          applicationID: optionalApplicationId('Application of rows that name none.'),
          dryRun: Type.Optional(Type.Boolean({ description: 'Only report.', [RULE]: 'must be true or false' })),
        }),
        body: Type.Unsafe<Readable | null | undefined>({ type: 'string', description: 'CSV or JSON lines.' }),
        response: responses(Report),
      },
      handler: async (request, reply) => {
        if (Number(request.headers['content-length'] ?? 0) > MAXIMUM_IMPORT_BYTES) throw uploadTooLarge()
        const { body } = request
        if (body === undefined || body === null) throw withoutBody()
        if (running >= MAXIMUM_IMPORTS) {
          const headers = { 'retry-after': '10' }
          throw new RequestRefused('resource_exhausted', 'too many imports at once', 'import_busy', { headers })
        }
        running += 1
        try {
          return await importUpload(request, body, goneSignal(reply), registry, parseJson)
        } finally {
          running -= 1
          // What an import that stopped early did not read: a client that is still sending would not see the answer.
          body.resume()
        }
      },
    })
  })
}

/** The upload is a stream, checked row by row; everything else is checked as everywhere. */
const skipBody: FastifySchemaCompiler<TSchema> = (route) =>
  route.httpPart === 'body' ? (value: unknown) => ({ value }) : compileValidator(route)

type ImportRequest = FastifyRequest & {
  readonly query: { readonly applicationID?: string; readonly dryRun?: boolean }
}

async function importUpload(
  request: Pick<ImportRequest, 'query' | 'headers'> & FastifyRequest,
  body: Readable,
  gone: AbortSignal,
  registry: OwnershipRegistry,
  parseJson: (text: string) => unknown,
) {
  const viewer = viewerOf(request)
  const dryRun = request.query.dryRun ?? false
  const applicationId = givenId(request.query.applicationID)
  if (applicationId !== undefined) await applicationFor(registry, viewer, applicationId, 'device.write')
  const isCsv = /^\s*text\/csv\b/i.test(request.headers['content-type'] ?? '')
  // Destroying the request would cut the connection before the answer is out.
  const upload = body.iterator({ destroyOnReturn: false })
  const rows = isCsv ? csvRows(upload) : jsonLineRows(upload, parseJson)
  const check = createRowCheck(registry, viewer, applicationId)
  const write = dryRun ? createPreview(registry, viewer) : createWriter(registry, viewer)
  const progress = await importRows(rows, check, write, gone)
  return {
    dryRun,
    isComplete: progress.stopped === '',
    stopped: progress.stopped,
    totalCount: String(progress.rows),
    createdCount: String(progress.created),
    refusedCount: String(progress.refused),
    errors: progress.errors,
  }
}

/**
 * Aborted when the connection closes before the answer is out. Not the request's own signal: that is aborted as soon as the body has been
 * read, while most of its rows are still to be written.
 */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  return gone.signal
}

type RowCheck = (row: ImportRow) => Promise<NewDevice | Refusal>

interface Outcome {
  readonly ok: boolean
  readonly message: string
  readonly reason: string
}

type Writer = (devices: readonly NewDevice[]) => Promise<readonly Outcome[]>

/**
 * Takes rows in batches. What breaks the upload as a whole stops it: before anything was taken that is an error like any
 * other, afterwards the report says where.
 */
async function importRows(
  rows: AsyncIterable<ImportRow>,
  check: RowCheck,
  write: Writer,
  signal: AbortSignal,
): Promise<Progress> {
  const progress: Progress = { rows: 0, created: 0, refused: 0, stopped: '', errors: [] }
  const batch: { line: number; device: NewDevice }[] = []
  const flush = async (): Promise<void> => {
    const outcomes = await write(batch.map(({ device }) => device))
    for (const [index, outcome] of outcomes.entries()) {
      const entry = batch[index]
      if (outcome.ok || entry === undefined) progress.created += 1
      else note(progress, { line: entry.line, devEUI: entry.device.devEui, ...reasonOf(outcome) })
    }
    batch.length = 0
  }
  try {
    for await (const row of rows) {
      signal.throwIfAborted()
      if (progress.rows === MAXIMUM_ROWS) throw tooManyRows()
      progress.rows += 1
      const checked = await check(row)
      if ('reason' in checked) note(progress, checked)
      else batch.push({ line: row.line, device: checked })
      if (batch.length === BATCH_ROWS) await flush()
    }
  } catch (error) {
    const refused = refusalOf(error, signal)
    if (refused === undefined || progress.created === 0) throw refused ?? error
    progress.stopped = refused.message
  }
  if (batch.length > 0) await flush()
  return progress
}

/** What is wrong with an upload; a client that went away is no fault of ours. */
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

function note(progress: Progress, refusal: Refusal): void {
  progress.refused += 1
  if (progress.errors.length < MAXIMUM_REPORTED_ROWS) progress.errors.push(refusal)
}

function reasonOf({ message, reason }: Outcome): { message: string; reason: string } {
  return { message, reason }
}

const RowSchema = Type.Object(WritableDevice)
const rowCheck = Compile(RowSchema)

/** One row becomes a device to be, in an application for which the person may create devices. */
function createRowCheck(
  registry: OwnershipRegistry,
  viewer: Viewer,
  defaultApplicationId: string | undefined,
): RowCheck {
  const permissions = new Map<string, Outcome>()
  const permission = async (applicationId: string): Promise<Outcome> => {
    const known = permissions.get(applicationId)
    if (known !== undefined) return known
    const asked = await mayCreateIn(registry, viewer, applicationId)
    if (permissions.size >= MAXIMUM_REMEMBERED_APPLICATIONS) permissions.clear()
    permissions.set(applicationId, asked)
    return asked
  }
  return async (row) => {
    const refuse = (devEUI: string, message: string, reason: string): Refusal => ({
      line: row.line,
      devEUI,
      message,
      reason,
    })
    if ('fault' in row) return refuse('', row.fault, 'invalid_row')
    const written = row.members.devEUI ?? row.members.devEui
    const devEui = typeof written === 'string' ? parseDevEui(written) : undefined
    if (devEui === undefined) return refuse('', 'devEUI: must be 16 hexadecimal digits', 'invalid_dev_eui')
    const given: unknown = { ...row.members }
    if (!isGivenDevice(given))
      return refuse(devEui, faultSentence(RowSchema, rowCheck.Errors(given)), 'invalid_argument')
    const applicationId = given.applicationID === undefined ? defaultApplicationId : idText(given.applicationID)
    if (applicationId === undefined) return refuse(devEui, 'applicationID: is missing', 'invalid_argument')
    const allowed = await permission(applicationId)
    if (!allowed.ok) return refuse(devEui, allowed.message, allowed.reason)
    return { ...deviceChanges(given), devEui, name: given.name ?? devEui, applicationId }
  }
}

function isGivenDevice(value: unknown): value is GivenDevice {
  return rowCheck.Check(value)
}

async function mayCreateIn(registry: OwnershipRegistry, viewer: Viewer, applicationId: string): Promise<Outcome> {
  try {
    await applicationFor(registry, viewer, applicationId, 'device.write')
    return ACCEPTED
  } catch (error) {
    if (error instanceof RequestRefused) return { ok: false, message: error.message, reason: error.reason }
    throw error
  }
}

const ACCEPTED: Outcome = { ok: true, message: '', reason: '' }

function createWriter(registry: OwnershipRegistry, viewer: Viewer): Writer {
  return async (devices) => {
    const results = await registry.devices.createMany(devices, viewer)
    return results.map((result) =>
      result.ok ? ACCEPTED : { ok: false, message: result.message, reason: result.reason },
    )
  }
}

/**
 * Says what a writer would say about DevEUIs that are taken, earlier in the upload or by a device that the person may
 * see. Others' devices stay unseen here: a preview leaves no trace, and half a million of them would be a cheap search.
 */
function createPreview(registry: OwnershipRegistry, viewer: Viewer): Writer {
  // Bounded by the rows of an import.
  const seen = new Set<string>()
  const taken: Outcome = { ok: false, message: 'object already exists', reason: 'device_exists' }
  return async (devices) => {
    const outcomes: Outcome[] = []
    for (const { devEui } of devices) {
      const isTaken = seen.has(devEui) || (await isVisible(registry, viewer, devEui))
      seen.add(devEui)
      outcomes.push(isTaken ? taken : ACCEPTED)
    }
    return outcomes
  }
}

async function isVisible(registry: OwnershipRegistry, viewer: Viewer, devEui: string): Promise<boolean> {
  const device = await registry.devices.get(devEui)
  return device !== undefined && (await roleIn(registry, viewer, device.organizationId)) !== 'none'
}
