/** Requests of the engine's port on their way into the log. */
import assert from 'node:assert'
import type { AppendRequest, EngineFailure, StateChange, StateRequest } from '../../broker/ports/engine.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { changesRecordBound, messageRecordBound } from '../segments/record.ts'

/** Bytes that a waiting request takes beside its content, approximately. */
const REQUEST_BYTES = 256
/**
 * UTF-16 units of the longest key of the state. The port bounds the key's UTF-8 bytes, which are at
 * least as many.
 */
const MAXIMUM_KEY_UNITS = 131_072

/** A request that waits for its commit, and the place that it got in the log. */
export type Waiting = Waited &
  (
    | { readonly append: AppendRequest; readonly write: undefined }
    | { readonly append: undefined; readonly write: StateRequest }
  )

interface Waited {
  readonly partition: number
  readonly bytes: number
  offset: number
  position: number
  /** Bytes of the record. */
  length: number
  failure: EngineFailure | undefined
}

/** A request to append a message to a partition. */
export function waitingAppend(partition: number, append: AppendRequest): Waiting {
  const { topicName, payloadBytes } = append.message
  const changes = append.changes === undefined ? 0 : changesBytes(append.changes)
  const bytes = REQUEST_BYTES + topicName.length + payloadBytes + changes
  return { append, write: undefined, partition, bytes, offset: -1, position: -1, length: 0, failure: undefined }
}

/** A request to write state. */
export function waitingWrite(write: StateRequest): Waiting {
  const bytes = REQUEST_BYTES + changesBytes(write.changes)
  return { append: undefined, write, partition: -1, bytes, offset: -1, position: -1, length: 0, failure: undefined }
}

/**
 * The most bytes that the request's record takes. Undefined: the request can't be stored, and its
 * failure was reported.
 */
export function recordBound(waiting: Waiting): number | undefined {
  const { append, write } = waiting
  if (append === undefined) return changesRecordBound(write.changes)
  try {
    return messageRecordBound(append.message, append.changes)
  } catch (error) {
    waiting.failure = unstorable(error)
    return undefined
  }
}

/**
 * The failure of a message that can't be stored: its properties fit no packet, so only the service
 * itself can have made it. Rethrows any other error.
 */
export function unstorable(error: unknown): EngineFailure {
  if (!(error instanceof RangeError)) throw error
  const reason = `The message can’t be stored: ${error.message}.`
  return { reasonCode: ReasonCodes.implementationSpecificError, reason }
}

/** Bytes that the changes take while they wait, approximately. */
function changesBytes(changes: readonly StateChange[]): number {
  let bytes = 0
  for (const { key, value } of changes) {
    assert(key.length <= MAXIMUM_KEY_UNITS, 'a key has at most 131,072 bytes')
    bytes += REQUEST_BYTES + key.length + (value?.length ?? 0)
  }
  return bytes
}

/** Reports to the caller that nothing of its request is owned. */
export function tellFailed({ append, write }: Waiting, failure: EngineFailure): void {
  if (append === undefined) write.failed(failure)
  else append.failed(failure)
}
