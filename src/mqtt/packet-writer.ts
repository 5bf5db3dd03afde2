/** Writes the fields of one packet: numbers, strings, binary data. */
import assert from 'node:assert'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

/**
 * Writes one packet into a buffer of exactly its size: the constructor writes the fixed header;
 * then come the fields in order, and `finish`. Node's own `write…` methods check the numbers
 * (RangeError). The `…Size` function beside each kind of field computes its size.
 */
export class PacketWriter {
  readonly bytes: Buffer
  position = 0

  /**
   * Allocates the packet and writes its fixed header. The memory may be a piece of Node's pool.
   * Throws RangeError above 268,435,455 bytes.
   */
  constructor(firstByte: number, remainingLength: number) {
    this.bytes = Buffer.allocUnsafe(1 + variableByteIntegerSize(remainingLength) + remainingLength)
    this.bytes[this.position++] = firstByte
    this.writeVariableByteInteger(remainingLength)
  }

  writeUint8(value: number): void {
    this.position = this.bytes.writeUInt8(value, this.position)
  }

  writeUint16(value: number): void {
    this.position = this.bytes.writeUInt16BE(value, this.position)
  }

  writeUint32(value: number): void {
    this.position = this.bytes.writeUInt32BE(value, this.position)
  }

  writeVariableByteInteger(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.position++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.bytes[this.position++] = rest
  }

  /** Lone surrogates become U+FFFD, as everywhere in Node. */
  writeUtf8(text: string, size = Buffer.byteLength(text)): void {
    this.writeUint16(size)
    // The sizes are equal only for ASCII, and for ASCII the plain copy is three times as fast.
    this.bytes.write(text, this.position, size === text.length ? 'latin1' : 'utf8')
    this.position += size
  }

  writeBinary(data: Buffer): void {
    this.writeUint16(data.length)
    this.writeRest(data)
  }

  writeRest(data: Buffer): void {
    this.bytes.set(data, this.position)
    this.position += data.length
  }

  /** The complete packet. */
  finish(): Buffer {
    assert(this.position === this.bytes.length)
    return this.bytes
  }
}

/**
 * The size of Binary Data without the two bytes of its length. Throws RangeError above 65,535
 * bytes, which no packet can carry.
 */
export function binarySize(data: Buffer): number {
  if (data.length > 65_535) throw new RangeError(`binary data of ${data.length} bytes is longer than MQTT can carry`)
  return data.length
}
