/**
 * The header of the PROXY protocol, versions 1 and 2, by which a TCP proxy names its client before
 * the client's own bytes. Source: "The PROXY protocol, versions 1 & 2" of haproxy.
 */
import { isIP } from 'node:net'

/** The client's end of the connection to the proxy. */
export interface ClientEnd {
  readonly address: string
  readonly port: number
}

export type ProxyHeader =
  /** The bytes may be the beginning of a header. */
  | { readonly kind: 'incomplete' }
  /** The bytes are no header: they are the client's own. */
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed' }
  /**
   * The client's bytes begin after `length` bytes. `client` is absent where the proxy speaks for
   * itself (a health check), or does not know an IP address.
   */
  | { readonly kind: 'header'; readonly length: number; readonly client?: ClientEnd }

/** The longest line of version 1, with its line end (§2.1). */
const MAXIMUM_V1_BYTES = 107
/** The longest header of version 2: it fits into the smallest TCP segment (§2.2). */
const MAXIMUM_V2_BYTES = 536

const V1_SIGNATURE = Buffer.from('PROXY ')
const V2_SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
/** Signature, version with command, family, and length. */
const V2_HEAD_BYTES = 16

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' }
const NONE: ProxyHeader = { kind: 'none' }
const MALFORMED: ProxyHeader = { kind: 'malformed' }

/**
 * Reads the header at the beginning of all bytes that have come. It is never 'incomplete' for 536
 * bytes or more, so that a peer can't have more bytes kept.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsLike(bytes, V2_SIGNATURE)) return bytes.length < V2_HEAD_BYTES ? INCOMPLETE : readV2(bytes)
  if (startsLike(bytes, V1_SIGNATURE)) return bytes.length < V1_SIGNATURE.length ? INCOMPLETE : readV1(bytes)
  return NONE
}

/** Whether the bytes begin with the signature, as far as both go. */
function startsLike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length)
  return bytes.compare(signature, 0, length, 0, length) === 0
}

/** `PROXY TCP4 198.51.100.1 203.0.113.7 49152 8883\r\n` */
function readV1(bytes: Buffer): ProxyHeader {
  const head = bytes.subarray(0, MAXIMUM_V1_BYTES).toString('latin1')
  const end = head.indexOf('\r\n')
  if (end === -1) return bytes.length < MAXIMUM_V1_BYTES ? INCOMPLETE : MALFORMED
  const length = end + 2
  const line = head.slice(0, end)
  // The rest of this line has no meaning.
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { kind: 'header', length }
  const fields = /^PROXY TCP([46]) ([0-9a-fA-F:.]+) ([0-9a-fA-F:.]+) (\d{1,5}) (\d{1,5})$/.exec(line)
  if (fields === null) return MALFORMED
  const [, family, source = '', destination = '', sourcePort = '', destinationPort = ''] = fields
  const isGood =
    isIP(source) === Number(family) &&
    isIP(destination) === Number(family) &&
    Number(sourcePort) <= 65_535 &&
    Number(destinationPort) <= 65_535
  return isGood ? { kind: 'header', length, client: clientEnd(source, Number(sourcePort)) } : MALFORMED
}

function readV2(bytes: Buffer): ProxyHeader {
  const versionAndCommand = bytes[12]
  const length = V2_HEAD_BYTES + bytes.readUInt16BE(14)
  if (length > MAXIMUM_V2_BYTES) return MALFORMED
  if (versionAndCommand !== 0x20 && versionAndCommand !== 0x21) return MALFORMED
  if (bytes.length < length) return INCOMPLETE
  const isLocal = versionAndCommand === 0x20
  if (isLocal) return { kind: 'header', length }
  const rest = bytes.subarray(V2_HEAD_BYTES, length)
  switch (bytes[13]) {
    case 0x11: // TCP over IPv4: two addresses of 4 bytes, two ports.
      if (rest.length < 12) return MALFORMED
      return { kind: 'header', length, client: clientEnd(rest.subarray(0, 4).join('.'), rest.readUInt16BE(8)) }
    case 0x21: // TCP over IPv6: two addresses of 16 bytes, two ports.
      if (rest.length < 36) return MALFORMED
      return { kind: 'header', length, client: clientEnd(groupsOf(rest), rest.readUInt16BE(32)) }
    case 0x00: // Not an address of the Internet.
    case 0x31: // A stream over a Unix socket.
      return { kind: 'header', length }
    case undefined:
    default:
      return MALFORMED
  }
}

function groupsOf(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':')
}

/** An IPv6 address gets its shortest form, because the bounds compare texts (RFC 5952). */
function clientEnd(address: string, port: number): ClientEnd {
  return { address: isIP(address) === 6 ? shortest(address) : address, port }
}

/** The URL parser writes IPv6 by the rules of RFC 5952 §4, but never with an IPv4 part as in §5. */
function shortest(address: string): string {
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? []
  if (high === undefined || low === undefined) return short
  const ipv4 = [high, low].map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff])
  return `::ffff:${ipv4.join('.')}`
}
