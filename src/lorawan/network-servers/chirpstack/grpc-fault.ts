/** What a failed gRPC call says. */
import grpc from '@grpc/grpc-js'

export interface GrpcFault {
  /** A `grpc.status`; UNKNOWN for what is no answer of gRPC. */
  readonly code: number
  /**
   * On one line, and short. May be empty of words: ChirpStack gives none where its database is
   * away, or a right is missing.
   */
  readonly reason: string
}

/** The fault that a call has rejected with. */
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
