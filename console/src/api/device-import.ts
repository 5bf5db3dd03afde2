/** Many devices out of a file. */
import { upload } from './upload.ts'

/** A row that was refused. */
export interface RefusedRow {
  readonly line: number
  readonly devEUI: string
  readonly message: string
  /** Stable code of docs/errors.md. */
  readonly reason: string
}

export interface ImportReport {
  readonly dryRun: boolean
  readonly totalCount: string
  readonly createdCount: string
  readonly refusedCount: string
  /** Why it stopped before the end; "" when it did not. */
  readonly stopped: string
  /** The first thousand. */
  readonly errors: readonly RefusedRow[]
}

interface ImportRequest {
  /** Of rows that name none. */
  readonly applicationId: string
  readonly file: File
  /** Only looks, and writes nothing. */
  readonly isTrial: boolean
  readonly signal: AbortSignal
  /** Hears which part of the file, from 0 to 1, was taken: the service reads no faster than it works rows off. */
  readonly onProgress: (part: number) => void
}

/** Hands the file over, row by row. */
export function importDevices({ applicationId, file, isTrial, ...rest }: ImportRequest): Promise<ImportReport> {
  const contentType = /\.(?:ndjson|jsonl)$/i.test(file.name) ? 'application/x-ndjson' : 'text/csv'
  const query = { applicationID: applicationId, dryRun: String(isTrial) }
  return upload<ImportReport>('/api/devices/import', { query, contentType, file, ...rest })
}
