/**
 * One Topic Name as an object. While the name is remembered, all packets with it have the same
 * object, so that the rooms keep there what they have found out: a message looks nothing up that an
 * earlier message of its topic has found.
 */

export class Topic {
  readonly name: string
  /** The readers of the topic, for the index that found them. No other code sets it. */
  readers: unknown = undefined
  /** For the one room that knows the meaning of Topic Names. No other code sets it. */
  meaning: unknown = undefined
  #bytes = 0
  #levels = 0

  constructor(name: string) {
    this.name = name
  }

  /** Bytes of the name in UTF-8. */
  get bytes(): number {
    if (this.#bytes === 0) this.#bytes = Buffer.byteLength(this.name)
    return this.#bytes
  }

  /** The number of levels: the slashes and one. */
  get levels(): number {
    if (this.#levels === 0) this.#levels = levelsOf(this.name)
    return this.#levels
  }
}

/** The number of levels of a Topic Name or a Topic Filter. */
export function levelsOf(name: string): number {
  let levels = 1
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) levels += 1
  return levels
}
