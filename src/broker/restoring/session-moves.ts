/**
 * Sessions in a deployment of several nodes. Each Session has one home: the node that keeps it, and
 * that its client is connected to. A client that connects to another node takes its Session along.
 *
 * The new home asks the old one for the Session. The old home ends the connection, waits until
 * everything that the client published is owned, takes the Session out, and answers with its
 * records. The new home writes them to its own state, and then makes itself the home at the
 * servers. This step decides: before it the Session is the old home's, and behind it the new one's,
 * whatever node dies meanwhile. Records of a Session whose home is elsewhere count for nothing.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import { later } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Inheritance, KnownHome, NodeId, Nodes } from '../../nodes.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { CheckpointRecord } from '../durable/session-record.ts'
import type { SessionStore } from '../durable/session-store.ts'
import { STATE_KEYS, splitKey } from '../durable/state-keys.ts'
import type { Engine, StateChange, StateEntry } from '../ports/engine.ts'
import type { Permit } from '../ports/policy.ts'
import { sessionKey } from '../sessions/sessions.ts'
import type { Session } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { WillMessages } from '../sessions/will-messages.ts'
import { checkpointWithin, loadCheckpoint } from './checkpoint.ts'
import { restoreSessions } from './restore-sessions.ts'
import type { StateSource } from './restore-sessions.ts'
import { SentAway } from './sent-away.ts'
import { entriesOf, pagesOf, sourceOf } from './session-entries.ts'
import { decodeLeaveAnswer, decodeLeaveRequest, encodeLeaveAnswer, encodeLeaveRequest } from './session-messages.ts'
import type { LeaveAnswer } from './session-messages.ts'
import { writeState } from '../durable/write-state.ts'

/** How long a CONNECT waits for its Session, ms: longer than a dead node needs to get an heir. */
const ACQUIRE_MS = 15_000
/** How far this node may be behind the log when it becomes the heir of another one, ms. */
const INHERIT_MS = 60_000
/** How long the home of a Session may take to let it go, ms. */
const LEAVE_MS = 5_000
/** How long a Session that has left waits for news of its new home, ms. */
const FROZEN_MS = 10_000
/** Time between two attempts, ms. */
const AGAIN_MS = 50
/** Time between two looks for something that is about to happen in this process, ms. */
const LOOK_MS = 5

const LEAVE = 'session.leave'
const LEFT = 'session.left'

/** A Session that has left and that no other node has taken yet. */
interface Frozen {
  /** Empty: there was no Session. */
  readonly entries: readonly StateEntry[]
  readonly tails: readonly number[]
  /** All keys of the state that belong to the Session. */
  readonly keys: readonly string[]
  untilMs: number
}

/** A Session as it comes to its new home. */
type Came = Pick<LeaveAnswer, 'entries' | 'tails'>

/** There was no Session. */
const NOTHING: Came = { entries: [], tails: [] }

/** The shared subscriptions of the deployment, as Sessions that come need them. */
export interface GroupKeeper {
  /** Finds the homes of all groups that Sessions in these records are members of. */
  prepareFor(source: StateSource): Promise<void>
  /** The Sessions are there: the groups that came with them go on. */
  goOn(): void
}

export interface SessionMovesOptions {
  readonly nodes: Nodes
  readonly engine: Engine
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly store: SessionStore
  readonly wills: WillMessages
  readonly groups: GroupKeeper
  readonly clock: Clock
  readonly log: Logger
}

export class SessionMoves {
  /** The Sessions of clients that this node sends away when it drains. */
  readonly sentAway: SentAway
  readonly #options: SessionMovesOptions
  /** By key of the Session: CONNECTs of this node that wait for it share one attempt. */
  readonly #acquiring = new Map<string, Promise<void>>()
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #frozen = new Map<string, Frozen>()
  readonly #reclaiming = new Set<string>()

  constructor(options: SessionMovesOptions) {
    this.#options = options
    this.sentAway = new SentAway(options.nodes, options.clock)
    const { bus } = options.nodes
    bus.serve(LEAVE, async (body) => {
      const { key, page } = decodeLeaveRequest(body)
      return encodeLeaveAnswer(await this.#leave(key, page))
    })
    bus.serve(LEFT, (body) => {
      this.#left(body.toString())
      return Buffer.alloc(0)
    })
    options.nodes.onInherited((inheritance) => this.#inherit(inheritance))
  }

  /**
   * Makes this node the home of the client's Session. Undefined: it is. The promise rejects with a
   * sentence when the Session can't be had in time.
   */
  acquire(permit: Permit, clientId: string): Promise<void> | undefined {
    const key = sessionKey(permit, clientId)
    // An heir may go on with the Session by now: what is in flight here may be over there.
    if (this.#options.nodes.isCutOff) return Promise.reject(new Error('this node can’t reach the other nodes'))
    if (this.#options.sessions.findByKey(key) !== undefined && !this.#leaving.has(key)) return undefined
    let acquiring = this.#acquiring.get(key)
    if (acquiring === undefined) {
      acquiring = this.#acquire(key).finally(() => this.#acquiring.delete(key))
      this.#acquiring.set(key, acquiring)
    }
    return acquiring
  }

  /** Nobody needs the home of this Session here, if the Session does not exist. */
  releaseUnused(permit: Permit, clientId: string): void {
    this.released(sessionKey(permit, clientId))
  }

  /** The Session with this key has ended. */
  released(key: string): void {
    const { nodes, sessions, clock } = this.#options
    clock.afterTurn(() => {
      if (sessions.findByKey(key) === undefined && !this.#acquiring.has(key) && !this.#frozen.has(key)) {
        nodes.homes.release(homeKey(key))
      }
    })
  }

  /**
   * The part of this node's own state that counts: the Sessions whose home it is. The records of
   * others are left from moves that a crash cut short.
   */
  async ownSource(): Promise<{ readonly source: StateSource; readonly orphans: readonly StateChange[] }> {
    const { engine, nodes } = this.#options
    const keys = new Set<string>()
    for (const prefix of WITH_HOMES) {
      for await (const { key } of engine.load(prefix)) keys.add(homeKeyOf(key) ?? key)
    }
    const here = await nodes.homes.areHere([...keys])
    const isHere = (key: string): boolean => here.has(homeKeyOf(key) ?? key) || homeKeyOf(key) === undefined
    const orphans: StateChange[] = []
    for (const prefix of WITH_HOMES) {
      for await (const { key } of engine.load(prefix)) if (!isHere(key)) orphans.push({ key, value: undefined })
    }
    const source: StateSource = {
      async *load(prefix) {
        for await (const entry of engine.load(prefix)) if (isHere(entry.key)) yield entry
      },
    }
    return { source, orphans }
  }

  /** Takes Sessions back that no other node has taken. The owner calls it about once a second. */
  tick(): void {
    const now = this.#options.clock.steady()
    for (const [key, frozen] of this.#frozen) {
      if (frozen.untilMs <= now && !this.#acquiring.has(key) && !this.#reclaiming.has(key)) void this.#reclaim(key)
    }
  }

  async #acquire(key: string): Promise<void> {
    const { nodes, clock } = this.#options
    const until = clock.steady() + ACQUIRE_MS
    await this.#leaving.get(key)?.catch(() => undefined)
    /** Records that are in this node's state, and that count once it is the Session's home. */
    let written: Came | undefined
    const earlier = new Set<string>()
    for (;;) {
      const leftMs = until - clock.steady()
      if (leftMs <= 0) {
        this.#giveUp(key, written)
        throw new Error('its Session is at another node, which does not answer')
      }
      let found: KnownHome
      try {
        found = await nodes.homes.find(homeKey(key), leftMs)
        const from = found.node
        if (from?.incarnation === nodes.bus.self.incarnation) {
          // The answer may be an earlier one, and another node may be about to take the Session:
          // this step decides.
          if (!(await nodes.homes.take(homeKey(key), found))) continue
          await this.#arrive(key, this.#frozen.get(key) ?? written)
          return
        }
        const came: Came = from === undefined ? NOTHING : await this.#ask(from, key, Math.min(leftMs, LEAVE_MS))
        await this.#routed(came.tails, until as SteadyMs)
        // Records of earlier stays and attempts do not count any more.
        for (const stale of [...keysOf(written), ...(this.#frozen.get(key)?.keys ?? [])]) earlier.add(stale)
        written = came
        await this.#write(key, came.entries, earlier)
        this.#frozen.delete(key)
        // An earlier attempt may have come through: the next look tells.
        if (!(await nodes.homes.take(homeKey(key), found))) continue
        await this.#arrive(key, came)
        if (from !== undefined) nodes.bus.request(from, LEFT, Buffer.from(key), LEAVE_MS).catch(() => undefined)
        return
      } catch (error) {
        this.#options.log.debug({ err: error }, 'session.not_acquired')
        await this.#wait(AGAIN_MS)
      }
    }
  }

  /** This node may have become the home without an answer: it looks again later. */
  #giveUp(key: string, written: Came | undefined): void {
    if (written === undefined || this.#frozen.has(key)) return
    this.#frozen.set(key, { ...written, keys: keysOf(written), untilMs: this.#options.clock.steady() })
  }

  /** Asks a node for a Session, page by page. */
  async #ask(from: NodeId, key: string, timeoutMs: number): Promise<LeaveAnswer> {
    const { bus } = this.#options.nodes
    const page = async (number: number): Promise<LeaveAnswer> =>
      decodeLeaveAnswer(await bus.request(from, LEAVE, encodeLeaveRequest({ key, page: number }), timeoutMs))
    const first = await page(0)
    const entries = [...first.entries]
    for (let number = 1; number < first.pages; number += 1) entries.push(...(await page(number)).entries)
    return { ...first, entries }
  }

  /** This node is the home: the Session goes on here. */
  async #arrive(key: string, came: Came | undefined): Promise<void> {
    this.#frozen.delete(key)
    if (came === undefined || came.entries.length === 0) return
    if (this.#options.sessions.findByKey(key) !== undefined) return
    await this.#restore(sourceOf(came.entries), { tails: came.tails, isClean: true }, this.#options.clock.steady())
  }

  async #restore(source: StateSource, saved: CheckpointRecord | undefined, restingSince?: SteadyMs): Promise<void> {
    const { engine, store, groups } = this.#options
    await groups.prepareFor(source)
    const checkpoint = checkpointWithin(saved, engine)
    const { sessions, orphans, completed } = await restoreSessions({
      ...this.#options,
      source,
      checkpoint,
      restingSince,
    })
    for (const session of sessions) store.arrived(session)
    store.discard(orphans, completed)
  }

  /** The Session is to go to another node. Rejects while it can’t. */
  async #leave(key: string, page: number): Promise<LeaveAnswer> {
    if (this.#acquiring.has(key) || this.#reclaiming.has(key)) throw new Error('the Session is about to come here')
    if (!this.#frozen.has(key)) {
      let leaving = this.#leaving.get(key)
      if (leaving === undefined) {
        leaving = this.#freeze(key).finally(() => this.#leaving.delete(key))
        this.#leaving.set(key, leaving)
      }
      await leaving
    }
    const frozen = this.#frozen.get(key)
    if (frozen === undefined) throw new Error('the Session has just left')
    frozen.untilMs = this.#options.clock.steady() + FROZEN_MS
    const pages = pagesOf(frozen.entries)
    return { entries: pages[page] ?? [], pages: pages.length, tails: frozen.tails }
  }

  /** Takes the Session out, and keeps its records. */
  async #freeze(key: string): Promise<void> {
    const { sessions, store, delivery, clock } = this.#options
    // The asker may not know yet that it has the Session itself.
    if (sessions.findByKey(key) === undefined) await this.#assertHome(key)
    const session = sessions.findByKey(key)
    session?.connection?.disconnect(
      ReasonCodes.sessionTakenOver,
      'another connection uses this Client Identifier',
      'taken_over',
    ) // [MQTT-3.1.4-3]
    if (session !== undefined) await this.#settled(session)
    if (session !== undefined && session.groups.size > 0) await this.#saveGroups(session)
    if (session !== undefined) await this.#saveAsItIs(session)
    const untilMs = clock.steady() + FROZEN_MS
    const tails = [...delivery.tails]
    if (session === undefined || session.hasEnded) {
      this.#frozen.set(key, { entries: [], tails, keys: [], untilMs })
      return
    }
    const entries = entriesOf(session, clock, store.completedAhead(session))
    const keys = store.takeKeys(session)
    sessions.leave(session)
    this.#frozen.set(key, { entries, tails, keys, untilMs })
  }

  /**
   * Saves how far the Session and its groups are. The Session takes no word along of the messages
   * that it has brought to their end: an heir of this node must not give them once more.
   */
  async #saveGroups(session: Session): Promise<void> {
    const { store } = this.#options
    store.changed(session)
    // The first one may have begun before the client was gone.
    await store.checkpoint()
    await store.checkpoint()
    if (session.connection !== undefined) throw new Error('the client has come back here')
  }

  /**
   * Later checkpoints do not stand for a Session that has left. An heir of this node, or the node
   * itself, may have to go on with it.
   */
  async #saveAsItIs(session: Session): Promise<void> {
    const { store, clock } = this.#options
    await store.saveResting(session, entriesOf(session, clock, store.completedAhead(session)))
    if (session.connection !== undefined) throw new Error('the client has come back here')
  }

  /** Waits until everything that the client published is owned, or given up. */
  async #settled(session: Session): Promise<void> {
    const { clock } = this.#options
    const until = clock.steady() + LEAVE_MS
    const isPending = (): boolean =>
      (session.lastWindow?.pending ?? 0) > 0 || session.received.values().some(({ isOwned }) => !isOwned)
    while (isPending()) {
      if (clock.steady() >= until) throw new Error('messages of the client are on their way to the log')
      await this.#wait(LOOK_MS)
    }
    if (session.connection !== undefined) throw new Error('the client has come back here')
  }

  /** Rejects when another node is the home of the Session. */
  async #assertHome(key: string): Promise<void> {
    const { nodes } = this.#options
    const { node } = await nodes.homes.find(homeKey(key), LEAVE_MS)
    const isElsewhere = node !== undefined && node.incarnation !== nodes.bus.self.incarnation
    if (isElsewhere) throw new Error('the Session is at another node')
  }

  /** Another node is the home of the Session. */
  #left(key: string): void {
    this.sentAway.taken(key)
    const frozen = this.#frozen.get(key)
    if (frozen === undefined) return
    this.#frozen.delete(key)
    void this.#forget(frozen.keys)
  }

  /** Looks whether another node has taken the Session; takes it back otherwise. */
  async #reclaim(key: string): Promise<void> {
    const { nodes, clock } = this.#options
    this.#reclaiming.add(key)
    try {
      const found = await nodes.homes.find(homeKey(key), LEAVE_MS)
      const frozen = this.#frozen.get(key)
      if (frozen === undefined || frozen.untilMs > clock.steady()) return
      if (found.node?.incarnation !== nodes.bus.self.incarnation) this.#left(key)
      else if ((await nodes.homes.take(homeKey(key), found)) && this.#frozen.get(key) === frozen) {
        await this.#arrive(key, frozen)
        this.released(key)
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'session.not_reclaimed')
    } finally {
      this.#reclaiming.delete(key)
    }
  }

  /** The Sessions of a dead node go on here. */
  async #inherit(inheritance: Inheritance): Promise<void> {
    const { store, clock, log, sessions } = this.#options
    await this.#forgetEarlier(inheritance)
    const saved = await loadCheckpoint(inheritance)
    if (saved !== undefined) await this.#routed(saved.tails, later(clock.steady(), INHERIT_MS))
    const before = sessions.count
    await this.#restore(inheritance, saved && { ...saved, isClean: saved.isClean && inheritance.isOrderly })
    this.#options.groups.goOn()
    await store.checkpoint()
    log.info({ from: inheritance.from.name, sessions: sessions.count - before }, 'broker.inherited')
  }

  /**
   * Sessions that left here come back with the state of a dead node. It did not say that it had
   * them, and what is here of them does not count any more.
   */
  async #forgetEarlier(inheritance: Inheritance): Promise<void> {
    if (this.#frozen.size === 0) return
    const came = new Map<string, Set<string>>()
    for (const prefix of OF_SESSIONS) {
      for await (const { key } of inheritance.load(prefix)) {
        const session = keyOfEntry(key)
        if (this.#frozen.has(session)) came.set(session, (came.get(session) ?? new Set()).add(key))
      }
    }
    for (const [session, here] of came) {
      const frozen = this.#frozen.get(session)
      this.#frozen.delete(session)
      await this.#forget((frozen?.keys ?? []).filter((key) => !here.has(key)))
    }
  }

  /** Waits until this node has routed everything that the other one had. */
  async #routed(tails: readonly number[], until: SteadyMs): Promise<void> {
    const { delivery, clock } = this.#options
    while (tails.some((tail, partition) => (delivery.tails[partition] ?? tail) < tail)) {
      if (clock.steady() >= until) throw new Error('this node is behind the log')
      await this.#wait(LOOK_MS)
    }
  }

  /** Writes the records of a Session in the place of its earlier ones. */
  async #write(key: string, entries: readonly StateEntry[], earlier: ReadonlySet<string>): Promise<void> {
    const [tenant = ''] = splitKey(homeKey(key))
    const here = new Set(entries.map((entry) => entry.key))
    const changes: StateChange[] = [...entries]
    for (const stale of earlier.difference(here)) changes.push({ key: stale, value: undefined })
    await writeState(this.#options.engine, tenant, changes)
  }

  async #forget(keys: readonly string[]): Promise<void> {
    const [tenant = ''] = splitKey(keys[0] ?? '')
    const changes: StateChange[] = keys.map((key) => ({ key, value: undefined }))
    // Records that stay count for nothing, since the Session's home is elsewhere.
    await writeState(this.#options.engine, tenant, changes).catch(() => undefined)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve))
  }
}

function keysOf(came: Came | undefined): readonly string[] {
  return came?.entries.map(({ key }) => key) ?? []
}

/** The records that belong to one Session begin with one of these. */
const OF_SESSIONS = [
  STATE_KEYS.sessions,
  STATE_KEYS.subscriptions,
  STATE_KEYS.sentMessages,
  STATE_KEYS.receivedMessages,
] as const

/** The records that count at the home of their Session or group alone. */
const WITH_HOMES = [...OF_SESSIONS, STATE_KEYS.groups] as const

/**
 * The key by which the nodes know the home of the thing that a record belongs to. Undefined for
 * records that belong to the node.
 */
export function homeKeyOf(stateKey: string): string | undefined {
  if (stateKey.startsWith(STATE_KEYS.groups)) return stateKey
  return OF_SESSIONS.some((prefix) => stateKey.startsWith(prefix)) ? homeKey(keyOfEntry(stateKey)) : undefined
}

/** The key by which the nodes know the home of a Session. */
function homeKey(sessionKeyText: string): string {
  return `session/${sessionKeyText}`
}

/** The key of the Session that a record belongs to. */
function keyOfEntry(key: string): string {
  return splitKey(key).slice(0, 3).join('\0')
}
