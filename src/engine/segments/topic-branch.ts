/**
 * Thirty-two bits of a Topic Name, by which a scan finds a branch of topics without reading the
 * messages. The upper half stands for the first two levels (`application/<id>`), the lower half for
 * the first four (`application/<id>/device/<DevEUI>`). Different names can have equal bits.
 */
import type { Account, Accounts } from './accounts.ts'

const SLASH = 0x2f
/**
 * The most Topic Names whose bits are cached, and the longest cached name: at most some 20 MB,
 * whoever fills the cache.
 */
const MAXIMUM_KNOWN = 65_536
/** A longer Topic Name is not cached. */
const MAXIMUM_KNOWN_UNITS = 128

/** The bits of a Topic Name. */
export function branchOf(topicName: string): number {
  let hash = 0x811c9dc5
  let slashes = 0
  let two = -1
  for (let index = 0; index < topicName.length; index += 1) {
    const unit = topicName.charCodeAt(index)
    if (unit === SLASH) {
      slashes += 1
      if (slashes === 2) two = fold(hash)
      else if (slashes === 4) break
    }
    // FNV-1a
    hash = Math.imul(hash ^ unit, 0x01000193)
  }
  if (two === -1) two = fold(hash)
  return ((two << 16) | fold(hash)) >>> 0
}

/** The parts of an index's entry that depend on the Topic Name alone. */
export interface KnownTopic {
  readonly branch: number
  readonly account: Account
}

/** Caches the bits and the account of frequent Topic Names: finding them costs a fifth. */
export class KnownTopics {
  readonly #accounts: Accounts
  readonly #known = new Map<string, KnownTopic>()
  #generation = 0

  constructor(accounts: Accounts) {
    this.#accounts = accounts
  }

  of(topicName: string): KnownTopic {
    if (this.#generation !== this.#accounts.generation) {
      this.#generation = this.#accounts.generation
      this.#known.clear()
    }
    const known = this.#known.get(topicName)
    if (known !== undefined) return known
    const topic = { branch: branchOf(topicName), account: this.#accounts.ofTopic(topicName) }
    if (topicName.length > MAXIMUM_KNOWN_UNITS) return topic
    // Drops everything at once: frequent names soon come back, and a flood of new names only makes
    // the cache useless.
    if (this.#known.size >= MAXIMUM_KNOWN) this.#known.clear()
    this.#known.set(topicName, topic)
    return topic
  }
}

/**
 * The bits that all Topic Names with this prefix share: `(branchOf(name) & mask) >>> 0 === bits`.
 */
export function branchesWithPrefix(topicPrefix: string): { readonly mask: number; readonly bits: number } {
  let slashes = 0
  for (let index = 0; index < topicPrefix.length; index += 1) if (topicPrefix.charCodeAt(index) === SLASH) slashes += 1
  const mask = slashes >= 4 ? 0xffff_ffff : slashes >= 2 ? 0xffff_0000 : 0
  return { mask, bits: (branchOf(topicPrefix) & mask) >>> 0 }
}

function fold(hash: number): number {
  return (hash ^ (hash >>> 16)) & 0xffff
}
