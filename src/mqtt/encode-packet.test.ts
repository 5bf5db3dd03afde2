/**
 * Written packets are read back, and the independent library mqtt-packet reads and writes the same.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import mqttPacket from 'mqtt-packet'
import { encodePacket } from './encode-packet.ts'
import { PacketReader } from './packet-reader.ts'
import type { Packet, ProtocolVersion, UserProperty } from './packet.ts'
import { connectReturnCode, isFailure } from './reason-codes.ts'
import { plainPacket } from './plain-packet.testing.ts'

type Sender = 'client' | 'server'
type Fields = Record<string, unknown>

const maximumPacketSizeBytes = 10_000_000

const text = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'))
const binary = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))
const uint16 = fc.nat({ max: 0xffff })
const positiveUint16 = fc.integer({ min: 1, max: 0xffff })
const uint32 = fc.nat({ max: 0xffff_ffff })
const positiveUint32 = fc.integer({ min: 1, max: 0xffff_ffff })
const subscriptionIdentifier = fc.integer({ min: 1, max: 268_435_455 })
const qos = fc.constantFrom(0 as const, 1 as const, 2 as const)
const bit = fc.constantFrom(0 as const, 1 as const)
const levels = fc.array(fc.constantFrom('', 'a', 'device', 'ü', '$x', '日本', '\u{1F600}'), {
  minLength: 1,
  maxLength: 6,
})
const topicName = levels.map((parts) => parts.join('/')).filter((name) => name !== '')
const topicFilter = fc
  .tuple(fc.array(fc.constantFrom('', 'a', '+', 'ü', '$x'), { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([parts, isOpen]) => [...parts, ...(isOpen ? ['#'] : [])].join('/'))
  .filter((filter) => filter !== '')

/**
 * The names differ, because mqtt-packet keeps neither the order of User Properties nor repeated
 * names.
 */
type UserProperties = fc.Arbitrary<UserProperty[]>

function optional<T extends object>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
  return fc.option(fc.record(shape, { requiredKeys: [] }), { nil: undefined })
}

function messageProperties(userProperties: UserProperties) {
  return {
    payloadFormatIndicator: bit,
    messageExpiryIntervalSeconds: uint32,
    contentType: text,
    responseTopic: topicName,
    correlationData: binary,
    userProperties,
  }
}

function connects(version: ProtocolVersion, userProperties: UserProperties) {
  const nothing = fc.constant(undefined)
  const properties = optional({
    sessionExpiryIntervalSeconds: uint32,
    receiveMaximum: positiveUint16,
    maximumPacketSizeBytes: positiveUint32,
    topicAliasMaximum: uint16,
    requestResponseInformation: fc.boolean(),
    requestProblemInformation: fc.boolean(),
    userProperties,
    authenticationMethod: text,
  })
  const will = fc.record({
    topicName,
    payload: binary,
    qos,
    retain: fc.boolean(),
    delayIntervalSeconds: version === 5 ? uint32 : fc.constant(0),
    properties: version === 5 ? optional(messageProperties(userProperties)) : nothing,
  })
  return fc
    .record({
      type: fc.constant('connect' as const),
      protocolVersion: fc.constant(version),
      cleanStart: fc.boolean(),
      keepAliveSeconds: uint16,
      clientId: text,
      will: fc.option(will, { nil: undefined }),
      userName: fc.option(text, { nil: undefined }),
      password: fc.option(binary, { nil: undefined }),
      properties: version === 5 ? properties : nothing,
    })
    .filter(({ userName, password }) => version === 5 || password === undefined || userName !== undefined)
}

function publishes(from: Sender, userProperties: UserProperties): fc.Arbitrary<Packet> {
  const subscriptionIdentifiers = fc.array(subscriptionIdentifier, { maxLength: from === 'server' ? 3 : 0 })
  const common = {
    type: fc.constant('publish' as const),
    topicName,
    payload: fc.oneof(
      binary,
      fc.nat({ max: 20_000 }).map((size) => Buffer.alloc(size, 'x')),
    ),
    retain: fc.boolean(),
    properties: optional({
      ...messageProperties(userProperties),
      topicAlias: positiveUint16,
      subscriptionIdentifiers,
    }),
  }
  return fc.oneof(
    fc.record({ ...common, qos: fc.constant(0 as const), dup: fc.constant(false), packetId: fc.constant(0) }),
    fc.record({
      ...common,
      qos: fc.constantFrom(1 as const, 2 as const),
      dup: fc.boolean(),
      packetId: positiveUint16,
    }),
  )
}

function acknowledgements(userProperties: UserProperties): fc.Arbitrary<Packet> {
  const common = { packetId: positiveUint16, properties: optional({ reasonString: text, userProperties }) }
  return fc.oneof(
    fc.record({
      ...common,
      type: fc.constantFrom('puback' as const, 'pubrec' as const),
      reasonCode: fc.constantFrom(0, 0x10, 0x87, 0x97),
    }),
    fc.record({
      ...common,
      type: fc.constantFrom('pubrel' as const, 'pubcomp' as const),
      reasonCode: fc.constantFrom(0, 0x92),
    }),
  )
}

function subscribes(userProperties: UserProperties): fc.Arbitrary<Packet> {
  const subscription = fc.record({
    topicFilter,
    qos,
    noLocal: fc.boolean(),
    retainAsPublished: fc.boolean(),
    retainHandling: fc.constantFrom(0 as const, 1 as const, 2 as const),
  })
  return fc.oneof(
    fc.record({
      type: fc.constant('subscribe' as const),
      packetId: positiveUint16,
      subscriptions: fc.array(subscription, { minLength: 1, maxLength: 5 }),
      properties: optional({ subscriptionIdentifier, userProperties }),
    }),
    fc.record({
      type: fc.constant('unsubscribe' as const),
      packetId: positiveUint16,
      topicFilters: fc.array(topicFilter, { minLength: 1, maxLength: 5 }),
      properties: optional({ userProperties }),
    }),
  )
}

function codes(...all: number[]): fc.Arbitrary<number[]> {
  return fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 5 })
}

function subscribeAnswers(userProperties: UserProperties): fc.Arbitrary<Packet> {
  const common = { packetId: positiveUint16, properties: optional({ reasonString: text, userProperties }) }
  return fc.oneof(
    fc.record({
      ...common,
      type: fc.constant('suback' as const),
      reasonCodes: codes(0, 1, 2, 0x80, 0x87, 0x9e),
    }),
    fc.record({ ...common, type: fc.constant('unsuback' as const), reasonCodes: codes(0, 0x11, 0x87) }),
  )
}

function connacks(userProperties: UserProperties): fc.Arbitrary<Packet> {
  const common = {
    type: fc.constant('connack' as const),
    properties: optional({
      sessionExpiryIntervalSeconds: uint32,
      receiveMaximum: positiveUint16,
      maximumQoS: bit,
      retainAvailable: fc.boolean(),
      maximumPacketSizeBytes: positiveUint32,
      assignedClientIdentifier: text,
      topicAliasMaximum: uint16,
      reasonString: text,
      userProperties,
      wildcardSubscriptionAvailable: fc.boolean(),
      subscriptionIdentifiersAvailable: fc.boolean(),
      sharedSubscriptionAvailable: fc.boolean(),
      serverKeepAliveSeconds: uint16,
      responseInformation: text,
      serverReference: text,
      authenticationMethod: text,
      authenticationData: binary,
    }),
  }
  return fc.oneof(
    fc.record({ ...common, sessionPresent: fc.boolean(), reasonCode: fc.constant(0) }),
    fc.record({
      ...common,
      sessionPresent: fc.constant(false),
      reasonCode: fc.constantFrom(0x84, 0x85, 0x86, 0x87, 0x88, 0x97),
    }),
  )
}

function disconnects(from: Sender, userProperties: UserProperties): fc.Arbitrary<Packet> {
  const reasons = { reasonString: text, userProperties }
  return fc.record({
    type: fc.constant('disconnect' as const),
    reasonCode: from === 'client' ? fc.constantFrom(0, 4, 0x81) : fc.constantFrom(0, 0x87, 0x8e, 0x9d),
    properties:
      from === 'client'
        ? optional({ ...reasons, sessionExpiryIntervalSeconds: uint32 })
        : optional({ ...reasons, serverReference: text }),
  })
}

function auths(from: Sender, userProperties: UserProperties): fc.Arbitrary<Packet> {
  return fc.record({
    type: fc.constant('auth' as const),
    reasonCode: from === 'client' ? fc.constantFrom(0x18, 0x19) : fc.constantFrom(0, 0x18),
    properties: fc.record(
      { authenticationMethod: text, authenticationData: binary, reasonString: text, userProperties },
      { requiredKeys: ['authenticationMethod'] },
    ),
  })
}

/** Any packet that the sender may send in the version. */
function packetsOf(version: ProtocolVersion, from: Sender, userProperties: UserProperties): fc.Arbitrary<Packet> {
  const fromBoth = [publishes(from, userProperties), acknowledgements(userProperties)]
  const last = disconnects(from, userProperties)
  const onlyIn5 = version === 5 ? [auths(from, userProperties)] : []
  if (from === 'client') {
    const ping = fc.constant({ type: 'pingreq' as const })
    return fc.oneof(connects(version, userProperties), ...fromBoth, subscribes(userProperties), ping, last, ...onlyIn5)
  }
  const pong = fc.constant({ type: 'pingresp' as const })
  const answers = [connacks(userProperties), subscribeAnswers(userProperties)]
  return fc.oneof(...answers, ...fromBoth, pong, ...(version === 5 ? [last] : []), ...onlyIn5)
}

/** The value without everything that is not on the wire: undefined fields, and empty properties. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  if (Array.isArray(value)) return value.map(plain)
  const fields = Object.entries(value)
    .filter(([name, field]) => field !== undefined && !(isList(name) && (field as unknown[]).length === 0))
    .map(([name, field]) => [name, plain(field)] as const)
    .filter(([name, field]) => name !== 'properties' || Object.keys(field as object).length > 0)
  return Object.fromEntries(fields)
}

function isList(name: string): boolean {
  return name === 'userProperties' || name === 'subscriptionIdentifiers'
}

const returnCodes = [0, 0x84, 0x85, 0x88, 0x86, 0x87]

/** The packet as it is after MQTT 3.1.1 has carried it. */
function carried(packet: Packet, version: ProtocolVersion): Packet {
  if (version === 5 || packet.type === 'pingreq' || packet.type === 'pingresp') return packet
  const bare = { ...packet, properties: undefined }
  switch (bare.type) {
    case 'connack':
      return { ...bare, reasonCode: returnCodes[connectReturnCode(bare.reasonCode)] ?? assert.fail() }
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
    case 'disconnect':
      return { ...bare, reasonCode: 0 }
    case 'subscribe': {
      const options = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
      return { ...bare, subscriptions: bare.subscriptions.map((one) => ({ ...one, ...options })) }
    }
    case 'suback':
      return { ...bare, reasonCodes: bare.reasonCodes.map((code) => (isFailure(code) ? 0x80 : code)) }
    case 'unsuback':
      return { ...bare, reasonCodes: [] }
    case 'connect':
    case 'publish':
    case 'unsubscribe':
    case 'auth':
      break
  }
  return bare
}

function decode(
  bytes: Buffer,
  version: ProtocolVersion,
  from: Sender,
  sizes: readonly number[] = [bytes.length],
): Packet {
  const reader = new PacketReader({ role: from === 'client' ? 'server' : 'client', maximumPacketSizeBytes })
  if (bytes[0] !== 0x10) reader.protocolVersion = version
  let packet: Packet | undefined
  let start = 0
  for (let index = 0; start < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    reader.push(bytes.subarray(start, start + size))
    start += size
    packet = reader.next()
    if (start < bytes.length) assert.equal(packet, undefined)
  }
  assert.equal(reader.bufferedBytes, 0)
  return packet === undefined ? assert.fail('there is no packet') : plainPacket(packet)
}

const both = [
  [4, 'client'],
  [4, 'server'],
  [5, 'client'],
  [5, 'server'],
] as const

describe('what is written is read back', () => {
  const userProperties = fc.array(fc.tuple(text, text), { maxLength: 4 })

  for (const [version, from] of both) {
    test(`MQTT ${version} from a ${from}, in one chunk`, () => {
      fc.assert(
        fc.property(packetsOf(version, from, userProperties), (packet) => {
          const bytes = encodePacket(packet, version)
          assert.deepEqual(plain(decode(bytes, version, from)), plain(carried(packet, version)))
        }),
        { numRuns: 1500 },
      )
    })

    test(`MQTT ${version} from a ${from}, in chunks of any size`, () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
      fc.assert(
        fc.property(
          packetsOf(version, from, userProperties),
          fc.oneof(fc.constant([1]), sizes),
          (packet, chunkSizes) => {
            const bytes = encodePacket(packet, version)
            assert.deepEqual(plain(decode(bytes, version, from, chunkSizes)), plain(carried(packet, version)))
          },
        ),
        { numRuns: 300 },
      )
    })
  }
})

/** Our names of properties with theirs, if they differ. */
const theirNames: Readonly<Record<string, string>> = {
  sessionExpiryIntervalSeconds: 'sessionExpiryInterval',
  messageExpiryIntervalSeconds: 'messageExpiryInterval',
  maximumPacketSizeBytes: 'maximumPacketSize',
  serverKeepAliveSeconds: 'serverKeepAlive',
  delayIntervalSeconds: 'willDelayInterval',
  subscriptionIdentifiers: 'subscriptionIdentifier',
}

function theirProperties(properties: object | undefined): Fields {
  const fields = Object.entries(properties ?? {})
    .filter(([name, value]) => value !== undefined && !(isList(name) && (value as unknown[]).length === 0))
    .map(([name, value]): [string, unknown] => {
      if (name === 'userProperties') return [name, Object.fromEntries(value as UserProperty[])]
      if (name === 'payloadFormatIndicator') return [name, value === 1]
      if (name === 'subscriptionIdentifiers') {
        const ids = value as number[]
        return ['subscriptionIdentifier', ids.length === 1 ? ids[0] : ids]
      }
      return [theirNames[name] ?? name, value]
    })
  return Object.fromEntries(fields)
}

/**
 * The packet in the form of mqtt-packet: for its generator, and to compare with the result of its
 * parser.
 */
function theirs(packet: Packet, version: ProtocolVersion): Fields {
  const code = 'reasonCode' in packet && version === 5 ? { reasonCode: packet.reasonCode } : {}
  const properties = 'properties' in packet && version === 5 ? { properties: theirProperties(packet.properties) } : {}
  const base: Fields = { cmd: packet.type, ...code, ...properties }
  if ('packetId' in packet && packet.packetId !== 0) base['messageId'] = packet.packetId
  switch (packet.type) {
    case 'connect': {
      const { will } = packet
      return {
        ...base,
        protocolId: 'MQTT',
        protocolVersion: version,
        clean: packet.cleanStart,
        keepalive: packet.keepAliveSeconds,
        clientId: packet.clientId,
        ...(packet.userName === undefined ? {} : { username: packet.userName }),
        ...(packet.password === undefined ? {} : { password: packet.password }),
        ...(will === undefined ? {} : { will: theirWill(will, version) }),
      }
    }
    case 'connack':
      return {
        ...base,
        sessionPresent: packet.sessionPresent,
        ...(version === 4 ? { returnCode: connectReturnCode(packet.reasonCode) } : {}),
      }
    case 'publish':
      return {
        ...base,
        topic: packet.topicName,
        payload: packet.payload,
        qos: packet.qos,
        retain: packet.retain,
        dup: packet.dup,
      }
    case 'subscribe':
      return {
        ...base,
        subscriptions: packet.subscriptions.map((one) => ({
          topic: one.topicFilter,
          qos: one.qos,
          ...(version === 5 ? { nl: one.noLocal, rap: one.retainAsPublished, rh: one.retainHandling } : {}),
        })),
      }
    case 'unsubscribe':
      return { ...base, unsubscriptions: packet.topicFilters }
    case 'suback':
      return {
        ...base,
        granted: packet.reasonCodes.map((one) => (version === 4 && isFailure(one) ? 0x80 : one)),
      }
    case 'unsuback':
      return version === 5 ? { ...base, granted: packet.reasonCodes } : base
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
    case 'pingreq':
    case 'pingresp':
    case 'disconnect':
    case 'auth':
      break
  }
  return base
}

function theirWill(will: NonNullable<Extract<Packet, { type: 'connect' }>['will']>, version: ProtocolVersion): Fields {
  const { delayIntervalSeconds } = will
  const delay = delayIntervalSeconds === 0 ? {} : { delayIntervalSeconds }
  return {
    topic: will.topicName,
    payload: will.payload,
    qos: will.qos,
    retain: will.retain,
    ...(version === 5 ? { properties: theirProperties({ ...will.properties, ...delay }) } : {}),
  }
}

/**
 * False for packets that their generator refuses, although MQTT allows them: a Session to be kept
 * without a Client Identifier (the server decides), and in MQTT 5 a Password without a User Name.
 */
function isWrittenByThem(packet: Packet): boolean {
  if (packet.type !== 'connect') return true
  if (packet.password !== undefined && packet.userName === undefined) return false
  return packet.clientId !== '' || packet.cleanStart
}

function theyRead(bytes: Buffer, version: ProtocolVersion): Fields {
  const parser = mqttPacket.parser({ protocolVersion: version })
  const packets: Fields[] = []
  parser.on('packet', (packet) => packets.push(packet as unknown as Fields))
  parser.on('error', (error: Error) => assert.fail(error))
  parser.parse(bytes)
  assert.equal(packets.length, 1)
  return packets[0] ?? assert.fail()
}

/** The value with ordinary prototypes: objects of mqtt-packet have none, or their own. */
function ordinary(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  if (Array.isArray(value)) return value.map(ordinary)
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, ordinary(field)]))
}

/**
 * Compares the expected fields, and all properties. Packets of mqtt-packet have further fields
 * without a meaning.
 */
function assertHas(actual: Fields, expected: Fields): void {
  for (const [name, value] of Object.entries(expected)) {
    if (name === 'will') assertHas((actual['will'] ?? {}) as Fields, value as Fields)
    else assert.deepEqual(ordinary(actual[name] ?? (name === 'properties' ? {} : undefined)), ordinary(value), name)
  }
}

describe('mqtt-packet agrees', () => {
  const uniqueNames = fc.uniqueArray(
    fc.tuple(
      text.map((name) => `p${name}`),
      text,
    ),
    { selector: ([name]) => name, maxLength: 3 },
  )
  const packets = (version: ProtocolVersion, from: Sender): fc.Arbitrary<Packet> =>
    packetsOf(version, from, uniqueNames).filter(isWrittenByThem)

  for (const [version, from] of both) {
    test(`MQTT ${version} from a ${from}: it reads what we write`, () => {
      fc.assert(
        fc.property(packets(version, from), (packet) => {
          assertHas(theyRead(encodePacket(packet, version), version), theirs(packet, version))
        }),
        { numRuns: 800 },
      )
    })

    test(`MQTT ${version} from a ${from}: we read what it writes`, () => {
      fc.assert(
        fc.property(packets(version, from), (packet) => {
          const packetOfTheirs = theirs(packet, version) as unknown as mqttPacket.Packet
          const bytes = mqttPacket.generate(packetOfTheirs, { protocolVersion: version })
          assert.deepEqual(plain(decode(bytes, version, from)), plain(carried(packet, version)))
        }),
        { numRuns: 800 },
      )
    })
  }
})
