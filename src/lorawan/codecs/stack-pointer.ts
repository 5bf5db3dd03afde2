/**
 * The pointer to the top of an engine's stack. It is no part of the engine's memory: after an
 * exception of the host has passed through the engine, putting the memory back is not enough.
 */

/**
 * Emscripten's `stackSave` and `stackRestore` under their short names in the pinned build of the
 * engine. A test fails when a new build has others.
 */
const SAVE = 'Pa'
const RESTORE = 'Na'

/** Reads and sets the pointer. Without the engine's two functions it can do neither. */
export class StackPointer {
  readonly #save: (() => unknown) | undefined
  readonly #restore: ((pointer: number) => unknown) | undefined

  constructor({ exports }: WebAssembly.Instance, memory: WebAssembly.Memory) {
    const save = exports[SAVE]
    const restore = exports[RESTORE]
    if (!areStackFunctions(save, restore, memory)) return
    this.#save = save as () => number
    this.#restore = restore as (pointer: number) => void
  }

  /** The pointer; -1 when it can't be read. */
  save(): number {
    return this.#save === undefined ? -1 : (this.#save() as number)
  }

  /** Sets the pointer to what `save` gave. False: it can't be set. */
  restore(pointer: number): boolean {
    if (pointer < 0 || this.#restore === undefined) return false
    this.#restore(pointer)
    return true
  }
}

/** Whether the one reads what the other sets, which no other pair of functions does. */
function areStackFunctions(save: unknown, restore: unknown, memory: WebAssembly.Memory): boolean {
  if (typeof save !== 'function' || typeof restore !== 'function') return false
  if (save.length !== 0 || restore.length !== 1) return false
  const pointer: unknown = (save as () => unknown)()
  if (typeof pointer !== 'number' || pointer <= 16 || pointer > memory.buffer.byteLength) return false
  const set = restore as (pointer: number) => unknown
  set(pointer - 16)
  const isSet = (save as () => unknown)() === pointer - 16
  set(pointer)
  return isSet
}
