/** The checkpoint of a state: the tails of the log that everything saved holds for. */
import { decodeCheckpoint } from '../durable/session-record.ts'
import type { CheckpointRecord } from '../durable/session-record.ts'
import { STATE_KEYS } from '../durable/state-keys.ts'
import type { Engine } from '../ports/engine.ts'
import type { StateSource } from './restore-sessions.ts'

/** Undefined: the state has none. Throws UnreadableRecordError. */
export async function loadCheckpoint(source: StateSource): Promise<CheckpointRecord | undefined> {
  for await (const { key, value } of source.load(STATE_KEYS.checkpoint)) {
    if (key === STATE_KEYS.checkpoint) return decodeCheckpoint(value)
  }
  return undefined
}

/** No tail is behind that of the log. Without a checkpoint everything begins at the tail. */
export function checkpointWithin(
  saved: CheckpointRecord | undefined,
  engine: Pick<Engine, 'partitions' | 'tail'>,
): CheckpointRecord {
  const tails = Array.from({ length: engine.partitions }, (_, partition) => engine.tail(partition))
  if (saved === undefined) return { tails, isClean: true }
  return { ...saved, tails: tails.map((tail, partition) => Math.min(saved.tails[partition] ?? tail, tail)) }
}
