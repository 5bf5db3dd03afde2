/** Many devices out of a file. */
import { upload } from './request.ts'

export interface ImportReport {
  readonly dryRun: boolean
  readonly createdCount: string
  readonly refusedCount: string
  /** Why it stopped before the end; "" when it did not. */
  readonly stopped: string
  /** The first refused rows. */
  readonly errors: readonly { readonly line: number; readonly devEUI: string; readonly message: string }[]
}

/** Reads the file row by row; with `isTrial` nothing is written. */
export function importDevices(applicationId: string, file: File, isTrial: boolean): Promise<ImportReport> {
  const type = /\.(?:ndjson|jsonl)$/i.test(file.name) ? 'application/x-ndjson' : 'text/csv'
  const query = { applicationID: applicationId, dryRun: String(isTrial) }
  return upload<ImportReport>('/api/devices/import', query, type, file)
}
