/**
 * Tells whether the ClientHello, the first message of a TLS handshake, has come as a whole (RFC
 * 8446 §4.1.2, §5.1). Nothing else is read of it.
 */

/** The content type of a TLS record with handshake messages. */
const HANDSHAKE_RECORD = 22
/** The content type, the version and the length of a TLS record. */
const RECORD_HEADER_BYTES = 5
const MAXIMUM_FRAGMENT_BYTES = 16_384
const CLIENT_HELLO = 1
/** The type and the length of a handshake message. */
const MESSAGE_HEADER_BYTES = 4
/**
 * The longest ClientHello with its record headers. Clients send 200 to 2,000 bytes. Stops clients
 * that let the service gather bytes.
 */
export const MAXIMUM_HELLO_BYTES = 16_384
/**
 * The records of a ClientHello. Most clients send one; some split it to get past a firewall. Stops
 * a ClientHello of thousands of records, which are all read again with each byte that comes.
 */
const MAXIMUM_RECORDS = 16

/**
 * `whole`: TLS can read the message at once; this is also the answer for bytes that TLS refuses at
 * once. `refused`: the message is longer than any client's, or in too many records.
 */
export type HelloState = 'incomplete' | 'whole' | 'refused'

/** Judges the first bytes that a client has sent. */
export function stateOfHello(bytes: Buffer): HelloState {
  if (bytes.length > MAXIMUM_HELLO_BYTES) return 'refused'
  const fragments: Buffer[] = []
  let offset = 0
  while (offset < bytes.length) {
    if (bytes[offset] !== HANDSHAKE_RECORD) return 'whole'
    if (bytes.length < offset + RECORD_HEADER_BYTES) return 'incomplete'
    const fragmentBytes = bytes.readUInt16BE(offset + 3)
    if (fragmentBytes === 0 || fragmentBytes > MAXIMUM_FRAGMENT_BYTES) return 'whole'
    if (fragments.length === MAXIMUM_RECORDS) return 'refused'
    offset += RECORD_HEADER_BYTES
    fragments.push(bytes.subarray(offset, offset + fragmentBytes))
    if (isMessageWhole(fragments)) return 'whole'
    offset += fragmentBytes
  }
  return 'incomplete'
}

function isMessageWhole(fragments: readonly Buffer[]): boolean {
  const [first] = fragments
  const message = first !== undefined && fragments.length === 1 ? first : Buffer.concat(fragments)
  if (message.length > 0 && message[0] !== CLIENT_HELLO) return true
  if (message.length < MESSAGE_HEADER_BYTES) return false
  return message.length >= MESSAGE_HEADER_BYTES + message.readUIntBE(1, 3)
}
