/**
 * The homes of command queues. The queue of an application has one home: the node that keeps the
 * application's commands, and offers them to network servers. The first node that needs the queue
 * becomes its home.
 */
import { BoundedCache } from '../../../bounded-cache.ts'
import { later } from '../../../clock.ts'
import type { Clock, SteadyMs } from '../../../clock.ts'
import type { NodeId, Nodes } from '../../../nodes.ts'
import type { Questions } from './questions.ts'

export interface QueueHomesOptions {
  readonly nodes: Nodes
  readonly clock: Pick<Clock, 'steady' | 'after'>
}

/**
 * The end of a question: this node is the home; there is no home; the home has answered; or nobody
 * has answered within `ANSWER_MS`.
 */
export type Asked<Kind extends keyof Questions> =
  | 'here'
  | 'nobody'
  | { readonly answer: Questions[Kind]['answer'] }
  | 'away'

/**
 * Homes that are remembered, some 100 bytes each. At the bound, those that were not asked for
 * lately are looked up again.
 */
const MAXIMUM_KNOWN = 20_000
/** How long it is remembered that a queue has no home. Another node may take it at any moment. */
const NOBODY_MS = 1_000
/** How long a question is repeated. A dead node has an heir by then. */
const ANSWER_MS = 15_000
/** How long one attempt lasts. The home writes a command in some ms. */
const ATTEMPT_MS = 5_000
/** The time between two attempts. */
const PAUSE_MS = 100
/** How long the home itself looks whether it is the home. */
const LOOK_MS = 2_000

/** Tells the other nodes that the sender has become the home of an application's queue. */
const TAKEN = 'commands.taken'
/** The answer of a node that is not the home; other answers begin with another byte. */
const NOT_HERE = Buffer.from([0])
const HERE = Buffer.from([1])

export class QueueHomes {
  readonly #nodes: Nodes
  readonly #clock: QueueHomesOptions['clock']
  readonly #known = new BoundedCache<NodeId>(MAXIMUM_KNOWN)
  /** Queues without a home, with the moment until which that is believed. */
  readonly #nobody = new BoundedCache<SteadyMs>(MAXIMUM_KNOWN)
  /** Look-ups under way. Bounded by those who wait for them. */
  readonly #looks = new Map<string, Promise<NodeId | undefined>>()
  #isEnding = false

  constructor({ nodes, clock }: QueueHomesOptions) {
    this.#nodes = nodes
    this.#clock = clock
    nodes.onGone((gone) => {
      const lost = [...this.#known.keys()].filter((key) => isSame(this.#known.get(key), gone))
      for (const applicationId of lost) this.#known.delete(applicationId)
    })
    nodes.bus.hear(TAKEN, (body, from) => {
      this.#nobody.delete(body.toString())
      this.#known.set(body.toString(), from)
    })
  }

  /** True when this node is known to be the home. Costs no question. */
  isKnownHere(applicationId: string): boolean {
    return isSame(this.#known.get(applicationId), this.#nodes.bus.self)
  }

  /** True when the queue is known to have no home, and so no commands. Costs no question. */
  isKnownEmpty(applicationId: string): boolean {
    const until = this.#nobody.get(applicationId)
    return until !== undefined && this.#clock.steady() < until
  }

  /**
   * Asks the home, again and again for 15 s. The home may get the question more than once. `takes`:
   * this node becomes the home if there is none. Never rejects.
   */
  async ask<Kind extends keyof Questions>(
    kind: Kind,
    question: Questions[Kind]['question'],
    takes = false,
  ): Promise<Asked<Kind>> {
    const { applicationId } = question
    const body = Buffer.from(JSON.stringify(question))
    const until = later(this.#clock.steady(), ANSWER_MS)
    for (;;) {
      const leftMs = until - this.#clock.steady()
      if (leftMs <= 0) return 'away'
      try {
        const timeoutMs = Math.min(leftMs, ATTEMPT_MS)
        const home = this.#known.get(applicationId) ?? (await this.#look(applicationId, timeoutMs, takes))
        if (home === undefined && !takes) return 'nobody'
        if (isSame(home, this.#nodes.bus.self)) return 'here'
        const answer = home && (await this.#nodes.bus.request(home, kind, body, timeoutMs))
        if (answer !== undefined && answer[0] === HERE[0]) {
          return { answer: (JSON.parse(answer.toString('utf8', 1)) ?? undefined) as Questions[Kind]['answer'] }
        }
      } catch {
        // The home is gone, has just begun, or can't do its work now; or the servers do not answer.
      }
      this.#known.delete(applicationId)
      await new Promise<void>((resolve) => this.#clock.after(PAUSE_MS, resolve))
    }
  }

  /** True: the node takes no more commands of other nodes. Its heir does. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  /** The node is about to end. */
  end(): void {
    this.#isEnding = true
  }

  /** Answers the questions of other nodes, as long as this node is the home of their queue. */
  serve<Kind extends keyof Questions>(
    kind: Kind,
    answer: (question: Questions[Kind]['question']) => Promise<Questions[Kind]['answer']>,
  ): void {
    this.#nodes.bus.serve(kind, async (body) => {
      const question = JSON.parse(body.toString()) as Questions[Kind]['question']
      if (!this.isKnownHere(question.applicationId)) {
        const home = await this.#look(question.applicationId, LOOK_MS)
        if (!isSame(home, this.#nodes.bus.self)) return NOT_HERE
      }
      return Buffer.concat([HERE, Buffer.from(JSON.stringify((await answer(question)) ?? null))])
    })
  }

  /** The application is gone: its queue has no home any more. */
  release(applicationId: string): void {
    this.#nodes.homes.release(keyOf(applicationId))
    this.#known.delete(applicationId)
  }

  /** Looks the home up; everybody who asks for it meanwhile shares the look-up. */
  #look(applicationId: string, timeoutMs: number, takes = false): Promise<NodeId | undefined> {
    const key = takes ? `take ${applicationId}` : applicationId
    const look = this.#looks.get(key) ?? this.#lookOnce(applicationId, timeoutMs, takes)
    this.#looks.set(key, look)
    const settled = (): void => {
      if (this.#looks.get(key) === look) this.#looks.delete(key)
    }
    look.then(settled, settled)
    return look
  }

  async #lookOnce(applicationId: string, timeoutMs: number, takes: boolean): Promise<NodeId | undefined> {
    const { homes, bus } = this.#nodes
    const key = keyOf(applicationId)
    const found = await homes.find(key, timeoutMs)
    let home = found.node
    if (home === undefined && takes) {
      const isTaken = await homes.take(key, found)
      // Another node was faster.
      home = isTaken ? bus.self : (await homes.find(key, timeoutMs)).node
      if (isTaken) bus.cast(TAKEN, Buffer.from(applicationId))
    }
    if (home === undefined) this.#nobody.set(applicationId, later(this.#clock.steady(), NOBODY_MS))
    else {
      this.#known.set(applicationId, home)
      this.#nobody.delete(applicationId)
    }
    return home
  }
}

function keyOf(applicationId: string): string {
  return `commands/${applicationId}`
}

function isSame(one: NodeId | undefined, other: NodeId): boolean {
  return one?.incarnation === other.incarnation && one.name === other.name
}
