/**
 * The Reason Codes that clients of MQTT 5 can get from this service, with the packets that carry
 * them. docs/mqtt.md has the same table for people.
 */

/** A packet that carries a Reason Code to a client. */
type AnsweringPacket = 'CONNACK' | 'PUBACK' | 'PUBREC' | 'SUBACK' | 'DISCONNECT'

/** A Reason Code of MQTT 5.0 §2.4, as this service uses it. */
export interface ReasonCodeUse {
  readonly code: `0x${string}`
  /** The specification's name. */
  readonly name: string
  readonly packets: readonly AnsweringPacket[]
}

/** All refusals, by ascending code. */
export const REASON_CODE_USES: readonly ReasonCodeUse[] = [
  { code: '0x80', name: 'Unspecified error', packets: ['SUBACK', 'DISCONNECT'] },
  { code: '0x81', name: 'Malformed Packet', packets: ['CONNACK', 'DISCONNECT'] },
  { code: '0x82', name: 'Protocol Error', packets: ['CONNACK', 'DISCONNECT'] },
  { code: '0x83', name: 'Implementation specific error', packets: ['PUBACK', 'PUBREC', 'SUBACK'] },
  { code: '0x84', name: 'Unsupported Protocol Version', packets: ['CONNACK'] },
  { code: '0x85', name: 'Client Identifier not valid', packets: ['CONNACK'] },
  { code: '0x86', name: 'Bad User Name or Password', packets: ['CONNACK'] },
  { code: '0x87', name: 'Not authorized', packets: ['CONNACK', 'PUBACK', 'PUBREC', 'SUBACK', 'DISCONNECT'] },
  { code: '0x88', name: 'Server unavailable', packets: ['CONNACK'] },
  { code: '0x89', name: 'Server busy', packets: ['DISCONNECT'] },
  { code: '0x8B', name: 'Server shutting down', packets: ['DISCONNECT'] },
  { code: '0x8C', name: 'Bad authentication method', packets: ['CONNACK'] },
  { code: '0x8D', name: 'Keep Alive timeout', packets: ['DISCONNECT'] },
  { code: '0x8E', name: 'Session taken over', packets: ['DISCONNECT'] },
  { code: '0x8F', name: 'Topic Filter invalid', packets: ['SUBACK', 'DISCONNECT'] },
  { code: '0x90', name: 'Topic Name invalid', packets: ['PUBACK', 'PUBREC', 'CONNACK', 'DISCONNECT'] },
  { code: '0x93', name: 'Receive Maximum exceeded', packets: ['DISCONNECT'] },
  { code: '0x94', name: 'Topic Alias invalid', packets: ['DISCONNECT'] },
  { code: '0x95', name: 'Packet too large', packets: ['DISCONNECT'] },
  { code: '0x97', name: 'Quota exceeded', packets: ['CONNACK', 'PUBACK', 'PUBREC', 'SUBACK', 'DISCONNECT'] },
  { code: '0x98', name: 'Administrative action', packets: ['DISCONNECT'] },
  { code: '0x99', name: 'Payload format invalid', packets: ['PUBACK', 'PUBREC'] },
  { code: '0x9A', name: 'Retain not supported', packets: ['CONNACK', 'DISCONNECT'] },
  { code: '0x9B', name: 'QoS not supported', packets: ['CONNACK', 'DISCONNECT'] },
  { code: '0x9F', name: 'Connection rate exceeded', packets: ['CONNACK'] },
  { code: '0xA0', name: 'Maximum connect time', packets: ['DISCONNECT'] },
]
