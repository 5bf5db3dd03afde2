/**
 * Variable Byte Integers (MQTT 5.0 §1.5.5, and the Remaining Length of MQTT 3.1.1 §2.2.3): 7 bits
 * in each byte, the lowest bits first.
 */

/** The greatest value of four bytes, and so the greatest Remaining Length. */
const MAXIMUM_VARIABLE_BYTE_INTEGER = 268_435_455

/**
 * The size of the value on the wire: 1 to 4 bytes, the fewest possible [MQTT-1.5.5-1]. Throws
 * RangeError above the maximum.
 */
export function variableByteIntegerSize(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x20_0000) return 3
  if (value <= MAXIMUM_VARIABLE_BYTE_INTEGER) return 4
  throw new RangeError(`${value} does not fit into a Variable Byte Integer`)
}
