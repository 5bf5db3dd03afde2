/**
 * Pictures of an engine's memory that can be put back, byte by byte. The memory before any script
 * was loaded is kept whole, once for an engine. For each script only the difference to it is kept.
 */

declare global {
  /**
   * The part of the WebAssembly interface that is used here. TypeScript declares it only for
   * browsers.
   */
  namespace WebAssembly {
    // oxlint-disable-next-line typescript/no-extraneous-class -- opaque
    class Module {
      private readonly opaque: never
    }
    // oxlint-disable-next-line typescript/no-extraneous-class -- functions only
    class Instance {
      constructor(module: Module, imports: object)
      readonly exports: Readonly<Record<string, unknown>>
    }
    class Memory {
      constructor(size: { readonly initial: number; readonly maximum: number })
      readonly buffer: ArrayBuffer
    }
    function compile(bytes: Uint8Array): Promise<Module>
  }
}

const PAGE_BYTES = 4096

/**
 * The difference of a script is kept in blocks of this size. Smaller ones take less memory, and
 * more copies to put back.
 */
const BLOCK_BYTES = 4096
const EMPTY_PAGE = Buffer.alloc(PAGE_BYTES)

/**
 * The unused part of the stack is recognized by its size: 5 MiB lie between the engine's tables and
 * its heap, and a script may use 256 KiB of them. If no such gap is found, all memory is kept and
 * put back.
 */
const LEAST_GAP_BYTES = 2 * 1024 * 1024

/**
 * The part of the gap behind the tables that is kept, because memory of zeros may still belong to
 * the tables.
 */
const MARGIN_BYTES = 64 * 1024

/** Bytes from `start` up to `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The part of the stack that an engine has never used. Ask before a script runs: a script could
 * make a larger gap in the heap, whose bytes would then not be put back.
 */
export function unusedStack(memory: WebAssembly.Memory): Span {
  const gap = largestGap(usedPages(new Uint8Array(memory.buffer)))
  const start = Math.min(gap.end, gap.start + MARGIN_BYTES)
  return gap.end - gap.start < LEAST_GAP_BYTES ? { start: 0, end: 0 } : { start, end: gap.end }
}

/**
 * Scripts leave bytes behind the end of an image and below the used part of the stack. They are
 * cleared up to so many pages of zeros in a row.
 */
const CLEAN_PAGES = 32
/** Small, so that it does not take the place of the engine's memory in the processor's cache. */
const EMPTY_BYTES = Buffer.alloc(4 * PAGE_BYTES)

/** Bytes, and their place in the engine's memory. */
interface Piece {
  readonly start: number
  readonly bytes: Uint8Array
}

/** The memory of an engine that has no script yet. */
export class BaseImage {
  /** All of the engine's memory, which never grows. */
  readonly #all: Uint8Array<ArrayBuffer>
  readonly #unused: Span
  readonly #low: Piece
  readonly #high: Piece

  /**
   * Takes the picture while no function of the engine runs. Left out are the unused part of the
   * stack and the memory behind the last byte in use, which the allocator's last header marks:
   * nothing that the engine can still reach lies there.
   */
  constructor(memory: WebAssembly.Memory, unused: Span) {
    this.#unused = unused
    this.#all = new Uint8Array(memory.buffer)
    this.#low = { start: 0, bytes: this.#all.slice(0, unused.start) }
    this.#high = { start: unused.end, bytes: this.#all.slice(unused.end, endOfUse(this.#all)) }
  }

  /** Bytes that the image holds. */
  get size(): number {
    return this.#low.bytes.length + this.#high.bytes.length
  }

  /**
   * Puts everything back and clears all other memory, which takes some ms. Only then does
   * `takeScriptImage` find the bytes of one script alone.
   */
  restoreAll(): void {
    const { start, end } = this.#unused
    this.#all.fill(0, start, end)
    this.#all.fill(0, endOf(this.#high))
    for (const piece of [this.#low, this.#high]) this.#all.set(piece.bytes, piece.start)
  }

  /** The difference of the memory to this image, while no function of the engine runs. */
  takeScriptImage(): ScriptImage {
    const all = this.#all
    const changed = [...changedBlocks(all, this.#low), ...changedBlocks(all, this.#high)]
    const ends = { start: endOf(this.#high), end: Math.max(endOfUse(all), endOf(this.#high)) }
    const own = piecesOf(all, [...changed, ends])
    const pieces = [...own, ...rest(this.#low, changed), ...rest(this.#high, changed)]
    return new ScriptImage({
      all,
      unused: this.#unused,
      own: own.map(({ bytes }) => bytes),
      pieces: pieces.toSorted((one, other) => one.start - other.start),
      bytesInUse: this.#low.bytes.length + ends.end - this.#high.start,
      baseEnd: ends.start,
    })
  }
}

interface ScriptImageParts {
  readonly all: Uint8Array<ArrayBuffer>
  /** The part of the stack that the engine has not used. */
  readonly unused: Span
  /** The bytes that differ from the base image, in one buffer. */
  readonly own: readonly Uint8Array[]
  /** These bytes and the others of the base image: together they are the memory in use. */
  readonly pieces: readonly Piece[]
  readonly bytesInUse: number
  /** The end of the base image. */
  readonly baseEnd: number
}

/** A loaded script: where the memory differs from the base image. */
export class ScriptImage {
  readonly #parts: ScriptImageParts

  constructor(parts: ScriptImageParts) {
    this.#parts = parts
  }

  /** Bytes that the image holds. */
  get size(): number {
    return this.#parts.own[0]?.buffer.byteLength ?? 0
  }

  /** Bytes of the memory that were in use, those of the base image included. */
  get bytesInUse(): number {
    return this.#parts.bytesInUse
  }

  /**
   * Puts everything back. With `isOtherScript` the bytes that another script left outside of the
   * image are cleared as well: nothing should be able to read them, and nothing can.
   */
  restore(isOtherScript: boolean): void {
    const { all, pieces } = this.#parts
    if (isOtherScript) this.#clear()
    for (const { start, bytes } of pieces) all.set(bytes, start)
  }

  /**
   * Gives the memory of the image back at once, and ends the image. The garbage collector would
   * leave hundreds of MB of such images for some time.
   */
  release(): void {
    const [first] = this.#parts.own
    if (first?.buffer instanceof ArrayBuffer) first.buffer.transfer(0)
  }

  #clear(): void {
    const { all, unused, baseEnd } = this.#parts
    const bytes = Buffer.from(all.buffer)
    clearPages(bytes, baseEnd, 1, { start: unused.end, end: bytes.length })
    clearPages(bytes, unused.end - PAGE_BYTES, -1, unused)
  }
}

function endOf({ start, bytes }: Piece): number {
  return start + bytes.length
}

/** Copies of these parts of the memory, in one buffer. */
function piecesOf(all: Uint8Array, spans: readonly Span[]): Piece[] {
  const copy = new Uint8Array(spans.reduce((length, { start, end }) => length + end - start, 0))
  let at = 0
  return spans.map(({ start, end }) => {
    const bytes = copy.subarray(at, at + end - start)
    bytes.set(all.subarray(start, end))
    at += bytes.length
    return { start, bytes }
  })
}

/** The piece without these parts, which are ascending; those outside of the piece do not count. */
function rest(piece: Piece, without: readonly Span[]): Piece[] {
  const parts: Piece[] = []
  let start = piece.start
  const add = (end: number): void => {
    if (end > start) parts.push({ start, bytes: piece.bytes.subarray(start - piece.start, end - piece.start) })
  }
  for (const span of without) {
    if (span.start < piece.start || span.start >= endOf(piece)) continue
    add(span.start)
    start = span.end
  }
  add(endOf(piece))
  return parts
}

/** The parts of the memory that differ from the piece, in whole blocks, ascending. */
function changedBlocks(all: Uint8Array, piece: Piece): Span[] {
  const now = Buffer.from(all.buffer)
  const before = Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.length)
  const changed: Span[] = []
  for (let from = 0; from < before.length; from += BLOCK_BYTES) {
    const to = Math.min(from + BLOCK_BYTES, before.length)
    const [start, end] = [piece.start + from, piece.start + to]
    if (now.compare(before, from, to, start, end) === 0) continue
    const last = changed.at(-1)
    if (last?.end === start) changed[changed.length - 1] = { start: last.start, end }
    else changed.push({ start, end })
  }
  return changed
}

/**
 * Fills pages with zeros, from `first` on in one direction, until enough in a row have been zero.
 */
function clearPages(bytes: Buffer, first: number, direction: 1 | -1, { start, end }: Span): void {
  // Most calls have left nothing, and one comparison is quicker than that of each page.
  const low = direction === 1 ? first : first - (CLEAN_PAGES - 1) * PAGE_BYTES
  const high = low + CLEAN_PAGES * PAGE_BYTES
  if (low >= start && high <= end && isEmpty(bytes, low, high)) return
  let clean = 0
  for (
    let page = first;
    page >= start && page + PAGE_BYTES <= end && clean < CLEAN_PAGES;
    page += direction * PAGE_BYTES
  ) {
    if (bytes.compare(EMPTY_PAGE, 0, PAGE_BYTES, page, page + PAGE_BYTES) === 0) clean += 1
    else {
      clean = 0
      bytes.fill(0, page, page + PAGE_BYTES)
    }
  }
}

function isEmpty(bytes: Buffer, start: number, end: number): boolean {
  for (let low = start; low < end; low += EMPTY_BYTES.length) {
    const high = Math.min(low + EMPTY_BYTES.length, end)
    if (bytes.compare(EMPTY_BYTES, 0, high - low, low, high) !== 0) return false
  }
  return true
}

/** Behind the last page that has a byte other than 0. */
function endOfUse(all: Uint8Array): number {
  const bytes = Buffer.from(all.buffer)
  for (let start = bytes.length - PAGE_BYTES; start >= 0; start -= PAGE_BYTES) {
    if (bytes.compare(EMPTY_PAGE, 0, PAGE_BYTES, start, start + PAGE_BYTES) !== 0) return start + PAGE_BYTES
  }
  return PAGE_BYTES
}

/** The indexes of the pages with a byte other than 0, ascending. */
function usedPages(all: Uint8Array): number[] {
  const bytes = Buffer.from(all.buffer)
  const used: number[] = []
  for (let start = 0; start < bytes.length; start += PAGE_BYTES) {
    if (bytes.compare(EMPTY_PAGE, 0, PAGE_BYTES, start, start + PAGE_BYTES) !== 0) used.push(start / PAGE_BYTES)
  }
  return used
}

function largestGap(used: readonly number[]): Span {
  let largest = { start: 0, end: 0 }
  for (const [index, page] of used.entries()) {
    const start = (index === 0 ? 0 : (used[index - 1] as number) + 1) * PAGE_BYTES
    const end = page * PAGE_BYTES
    if (end - start > largest.end - largest.start) largest = { start, end }
  }
  return largest
}
