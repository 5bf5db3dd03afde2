/** The fault of a failed gRPC call, for decisions and logs. */
import grpc from '@grpc/grpc-js'

export interface GrpcFault {
  /** A `grpc.status`; UNKNOWN for an error that did not come from gRPC. */
  readonly code: number
  /**
   * The reason on one line, and short. It may have no words: ChirpStack gives none when its
   * database is away or a right is missing.
   */
  readonly reason: string
}

/** The fault of an error with which a call has rejected. */
export function faultOf(error: unknown): GrpcFault {
  const { UNKNOWN } = grpc.status
  if (!(error instanceof Error)) return { code: UNKNOWN, reason: 'unknown error' }
  const { code, details } = error as Error & { readonly code?: unknown; readonly details?: unknown }
  const text = typeof details === 'string' ? details : error.message
  const known = typeof code === 'number' ? code : UNKNOWN
  const shown = text
    .replaceAll(/[^ -~]+/g, ' ')
    .trim()
    .slice(0, 300)
  return { code: known, reason: shown === '' ? `no words, but ${grpc.status[known] ?? known}` : shown }
}
