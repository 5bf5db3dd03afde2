/**
 * The homes of things as claims in a stream: one record for each thing, with the process that is
 * its home. A claim of a dead process counts for its heir, if the heir has seen it. A claim that
 * was stored after the heir had fenced the claims does not count: the home before it is the home.
 * That holds for a claim by the dead process, and for a claim by which a living one takes a thing
 * from it: the heir goes on with the thing.
 */
import { createHash } from 'node:crypto'
import type { Clock, SteadyMs } from '../clock.ts'
import { later } from '../clock.ts'
import { given } from '../given.ts'
import type { NatsLink } from '../engine/nats/nats-link.ts'
import type { Homes, KnownHome, NodeId } from '../nodes.ts'
import { isAtHome } from './node-records.ts'
import type { NodeRecord, NodeRecords } from './node-records.ts'
import type { RecordStream } from './record-stream.ts'

const TAKE_MS = 5_000
const LOOK_MS = 30_000
const BATCH_MS = 2_000
const AGAIN_MS = 50
const KEYS_PER_READ = 256
const READS_AT_ONCE = 4
/** A thing that is over is often soon there again, under the same key. */
const RELEASE_AFTER_MS = 30_000
const RELEASE_EACH_MS = 1_000
const RELEASES_AT_ONCE = 32
/** Things that wait for their release. Beyond it a claim stays; whoever asks is told it is over. */
const MAXIMUM_RELEASES = 100_000
/** How long the servers keep the note that a thing is over, s. */
const RELEASED_SECONDS = 3_600
/** A revision is the sequence of the claim times this, and the number of heirs. */
const HEIRS = 65_536

interface Claim {
  readonly key: string
  /** An incarnation. Absent: the thing is over. */
  readonly home?: string
  /** The home before this claim, as an incarnation. Absent: there was none. */
  readonly before?: string
}

/** A claim with its place in the stream. */
interface StoredClaim {
  readonly claim: Claim
  readonly sequence: number
}

export interface NatsHomesOptions {
  readonly claims: RecordStream
  readonly nodes: NodeRecords
  readonly link: NatsLink
  readonly clock: Clock
  readonly self: NodeId
  /** Asks the leader. Rejects when this process has an heir. */
  readonly assertOwn: () => Promise<void>
}

export class NatsHomes implements Homes {
  readonly #options: NatsHomesOptions
  /** By key: when its release is due. In the order of their times. */
  readonly #over = new Map<string, SteadyMs>()
  readonly #releasing = new Map<string, Promise<void>>()
  #cancelTick: (() => void) | undefined
  #isClosed = false

  constructor(options: NatsHomesOptions) {
    this.#options = options
  }

  async find(key: string, timeoutMs: number): Promise<KnownHome> {
    const { claims, nodes, clock, self } = this.#options
    const deadline = later(clock.steady(), timeoutMs)
    for (let before = -1; ;) {
      const left = Math.max(1, deadline - clock.steady())
      const { sequence, bytes } = await claims.read(subjectOf(key), left)
      const home = bytes && (await this.#homeIn({ claim: readClaim(bytes), sequence }, deadline))
      if (home === undefined) return { node: undefined, revision: sequence * HEIRS }
      const since = clock.steady()
      const { node, heirs } = await nodes.resolve(home, Math.max(1, deadline - since))
      // Another node may have taken it meanwhile.
      const hasWaited = clock.steady() - since >= AGAIN_MS
      if (hasWaited && sequence !== before) before = sequence
      else {
        const isOver = node.incarnation === self.incarnation && this.#over.has(key)
        return { node: isOver ? undefined : node, revision: sequence * HEIRS + heirs }
      }
    }
  }

  async take(key: string, { node, revision }: KnownHome): Promise<boolean> {
    const { claims, nodes, self, assertOwn } = this.#options
    this.#over.delete(key)
    await this.#releasing.get(key)
    if (node !== undefined && node.incarnation !== self.incarnation) {
      const known = await nodes.read(node.incarnation)
      if (known === undefined || !isAtHome(known.record)) return false
    }
    const sequence = Math.floor(revision / HEIRS)
    const claim = claimBytes({ key, home: self.incarnation, ...given({ before: node?.incarnation }) })
    const stored = await claims.change(subjectOf(key), claim, sequence, { timeoutMs: TAKE_MS })
    if (stored === undefined) return false
    // An heir that was named before may have fenced the claims before this one.
    await assertOwn()
    if (node === undefined || node.incarnation === self.incarnation) return true
    return !isBehind((await nodes.read(node.incarnation))?.record, stored)
  }

  async areHere(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { nodes, self } = this.#options
    const here = new Set<string>()
    for (const [key, home] of await this.homesOf(keys)) {
      if (nodes.holderOf(home) === self.incarnation && !this.#over.has(key)) here.add(key)
    }
    return here
  }

  release(key: string): void {
    if (this.#isClosed || (this.#over.size >= MAXIMUM_RELEASES && !this.#over.has(key))) return
    this.#over.delete(key)
    this.#over.set(key, later(this.#options.clock.steady(), RELEASE_AFTER_MS))
    this.#tickLater()
  }

  /** These things have come with a dead node: an earlier `release` of them counts no more. */
  keep(keys: Iterable<string>): void {
    for (const key of keys) this.#over.delete(key)
  }

  /**
   * The end of the claims at present: a claim that is read after the answer, and is not behind it,
   * counts. Rejects with RecordsUnreachableError.
   */
  fence(): Promise<number> {
    return this.#note()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelTick?.()
    this.#over.clear()
  }

  /**
   * The processes in the claims of these things; things without a home are not in the answer. At
   * least as new as when the call was made. Any server answers, and it may be behind. So this
   * writes a note first, and takes only answers of servers that have that note, and so all claims
   * before it. Rejects after 30 s.
   */
  async homesOf(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { clock } = this.#options
    const homes = new Map<string, string>()
    if (keys.length === 0) return homes
    const deadline = later(clock.steady(), LOOK_MS)
    const noted = await this.#note()
    const stored: StoredClaim[] = []
    const parts = [...new Set(keys)]
    const workers = Array.from({ length: READS_AT_ONCE }, async () => {
      for (let part = parts.splice(0, KEYS_PER_READ); part.length > 0; part = parts.splice(0, KEYS_PER_READ)) {
        while (!(await this.#read(part, noted, stored))) {
          if (clock.steady() >= deadline) throw new Error('no server of NATS has all claims')
          await this.#again()
        }
      }
    })
    await Promise.all(workers)
    await this.#lookAtNodes(stored)
    for (const one of stored) {
      const home = await this.#homeIn(one, deadline)
      if (home !== undefined) homes.set(one.claim.key, home)
    }
    return homes
  }

  /** Asks the leader for the fate of the processes in these claims. A merged one has none left. */
  async #lookAtNodes(stored: readonly StoredClaim[]): Promise<void> {
    const { nodes } = this.#options
    for (const process of new Set(stored.flatMap(({ claim }) => [claim.home, claim.before]))) {
      if (process !== undefined && nodes.get(process)?.record.stage !== 'merged') await nodes.read(process)
    }
  }

  /**
   * The home that a claim makes, as far as the fate of its process is known here. Waits while the
   * fence of its process is about to be set, and rejects after the deadline.
   */
  async #homeIn({ claim, sequence }: StoredClaim, deadline: SteadyMs): Promise<string | undefined> {
    const { nodes, clock } = this.#options
    if (claim.home === undefined) return undefined
    if (claim.before !== undefined && isBehind(await this.#fateOf(claim.before), sequence)) return claim.before
    for (;;) {
      const { stage, fence } = nodes.get(claim.home)?.record ?? {}
      if (fence !== undefined) return fence < sequence ? claim.before : claim.home
      if (stage !== 'named') return claim.home
      if (clock.steady() >= deadline) throw new Error('the node of a claim is dead, and its claims have no fence yet')
      await this.#again()
      await nodes.read(claim.home)
    }
  }

  /** Asks the leader for a process that is gone, unless its fence is known. */
  async #fateOf(incarnation: string): Promise<NodeRecord | undefined> {
    const { nodes } = this.#options
    const record = nodes.get(incarnation)?.record
    if (record === undefined || isAtHome(record) || record.fence !== undefined) return record
    return (await nodes.read(incarnation))?.record
  }

  /** Writes a note behind all claims of this moment. Resolves with its sequence. */
  #note(): Promise<number> {
    return this.#options.claims.put(this.#noteSubject, Buffer.alloc(0), LOOK_MS, RELEASED_SECONDS)
  }

  get #noteSubject(): string {
    return `note.${this.#options.self.incarnation}`
  }

  #again(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(AGAIN_MS, resolve))
  }

  /** False: the server that answered is behind, or did not answer. */
  async #read(keys: readonly string[], noted: number, stored: StoredClaim[]): Promise<boolean> {
    const { claims, link, clock } = this.#options
    const subjects = [this.#noteSubject, ...keys.map(subjectOf)].map((subject) => `${claims.name}.${subject}`)
    const found: StoredClaim[] = []
    let isCurrent = false
    try {
      const query = { multi_last: subjects, batch: subjects.length }
      const messages = await link.manager.direct.getLastMessagesFor(claims.name, query)
      const cancel = clock.after(BATCH_MS, () => messages.stop(new Error('the servers of NATS do not answer')))
      try {
        for await (const { subject, seq, data } of messages) {
          if (subject === subjects[0]) isCurrent = seq >= noted
          else found.push({ claim: readClaim(Buffer.from(data)), sequence: seq })
        }
      } finally {
        cancel()
      }
    } catch {
      return false
    }
    if (isCurrent) stored.push(...found)
    return isCurrent
  }

  #tickLater(): void {
    if (this.#isClosed || this.#cancelTick !== undefined) return
    this.#cancelTick = this.#options.clock.after(RELEASE_EACH_MS, () => void this.#tick())
  }

  async #tick(): Promise<void> {
    const now = this.#options.clock.steady()
    const due: [key: string, dueAt: SteadyMs][] = []
    for (const [key, dueAt] of this.#over) {
      if (dueAt > now) break
      due.push([key, dueAt])
    }
    const workers = Array.from({ length: Math.min(due.length, RELEASES_AT_ONCE) }, async () => {
      for (let next = due.pop(); next !== undefined && !this.#isClosed; next = due.pop()) await this.#release(...next)
    })
    await Promise.all(workers)
    this.#cancelTick = undefined
    if (this.#over.size > 0) this.#tickLater()
  }

  /** Releases one thing, unless this node has taken it again. Never rejects. */
  async #release(key: string, dueAt: SteadyMs): Promise<void> {
    const { claims, nodes, self, clock } = this.#options
    try {
      const { sequence, bytes } = await claims.read(subjectOf(key), TAKE_MS)
      const deadline = later(clock.steady(), TAKE_MS)
      const home = bytes && (await this.#homeIn({ claim: readClaim(bytes), sequence }, deadline))
      if (this.#over.get(key) !== dueAt) return
      if (home !== undefined && nodes.holderOf(home) === self.incarnation) {
        const options = { timeoutMs: TAKE_MS, ttlSeconds: RELEASED_SECONDS }
        const released = claims.change(subjectOf(key), claimBytes({ key }), sequence, options)
        this.#releasing.set(
          key,
          released.then(
            () => {},
            () => {},
          ),
        )
        await released
      }
      if (this.#over.get(key) === dueAt) this.#over.delete(key)
    } catch {
      // The servers did not answer: once more, later.
      if (this.#over.get(key) === dueAt) this.release(key)
    } finally {
      this.#releasing.delete(key)
    }
  }
}

/** The heir of the process has read the claims before this one was stored. */
function isBehind(record: NodeRecord | undefined, sequence: number): boolean {
  return record?.fence !== undefined && record.fence < sequence
}

function subjectOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32)
}

function claimBytes(claim: Claim): Buffer {
  return Buffer.from(JSON.stringify(claim))
}

function readClaim(bytes: Buffer): Claim {
  return JSON.parse(bytes.toString()) as Claim
}
