/**
 * Which command an event is about that names none, but a frame counter alone (family A). Where it
 * may be about more than one, it is about none that is known: a sender rather hears nothing than
 * what became of another's command.
 */
import type { DownlinkItem } from './downlink-item.ts'

/**
 * The item of a `txack`: the one command that has no counter yet, or one that has this counter,
 * told twice. `left` are the device's items in the order of their hand-over.
 */
export function itemOfTxack(left: readonly DownlinkItem[], fCnt: number | undefined): DownlinkItem | undefined {
  if (fCnt === undefined) return undefined
  const known = left.findLast((item) => isCountedAs(item, fCnt))
  const open = uncounted(left, fCnt)
  if (known === undefined) return onlyOne(open)
  // ChirpStack v3 takes a counter twice where an uplink of the device crosses a downlink.
  return known.transmittedAtMs === 0 || open.length === 0 ? known : undefined
}

/** The item of an `ack`, which is never about an unconfirmed command. */
export function itemOfAck(left: readonly DownlinkItem[], fCnt: number | undefined): DownlinkItem | undefined {
  if (fCnt === undefined) return undefined
  const known = left.findLast((item) => item.content.confirmed && isCountedAs(item, fCnt))
  const open = uncounted(left, fCnt).filter(({ content }) => content.confirmed)
  if (known === undefined) return onlyOne(open)
  const isAwaited = known.state === 'sent' || known.state === 'unconfirmed'
  return isAwaited || open.length === 0 ? known : undefined
}

/**
 * The item of an error by which the network server has discarded a command. It has not been sent,
 * so the counter is not looked at: it may be the one that a frame before it has taken since.
 */
export function itemOfError(left: readonly DownlinkItem[]): DownlinkItem | undefined {
  return onlyOne(uncounted(left, undefined))
}

/**
 * The items that the word with the counter may be about. Counters go up in the order of the
 * hand-over: what is beyond the last known is not about a command before it.
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

/** Where there are several, nobody knows which. */
function onlyOne(items: readonly DownlinkItem[]): DownlinkItem | undefined {
  return items.length === 1 ? items[0] : undefined
}
