/** Requests of the engine's port on their way into the log. */
import assert from 'node:assert'
import type { AppendRequest, EngineFailure, StateChange, StateRequest } from '../../broker/ports/engine.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { changesRecordBound, messageRecordBound } from '../segments/record.ts'

/** Bytes that a waiting request takes beside its content, about. */
const REQUEST_BYTES = 256
/** The longest key of the state, UTF-8 bytes at most: as the port says. */
const MAXIMUM_KEY_UNITS = 131_072

/** A request on its way, and where it came to stand. */
export interface Waiting {
  /** Undefined: a request to write state. */
  readonly append: AppendRequest | undefined
  readonly write: StateRequest | undefined
  readonly partition: number
  readonly bytes: number
  offset: number
  position: number
  failure: EngineFailure | undefined
}

/** A message that is to be appended to a partition. */
export function waitingAppend(partition: number, append: AppendRequest): Waiting {
  const { topicName, payload } = append.message
  const changes = append.changes === undefined ? 0 : changesBytes(append.changes)
  const bytes = REQUEST_BYTES + topicName.length + payload.length + changes
  return { append, write: undefined, partition, bytes, offset: -1, position: -1, failure: undefined }
}

/** State that is to be written. */
export function waitingWrite(write: StateRequest): Waiting {
  const bytes = REQUEST_BYTES + changesBytes(write.changes)
  return { append: undefined, write, partition: -1, bytes, offset: -1, position: -1, failure: undefined }
}

/**
 * Bytes that the record of the request takes at most; undefined: it has no form in bytes, and has
 * its failure now.
 */
export function recordBound(waiting: Waiting): number | undefined {
  const { append, write } = waiting
  if (append === undefined) return changesRecordBound((write as StateRequest).changes)
  try {
    return messageRecordBound(append.message, append.changes)
  } catch (error) {
    waiting.failure = unstorable(error)
    return undefined
  }
}

/**
 * What is told of a message that has no form in bytes: properties that no packet can carry, which
 * only the service itself can have made. Throws any other error on.
 */
export function unstorable(error: unknown): EngineFailure {
  if (!(error instanceof RangeError)) throw error
  const reason = `The message can’t be stored: ${error.message}.`
  return { reasonCode: ReasonCodes.implementationSpecificError, reason }
}

/** Bytes that the changes take while they wait, about. */
function changesBytes(changes: readonly StateChange[]): number {
  let bytes = 0
  for (const { key, value } of changes) {
    assert(key.length <= MAXIMUM_KEY_UNITS, 'a key has at most 131,072 bytes')
    bytes += REQUEST_BYTES + key.length + (value?.length ?? 0)
  }
  return bytes
}

/** Tells whose request it is that none of it is owned. */
export function tellFailed({ append, write }: Waiting, failure: EngineFailure): void {
  if (append === undefined) write?.failed(failure)
  else append.failed(failure)
}
