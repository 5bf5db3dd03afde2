/**
 * Sessions in the engine's state, so that they outlive the process. Changes that must not happen
 * twice or be forgotten (subscriptions, QoS 2) are saved before the client is told of them.
 * Checkpoints save how far a Session has read.
 *
 * A checkpoint writes every Session that changed since the last one, then the tails of the log as
 * they were when it began. A live Session that has not changed since stands at these tails. So
 * after a crash the messages at QoS 1 that were sent since the last checkpoint are repeated: at
 * most those of a second, or `MESSAGES_BETWEEN_CHECKPOINTS`. While a tenant's records wait for room
 * in its share, the checkpoint takes longer, and more messages may be repeated.
 */
import type { Clock } from '../../clock.ts'
import type { Engine, EngineFailure, StateChange, StateEntry } from '../ports/engine.ts'
import type { Logger } from '../../logger.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { encodeCheckpoint, encodeGroup, encodeInflight, encodeSession, encodeSubscription } from './session-record.ts'
import type { Inflight, Session } from '../sessions/session.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import { saveReaders } from './save-readers.ts'
import { STATE_KEYS } from './state-keys.ts'
import type { StateWay } from './state-way.ts'
import { putBack, unsavedSubscriptions } from './unsaved-subscriptions.ts'
import { writeState } from './write-state.ts'
import type { Reader, ReaderChanges } from '../sessions/reader.ts'
import type { SessionKeeper } from '../sessions/sessions.ts'

/** After this number of acknowledged messages a checkpoint does not wait for the second to pass. */
const MESSAGES_BETWEEN_CHECKPOINTS = 2_000
const NOTHING = Buffer.alloc(0)

/**
 * A QoS 2 message that was brought to its end. The state keeps it until the saved cursor of its
 * reader has passed it.
 */
export interface Completed {
  readonly session: Session
  /** The Session or group that read the message from the log. */
  readonly reader: Reader
  readonly partition: number
  readonly offset: number
  readonly packetId: number
  /** See `Inflight`. */
  readonly order: number
}

/** A write that the engine refused, and that is tried again. */
interface RefusedWrite {
  /** Undefined: the broker's own. */
  readonly tenant: string | undefined
  readonly changes: readonly StateChange[]
  readonly done: () => void
}

export interface SessionStoreOptions {
  /** Takes the broker's own records. */
  readonly engine: Pick<Engine, 'write'>
  /** Takes the records of the tenants. */
  readonly way: StateWay
  readonly log: Logger
  /** By partition: the offset after the last message that was routed. */
  readonly tails: () => readonly number[]
  readonly clock: Clock
}

export class SessionStore implements SessionKeeper, ReaderChanges {
  readonly #engine: Pick<Engine, 'write'>
  readonly #way: StateWay
  readonly #log: Logger
  readonly #tails: () => readonly number[]
  readonly #clock: Clock
  #unsaved: Reader[] = []
  #completed: Completed[] = []
  /**
   * Sessions of other nodes that have come since the last checkpoint. Their records name all
   * cursors: the tails of that checkpoint are older than the Sessions' places in the log.
   */
  readonly #arrived = new Set<Session>()
  /**
   * Writes that the engine refused and that must not be lost: they are tried again with the next
   * checkpoint.
   */
  #refused: RefusedWrite[] = []
  /** The tenants of these writes: their later writes wait behind them. */
  readonly #refusedOf = new Set<string | undefined>()
  #running: Promise<void> | undefined = undefined
  #savedTails = ''
  /** Messages brought to their end since the last checkpoint began. */
  #settled = 0

  constructor({ engine, way, log, tails, clock }: SessionStoreOptions) {
    this.#engine = engine
    this.#way = way
    this.#log = log
    this.#tails = tails
    this.#clock = clock
  }

  /** Sessions that end with their connection are not kept. */
  keeps(session: Session): boolean {
    return session.isKept
  }

  /** The Session has come from another node. */
  arrived(session: Session): void {
    this.#arrived.add(session)
  }

  /** Marks the Session or group as changed: it is written with the next checkpoint. */
  changed(reader: Reader): void {
    if (reader.isUnsaved || !reader.isKept) return
    reader.isUnsaved = true
    this.#unsaved.push(reader)
  }

  /**
   * Writes the Session, now or when its tenant's share has room. Calls `done` when the Session is
   * owned as it is now, or later. Calls `failed` when the engine refuses it; then it is written
   * with the next checkpoint.
   */
  save(session: Session, done: () => void, failed: (failure: EngineFailure) => void): void {
    const refused = (failure: EngineFailure): void => {
      this.changed(session)
      failed(failure)
    }
    this.#way.whenRoom(session.tenant, session.recordBytes, () => this.#saveNow(session, done, refused), refused)
  }

  #saveNow(session: Session, done: () => void, refused: (failure: EngineFailure) => void): void {
    if (this.#refusedOf.has(session.tenant)) {
      // Nothing is owned now: the writes that were refused before must be owned first, so that the
      // order holds.
      refused({ reasonCode: ReasonCodes.quotaExceeded, reason: 'The disk has refused to store what comes before it.' })
      return
    }
    // While it waited the Session may have ended. Its record is gone then, and must not come back.
    if (session.hasEnded || !this.keeps(session)) {
      done()
      return
    }
    const taken = unsavedSubscriptions(session)
    this.#way.write(session.tenant, {
      changes: this.ofSession(session),
      committed: done,
      failed: (failure) => {
        this.#failed(failure)
        putBack(session, taken)
        refused(failure)
      },
    })
  }

  /**
   * The Session has given messages back to the group. Both are written as one, together with the
   * members that the group has given messages to since they were saved: otherwise after a crash a
   * message could belong to nobody.
   */
  handedBack(session: Session, group: SharedGroup): void {
    const changes: StateChange[] = []
    for (const member of group.members.keys()) {
      if (member !== session && member.isUnsaved && this.keeps(member)) changes.push(...this.ofSession(member))
    }
    changes.push(this.ofGroup(group))
    if (this.keeps(session)) changes.push(...this.ofSession(session))
    this.#write(session.tenant, changes, () => {})
  }

  /**
   * A QoS 2 message is about to be sent. Calls `done` when the message will be known after a crash.
   */
  sending(session: Session, entry: Inflight, done: () => void): void {
    this.changed(session)
    this.#writeStep(session, inflightChange(session, entry, 'publish'), done)
  }

  /**
   * The client has said PUBREC. Calls `done` when the message can't be published again, even after
   * a crash.
   */
  releasing(session: Session, entry: Inflight, done: () => void): void {
    this.#writeStep(session, inflightChange(session, entry, 'pubrel'), done)
  }

  /** The client has brought the message to its end. */
  settled(session: Session, entry: Inflight): void {
    if (!this.keeps(session)) {
      if (entry.group !== undefined) this.changed(entry.group)
      return
    }
    this.changed(session)
    this.#settled += 1
    if (this.#settled === MESSAGES_BETWEEN_CHECKPOINTS) this.#clock.afterTurn(() => void this.checkpoint())
    if (entry.qos === 2 && entry.offset >= 0) {
      const { partition, offset, packetId, order, group } = entry
      this.#completed.push({ session, reader: group ?? session, partition, offset, packetId, order })
    }
  }

  /**
   * The change that remembers an incoming QoS 2 message, to be owned together with it
   * [MQTT-4.3.3-10].
   */
  received(session: Session, packetId: number): StateChange {
    return { key: STATE_KEYS.received(session.key, packetId), value: NOTHING }
  }

  /** Remembers an incoming QoS 2 message by a write of its own. */
  saveReceived(session: Session, packetId: number, done: () => void): void {
    this.#writeStep(session, this.received(session, packetId), done)
  }

  /**
   * The client has released an incoming QoS 2 message. Calls `done` when the Packet Identifier may
   * mean another message.
   */
  released(session: Session, packetId: number, done: () => void): void {
    this.#writeStep(session, { key: STATE_KEYS.received(session.key, packetId), value: undefined }, done)
  }

  /**
   * The Session has ended, or ends with its connection from now on. Does nothing for a Session that
   * was never saved.
   */
  forget(session: Session): void {
    const keys = this.takeKeys(session)
    if (keys.length === 0) return
    this.#write(
      session.tenant,
      keys.map((key) => ({ key, value: undefined })),
      () => {},
    )
  }

  /**
   * QoS 2 messages that the Session has brought to their end, and that its cursors still meet: it
   * goes on reading where a dead node had saved it.
   */
  completedAhead(session: Session): readonly Completed[] {
    const tails = this.#tails()
    return this.#completed.filter((one) => one.reader === session && isAhead(one, tails))
  }

  /**
   * Saves a Session that rests as it is, with all of its records; `entries` are these. Resolves
   * when the engine owns them. Rejects with the engine's reason.
   */
  async saveResting(session: Session, entries: readonly StateEntry[]): Promise<void> {
    const { tenant, isSaved, isUnsaved, unsavedSubscriptions: unsaved, subscriptions } = session
    if (this.#refusedOf.has(tenant)) throw new Error('The disk has refused to store what comes before it.')
    if (session.hasEnded || !this.keeps(session)) return
    if (isSaved && !isUnsaved && unsaved === undefined) return
    // A Session that ends meanwhile forgets its records.
    session.isSaved = true
    const changes: StateChange[] = [...entries]
    for (const topicFilter of unsaved ?? []) {
      if (subscriptions.has(topicFilter)) continue
      changes.push({ key: STATE_KEYS.subscription(session.key, topicFilter), value: undefined })
    }
    await writeState(this.#engine, tenant, changes)
  }

  /** The keys of all records of the Session: from here on they are the caller's. */
  takeKeys(session: Session): readonly string[] {
    if (!session.isSaved) return []
    session.isSaved = false
    this.#arrived.delete(session)
    const keys = [STATE_KEYS.session(session.key)]
    const topicFilters = new Set([...session.subscriptions.keys(), ...(session.unsavedSubscriptions ?? [])])
    session.unsavedSubscriptions = undefined
    for (const topicFilter of topicFilters) keys.push(STATE_KEYS.subscription(session.key, topicFilter))
    for (const { packetId } of session.received.values()) keys.push(STATE_KEYS.received(session.key, packetId))
    for (const { qos, partition, offset } of session.inflight.values()) {
      if (qos === 2 && offset >= 0) keys.push(STATE_KEYS.sent(session.key, partition, offset))
    }
    this.#completed = this.#completed.filter((completed) => {
      if (completed.session !== session) return true
      keys.push(sentKey(completed))
      return false
    })
    return keys
  }

  /** The group has lost its last member. */
  forgetGroup(group: SharedGroup): void {
    this.#write(group.tenant, [{ key: STATE_KEYS.group(group.key), value: undefined }], () => {})
  }

  /**
   * Forgets what a restart found and nobody needs: with the next checkpoint, or once the readers
   * have passed it.
   */
  discard(changes: readonly StateChange[], completed: readonly Completed[]): void {
    if (changes.length > 0) this.#tryLater({ tenant: undefined, changes, done: () => {} })
    this.#completed.push(...completed)
  }

  /**
   * Saves everything that has changed. Resolves when it is owned or has failed; then the next
   * checkpoint takes it along.
   */
  checkpoint(): Promise<void> {
    this.#running ??= this.#checkpoint().finally(() => {
      this.#running = undefined
      // That many messages came to their end while the checkpoint was under way.
      if (this.#settled >= MESSAGES_BETWEEN_CHECKPOINTS) this.#clock.afterTurn(() => void this.checkpoint())
    })
    return this.#running
  }

  /**
   * Writes the last checkpoint. Nothing is sent any more, so the messages that were sent are known
   * exactly.
   */
  async close(): Promise<void> {
    await this.#running
    await this.#checkpoint(true)
  }

  async #checkpoint(isClean = false): Promise<void> {
    this.#settled = 0
    const refused = this.#refused
    this.#refused = []
    this.#refusedOf.clear()
    for (const { tenant, changes, done } of refused) this.#write(tenant, changes, done)
    const tails = this.#tails()
    const checkpoint = encodeCheckpoint({ tails, isClean })
    const text = checkpoint.toString('latin1')
    if (this.#unsaved.length === 0 && this.#completed.length === 0 && text === this.#savedTails) return
    const passed = this.#takePassed(tails)
    const arrived = [...this.#arrived]
    // The tails stand for each Session that has not changed. So the Sessions that did are owned
    // first: a tenant's records may wait for room, and the tails don't.
    const unsaved = this.#unsaved
    this.#unsaved = []
    const isSaved = await saveReaders(unsaved, {
      way: this.#way,
      clock: this.#clock,
      changes: this,
      refused: (readers, failure) => {
        for (const reader of readers) this.changed(reader)
        this.#failed(failure)
      },
    })
    if (!isSaved) {
      this.#completed.push(...passed)
      return
    }
    const changes: StateChange[] = [{ key: STATE_KEYS.checkpoint, value: checkpoint }]
    for (const completed of passed) changes.push({ key: sentKey(completed), value: undefined })
    await new Promise<void>((resolve) => {
      this.#engine.write({
        changes,
        committed: () => {
          this.#savedTails = text
          for (const session of arrived) this.#arrived.delete(session)
          resolve()
        },
        failed: (failure) => {
          this.#completed.push(...passed)
          this.#failed(failure)
          resolve()
        },
      })
    })
  }

  /**
   * Takes the messages out of the completed ones that no reader will meet again with the cursors as
   * they are now.
   */
  #takePassed(tails: readonly number[]): readonly Completed[] {
    const passed: Completed[] = []
    this.#completed = this.#completed.filter((completed) => {
      const isMet = isAhead(completed, tails)
      if (!isMet) passed.push(completed)
      return isMet
    })
    return passed
  }

  /** The record of the Session, and those of its subscriptions that have changed since. */
  ofSession(session: Session): readonly StateChange[] {
    const { key, subscriptions } = session
    const topicFilters = unsavedSubscriptions(session)
    session.isSaved = true
    session.unsavedSubscriptions = undefined
    const tails = this.#arrived.has(session) ? this.#tails() : undefined
    const changes: StateChange[] = [{ key: STATE_KEYS.session(key), value: encodeSession(session, this.#clock, tails) }]
    for (const topicFilter of topicFilters) {
      const subscription = subscriptions.get(topicFilter)
      const value = subscription === undefined ? undefined : encodeSubscription(subscription)
      changes.push({ key: STATE_KEYS.subscription(key, topicFilter), value })
    }
    return changes
  }

  /** A group that is at the tail everywhere needs no record, unless other nodes have members. */
  ofGroup(group: SharedGroup): StateChange {
    const owes = group.behind.size > 0 || group.returned.length > 0 || group.heldByUnkept().next().done !== true
    const isOver = !group.hasMembers && !group.awaitsMembers
    const isPlain = isOver || group.elsewhere !== undefined || !(owes || group.isDistributed)
    return { key: STATE_KEYS.group(group.key), value: isPlain ? undefined : encodeGroup(group) }
  }

  /**
   * Writes one step of QoS 2. A refused one is not tried again when the Session has ended or left:
   * it would come behind the write that forgets the Session's records.
   */
  #writeStep(session: Session, change: StateChange, done: () => void): void {
    this.#write(session.tenant, [change], done, () => !session.hasEnded)
  }

  #write(
    tenant: string | undefined,
    changes: readonly StateChange[],
    done: () => void,
    isWanted: () => boolean = () => true,
  ): void {
    if (this.#refusedOf.has(tenant)) {
      // Behind the writes that were refused before, so that the order holds.
      this.#refused.push({ tenant, changes, done })
      return
    }
    const failed = (failure: EngineFailure): void => {
      // The windows of the Sessions that wait for these writes bound their number.
      if (isWanted()) this.#tryLater({ tenant, changes, done })
      this.#failed(failure)
    }
    if (tenant === undefined) this.#engine.write({ changes, committed: done, failed })
    else this.#way.write(tenant, { changes, committed: done, failed })
  }

  #tryLater(write: RefusedWrite): void {
    this.#refused.push(write)
    this.#refusedOf.add(write.tenant)
  }

  #failed({ reason }: EngineFailure): void {
    this.#log.warn({ reason }, 'session.save_refused')
  }
}

/** The reader has not passed the message. */
function isAhead({ reader, partition, offset }: Completed, tails: readonly number[]): boolean {
  return offset >= (reader.behind.get(partition)?.offset ?? tails[partition] ?? 0)
}

function sentKey({ session, partition, offset }: Completed): string {
  return STATE_KEYS.sent(session.key, partition, offset)
}

function inflightChange(session: Session, entry: Inflight, awaiting: 'publish' | 'pubrel'): StateChange {
  const { partition, offset } = entry
  return { key: STATE_KEYS.sent(session.key, partition, offset), value: encodeInflight(entry, awaiting) }
}
