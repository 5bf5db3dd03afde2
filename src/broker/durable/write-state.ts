/** Writes many records to the engine's state, some at a time. */
import type { Engine, StateChange } from '../ports/engine.ts'

/** Bytes of records in one write: a Session may have a megabyte of Topic Filters. */
const BYTES_PER_WRITE = 65_536

/** Resolves when the engine owns all of them. Rejects with its reason; then some may be owned. */
export async function writeState(
  engine: Pick<Engine, 'write'>,
  owner: string,
  changes: readonly StateChange[],
): Promise<void> {
  const writing: Promise<void>[] = []
  for (const group of groupsOf(changes)) {
    writing.push(
      new Promise((resolve, reject) => {
        engine.write({ changes: group, owner, committed: resolve, failed: ({ reason }) => reject(new Error(reason)) })
      }),
    )
  }
  await Promise.all(writing)
}

function* groupsOf(changes: readonly StateChange[]): Generator<readonly StateChange[]> {
  let group: StateChange[] = []
  let bytes = 0
  for (const change of changes) {
    group.push(change)
    bytes += change.key.length + (change.value?.length ?? 0)
    if (bytes < BYTES_PER_WRITE) continue
    yield group
    group = []
    bytes = 0
  }
  if (group.length > 0) yield group
}
