/** Copies entries of a dead node into the state of its heir. */
import { passes } from '../broker/ports/engine.ts'
import type { EngineFailure, StateEntry } from '../broker/ports/engine.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { NatsHomes } from './nats-homes.ts'
import type { NodeRecords } from './node-records.ts'
import type { HomeKeyOf, NodeSpaces } from './node-spaces.ts'

const ENTRIES_PER_WRITE = 256
const BYTES_PER_WRITE = 262_144
const WRITES_AT_ONCE = 4
const AGAIN_MS = 200

/** The entries of things whose home the dead process was, in their order. */
export async function entriesAtHome(
  entries: readonly StateEntry[],
  dead: string,
  { homes, nodes, homeKeyOf }: { homes: NatsHomes; nodes: NodeRecords; homeKeyOf: HomeKeyOf },
): Promise<readonly StateEntry[]> {
  const keys = new Set<string>()
  for (const { key } of entries) {
    const home = homeKeyOf(key)
    if (home !== undefined && home !== 'all') keys.add(home)
  }
  const claimed = await homes.homesOf([...keys])
  return entries.filter(({ key }) => {
    const home = homeKeyOf(key)
    if (home === undefined || home === 'all') return home === 'all'
    const incarnation = claimed.get(home)
    return incarnation !== undefined && nodes.holderOf(incarnation) === dead
  })
}

export interface CopyOptions {
  readonly spaces: NodeSpaces
  readonly clock: Clock
  readonly logger: Logger
  /** True: give up. */
  readonly isOver: () => boolean
}

/** Resolves when this node's state owns the entries. Rejects when it is over before. */
export async function copyEntries(entries: readonly StateEntry[], options: CopyOptions): Promise<void> {
  const parts = partsOf(entries)
  const workers = Array.from({ length: WRITES_AT_ONCE }, async () => {
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) await write(part, options)
  })
  await Promise.all(workers)
}

async function write(part: readonly StateEntry[], { spaces, clock, logger, isOver }: CopyOptions): Promise<void> {
  for (;;) {
    if (isOver()) throw new Error('the node ends')
    const failure = await new Promise<EngineFailure | undefined>((resolve) => {
      spaces.write({ changes: part, committed: () => resolve(undefined), failed: resolve })
    })
    if (failure === undefined) return
    if (!passes(failure)) {
      logger.error({ reason: failure.reason, entries: part.length }, 'inheritance.entries_dropped')
      return
    }
    await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
  }
}

function partsOf(entries: readonly StateEntry[]): StateEntry[][] {
  const parts: StateEntry[][] = []
  let bytes = Infinity
  for (const entry of entries) {
    const size = entry.key.length + entry.value.length
    const last = parts.at(-1)
    if (last === undefined || last.length >= ENTRIES_PER_WRITE || bytes + size > BYTES_PER_WRITE) {
      parts.push([entry])
      bytes = size
    } else {
      last.push(entry)
      bytes += size
    }
  }
  return parts
}
