/**
 * Sessions in the engine's state, so that they outlive the process. Changes that must not happen
 * twice or be forgotten (subscriptions, QoS 2) are saved before the client is told of them.
 * Checkpoints save how far a Session has read.
 *
 * A checkpoint writes every Session that changed since the last one, then the tails of the log as
 * they were when it began. A live Session that has not changed since stands at these tails. So
 * after a crash the messages at QoS 1 that were sent since the last checkpoint are repeated: at
 * most those of a second, or `MESSAGES_BETWEEN_CHECKPOINTS`.
 */
import type { Clock } from '../../clock.ts'
import type { Engine, EngineFailure, StateChange } from '../ports/engine.ts'
import type { Logger } from '../../logger.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { encodeCheckpoint, encodeGroup, encodeInflight, encodeSession } from './session-record.ts'
import type { Inflight, Session } from '../sessions/session.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import { STATE_KEYS } from './state-keys.ts'
import type { Reader, ReaderChanges } from '../sessions/reader.ts'
import type { SessionKeeper } from '../sessions/sessions.ts'

/** After this number of acknowledged messages a checkpoint does not wait for the second to pass. */
const MESSAGES_BETWEEN_CHECKPOINTS = 2_000
/**
 * Sessions written in one turn of the event loop, so that a checkpoint of very many Sessions delays
 * no other work.
 */
const SESSIONS_PER_TURN = 256
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
}

export interface SessionStoreOptions {
  readonly engine: Engine
  readonly log: Logger
  /** By partition: the offset after the last message that was routed. */
  readonly tails: () => readonly number[]
  readonly clock: Clock
}

export class SessionStore implements SessionKeeper, ReaderChanges {
  readonly #engine: Engine
  readonly #log: Logger
  readonly #tails: () => readonly number[]
  readonly #clock: Clock
  #unsaved: Reader[] = []
  #completed: Completed[] = []
  /**
   * Writes that the engine refused and that must not be lost: they are tried again with the next
   * checkpoint.
   */
  #refused: { readonly changes: readonly StateChange[]; readonly done: () => void }[] = []
  #running: Promise<void> | undefined = undefined
  #savedTails = ''
  /** Messages brought to their end since the last checkpoint began. */
  #settled = 0

  constructor({ engine, log, tails, clock }: SessionStoreOptions) {
    this.#engine = engine
    this.#log = log
    this.#tails = tails
    this.#clock = clock
  }

  /** Sessions that end with their connection are not kept. */
  keeps(session: Session): boolean {
    return session.isKept
  }

  /** Marks the Session or group as changed: it is written with the next checkpoint. */
  changed(reader: Reader): void {
    if (reader.isUnsaved || !reader.isKept) return
    reader.isUnsaved = true
    this.#unsaved.push(reader)
  }

  /**
   * Writes the Session now. Calls `done` when the Session is owned, `failed` when the engine
   * refuses it; then it is written with the next checkpoint.
   */
  save(session: Session, done: () => void, failed: (failure: EngineFailure) => void): void {
    const refused = (failure: EngineFailure): void => {
      this.changed(session)
      failed(failure)
    }
    if (this.#refused.length > 0) {
      // Nothing is owned now: the writes that were refused before must be owned first, so that the
      // order holds.
      refused({ reasonCode: ReasonCodes.quotaExceeded, reason: 'The disk has refused to store what comes before it.' })
      return
    }
    this.#engine.write({
      changes: [this.ofSession(session)],
      committed: done,
      failed: (failure) => {
        this.#failed(failure)
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
      if (member !== session && member.isUnsaved && this.keeps(member)) changes.push(this.ofSession(member))
    }
    changes.push(this.ofGroup(group))
    if (this.keeps(session)) changes.push(this.ofSession(session))
    this.#write(changes, () => {})
  }

  /**
   * A QoS 2 message is about to be sent. Calls `done` when the message will be known after a crash.
   */
  sending(session: Session, entry: Inflight, done: () => void): void {
    this.changed(session)
    this.#write([inflightChange(session, entry, 'publish')], done)
  }

  /**
   * The client has said PUBREC. Calls `done` when the message can't be published again, even after
   * a crash.
   */
  releasing(session: Session, entry: Inflight, done: () => void): void {
    this.#write([inflightChange(session, entry, 'pubrel')], done)
  }

  /** The client has brought the message to its end. */
  settled(session: Session, entry: Inflight): void {
    if (!this.keeps(session)) return
    this.changed(session)
    this.#settled += 1
    if (this.#settled === MESSAGES_BETWEEN_CHECKPOINTS) this.#clock.afterTurn(() => void this.checkpoint())
    if (entry.qos === 2 && entry.offset >= 0) {
      const { partition, offset, group } = entry
      this.#completed.push({ session, reader: group ?? session, partition, offset })
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
    this.#write([this.received(session, packetId)], done)
  }

  /**
   * The client has released an incoming QoS 2 message. Calls `done` when the Packet Identifier may
   * mean another message.
   */
  released(session: Session, packetId: number, done: () => void): void {
    this.#write([{ key: STATE_KEYS.received(session.key, packetId), value: undefined }], done)
  }

  /**
   * The Session has ended, or ends with its connection from now on. Does nothing for a Session that
   * was never saved.
   */
  forget(session: Session): void {
    if (!session.isSaved) return
    session.isSaved = false
    const keys = [STATE_KEYS.session(session.key)]
    for (const packetId of session.received.keys()) keys.push(STATE_KEYS.received(session.key, packetId))
    for (const { qos, partition, offset } of session.inflight.values()) {
      if (qos === 2 && offset >= 0) keys.push(STATE_KEYS.sent(session.key, partition, offset))
    }
    this.#completed = this.#completed.filter((completed) => {
      if (completed.session !== session) return true
      keys.push(sentKey(completed))
      return false
    })
    this.#write(
      keys.map((key) => ({ key, value: undefined })),
      () => {},
    )
  }

  /** The group has lost its last member. */
  forgetGroup(group: SharedGroup): void {
    this.#write([{ key: STATE_KEYS.group(group.key), value: undefined }], () => {})
  }

  /**
   * Forgets what a restart found and nobody needs: with the next checkpoint, or once the readers
   * have passed it.
   */
  discard(changes: readonly StateChange[], completed: readonly Completed[]): void {
    if (changes.length > 0) this.#refused.push({ changes, done: () => {} })
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
    for (const { changes, done } of refused) this.#write(changes, done)
    const tails = this.#tails()
    const checkpoint = encodeCheckpoint({ tails, isClean })
    const text = checkpoint.toString('latin1')
    if (this.#unsaved.length === 0 && this.#completed.length === 0 && text === this.#savedTails) return
    const passed = this.#takePassed(tails)
    // Members before their groups: a message that a group has given away must be found with the
    // member.
    const unsaved = this.#unsaved.toSorted((a, b) => Number(a.isSavedLast) - Number(b.isSavedLast))
    this.#unsaved = []
    for (let first = 0; first < unsaved.length; first += SESSIONS_PER_TURN) {
      const part = unsaved.slice(first, first + SESSIONS_PER_TURN)
      // The loop does not wait for the write: the order of writes is the order of commits.
      this.#save(part)
      if (first + SESSIONS_PER_TURN < unsaved.length) await this.#turn()
    }
    const changes: StateChange[] = [{ key: STATE_KEYS.checkpoint, value: checkpoint }]
    for (const completed of passed) changes.push({ key: sentKey(completed), value: undefined })
    await new Promise<void>((resolve) => {
      this.#engine.write({
        changes,
        committed: () => {
          this.#savedTails = text
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
      const { reader, partition, offset } = completed
      const isAhead = offset >= (reader.behind.get(partition)?.offset ?? tails[partition] ?? 0)
      if (!isAhead) passed.push(completed)
      return isAhead
    })
    return passed
  }

  #save(readers: readonly Reader[]): void {
    const changes: StateChange[] = []
    for (const reader of readers) {
      reader.isUnsaved = false
      const change = reader.change(this)
      if (change !== undefined) changes.push(change)
    }
    if (changes.length === 0) return
    this.#engine.write({
      changes,
      committed: () => {},
      failed: (failure) => {
        for (const reader of readers) this.changed(reader)
        this.#failed(failure)
      },
    })
  }

  ofSession(session: Session): StateChange {
    session.isSaved = true
    return { key: STATE_KEYS.session(session.key), value: encodeSession(session, this.#clock) }
  }

  /** A group that is at the tail everywhere needs no record. */
  ofGroup(group: SharedGroup): StateChange {
    const isPlain = group.members.size === 0 || (group.behind.size === 0 && group.returned.length === 0)
    return { key: STATE_KEYS.group(group.key), value: isPlain ? undefined : encodeGroup(group) }
  }

  #write(changes: readonly StateChange[], done: () => void): void {
    if (this.#refused.length > 0) {
      // Behind the writes that were refused before, so that the order holds.
      this.#refused.push({ changes, done })
      return
    }
    this.#engine.write({
      changes,
      committed: done,
      failed: (failure) => {
        // The windows of the Sessions that wait for these writes bound their number.
        this.#refused.push({ changes, done })
        this.#failed(failure)
      },
    })
  }

  #failed({ reason }: EngineFailure): void {
    this.#log.warn({ reason }, 'session.save_refused')
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#clock.afterTurn(resolve))
  }
}

function sentKey({ session, partition, offset }: Completed): string {
  return STATE_KEYS.sent(session.key, partition, offset)
}

function inflightChange(session: Session, entry: Inflight, awaiting: 'publish' | 'pubrel'): StateChange {
  const { partition, offset } = entry
  return { key: STATE_KEYS.sent(session.key, partition, offset), value: encodeInflight(entry, awaiting) }
}
