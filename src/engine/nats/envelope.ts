/**
 * An envelope is one message of a stream: the requests of one node that were gathered into it.
 * Integers and floating point numbers are little-endian.
 *
 *     0   uint8    version of the envelope
 *     1   uint8    0
 *     2   uint16   messages
 *     4   uint32   CRC-32 of everything behind it
 *     8   8 bytes  incarnation: a random number that the node's process drew when it opened
 *     16  float64  number of the envelope in its incarnation and stream, from 0 on
 *     24  float64  messages in the stream before the envelope, as the node knew them
 *     32  float64  tail of the stream, as the node knew it
 *     40  float64  number of the first request
 *     48           requests: uint32 number less the first one's, then a record of `record.ts`
 *
 * The place that a message's record names counts for nothing: the stream gives the place.
 */
import assert from 'node:assert'
import { crc32 } from 'node:zlib'
import type { StateChange } from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import {
  KIND_MESSAGE,
  PREFIX_BYTES,
  changesOfRecord,
  changesRecordBound,
  kindOf,
  messageRecordBound,
  readMessageRecord,
  writeChangesRecord,
  writeMessageRecord,
} from '../segments/record.ts'

const VERSION = 1
const HEAD_BYTES = 48
const NO_PLACE = { partition: 0, offset: 0, ownedAtMs: 0 }
/** The most messages of an envelope, and so the unit of offsets. */
export const OFFSETS_PER_ENVELOPE = 1_024

/** The head of an envelope. */
export interface EnvelopeHead {
  /** 16 hexadecimal digits. */
  readonly incarnation: string
  readonly number: number
  readonly messagesBefore: number
  readonly tail: number
}

/** A request as it goes into an envelope: a message with its changes, or changes alone. */
export interface Enveloped {
  readonly number: number
  readonly message: Message | undefined
  readonly changes: readonly StateChange[] | undefined
}

/** The changes of one request. */
export interface NumberedChanges {
  readonly number: number
  readonly changes: readonly StateChange[]
}

/** An envelope whose bytes are damaged, or of a newer version of the program. */
export class EnvelopeError extends Error {
  readonly code: 'envelope_damaged' | 'newer_format'

  constructor(code: 'envelope_damaged' | 'newer_format') {
    super(code === 'newer_format' ? 'a newer Fieldgate wrote it' : 'its bytes are damaged')
    this.code = code
  }
}

/**
 * The most bytes that the request takes in an envelope. Throws RangeError for properties that could
 * not be read again.
 */
export function envelopedBound(message: Message | undefined, changes: readonly StateChange[] | undefined): number {
  return 4 + (message === undefined ? changesRecordBound(changes ?? []) : messageRecordBound(message, changes))
}

/** Writes an envelope. `bound` is the sum of the requests' bounds. Everything is copied. */
export function writeEnvelope(head: EnvelopeHead, requests: readonly Enveloped[], bound: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + bound)
  const first = requests[0]?.number ?? 0
  let messages = 0
  let at = HEAD_BYTES
  for (const { number, message, changes } of requests) {
    at = bytes.writeUInt32LE(number - first, at)
    if (message === undefined) at = writeChangesRecord(bytes, at, changes ?? [], 0)
    else {
      at = writeMessageRecord(bytes, at, message, NO_PLACE, changes, 0)
      messages += 1
    }
  }
  assert(messages <= OFFSETS_PER_ENVELOPE)
  bytes[0] = VERSION
  bytes[1] = 0
  bytes.writeUInt16LE(messages, 2)
  bytes.write(head.incarnation, 8, 'hex')
  bytes.writeDoubleLE(head.number, 16)
  bytes.writeDoubleLE(head.messagesBefore, 24)
  bytes.writeDoubleLE(head.tail, 32)
  bytes.writeDoubleLE(first, 40)
  const written = bytes.subarray(0, at)
  bytes.writeUInt32LE(crc32(written.subarray(8)), 4)
  return written
}

/** Reads the head. Throws `EnvelopeError`. */
export function readEnvelopeHead(bytes: Buffer): EnvelopeHead & { readonly messages: number } {
  if (bytes.length < HEAD_BYTES) throw new EnvelopeError('envelope_damaged')
  if (crc32(bytes.subarray(8)) !== bytes.readUInt32LE(4)) throw new EnvelopeError('envelope_damaged')
  if (bytes[0] !== VERSION) throw new EnvelopeError('newer_format')
  return {
    incarnation: bytes.toString('hex', 8, 16),
    number: bytes.readDoubleLE(16),
    messagesBefore: bytes.readDoubleLE(24),
    tail: bytes.readDoubleLE(32),
    messages: bytes.readUInt16LE(2),
  }
}

/** The offset of the first message of the envelope with this stream sequence. */
export function firstOffset(sequence: number): number {
  return sequence * OFFSETS_PER_ENVELOPE
}

/** Reads the messages of an envelope whose head was read. They know their places. */
export function readMessages(bytes: Buffer, partition: number, sequence: number, ownedAtMs: number): Message[] {
  const messages: Message[] = []
  for (const start of recordsIn(bytes)) {
    if (kindOf(bytes, start) !== KIND_MESSAGE) continue
    const message = readMessageRecord(bytes, start)
    message.partition = partition
    message.offset = firstOffset(sequence) + messages.length
    message.ownedAtMs = ownedAtMs
    messages.push(message)
  }
  return messages
}

/** Reads the changes of state in an envelope whose head was read, in the order of the requests. */
export function readChanges(bytes: Buffer): NumberedChanges[] {
  const first = bytes.readDoubleLE(40)
  const all: NumberedChanges[] = []
  for (const start of recordsIn(bytes)) {
    const changes = changesOfRecord(bytes, start)
    if (changes.length > 0) all.push({ number: first + bytes.readUInt32LE(start - 4), changes })
  }
  return all
}

/** The positions of the records. */
function* recordsIn(bytes: Buffer): Generator<number> {
  for (let at = HEAD_BYTES; at < bytes.length;) {
    const start = at + 4
    yield start
    at = start + PREFIX_BYTES + bytes.readUInt32LE(start)
  }
}
