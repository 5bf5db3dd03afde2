/**
 * The one way to remember a fact of the registry: look it up once, answer from memory, and forget
 * it when a change makes it wrong.
 *
 * The file is a leaf, because the rooms that remember (identity, lorawan) may not import each
 * other. It knows nothing of the registry: `identity/store/remembered-facts.ts` says which change
 * makes which facts wrong.
 */
import { BoundedCache } from './bounded-cache.ts'
import type { SizeBound } from './bounded-cache.ts'

/**
 * How values are looked up, and how many are remembered. `Seen` may include undefined: no value.
 */
export interface RememberedOptions<Seen, Asked> {
  /**
   * Looks a value up at its source. The value must depend on the id alone; `asked` is what the
   * look-up needs beside it. A source that can answer at once does, without a Promise. An
   * exception counts like a rejected Promise.
   */
  readonly look: (id: string, asked: Asked) => Seen | Promise<Seen>
  /** Values at most. At the bound, the values that were not asked for lately are forgotten. */
  readonly maximum: number
  /** A second bound, for values of very different sizes. */
  readonly size?: SizeBound<Exclude<Seen, undefined>>
  /**
   * Ids without a value that are remembered at most, apart from the values: a client that makes ids
   * up pushes out other made-up ids only. By default none is remembered.
   */
  readonly maximumAbsent?: number
  /** The group of a value, for `forgetGroup`. */
  readonly groupOf?: (value: Exclude<Seen, undefined>) => string
}

/** A look-up under way. Everybody who asks for the id meanwhile shares it. */
interface Look<Seen> {
  readonly answer: Promise<Seen>
  /** A change came after the look-up began: the answer may be older than the change. */
  isOvertaken: boolean
  /** Changes for the value as soon as it is there. */
  readonly amendments: ((value: Exclude<Seen, undefined>) => void)[]
}

/**
 * After a change came in between, the value is looked up again, up to this number of look-ups. A
 * change during each of them would be an attack; the caller then gets the last answer, which is not
 * remembered.
 */
const MAXIMUM_LOOKS = 5
const NO_AMENDMENTS: readonly never[] = []
/** Forgotten groups whose values may still be in memory. At the bound, all values are forgotten. */
const MAXIMUM_FORGOTTEN_GROUPS = 10_000

/**
 * Values by id. An answer at hand is given at once, without a Promise. A value that is looked up is
 * remembered only if no change touched its id meanwhile.
 */
export class Remembered<Seen, Asked = void> {
  readonly #options: RememberedOptions<Seen, Asked>
  readonly #values: BoundedCache<Exclude<Seen, undefined>>
  readonly #absent: BoundedCache<true> | undefined
  /** Bounded by the callers that wait. */
  readonly #looks = new Map<string, Look<Seen>>()
  /**
   * Groups whose values in memory are wrong. A value is skipped when it is asked for: seeking all
   * values of a group could mean to go through 200,000.
   */
  readonly #forgottenGroups = new Set<string>()
  #version = {}

  constructor(options: RememberedOptions<Seen, Asked>) {
    const { maximum, size, maximumAbsent = 0 } = options
    this.#options = options
    this.#values = new BoundedCache(maximum, size)
    this.#absent = maximumAbsent === 0 ? undefined : new BoundedCache(maximumAbsent)
  }

  /**
   * Another object after each change that was told here. An answer of `of` that is kept elsewhere
   * is right while the version is the one from before the question.
   */
  get version(): object {
    return this.#version
  }

  /** The value at hand. Undefined: it is not at hand, or there is none. */
  get(id: string): Exclude<Seen, undefined> | undefined {
    const value = this.#values.get(id)
    if (value === undefined || this.#forgottenGroups.size === 0) return value
    const { groupOf } = this.#options
    return groupOf !== undefined && this.#forgottenGroups.has(groupOf(value)) ? undefined : value
  }

  /**
   * The value at hand, or the Promise of a look-up. The Promise is rejected when the look-up fails;
   * a failure is not remembered.
   */
  of(id: string, asked: Asked): Seen | Promise<Seen> {
    const value = this.get(id)
    if (value !== undefined) return value
    // Only an id whose look-up gave undefined is in this cache.
    if (this.#absent?.get(id) === true) return undefined as Seen
    // A look-up under way is shared, because it gathers the changes for its value.
    if (this.#looks.has(id)) return this.#look(id, asked)
    const seen = this.#lookNow(id, asked)
    if (seen instanceof Promise) {
      this.#begin(id, seen)
      return this.#look(id, asked)
    }
    this.#remember(id, seen, NO_AMENDMENTS)
    return seen
  }

  /**
   * Remembers a value that the caller has read at its source in this turn of the event loop: no
   * change is newer.
   */
  note(id: string, value: Exclude<Seen, undefined>): void {
    this.#remember(id, value, NO_AMENDMENTS)
  }

  /** A look-up that throws rejects as one that fails later. */
  #lookNow(id: string, asked: Asked): Seen | Promise<Seen> {
    try {
      return this.#options.look(id, asked)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A change made the value of the id wrong, or gave the id a value. */
  forget(id: string): void {
    this.#version = {}
    this.#values.delete(id)
    this.#absent?.delete(id)
    const look = this.#looks.get(id)
    if (look !== undefined) look.isOvertaken = true
    // A question after the change must not share a look-up that began before the change.
    this.#looks.delete(id)
  }

  /** A change may have touched any id. */
  forgetAll(): void {
    this.#version = {}
    this.#values.clear()
    this.#absent?.clear()
    this.#forgottenGroups.clear()
    this.#overtakeAll()
  }

  /** A change made all values of the group wrong. Costs the same however many there are. */
  forgetGroup(group: string): void {
    this.#version = {}
    if (this.#forgottenGroups.size >= MAXIMUM_FORGOTTEN_GROUPS) this.#forgetValues()
    this.#forgottenGroups.add(group)
    // The group of a value that is still being looked up is not known yet.
    this.#overtakeAll()
  }

  /**
   * Changes a remembered value in place, for values that callers keep. A value that is being looked
   * up is changed as soon as it is there. The look-up may have seen the change already, so `apply`
   * must give the same result when it is applied twice. A value that nobody asked for is not
   * touched.
   */
  amend(id: string, apply: (value: Exclude<Seen, undefined>) => void): void {
    const value = this.get(id)
    if (value !== undefined) apply(value)
    else this.#looks.get(id)?.amendments.push(apply)
  }

  async #look(id: string, asked: Asked): Promise<Seen> {
    for (let looks = 1; ; looks += 1) {
      const look = this.#looks.get(id) ?? this.#begin(id, this.#lookNow(id, asked))
      const seen = await look.answer
      if (!look.isOvertaken || looks === MAXIMUM_LOOKS) return seen
      // Somebody who asked after the change may have the answer already.
      const value = this.get(id)
      if (value !== undefined) return value
    }
  }

  #begin(id: string, seen: Seen | Promise<Seen>): Look<Seen> {
    const { promise, resolve, reject } = Promise.withResolvers<Seen>()
    const look: Look<Seen> = { answer: promise, isOvertaken: false, amendments: [] }
    this.#looks.set(id, look)
    this.#run(id, seen, look).then(resolve, reject)
    return look
  }

  async #run(id: string, answer: Seen | Promise<Seen>, look: Look<Seen>): Promise<Seen> {
    try {
      const seen = await answer
      if (!look.isOvertaken) this.#remember(id, seen, look.amendments)
      return seen
    } finally {
      if (this.#looks.get(id) === look) this.#looks.delete(id)
    }
  }

  #remember(id: string, seen: Seen, amendments: readonly ((value: Exclude<Seen, undefined>) => void)[]): void {
    if (seen === undefined) {
      this.#absent?.set(id, true)
      return
    }
    const value = seen as Exclude<Seen, undefined>
    for (const apply of amendments) apply(value)
    const { groupOf } = this.#options
    // A value of a forgotten group: the group was made anew. Its earlier values must not come back.
    if (groupOf !== undefined && this.#forgottenGroups.has(groupOf(value))) this.#forgetValues()
    this.#values.set(id, value)
  }

  #forgetValues(): void {
    this.#values.clear()
    this.#forgottenGroups.clear()
  }

  #overtakeAll(): void {
    for (const look of this.#looks.values()) look.isOvertaken = true
    this.#looks.clear()
  }
}
