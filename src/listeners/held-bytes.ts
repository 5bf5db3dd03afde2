/** Bytes that wait until the system takes them. */
import type { BytesPart } from '../broker/ports/transport.ts'

/** Bytes of a buffer that may stay in memory beside the bytes that wait for a client. */
const MAXIMUM_IDLE_BYTES = 1_024

/**
 * The bytes in a form that may wait. They are copied if they are lent, and if they would keep a
 * buffer alive that is much larger than they are.
 */
export function heldBytes({ bytes, start, end }: BytesPart, isLent: boolean): Buffer {
  if (start === 0 && end === bytes.length && !isLent) return bytes
  const part = bytes.subarray(start, end)
  return isLent || bytes.length > 2 * part.length + MAXIMUM_IDLE_BYTES ? Buffer.from(part) : part
}
