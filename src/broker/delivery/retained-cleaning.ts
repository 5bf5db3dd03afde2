/**
 * Removes the retained messages of topics that are over: of an application, a device or an
 * organization that was removed. Nobody could receive them any more, and they would take their
 * tenant's room, and that of all, for ever.
 */
import { later } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Engine } from '../ports/engine.ts'
import { STATE_KEYS } from '../durable/state-keys.ts'
import type { RetainedMessages } from './retained-messages.ts'
import type { SharedRetained } from './shared-retained.ts'

/** Retained messages that are looked at in a second. A topic may cost a look-up in the registry. */
const LOOKED_AT_PER_TICK = 200
/** Retained messages removed in one turn of the event loop. */
const REMOVED_PER_TURN = 256
/** The longest time of a message between its sender and the log, ms. */
const ON_THEIR_WAY_MS = 30_000

export interface RetainedCleaningOptions {
  readonly retained: RetainedMessages
  readonly engine: Pick<Engine, 'isDurable' | 'write'>
  readonly clock: Clock
  readonly log: Logger
  /** The retained messages of all nodes. Undefined: this process keeps its own. */
  readonly shared: SharedRetained | undefined
  /**
   * True when nobody can receive a message of the Topic Name any more. Undefined: no topic is ever
   * over.
   */
  readonly isOver: ((topicName: string) => boolean | Promise<boolean>) | undefined
}

export class RetainedCleaning {
  readonly #options: RetainedCleaningOptions
  /** The Topic Names that are still to be looked at; undefined when nothing is to be done. */
  #round: Iterator<string> | undefined
  #isRoundAsked = false
  #isLooking = false
  /**
   * By prefix: the messages to be removed once more, and when. It has an entry for each application
   * that gave its last events up a moment ago.
   */
  readonly #again = new Map<string, { readonly isMeant: (topicName: string) => boolean; readonly at: SteadyMs }>()

  constructor(options: RetainedCleaningOptions) {
    this.#options = options
  }

  /**
   * Looks at all retained messages, some in each second: an earlier process may have ended before
   * it had removed them.
   */
  lookAtAll(): void {
    this.#isRoundAsked = this.#options.isOver !== undefined
  }

  /**
   * Removes the retained messages whose Topic Names begin with the prefix, up to the end of a
   * level. A second look follows: messages with these topics may have been on their way to the log.
   */
  removeUnder(topicPrefix: string): void {
    this.remove([...this.#options.retained.topicNames(topicPrefix)])
    this.lookAtAll()
  }

  /**
   * Removes the retained messages of these Topic Names, whose topics go on. Messages that were on
   * their way to the log may be retained after this: they are removed a while later.
   */
  removeMeant(topicPrefix: string, isMeant: (topicName: string) => boolean): void {
    this.#removeMeant(topicPrefix, isMeant)
    const at = later(this.#options.clock.steady(), ON_THEIR_WAY_MS)
    // At the end of the map, which is in the order of the times.
    this.#again.delete(topicPrefix)
    this.#again.set(topicPrefix, { isMeant, at })
  }

  #removeMeant(topicPrefix: string, isMeant: (topicName: string) => boolean): void {
    this.remove([...this.#options.retained.topicNames(topicPrefix)].filter((topicName) => isMeant(topicName)))
  }

  #removeAgain(): void {
    const now = this.#options.clock.steady()
    for (const [topicPrefix, { isMeant, at }] of this.#again) {
      if (at > now) return
      this.#again.delete(topicPrefix)
      this.#removeMeant(topicPrefix, isMeant)
    }
  }

  /** A second has passed. Resolves when the messages of this second were looked at. */
  async tick(): Promise<void> {
    this.#removeAgain()
    if (this.#isLooking) return
    if (this.#round === undefined && this.#isRoundAsked) {
      this.#isRoundAsked = false
      this.#round = this.#options.retained.topicNames('')
    }
    const round = this.#round
    if (round === undefined) return
    this.#isLooking = true
    try {
      await this.#look(round)
    } catch (error) {
      // The next start looks again.
      this.#options.log.warn({ err: error }, 'retained.cleaning_failed')
      this.#round = undefined
    } finally {
      this.#isLooking = false
    }
  }

  async #look(round: Iterator<string>): Promise<void> {
    const over: string[] = []
    for (let count = 0; count < LOOKED_AT_PER_TICK; count += 1) {
      const { value: topicName, done } = round.next()
      if (done === true) {
        this.#round = undefined
        break
      }
      const isOver = this.#options.isOver?.(topicName)
      if (isOver instanceof Promise ? await isOver : isOver === true) over.push(topicName)
    }
    this.remove(over)
  }

  /** Removes the retained messages of these Topic Names, some in each turn of the event loop. */
  remove(topicNames: readonly string[]): void {
    if (topicNames.length === 0) return
    const { retained, engine, clock, log, shared } = this.#options
    const now = topicNames.slice(0, REMOVED_PER_TURN)
    if (shared === undefined) for (const topicName of now) retained.remove(topicName)
    else shared.remove(now)
    if (engine.isDurable && shared === undefined) {
      engine.write({
        changes: now.map((topicName) => ({ key: STATE_KEYS.retained(topicName), value: undefined })),
        committed: () => {},
        // They are gone from memory. The next start looks again.
        failed: ({ reason }) => log.warn({ reason }, 'retained.cleaning_failed'),
      })
    }
    log.info({ messages: now.length }, 'retained.cleaned')
    const rest = topicNames.slice(REMOVED_PER_TURN)
    if (rest.length > 0) clock.afterTurn(() => this.remove(rest))
  }
}
