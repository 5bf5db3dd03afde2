/**
 * `Buffer` for scripts that name it: the part of Node's class that codecs use, without what needs a
 * host. ChirpStack v4 and Actility give it to scripts. As with `guestDriver`, the text of the
 * function goes into the engine, so it must not refer to anything outside of itself.
 */

// oxlint-disable unicorn/consistent-function-scoping -- one text goes into the engine

type Unit =
  | 'getUint8'
  | 'getInt8'
  | 'getUint16'
  | 'getInt16'
  | 'getUint32'
  | 'getInt32'
  | 'getBigUint64'
  | 'getBigInt64'
type Reader = Unit | 'getFloat32' | 'getFloat64'

/** Makes `Buffer` a global of the engine. */
// oxlint-disable-next-line max-lines-per-function -- the text of one function goes into the engine
export function guestBuffer(): void {
  const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

  const utf8Of = (text: string): number[] => {
    const bytes: number[] = []
    for (const character of text) {
      let point = character.codePointAt(0) as number
      if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd
      if (point < 0x80) bytes.push(point)
      else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 63))
      else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63))
      else {
        bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63))
      }
    }
    return bytes
  }

  /** Each part of a character that is not whole becomes one U+FFFD (Unicode §3.9). */
  const utf8Text = (bytes: ArrayLike<number>): string => {
    let text = ''
    let index = 0
    while (index < bytes.length) {
      const first = bytes[index] as number
      index += 1
      if (first < 0x80) {
        text += String.fromCharCode(first)
        continue
      }
      const more =
        first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : 0
      let point = more === 0 ? -1 : first & (0x3f >> more)
      let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
      let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
      for (let left = more; left > 0 && point >= 0; left -= 1) {
        const next = index < bytes.length ? (bytes[index] as number) : 0
        if (next < low || next > high) point = -1
        else {
          point = (point << 6) | (next & 63)
          index += 1
        }
        low = 0x80
        high = 0xbf
      }
      text += point < 0 ? '\uFFFD' : String.fromCodePoint(point)
    }
    return text
  }

  const base64Of = (text: string): number[] => {
    const bytes: number[] = []
    let bits = 0
    let held = 0
    for (const character of text) {
      if (character === '=') break
      const digit = DIGITS.indexOf(character === '-' ? '+' : character === '_' ? '/' : character)
      if (digit < 0) continue
      held = ((held << 6) | digit) & 0xffff
      bits += 6
      if (bits >= 8) {
        bits -= 8
        bytes.push((held >> bits) & 0xff)
      }
    }
    return bytes
  }

  const base64Text = (bytes: ArrayLike<number>, isForUrl: boolean): string => {
    let text = ''
    for (let index = 0; index < bytes.length; index += 3) {
      const left = bytes.length - index
      const three = ((bytes[index] as number) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0)
      text += DIGITS.charAt(three >> 18) + DIGITS.charAt((three >> 12) & 63)
      text += left > 1 ? DIGITS.charAt((three >> 6) & 63) : '='
      text += left > 2 ? DIGITS.charAt(three & 63) : '='
    }
    return isForUrl ? text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') : text
  }

  const hexOf = (text: string): number[] => {
    const bytes: number[] = []
    for (let index = 0; index + 1 < text.length; index += 2) {
      const pair = text.slice(index, index + 2)
      if (!/^[\da-f]{2}$/i.test(pair)) break
      bytes.push(Number.parseInt(pair, 16))
    }
    return bytes
  }

  const unitsOf = (text: string, width: 1 | 2): number[] => {
    const bytes: number[] = []
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index)
      bytes.push(unit & 0xff)
      if (width === 2) bytes.push(unit >> 8)
    }
    return bytes
  }

  const encodingOf = (encoding: unknown): string => {
    const name = typeof encoding === 'string' ? encoding.toLowerCase() : 'utf8'
    if (name === 'utf8' || name === 'utf-8') return 'utf8'
    if (name === 'latin1' || name === 'binary') return 'latin1'
    if (name === 'ucs2' || name === 'ucs-2' || name === 'utf16le' || name === 'utf-16le') return 'utf16le'
    if (name === 'hex' || name === 'base64' || name === 'base64url' || name === 'ascii') return name
    throw new TypeError(`Unknown encoding: ${name}`)
  }

  const bytesOf = (text: string, encoding: unknown): number[] => {
    const name = encodingOf(encoding)
    if (name === 'hex') return hexOf(text)
    if (name === 'base64' || name === 'base64url') return base64Of(text)
    if (name === 'utf16le') return unitsOf(text, 2)
    return name === 'utf8' ? utf8Of(text) : unitsOf(text, 1)
  }

  const textOf = (bytes: ArrayLike<number>, encoding: unknown): string => {
    const name = encodingOf(encoding)
    if (name === 'utf8') return utf8Text(bytes)
    if (name === 'base64' || name === 'base64url') return base64Text(bytes, name === 'base64url')
    let text = ''
    const width = name === 'utf16le' ? 2 : 1
    for (let index = 0; index + width <= bytes.length; index += width) {
      const byte = bytes[index] as number
      if (name === 'hex') text += (byte < 16 ? '0' : '') + byte.toString(16)
      else if (width === 2) text += String.fromCharCode(byte | ((bytes[index + 1] as number) << 8))
      else text += String.fromCharCode(name === 'ascii' ? byte & 0x7f : byte)
    }
    return text
  }

  const outOfRange = (name: string, value: unknown): RangeError => {
    return Object.assign(new RangeError(`The value of "${name}" is out of range. Received ${String(value)}`), {
      code: 'ERR_OUT_OF_RANGE',
    })
  }

  /** The place of a value of so many bytes. */
  const placed = (bytes: Uint8Array, offset: unknown, width: number): number => {
    const place = offset ?? 0
    if (typeof place !== 'number') throw new TypeError('The "offset" argument must be of type number.')
    if (!Number.isInteger(place) || place < 0 || place + width > bytes.length) throw outOfRange('offset', offset)
    return place
  }

  const bounded = (value: unknown, otherwise: number, length: number): number => {
    const whole = value === undefined ? otherwise : Math.trunc(Number(value)) || 0
    return Math.min(Math.max(whole < 0 ? whole + length : whole, 0), length)
  }

  class GuestBuffer extends Uint8Array {
    static readonly poolSize = 8192

    // The types of the class of the runtime have another `from`, and no `of` with texts.
    static override from(value: unknown, encoding?: unknown, length?: unknown): GuestBuffer {
      if (typeof value === 'string') return new GuestBuffer(bytesOf(value, encoding))
      if (value instanceof ArrayBuffer) {
        return new GuestBuffer(value, encoding as number | undefined, length as number | undefined)
      }
      if (value === null || typeof value !== 'object') {
        throw new TypeError('The first argument must be a string, a buffer, an array or an object like an array')
      }
      const { type, data } = value as { readonly type?: unknown; readonly data?: unknown }
      if (type === 'Buffer' && Array.isArray(data)) return new GuestBuffer(data as number[])
      const list = value as ArrayLike<number>
      const made = new GuestBuffer(list.length > 0 ? list.length : 0)
      for (let index = 0; index < made.length; index += 1) made[index] = Number(list[index])
      return made
    }

    static alloc(size: number, fill?: unknown, encoding?: unknown): GuestBuffer {
      const made = new GuestBuffer(size)
      return fill === undefined ? made : made.fill(fill, encoding)
    }

    static allocUnsafe(size: number): GuestBuffer {
      return new GuestBuffer(size)
    }

    static isBuffer(value: unknown): boolean {
      return value instanceof GuestBuffer
    }

    static isEncoding(name: unknown): boolean {
      try {
        return typeof name === 'string' && encodingOf(name) !== ''
      } catch {
        return false
      }
    }

    static byteLength(value: unknown, encoding?: unknown): number {
      return typeof value === 'string' ? bytesOf(value, encoding).length : (value as Uint8Array).byteLength
    }

    static concat(list: readonly Uint8Array[], total?: number): GuestBuffer {
      let length = 0
      for (const one of list) length += one.length
      const made = new GuestBuffer(total ?? length)
      let at = 0
      for (const one of list) {
        if (at >= made.length) break
        made.set(one.subarray(0, made.length - at), at)
        at += one.length
      }
      return made
    }

    static compare(left: Uint8Array, right: Uint8Array): -1 | 0 | 1 {
      for (let index = 0; index < left.length && index < right.length; index += 1) {
        const one = left[index] as number
        const other = right[index] as number
        if (one !== other) return one < other ? -1 : 1
      }
      return left.length === right.length ? 0 : left.length < right.length ? -1 : 1
    }

    override toString(encoding?: unknown, start?: unknown, end?: unknown): string {
      const from = Math.max(0, Math.trunc(Number(start ?? 0)) || 0)
      const to = Math.min(this.length, end === undefined ? this.length : Math.trunc(Number(end)) || 0)
      return from >= to ? '' : textOf(this.subarray(from, to), encoding)
    }

    toJSON(): object {
      return { type: 'Buffer', data: Array.from(this) }
    }

    equals(other: Uint8Array): boolean {
      return GuestBuffer.compare(this, other) === 0
    }

    compare(other: Uint8Array): number {
      return GuestBuffer.compare(this, other)
    }

    /** A view of the same bytes, as in Node, not a copy as in an array. */
    override slice(start?: number, end?: number): this {
      return this.subarray(start, end) as this
    }

    override fill(value: unknown, start?: unknown, end?: unknown, encoding?: unknown): this {
      const isEncoded = typeof start === 'string'
      const bytes = typeof value === 'string' ? bytesOf(value, isEncoded ? start : encoding) : undefined
      const from = bounded(isEncoded ? undefined : start, 0, this.length)
      const to = bounded(end, this.length, this.length)
      if (bytes === undefined) return super.fill(Number(value) & 0xff, from, to)
      for (let index = from; index < to; index += 1) this[index] = bytes[(index - from) % bytes.length] ?? 0
      return this
    }

    write(text: string, ...given: readonly unknown[]): number {
      const [offset, length] = given.filter((one) => typeof one === 'number')
      const bytes = bytesOf(
        text,
        given.find((one) => typeof one === 'string'),
      )
      const from = bounded(offset, 0, this.length)
      const count = Math.min(bytes.length, bounded(length, this.length - from, this.length - from))
      for (let index = 0; index < count; index += 1) this[from + index] = bytes[index] as number
      return count
    }

    copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number {
      const at = bounded(targetStart, 0, target.length)
      const part = this.subarray(bounded(start, 0, this.length), bounded(end, this.length, this.length))
      const count = Math.min(part.length, target.length - at)
      target.set(part.subarray(0, count), at)
      return count
    }

    override indexOf(value: unknown, start?: number, encoding?: unknown): number {
      if (typeof value === 'number') return super.indexOf(value & 0xff, start)
      const sought = typeof value === 'string' ? bytesOf(value, encoding) : (value as ArrayLike<number>)
      for (let at = bounded(start, 0, this.length); at + sought.length <= this.length; at += 1) {
        let same = 0
        while (same < sought.length && this[at + same] === sought[same]) same += 1
        if (same === sought.length) return at
      }
      return -1
    }

    override includes(value: unknown, start?: number, encoding?: unknown): boolean {
      return this.indexOf(value, start, encoding) >= 0
    }

    /** Swaps the bytes of each group. */
    swap(width: number): this {
      if (this.length % width !== 0) throw new RangeError(`Buffer size must be a multiple of ${width * 8}-bits`)
      for (let index = 0; index < this.length; index += width) this.subarray(index, index + width).reverse()
      return this
    }
  }

  const define = (name: string, value: unknown): void => {
    Object.defineProperty(GuestBuffer.prototype, name, { value, writable: true, configurable: true })
  }
  const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

  for (const width of [2, 4, 8]) {
    define(`swap${width * 8}`, function (this: GuestBuffer) {
      return this.swap(width)
    })
  }

  /** A number of 1 to 6 bytes, which DataView has not for all widths. */
  const readWhole = (bytes: Uint8Array, place: number, width: number, isLittle: boolean, isSigned: boolean): number => {
    let value = 0
    for (let index = 0; index < width; index += 1) {
      value = value * 256 + (bytes[place + (isLittle ? width - 1 - index : index)] as number)
    }
    return isSigned && value >= 2 ** (8 * width - 1) ? value - 2 ** (8 * width) : value
  }

  const writeWhole = (bytes: Uint8Array, value: number, place: number, width: number, isLittle: boolean): number => {
    let left = value < 0 ? value + 2 ** (8 * width) : value
    for (let index = 0; index < width; index += 1) {
      bytes[place + (isLittle ? index : width - 1 - index)] = left % 256
      left = Math.floor(left / 256)
    }
    return place + width
  }

  /** Defines the method under its two spellings, `readUInt8` and `readUint8`. */
  const defineBoth = (name: string, run: unknown): void => {
    define(name, run)
    if (name.includes('UInt')) define(name.replace('UInt', 'Uint'), run)
  }

  const checked = (given: unknown, width: number, isSigned: boolean): number => {
    const value = Number(given)
    const least = isSigned ? -(2 ** (8 * width - 1)) : 0
    if (value < least || value > least + 2 ** (8 * width) - 1) throw outOfRange('value', given)
    return Math.trunc(value) || 0
  }

  for (const kind of ['UInt', 'Int']) {
    const isSigned = kind === 'Int'
    for (const order of ['LE', 'BE']) {
      const isLittle = order === 'LE'
      for (const width of [1, 2, 4]) {
        const name = `${kind}${width * 8}${width === 1 ? '' : order}`
        defineBoth(`read${name}`, function (this: GuestBuffer, offset?: number) {
          return readWhole(this, placed(this, offset, width), width, isLittle, isSigned)
        })
        defineBoth(`write${name}`, function (this: GuestBuffer, value: unknown, offset?: number) {
          return writeWhole(this, checked(value, width, isSigned), placed(this, offset, width), width, isLittle)
        })
      }
      const widthOf = (width: unknown): number => {
        if (typeof width !== 'number' || !Number.isInteger(width) || width < 1 || width > 6) {
          throw outOfRange('byteLength', width)
        }
        return width
      }
      defineBoth(`read${kind}${order}`, function (this: GuestBuffer, offset: number, width: unknown) {
        return readWhole(this, placed(this, offset, widthOf(width)), widthOf(width), isLittle, isSigned)
      })
      defineBoth(`write${kind}${order}`, function (this: GuestBuffer, value: unknown, offset: number, given: unknown) {
        const width = widthOf(given)
        return writeWhole(this, checked(value, width, isSigned), placed(this, offset, width), width, isLittle)
      })
    }
  }

  const others = [
    ['Float', 'getFloat32', 'setFloat32', 4],
    ['Double', 'getFloat64', 'setFloat64', 8],
    ['BigUInt64', 'getBigUint64', 'setBigUint64', 8],
    ['BigInt64', 'getBigInt64', 'setBigInt64', 8],
  ] as const
  for (const [kind, read, write, width] of others) {
    for (const order of ['LE', 'BE']) {
      const isLittle = order === 'LE'
      defineBoth(`read${kind}${order}`, function (this: GuestBuffer, offset?: number) {
        return viewOf(this)[read satisfies Reader](placed(this, offset, width), isLittle)
      })
      defineBoth(`write${kind}${order}`, function (this: GuestBuffer, value: never, offset?: number) {
        const place = placed(this, offset, width)
        viewOf(this)[write](place, value, isLittle)
        return place + width
      })
    }
  }

  // `new Buffer(...)` and `Buffer(...)` are older than `from` and `alloc`.
  const callable = (value: unknown, encoding?: unknown, length?: unknown): GuestBuffer => {
    return typeof value === 'number' ? GuestBuffer.alloc(value) : GuestBuffer.from(value, encoding, length)
  }
  const Outer = new Proxy(GuestBuffer, {
    apply: (_target, _self, given: [unknown, unknown, unknown]) => callable(...given),
    construct: (_target, given: [unknown, unknown, unknown]) => callable(...given),
  })
  Object.defineProperty(globalThis, 'Buffer', { value: Outer, writable: true, configurable: true })
}
