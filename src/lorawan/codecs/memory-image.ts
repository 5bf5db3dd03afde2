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
const EMPTY_PAGES = Buffer.alloc(CLEAN_PAGES * PAGE_BYTES)

/** The memory of an engine that has no script yet. */
export class BaseImage {
  readonly #memory: WebAssembly.Memory
  readonly #unused: Span
  readonly #low: Uint8Array
  readonly #high: Uint8Array

  /**
   * Takes the picture while no function of the engine runs. Left out are the unused part of the
   * stack and the memory behind the last byte in use, which the allocator's last header marks:
   * nothing that the engine can still reach lies there.
   */
  constructor(memory: WebAssembly.Memory, unused: Span) {
    this.#memory = memory
    this.#unused = unused
    const all = new Uint8Array(memory.buffer)
    this.#low = all.slice(0, unused.start)
    this.#high = all.slice(unused.end, endOfUse(all))
  }

  /** Bytes that the image holds. */
  get size(): number {
    return this.#low.length + this.#high.length
  }

  /**
   * Puts everything back. With `isOtherScript` the bytes that another script left outside of the
   * image are cleared as well: nothing should be able to read them, and nothing can.
   */
  restore(isOtherScript: boolean): void {
    const all = new Uint8Array(this.#memory.buffer)
    if (isOtherScript) this.#clear(all)
    this.#putBack(all)
  }

  /**
   * Puts everything back and clears all other memory, which takes some ms. Only then does
   * `takeScriptImage` find the bytes of one script alone.
   */
  restoreAll(): void {
    const all = new Uint8Array(this.#memory.buffer)
    const { start, end } = this.#unused
    all.fill(0, start, end)
    all.fill(0, end + this.#high.length)
    this.#putBack(all)
  }

  /** The difference of the memory to this image, while no function of the engine runs. */
  takeScriptImage(): ScriptImage {
    const { start, end } = this.#unused
    const all = new Uint8Array(this.#memory.buffer)
    const baseEnd = end + this.#high.length
    const pages = [...changedPages(all, this.#low, 0), ...changedPages(all, this.#high, end)]
    return new ScriptImage({
      memory: this.#memory,
      pages,
      bytes: joined(all, pages),
      tail: all.slice(baseEnd, Math.max(endOfUse(all), baseEnd)),
      tailStart: baseEnd,
      bytesBefore: start + this.#high.length,
    })
  }

  #putBack(all: Uint8Array): void {
    all.set(this.#low, 0)
    all.set(this.#high, this.#unused.end)
  }

  #clear(all: Uint8Array): void {
    const { start, end } = this.#unused
    const bytes = Buffer.from(all.buffer)
    clearPages(bytes, end + this.#high.length, 1, { start: end, end: bytes.length })
    clearPages(bytes, end - PAGE_BYTES, -1, { start, end })
  }
}

interface ScriptImageParts {
  readonly memory: WebAssembly.Memory
  /** Where the pages begin that differ from the base image. */
  readonly pages: readonly number[]
  /** The bytes of these pages, one page after the other. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The memory behind the end of the base image. */
  readonly tail: Uint8Array<ArrayBuffer>
  readonly tailStart: number
  /** Bytes in use before `tailStart`. */
  readonly bytesBefore: number
}

/** A loaded script: where the memory differs from the base image. */
export class ScriptImage {
  readonly #parts: ScriptImageParts

  constructor(parts: ScriptImageParts) {
    this.#parts = parts
  }

  /** Bytes that the image holds. */
  get size(): number {
    return this.#parts.bytes.length + this.#parts.tail.length
  }

  /** Bytes of the memory that were in use, those of the base image included. */
  get bytesInUse(): number {
    return this.#parts.bytesBefore + this.#parts.tail.length
  }

  /** Puts the difference back, after the base image. */
  restore(): void {
    const { memory, pages, bytes, tail, tailStart } = this.#parts
    const all = new Uint8Array(memory.buffer)
    let from = 0
    while (from < pages.length) {
      // Pages that are neighbours are put back together.
      const start = pages[from] as number
      let to = from + 1
      while (pages[to] === start + (to - from) * PAGE_BYTES) to += 1
      all.set(bytes.subarray(from * PAGE_BYTES, to * PAGE_BYTES), start)
      from = to
    }
    all.set(tail, tailStart)
  }

  /**
   * Gives the memory of the image back at once, and ends the image. The garbage collector would
   * leave hundreds of MB of such images for some time.
   */
  release(): void {
    this.#parts.bytes.buffer.transfer(0)
    this.#parts.tail.buffer.transfer(0)
  }
}

/** Where the pages begin that differ from `image`, which lies at `offset`. */
function changedPages(all: Uint8Array, image: Uint8Array, offset: number): number[] {
  const now = Buffer.from(all.buffer)
  const before = Buffer.from(image.buffer, image.byteOffset, image.length)
  const changed: number[] = []
  for (let start = 0; start < image.length; start += PAGE_BYTES) {
    const end = Math.min(start + PAGE_BYTES, image.length)
    if (now.compare(before, start, end, offset + start, offset + end) !== 0) changed.push(offset + start)
  }
  return changed
}

function joined(all: Uint8Array, pages: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pages.length * PAGE_BYTES)
  for (const [index, start] of pages.entries()) {
    bytes.set(all.subarray(start, start + PAGE_BYTES), index * PAGE_BYTES)
  }
  return bytes
}

/**
 * Fills pages with zeros, from `first` on in one direction, until enough in a row have been zero.
 */
function clearPages(bytes: Buffer, first: number, direction: 1 | -1, { start, end }: Span): void {
  // Most calls have left nothing, and one comparison is quicker than that of each page.
  const low = direction === 1 ? first : first - (CLEAN_PAGES - 1) * PAGE_BYTES
  const high = low + EMPTY_PAGES.length
  if (low >= start && high <= end && bytes.compare(EMPTY_PAGES, 0, EMPTY_PAGES.length, low, high) === 0) return
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
