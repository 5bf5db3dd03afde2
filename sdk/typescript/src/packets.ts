/**
 * The two packets that MQTT.js has no call for: a PUBACK at a moment of one's own, and the AUTH of
 * a re-authentication.
 */

const PUBACK = 0x40
const AUTH = 0xf0
const RE_AUTHENTICATE = 0x19
const AUTHENTICATION_METHOD = 0x15
const AUTHENTICATION_DATA = 0x16

/** PUBACK with Reason Code 0 (MQTT 5.0 §3.4): 4 bytes. */
export function encodePuback(packetId: number): Uint8Array {
  return Uint8Array.of(PUBACK, 2, packetId >> 8, packetId & 0xff)
}

/** AUTH with Reason Code 0x19, the method, and the token as Authentication Data (§3.15). */
export function encodeReauthentication(method: string, token: string): Uint8Array {
  const properties = [AUTHENTICATION_METHOD, ...binary(method), AUTHENTICATION_DATA, ...binary(token)]
  const body = [RE_AUTHENTICATE, ...variableByteInteger(properties.length), ...properties]
  return Uint8Array.from([AUTH, ...variableByteInteger(body.length), ...body])
}

/** Two bytes of length, and the UTF-8 of the text (§1.5.4). */
function binary(text: string): readonly number[] {
  const bytes = new TextEncoder().encode(text)
  return [bytes.length >> 8, bytes.length & 0xff, ...bytes]
}

/** Seven bits a byte, the lowest first (§1.5.5). */
function variableByteInteger(value: number): readonly number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>= 7) {
    if (rest < 0x80) return [...bytes, rest]
    bytes.push((rest & 0x7f) | 0x80)
  }
}
