/** Looks for PINGREQ among packets that have come and were not read yet. */

/** The first byte of PINGREQ; its Remaining Length is 0 (MQTT 5.0 §3.12). */
const PINGREQ = 0xc0
/** A Remaining Length has at most four bytes, with seven bits each. */
const MAXIMUM_LENGTH_BITS = 28

/**
 * The number of PINGREQ packets among the next `maximumPackets` packets of these bytes. Only fixed
 * headers are looked at. A Remaining Length of more than four bytes ends the look: its reader
 * refuses the packet, and nothing behind it counts.
 */
export function countWaitingPings(chunks: readonly Buffer[], maximumPackets: number): number {
  let pings = 0
  let packets = 0
  /** The first byte of a packet whose length is being read; undefined between packets. */
  let firstByte: number | undefined = undefined
  let bits = 0
  let remainingLength = 0
  for (const chunk of chunks) {
    let position = 0
    while (position < chunk.length) {
      if (firstByte === undefined) {
        // The body of the packet before, which the chunk may not have to its end.
        const skipped = Math.min(remainingLength, chunk.length - position)
        position += skipped
        remainingLength -= skipped
        if (position === chunk.length) break
        if (packets === maximumPackets) return pings
        packets += 1
        firstByte = chunk[position++]
        bits = 0
        continue
      }
      if (bits === MAXIMUM_LENGTH_BITS) return pings
      const byte = chunk[position++] as number
      remainingLength |= (byte & 0x7f) << bits
      bits += 7
      if (byte >= 0x80) continue
      if (firstByte === PINGREQ && remainingLength === 0) pings += 1
      firstByte = undefined
    }
  }
  return pings
}
