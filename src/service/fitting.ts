/** The things that fit into one answer to another node. */

/** The bytes of one answer: below the bound of a message between nodes. */
const ANSWER_BYTES = 600_000

/** Takes things until the answer is full; the first one fits always. */
export class Fitting<Item> {
  readonly items: Item[] = []
  #bytes = 0

  /** False: the item did not fit. */
  add(item: Item): boolean {
    this.#bytes += Buffer.byteLength(JSON.stringify(item))
    if (this.items.length > 0 && this.#bytes > ANSWER_BYTES) return false
    this.items.push(item)
    return true
  }
}
