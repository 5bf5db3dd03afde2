/** Restores the state after a restart. All connections of the earlier process are over. */
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { Delivery } from './delivery/delivery.ts'
import type { RetainedMessages } from './delivery/retained-messages.ts'
import type { SharedRetained } from './delivery/shared-retained.ts'
import { retainedMessage } from './durable/retained-store.ts'
import { STATE_KEYS } from './durable/state-keys.ts'
import type { Engine, StateChange, StateEntry } from './ports/engine.ts'
import { hasExpired } from './ports/message.ts'
import { checkpointWithin, loadCheckpoint } from './restoring/checkpoint.ts'
import { restoreSessions } from './restoring/restore-sessions.ts'
import type { Leftovers, StateSource } from './restoring/restore-sessions.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { WillMessages } from './sessions/will-messages.ts'

/** The parts of the broker that take the recovered state. */
export interface Recovered {
  readonly engine: Engine
  /** The Sessions and groups of the engine's state that are to be restored. */
  readonly source: StateSource
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  /** The retained messages of all nodes. Undefined: the engine's state has them. */
  readonly shared: SharedRetained | undefined
  readonly wills: WillMessages
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Call once when the engine is open, before anything is written. Throws UnreadableRecordError for a
 * newer program's state.
 */
export async function recover(parts: Recovered): Promise<Omit<Leftovers, 'sessions'>> {
  const { engine, sessions, log, retained } = parts
  const checkpoint = checkpointWithin(await loadCheckpoint(engine), engine)
  const { orphans, completed } = await restoreSessions({ ...parts, checkpoint })
  const expired = await (parts.shared === undefined ? restoreRetained(parts) : loadShared(parts, parts.shared))
  const count = [...sessions.all()].length
  if (count > 0) {
    log.info({ sessions: count, retained: retained.count, clean: checkpoint.isClean }, 'broker.recovered')
  }
  return { orphans: [...orphans, ...expired], completed }
}

/** Resolves with the changes that forget the messages that have expired. */
async function restoreRetained({ engine, retained, clock }: Recovered): Promise<readonly StateChange[]> {
  const expired: StateChange[] = []
  const now = clock.steady()
  for await (const entry of engine.load(STATE_KEYS.retainedMessages)) {
    const { message, tenant } = retainedMessage(entry)
    if (hasExpired(message, now)) expired.push({ key: entry.key, value: undefined })
    else retained.restore(message, tenant)
  }
  return expired
}

/**
 * Loads the retained messages of all nodes. The engine's state has some where this node was the
 * only one before. Resolves with the changes that forget these.
 */
async function loadShared({ engine }: Recovered, shared: SharedRetained): Promise<readonly StateChange[]> {
  const own: StateEntry[] = []
  for await (const entry of engine.load(STATE_KEYS.retainedMessages)) own.push(entry)
  const wasFirst = await shared.load(own)
  // The next start forgets them, when the snapshot is there for sure.
  return wasFirst ? [] : own.map(({ key }) => ({ key, value: undefined }))
}
