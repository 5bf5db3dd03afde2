/**
 * The properties of MQTT 5.0 (§2.2.2): one table of their names, their forms on the wire, and the
 * packets in which they may stand.
 */
import type { PacketCursor } from './packet-cursor.ts'
import { binarySize } from './packet-writer.ts'
import type { PacketWriter } from './packet-writer.ts'
import type {
  AuthProperties,
  ConnackProperties,
  ConnectProperties,
  DisconnectProperties,
  MessageProperties,
  PublishProperties,
  ReasonProperties,
  SubscribeProperties,
  UserProperty,
} from './packet.ts'
import { hasWildcard } from './topic-name.ts'
import { utf8Size } from './utf8.ts'
import { variableByteIntegerSize } from './variable-byte-integer.ts'

/**
 * By holder, which is a Control Packet or the Will Message within CONNECT: its properties as
 * values.
 */
interface PropertiesOf {
  readonly connect: ConnectProperties
  readonly will: MessageProperties & { readonly delayIntervalSeconds?: number | undefined }
  readonly connack: ConnackProperties
  readonly publish: PublishProperties
  readonly acknowledgement: ReasonProperties
  readonly subscribe: SubscribeProperties
  readonly suback: ReasonProperties
  readonly unsubscribe: { readonly userProperties?: readonly UserProperty[] | undefined }
  readonly unsuback: ReasonProperties
  readonly disconnect: DisconnectProperties
  readonly auth: AuthProperties
}

type PropertyHolder = keyof PropertiesOf

type PropertyType =
  | 'bit'
  | 'boolean'
  | 'uint16'
  | 'positive uint16'
  | 'uint32'
  | 'positive uint32'
  | 'positive variable byte integer'
  | 'utf-8'
  | 'topic name'
  | 'binary'
  | 'utf-8 pair'

interface Property {
  readonly id: number
  /** The field of the packet's `properties`. */
  readonly name: string
  readonly title: string
  readonly type: PropertyType
  readonly holders: readonly PropertyHolder[]
  /** True when the property may come more than once; then the field is an array. */
  readonly repeatable?: boolean
}

const message: readonly PropertyHolder[] = ['publish', 'will']
const reasons: readonly PropertyHolder[] = ['connack', 'acknowledgement', 'suback', 'unsuback', 'disconnect', 'auth']
const everywhere: readonly PropertyHolder[] = [...message, ...reasons, 'connect', 'subscribe', 'unsubscribe']

// oxfmt-ignore
const properties: readonly Property[] = [
  { id: 0x01, name: 'payloadFormatIndicator', title: 'Payload Format Indicator', type: 'bit', holders: message },
  { id: 0x02, name: 'messageExpiryIntervalSeconds', title: 'Message Expiry Interval', type: 'uint32', holders: message },
  { id: 0x03, name: 'contentType', title: 'Content Type', type: 'utf-8', holders: message },
  { id: 0x08, name: 'responseTopic', title: 'Response Topic', type: 'topic name', holders: message },
  { id: 0x09, name: 'correlationData', title: 'Correlation Data', type: 'binary', holders: message },
  { id: 0x0b, name: 'subscriptionIdentifiers', title: 'Subscription Identifier', type: 'positive variable byte integer', holders: ['publish'], repeatable: true },
  { id: 0x0b, name: 'subscriptionIdentifier', title: 'Subscription Identifier', type: 'positive variable byte integer', holders: ['subscribe'] },
  { id: 0x11, name: 'sessionExpiryIntervalSeconds', title: 'Session Expiry Interval', type: 'uint32', holders: ['connect', 'connack', 'disconnect'] },
  { id: 0x12, name: 'assignedClientIdentifier', title: 'Assigned Client Identifier', type: 'utf-8', holders: ['connack'] },
  { id: 0x13, name: 'serverKeepAliveSeconds', title: 'Server Keep Alive', type: 'uint16', holders: ['connack'] },
  { id: 0x15, name: 'authenticationMethod', title: 'Authentication Method', type: 'utf-8', holders: ['connect', 'connack', 'auth'] },
  { id: 0x16, name: 'authenticationData', title: 'Authentication Data', type: 'binary', holders: ['connect', 'connack', 'auth'] },
  { id: 0x17, name: 'requestProblemInformation', title: 'Request Problem Information', type: 'boolean', holders: ['connect'] },
  { id: 0x18, name: 'delayIntervalSeconds', title: 'Will Delay Interval', type: 'uint32', holders: ['will'] },
  { id: 0x19, name: 'requestResponseInformation', title: 'Request Response Information', type: 'boolean', holders: ['connect'] },
  { id: 0x1a, name: 'responseInformation', title: 'Response Information', type: 'utf-8', holders: ['connack'] },
  { id: 0x1c, name: 'serverReference', title: 'Server Reference', type: 'utf-8', holders: ['connack', 'disconnect'] },
  { id: 0x1f, name: 'reasonString', title: 'Reason String', type: 'utf-8', holders: reasons },
  { id: 0x21, name: 'receiveMaximum', title: 'Receive Maximum', type: 'positive uint16', holders: ['connect', 'connack'] },
  { id: 0x22, name: 'topicAliasMaximum', title: 'Topic Alias Maximum', type: 'uint16', holders: ['connect', 'connack'] },
  { id: 0x23, name: 'topicAlias', title: 'Topic Alias', type: 'positive uint16', holders: ['publish'] },
  { id: 0x24, name: 'maximumQoS', title: 'Maximum QoS', type: 'bit', holders: ['connack'] },
  { id: 0x25, name: 'retainAvailable', title: 'Retain Available', type: 'boolean', holders: ['connack'] },
  { id: 0x26, name: 'userProperties', title: 'User Property', type: 'utf-8 pair', holders: everywhere, repeatable: true },
  { id: 0x27, name: 'maximumPacketSizeBytes', title: 'Maximum Packet Size', type: 'positive uint32', holders: ['connect', 'connack'] },
  { id: 0x28, name: 'wildcardSubscriptionAvailable', title: 'Wildcard Subscription Available', type: 'boolean', holders: ['connack'] },
  { id: 0x29, name: 'subscriptionIdentifiersAvailable', title: 'Subscription Identifier Available', type: 'boolean', holders: ['connack'] },
  { id: 0x2a, name: 'sharedSubscriptionAvailable', title: 'Shared Subscription Available', type: 'boolean', holders: ['connack'] },
]

const GREATEST_ID = 0x2a

interface HolderTable {
  readonly properties: readonly Property[]
  readonly byId: readonly (Property | undefined)[]
}

function tableOf(holder: PropertyHolder): HolderTable {
  const own = properties.filter((property) => property.holders.includes(holder))
  const byId = Array.from({ length: GREATEST_ID + 1 }, (_, id) => own.find((property) => property.id === id))
  return { properties: own, byId }
}

const tables: { readonly [holder in PropertyHolder]: HolderTable } = {
  connect: tableOf('connect'),
  will: tableOf('will'),
  connack: tableOf('connack'),
  publish: tableOf('publish'),
  acknowledgement: tableOf('acknowledgement'),
  subscribe: tableOf('subscribe'),
  suback: tableOf('suback'),
  unsubscribe: tableOf('unsubscribe'),
  unsuback: tableOf('unsuback'),
  disconnect: tableOf('disconnect'),
  auth: tableOf('auth'),
}

type PropertyValue = number | boolean | string | Buffer | UserProperty
type PropertyFields = Record<string, PropertyValue | PropertyValue[] | undefined>

/**
 * Reads the Property Length and the properties of `holder`: an object with the fields that are
 * there, or undefined when there are none. Binary values are views.
 */
export function decodeProperties<H extends PropertyHolder>(
  cursor: PacketCursor,
  holder: H,
): PropertiesOf[H] | undefined {
  const length = cursor.readVariableByteInteger('the Property Length')
  if (length === 0) return undefined
  const packetEnd = cursor.end
  const end = cursor.position + length
  if (end > packetEnd) cursor.malformed('the Property Length reaches past the end of the packet')
  cursor.end = end
  const table = tables[holder].byId
  const fields: PropertyFields = {}
  while (cursor.position < end) {
    const id = cursor.readVariableByteInteger('a Property Identifier')
    const property = table[id]
    // An identifier that must not stand here makes the packet malformed (MQTT 5.0 §2.2.2.2).
    if (property === undefined) cursor.malformed(`property ${id} does not belong here`)
    const value = readValue(cursor, property)
    const earlier = fields[property.name]
    if (property.repeatable === true) {
      if (earlier === undefined) fields[property.name] = [value]
      else (earlier as PropertyValue[]).push(value)
    } else {
      if (earlier !== undefined) cursor.protocolError(`${property.title} comes more than once`)
      fields[property.name] = value
    }
  }
  cursor.end = packetEnd
  return fields
}

function readValue(cursor: PacketCursor, property: Property): PropertyValue {
  const { title } = property
  switch (property.type) {
    case 'bit':
      return readBit(cursor, title)
    case 'boolean':
      return readBit(cursor, title) === 1
    case 'uint16':
      return cursor.readUint16(title)
    case 'positive uint16':
      return positive(cursor, cursor.readUint16(title), title) // Topic Alias: [MQTT-3.3.2-8]
    case 'uint32':
      return cursor.readUint32(title)
    case 'positive uint32':
      return positive(cursor, cursor.readUint32(title), title)
    case 'positive variable byte integer':
      return positive(cursor, cursor.readVariableByteInteger(title), title)
    case 'utf-8':
      return cursor.readUtf8(title)
    case 'topic name':
      return readResponseTopic(cursor, title)
    case 'binary':
      return cursor.readBinary(title)
    case 'utf-8 pair':
      break
  }
  return [cursor.readUtf8(title), cursor.readUtf8(title)] // [MQTT-1.5.7-1]
}

function readBit(cursor: PacketCursor, title: string): number {
  const value = cursor.readUint8(title)
  if (value > 1) cursor.protocolError(`${title} is neither 0 nor 1`)
  return value
}

function positive(cursor: PacketCursor, value: number, title: string): number {
  if (value === 0) cursor.protocolError(`${title} is 0`)
  return value
}

function readResponseTopic(cursor: PacketCursor, title: string): string {
  const topicName = cursor.readUtf8(title) // [MQTT-3.3.2-13]
  if (topicName === '') cursor.protocolError(`${title} is empty`) // [MQTT-4.7.3-1]
  if (hasWildcard(topicName)) cursor.protocolError(`${title} holds a wildcard`) // [MQTT-3.3.2-14]
  return topicName
}

/**
 * The bytes of the properties without the Property Length. Throws RangeError for values that have
 * no form on the wire.
 */
export function propertiesSize<H extends PropertyHolder>(holder: H, values: PropertiesOf[H] | undefined): number {
  if (values === undefined) return 0
  let size = 0
  for (const property of tables[holder].properties) {
    const value = (values as PropertyFields)[property.name]
    if (value === undefined) continue
    if (property.repeatable === true) {
      for (const one of value as PropertyValue[]) size += 1 + valueSize(property, one)
    } else {
      size += 1 + valueSize(property, value as PropertyValue)
    }
  }
  return size
}

/**
 * Writes the Property Length, which `propertiesSize` computed, and the properties, in the order of
 * their identifiers.
 */
export function writeProperties<H extends PropertyHolder>(
  writer: PacketWriter,
  holder: H,
  values: PropertiesOf[H] | undefined,
  size: number,
): void {
  writer.writeVariableByteInteger(size) // [MQTT-2.2.2-1]
  if (values === undefined || size === 0) return
  for (const property of tables[holder].properties) {
    const value = (values as PropertyFields)[property.name]
    if (value === undefined) continue
    if (property.repeatable === true) {
      for (const one of value as PropertyValue[]) writeProperty(writer, property, one)
    } else {
      writeProperty(writer, property, value as PropertyValue)
    }
  }
}

function valueSize(property: Property, value: PropertyValue): number {
  switch (property.type) {
    case 'bit':
    case 'boolean':
      return 1
    case 'uint16':
    case 'positive uint16':
      return 2
    case 'uint32':
    case 'positive uint32':
      return 4
    case 'positive variable byte integer':
      return variableByteIntegerSize(value as number)
    case 'utf-8':
    case 'topic name':
      return 2 + utf8Size(value as string)
    case 'binary':
      return 2 + binarySize(value as Buffer)
    case 'utf-8 pair':
      break
  }
  return 4 + utf8Size((value as UserProperty)[0]) + utf8Size((value as UserProperty)[1])
}

function writeProperty(writer: PacketWriter, property: Property, value: PropertyValue): void {
  writer.writeUint8(property.id)
  switch (property.type) {
    case 'bit':
    case 'boolean':
      writer.writeUint8(Number(value))
      break
    case 'uint16':
    case 'positive uint16':
      writer.writeUint16(value as number)
      break
    case 'uint32':
    case 'positive uint32':
      writer.writeUint32(value as number)
      break
    case 'positive variable byte integer':
      writer.writeVariableByteInteger(value as number)
      break
    case 'utf-8':
    case 'topic name':
      writer.writeUtf8(value as string)
      break
    case 'binary':
      writer.writeBinary(value as Buffer)
      break
    case 'utf-8 pair':
      writer.writeUtf8((value as UserProperty)[0])
      writer.writeUtf8((value as UserProperty)[1])
      break
  }
}
