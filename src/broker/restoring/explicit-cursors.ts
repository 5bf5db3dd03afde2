/**
 * The records of a dead node as its heir keeps them. A Session without a cursor stands at the tails
 * of its node's checkpoint. The heir has a checkpoint of its own, with other tails. So each Session
 * and group of the dead node gets all of its cursors.
 */
import { decodeCheckpoint, decodeGroup, decodeSession } from '../durable/session-record.ts'
import type { CheckpointRecord, Offsets } from '../durable/session-record.ts'
import { STATE_KEYS } from '../durable/state-keys.ts'
import type { StateEntry } from '../ports/engine.ts'

/**
 * The entries with all cursors, without the checkpoint. Throws UnreadableRecordError for records of
 * a newer program.
 */
export function withCursors(entries: readonly StateEntry[]): readonly StateEntry[] {
  const saved = entries.find(({ key }) => key === STATE_KEYS.checkpoint)
  const checkpoint = saved && decodeCheckpoint(saved.value)
  const kept: StateEntry[] = []
  for (const entry of entries) {
    if (entry === saved) continue
    kept.push(checkpoint === undefined ? entry : { key: entry.key, value: completed(entry, checkpoint) })
  }
  return kept
}

function completed({ key, value }: StateEntry, checkpoint: CheckpointRecord): Buffer {
  const isGroup = key.startsWith(STATE_KEYS.groups)
  if (!isGroup && !key.startsWith(STATE_KEYS.sessions)) return value
  const record = isGroup ? decodeGroup(value) : decodeSession(value)
  return Buffer.from(JSON.stringify({ ...record, behind: allOf(record.behind, checkpoint) }))
}

function allOf(behind: Offsets, { tails }: CheckpointRecord): Offsets {
  const known = new Set(behind.map(([partition]) => partition))
  const others = [...tails.entries()].filter(([partition]) => !known.has(partition))
  return [...behind, ...others]
}
