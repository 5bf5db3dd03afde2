/**
 * Recovers the state with which a start begins: from the newest snapshot or, if that is damaged or
 * missing, from the older snapshot and the log.
 */
import type { Disk } from '../ports/disk.ts'
import { NOTHING_OF_THE_STATE, damageOf } from './log-damage.ts'
import type { LogDamage } from './log-damage.ts'
import type { Head } from '../segments/read-heads.ts'
import { StateStore, snapshotsOf } from '../writing/state-store.ts'
import type { LogPosition, Snapshot, SnapshotReading } from '../writing/state-store.ts'

export interface RecoveredState {
  readonly state: StateStore
  /**
   * The place in the log from which its changes are applied to the state; undefined: the beginning.
   */
  readonly at: LogPosition | undefined
  /** The snapshot that was read; undefined: none is whole. */
  readonly snapshot: Snapshot | undefined
  /** The newest snapshot, whole or not. */
  readonly newest: Snapshot | undefined
  /**
   * By partition: the tail of the log when the newest whole snapshot was begun; empty if no
   * snapshot is whole.
   */
  readonly tails: Float64Array
  readonly damages: readonly LogDamage[]
  /** The damaged snapshots. */
  readonly damaged: readonly Snapshot[]
}

/**
 * Reads the snapshots of a log whose segments have these heads, ascending. Throws
 * `NewerRecordError` and the disk's errors.
 */
export async function recoverState(
  disk: Disk,
  directory: string,
  heads: readonly Head[],
  seal: number,
): Promise<RecoveredState> {
  const snapshots = snapshotsOf(await disk.list(directory))
  const state = new StateStore()
  const [newest] = snapshots
  const nothing = { state, at: undefined, snapshot: undefined, newest, tails: new Float64Array(), damaged: [] }
  const at = beginningOfChanges(heads)
  if (newest === undefined) {
    const damages = heads.length === 0 || isWholeFrom(heads, undefined) ? [] : [missing(heads)]
    return { ...nothing, at, damages }
  }
  const damaged: { snapshot: Snapshot; reading: SnapshotReading }[] = []
  for (const snapshot of snapshots) {
    // An older snapshot is as good as the newest if the log goes on from it without a gap.
    if (damaged.length > 0 && !isWholeFrom(heads, snapshot.at)) continue
    const reading = await state.readSnapshot(disk, directory, snapshot, seal)
    if (reading.isWhole) {
      const damages = damaged.map((one) => damageOfSnapshot(one, HEALED_BY_OLDER))
      const files = damaged.map((one) => one.snapshot)
      const tails = reading.end?.tails ?? new Float64Array()
      return { state, at: snapshot.at, snapshot, newest, tails, damages, damaged: files }
    }
    state.clear()
    damaged.push({ snapshot, reading })
  }
  const files = damaged.map((one) => one.snapshot)
  if (isWholeFrom(heads, undefined)) {
    return { ...nothing, damages: damaged.map((one) => damageOfSnapshot(one, HEALED_BY_LOG)), damaged: files }
  }
  // The log's change of a key is younger than the value in any snapshot. So the whole log is
  // applied to the rest of the newest snapshot.
  const { end } = await state.readSnapshot(disk, directory, newest, seal)
  const damages = damaged.map((one, index) => damageOfSnapshot(one, index === 0 ? lostText(one.reading, heads) : ''))
  return { ...nothing, at, tails: end?.tails ?? nothing.tails, damages, damaged: files }
}

const HEALED_BY_OLDER = `${NOTHING_OF_THE_STATE}: the snapshot before it and the log have all of it.`
const HEALED_BY_LOG = `${NOTHING_OF_THE_STATE}: the log has all of it.`

/**
 * True if the log holds everything that was written from a place on; undefined: from its beginning.
 */
function isWholeFrom(heads: readonly Head[], at: LogPosition | undefined): boolean {
  const first = at === undefined ? 0 : heads.findIndex(({ number }) => number === at.segment)
  const from = heads[first]
  if (from === undefined) return false
  if (at === undefined && (from.header === undefined || from.header.previous !== undefined)) return false
  if (at === undefined && beginningOfChanges(heads) !== undefined) return false
  return heads.slice(first + 1).every(({ header }, index) => {
    // The head behind a damaged one says which segment it follows.
    return header === undefined || header.previous?.number === heads[first + index]?.number
  })
}

/**
 * The place from which the log has all changes of state: behind the last rewritten segment.
 * Undefined: no segment was rewritten, so the log has them from its beginning. An older change in
 * front of a rewritten segment must not be applied, because the change that replaced it may be
 * gone.
 */
function beginningOfChanges(heads: readonly Head[]): LogPosition | undefined {
  const last = heads.findLastIndex(({ header }) => header?.rewritten !== undefined)
  const from = heads[last + 1]
  return last === -1 || from === undefined ? undefined : { segment: from.number, position: 0 }
}

function damageOfSnapshot(
  { snapshot, reading }: { readonly snapshot: Snapshot; readonly reading: SnapshotReading },
  state: string,
): LogDamage {
  return damageOf('snapshot', `state/${snapshot.name}`, { stretches: reading.stretches, state })
}

function lostText({ entries, end }: SnapshotReading, heads: readonly Head[]): string {
  const count = end === undefined ? 'An unknown number' : `${Math.max(0, end.entries - entries)} of ${end.entries}`
  return `${count} of the entries of the state were there: Sessions, retained messages, commands. Lost are those that have not changed since ${beginningOf(heads)}.`
}

function missing(heads: readonly Head[]): LogDamage {
  const state = `Lost are the Sessions, retained messages and commands that have not changed since ${beginningOf(heads)}.`
  return damageOf('snapshot_missing', 'state', { state })
}

function beginningOf(heads: readonly Head[]): string {
  const from = beginningOfChanges(heads)?.segment ?? 0
  const header = heads.find((head) => head.header !== undefined && head.number >= from)?.header
  return header === undefined ? 'the beginning of the log' : new Date(header.createdAtMs).toISOString()
}
