/**
 * The network of a client: the unit by which bounds count clients before they have authenticated.
 */
import { isIPv6 } from 'node:net'

/** A text that is no address is cut to this length: it becomes a key of a map. */
const MAXIMUM_TEXT_LENGTH = 64

/**
 * The network of an IP address. An IPv4 address is a network of its own, also where it is written
 * as an IPv6 address (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2). An IPv6 address belongs to the
 * network of its first 64 bits (`2001:db8:0:1/64`): the other 64 bits name the interface (RFC 4291
 * §2.5.4), and each host may take as many of them as it likes. A text that is no address is
 * returned as it is, at most 64 characters of it.
 */
export function networkOf(address: string): string {
  // The check of an IPv6 address by its colon spares most addresses the check of its whole form.
  if (!address.includes(':') || !isIPv6(address)) return address.slice(0, MAXIMUM_TEXT_LENGTH)
  const groups = groupsOf(address.split('%', 1)[0] as string)
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return [groups[6], groups[7]].flatMap((group = 0) => [group >> 8, group & 0xff]).join('.')
  const prefix = groups.slice(0, 4).map((group) => group.toString(16))
  return `${prefix.join(':')}/64`
}

/** The eight groups of 16 bits of an IPv6 address in any of its spellings (RFC 4291 §2.2). */
function groupsOf(address: string): readonly number[] {
  const [head = [], tail] = address.split('::', 2).map(groupsIn)
  if (tail === undefined) return head
  const missing = Math.max(8 - head.length - tail.length, 0)
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail]
}

/** The groups of one side of `::`. The last two groups may be written as an IPv4 address. */
function groupsIn(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
