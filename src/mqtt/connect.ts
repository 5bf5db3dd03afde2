/** CONNECT (MQTT 5.0 §3.1, MQTT 3.1.1 §3.1). */
import type { PacketCursor } from './packet-cursor.ts'
import { PacketWriter, binarySize } from './packet-writer.ts'
import type { ConnectPacket, MessageProperties, ProtocolVersion, QoS, WillMessage } from './packet.ts'
import { decodeProperties, propertiesSize, writeProperties } from './properties.ts'
import { ReasonCodes } from './reason-codes.ts'
import { utf8Size } from './utf8.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

const flag = { reserved: 0x01, cleanStart: 0x02, will: 0x04, willRetain: 0x20, password: 0x40, userName: 0x80 }

/**
 * Reads a CONNECT. Its errors say in which protocol version to answer. The Will Message is a copy;
 * the Password and the Authentication Data are views.
 */
export function decodeConnect(cursor: PacketCursor): ConnectPacket {
  const protocolVersion = readProtocolVersion(cursor)
  cursor.protocolVersion = protocolVersion
  const flags = cursor.readUint8('the Connect Flags')
  checkFlags(cursor, flags, protocolVersion)
  const keepAliveSeconds = cursor.readUint16('Keep Alive')
  const properties = protocolVersion === 5 ? decodeProperties(cursor, 'connect') : undefined
  if (properties?.authenticationData !== undefined && properties.authenticationMethod === undefined) {
    cursor.protocolError('Authentication Data without Authentication Method')
  }
  // The order of the payload: [MQTT-3.1.3-1] [MQTT311-3.1.3-1].
  const clientId = cursor.readUtf8('the Client Identifier') // [MQTT-3.1.3-3] [MQTT-3.1.3-4] [MQTT311-3.1.3-3]
  const will = (flags & flag.will) === 0 ? undefined : readWill(cursor, flags, protocolVersion)
  const userName = (flags & flag.userName) === 0 ? undefined : cursor.readUtf8('the User Name') // [MQTT-3.1.3-12] [MQTT311-3.1.3-11]
  const password = (flags & flag.password) === 0 ? undefined : cursor.readBinary('the Password')
  cursor.expectEnd() // [MQTT-3.1.2-16] [MQTT-3.1.2-18] [MQTT311-3.1.2-18] [MQTT311-3.1.2-20]
  return {
    type: 'connect',
    protocolVersion,
    cleanStart: (flags & flag.cleanStart) !== 0,
    keepAliveSeconds,
    clientId,
    will,
    userName,
    password,
    properties,
  }
}

function readProtocolVersion(cursor: PacketCursor): ProtocolVersion {
  const name = cursor.readUtf8('the protocol name')
  const level = cursor.readUint8('the protocol level')
  if (name === 'MQTT' && (level === 4 || level === 5)) return level
  // MQTT 3.1 and 3.1.1 have the same CONNACK. Bridges set the top bit of the level, and connect
  // again without it when they read a refusal.
  if (name === 'MQTT') cursor.protocolVersion = (level & 0x7f) < 5 ? 4 : 5
  if (name === 'MQIsdp') cursor.protocolVersion = 4
  // [MQTT-3.1.2-1] [MQTT-3.1.2-2] [MQTT311-3.1.2-1] [MQTT311-3.1.2-2]
  return cursor.fail(ReasonCodes.unsupportedProtocolVersion, `the protocol is neither MQTT 3.1.1 nor MQTT 5.0`)
}

function checkFlags(cursor: PacketCursor, flags: number, protocolVersion: ProtocolVersion): void {
  if ((flags & flag.reserved) !== 0) cursor.malformed('the reserved Connect Flag is set') // [MQTT-3.1.2-3] [MQTT311-3.1.2-3]
  const willQoS = (flags >> 3) & 3
  if ((flags & flag.will) === 0) {
    if (willQoS !== 0) cursor.malformed('Will QoS without Will Flag') // [MQTT-3.1.2-11] [MQTT311-3.1.2-11] [MQTT311-3.1.2-13]
    if ((flags & flag.willRetain) !== 0) cursor.malformed('Will Retain without Will Flag') // [MQTT-3.1.2-13] [MQTT311-3.1.2-15]
  }
  if (willQoS === 3) cursor.malformed('Will QoS is 3') // [MQTT-3.1.2-12] [MQTT311-3.1.2-14]
  if (protocolVersion === 4 && (flags & flag.password) !== 0 && (flags & flag.userName) === 0) {
    cursor.malformed('a Password without a User Name') // [MQTT311-3.1.2-22]
  }
}

function readWill(cursor: PacketCursor, flags: number, protocolVersion: ProtocolVersion): WillMessage {
  const all = protocolVersion === 5 ? decodeProperties(cursor, 'will') : undefined
  const { delayIntervalSeconds = 0, ...rest } = all ?? {}
  const topicName = cursor.readTopic('the Will Topic').name // [MQTT-3.1.3-11] [MQTT311-3.1.3-10]
  if (topicName === '') cursor.fail(ReasonCodes.topicNameInvalid, 'the Will Topic is empty') // [MQTT-4.7.3-1] [MQTT311-4.7.3-1]
  // The Will outlives the chunk in which it came; a view would keep the chunk in memory.
  const payload = Buffer.from(cursor.readBinary('the Will Payload'))
  const { correlationData } = rest
  const properties = correlationData === undefined ? rest : { ...rest, correlationData: Buffer.from(correlationData) }
  return {
    topicName,
    payload,
    qos: ((flags >> 3) & 3) as QoS,
    retain: (flags & flag.willRetain) !== 0,
    delayIntervalSeconds,
    properties: Object.keys(properties).length === 0 ? undefined : properties,
  }
}

/** Writes the packet in its own protocol version. */
export function encodeConnect(packet: ConnectPacket): Buffer {
  const { will, userName, password, properties, protocolVersion } = packet
  const connectProperties = protocolVersion === 5 ? propertiesSize('connect', properties) : 0
  const willFields = will === undefined ? undefined : willPropertyFields(will)
  const willProperties = protocolVersion === 5 ? propertiesSize('will', willFields) : 0
  let size = 10 + 2 + utf8Size(packet.clientId)
  if (protocolVersion === 5) size += variableByteIntegerSize(connectProperties) + connectProperties
  if (will !== undefined) {
    if (protocolVersion === 5) size += variableByteIntegerSize(willProperties) + willProperties
    size += 4 + utf8Size(will.topicName) + binarySize(will.payload)
  }
  if (userName !== undefined) size += 2 + utf8Size(userName)
  if (password !== undefined) size += 2 + binarySize(password)

  const writer = new PacketWriter(0x10, size)
  writer.writeUtf8('MQTT')
  writer.writeUint8(protocolVersion)
  writer.writeUint8(connectFlags(packet))
  writer.writeUint16(packet.keepAliveSeconds)
  if (protocolVersion === 5) writeProperties(writer, 'connect', properties, connectProperties)
  writer.writeUtf8(packet.clientId)
  if (will !== undefined) {
    if (protocolVersion === 5) writeProperties(writer, 'will', willFields, willProperties)
    writer.writeUtf8(will.topicName)
    writer.writeBinary(will.payload)
  }
  if (userName !== undefined) writer.writeUtf8(userName)
  if (password !== undefined) writer.writeBinary(password)
  return writer.finish()
}

function willPropertyFields(
  will: WillMessage,
): MessageProperties & { readonly delayIntervalSeconds: number | undefined } {
  const delayIntervalSeconds = will.delayIntervalSeconds === 0 ? undefined : will.delayIntervalSeconds
  return { ...will.properties, delayIntervalSeconds }
}

function connectFlags({ cleanStart, will, userName, password }: ConnectPacket): number {
  let flags = cleanStart ? flag.cleanStart : 0
  if (will !== undefined) flags |= flag.will | (will.qos << 3) | (will.retain ? flag.willRetain : 0)
  if (userName !== undefined) flags |= flag.userName
  if (password !== undefined) flags |= flag.password
  return flags
}
