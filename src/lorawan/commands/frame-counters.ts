/**
 * Finds the command of an event that names no command and has only a frame counter (family A). If
 * the event could be about several commands, it counts as about none: hearing nothing is better for
 * a sender than hearing what became of another's command.
 */
import type { DownlinkItem } from './downlink-item.ts'

/**
 * The item of a `txack`: the only command that has no counter yet, or the command that has this
 * counter, if the event comes twice. `left` are the device's items in the order of their hand-over.
 */
export function itemOfTxack(left: readonly DownlinkItem[], fCnt: number | undefined): DownlinkItem | undefined {
  if (fCnt === undefined) return undefined
  const known = left.findLast((item) => isCountedAs(item, fCnt))
  const open = uncounted(left, fCnt)
  if (known === undefined) return onlyOne(open)
  // ChirpStack v3 uses a counter twice when an uplink of the device crosses a downlink.
  return known.transmittedAtMs === 0 || open.length === 0 ? known : undefined
}

/** The item of an `ack`. An ack is never about an unconfirmed command. */
export function itemOfAck(left: readonly DownlinkItem[], fCnt: number | undefined): DownlinkItem | undefined {
  if (fCnt === undefined) return undefined
  const known = left.findLast((item) => item.content.confirmed && isCountedAs(item, fCnt))
  const open = uncounted(left, fCnt).filter(({ content }) => content.confirmed)
  if (known === undefined) return onlyOne(open)
  const isAwaited = known.state === 'sent' || known.state === 'unconfirmed'
  return isAwaited || open.length === 0 ? known : undefined
}

/**
 * The item of an error by which the network server has discarded a command. The counter is not
 * compared: the command was never sent, and an earlier frame may have taken the counter since.
 */
export function itemOfError(left: readonly DownlinkItem[]): DownlinkItem | undefined {
  return onlyOne(uncounted(left, undefined))
}

/**
 * The items that an event with this counter may be about. Counters grow in the order of the
 * hand-over, so that a counter beyond the last known one is not about an item before it.
 */
function uncounted(left: readonly DownlinkItem[], fCnt: number | undefined): readonly DownlinkItem[] {
  const last = left.findLastIndex(isCounted)
  const isBeyond = fCnt === undefined || fCnt > (left[last]?.fCnt ?? -1)
  return left.slice(isBeyond ? last + 1 : 0).filter((item) => item.awaitsWord && !item.isGivenUp)
}

function isCounted({ fCnt, isOfFormerSession }: DownlinkItem): boolean {
  return fCnt !== undefined && !isOfFormerSession
}

function isCountedAs(item: DownlinkItem, fCnt: number): boolean {
  return item.fCnt === fCnt && isCounted(item)
}

/** The item, if it is the only one; among several the right one is unknown. */
function onlyOne(items: readonly DownlinkItem[]): DownlinkItem | undefined {
  return items.length === 1 ? items[0] : undefined
}
