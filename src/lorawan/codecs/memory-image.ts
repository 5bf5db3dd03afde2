/**
 * An image of an engine's memory that can be put back. It undoes all changes of a call, byte by
 * byte.
 */

declare global {
  /**
   * The part of the WebAssembly interface that is used here. TypeScript declares it only for
   * browsers.
   */
  namespace WebAssembly {
    // oxlint-disable-next-line typescript/no-extraneous-class -- opaque: made and handed on
    class Module {
      private readonly opaque: never
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

/** The memory as it was when the image was taken. */
export class MemoryImage {
  readonly #memory: WebAssembly.Memory
  readonly #low: Uint8Array
  readonly #high: Uint8Array
  readonly #highStart: number

  /**
   * Takes the image. No function of the engine may run meanwhile. Two parts are left out, because
   * the engine can't reach anything there: the unused part of the stack, and the memory behind the
   * last byte in use, which the last header of the allocator marks.
   */
  constructor(memory: WebAssembly.Memory, unused: Span) {
    this.#memory = memory
    this.#highStart = unused.end
    const all = new Uint8Array(memory.buffer)
    const end = ((usedPages(all).at(-1) ?? 0) + 1) * PAGE_BYTES
    this.#low = all.slice(0, unused.start)
    this.#high = all.slice(unused.end, end)
  }

  /** Bytes that the image holds. */
  get size(): number {
    return this.#low.length + this.#high.length
  }

  /** Puts all memory back. */
  restore(): void {
    const all = new Uint8Array(this.#memory.buffer)
    all.set(this.#low, 0)
    all.set(this.#high, this.#highStart)
  }
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
