/** The nodes of which no process lives, by the records of their last processes. */
import type { LostNode } from '../nodes.ts'
import type { KnownRecord, NodeRecords } from './node-records.ts'

/** In the order of their names. */
export function lostNodes(
  records: Pick<NodeRecords, 'all' | 'get' | 'mergedInto'>,
  living: ReadonlySet<string>,
): readonly LostNode[] {
  const last = new Map<string, KnownRecord & { readonly endedAtMs: number }>()
  for (const known of records.all()) {
    const { name, endedAtMs } = known.record
    if (living.has(name) || endedAtMs === undefined) continue
    if (endedAtMs > (last.get(name)?.endedAtMs ?? 0)) last.set(name, { ...known, endedAtMs })
  }
  return [...last.values()]
    .map(({ incarnation, record: { name, state }, endedAtMs }) => {
      const heir = records.get(records.mergedInto(incarnation).incarnation)?.record.name
      return { name, endedAtMs, isOrderly: state === 'left', heir: heir === name ? undefined : heir }
    })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}
