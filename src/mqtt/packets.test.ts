/**
 * Packets in bytes, written by hand: their meaning, their form, and the refusals.
 *
 * The notation: pairs of hexadecimal digits; `'text'` is a UTF-8 Encoded String with its two bytes
 * of length; `..` is the Remaining Length of everything behind it; `[` … `]` are properties behind
 * their Property Length.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodePacket } from './encode-packet.ts'
import { MalformedPacketError } from './malformed-packet.ts'
import { PacketReader } from './packet-reader.ts'
import type { Packet, ProtocolVersion } from './packet.ts'
import type { ReasonCode } from './reason-codes.ts'
import { plainPacket } from './plain-packet.testing.ts'

type Sender = 'client' | 'server'

interface Row {
  readonly title: string
  readonly version: ProtocolVersion
  readonly from: Sender
  readonly bytes: string
}

interface PacketRow extends Row {
  readonly packet: Packet
  /**
   * A packet with one direction only: another form of it is shorter, or the version has no room for
   * a field.
   */
  readonly only?: 'decode' | 'encode'
}

interface MalformedRow extends Row {
  readonly reasonCode: ReasonCode
}

const malformed = 0x81
const protocolError = 0x82
const unsupportedVersion = 0x84
const topicFilterInvalid = 0x8f
const topicNameInvalid = 0x90
const tooLarge = 0x95

const buffer = (text: string): Buffer => Buffer.from(text)

/** The tokens of the notation as bytes. */
function bytesOf(notation: string): Buffer {
  const tokens = notation.match(/'[^']*'|\S+/g) ?? []
  const open: Buffer[][] = [[]]
  const isLengthAhead: boolean[] = []
  for (const token of tokens) {
    if (token === '..') {
      open.push([])
      isLengthAhead.push(true)
    } else if (token === '[') {
      open.push([])
    } else if (token === ']') {
      closeInto(open)
    } else if (token.startsWith("'")) {
      const text = buffer(token.slice(1, -1))
      open.at(-1)?.push(Buffer.from([text.length >> 8, text.length & 0xff]), text)
    } else {
      open.at(-1)?.push(Buffer.from(token, 'hex'))
    }
  }
  while (open.length > 1) closeInto(open)
  return Buffer.concat(open[0] ?? [])
}

function closeInto(open: Buffer[][]): void {
  const content = Buffer.concat(open.pop() ?? [])
  open.at(-1)?.push(variableByteInteger(content.length), content)
}

function variableByteInteger(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push((rest % 128) + (rest >= 128 ? 128 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.from(bytes)
}

function readerOf(from: Sender, version: ProtocolVersion | undefined): PacketReader {
  const reader = new PacketReader({ role: from === 'client' ? 'server' : 'client', maximumPacketSizeBytes: 1_000_000 })
  reader.protocolVersion = version
  return reader
}

function decode(row: Row, bytes = bytesOf(row.bytes)): Packet | undefined {
  // A CONNECT names its version itself, and comes first on its connection.
  const reader = readerOf(row.from, bytes[0] === 0x10 ? undefined : row.version)
  reader.push(bytes)
  const packet = reader.next()
  if (packet === undefined) return undefined
  assert.equal(reader.bufferedBytes, 0)
  return plainPacket(packet)
}

function refusal(decodeIt: () => unknown): MalformedPacketError {
  try {
    decodeIt()
  } catch (error) {
    assert.ok(error instanceof MalformedPacketError, String(error))
    return error
  }
  assert.fail('it was read without an error')
}

/** The value without undefined fields, which mean the same as absent ones. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, plain(field)]),
  )
}

const connect4 = "10 .. 'MQTT' 04"
const connect5 = "10 .. 'MQTT' 05"

const packets: readonly PacketRow[] = [
  {
    title: 'the smallest CONNECT of MQTT 3.1.1',
    version: 4,
    from: 'client',
    bytes: '10 0c 0004 4d515454 04 02 003c 0000',
    packet: { type: 'connect', protocolVersion: 4, cleanStart: true, keepAliveSeconds: 60, clientId: '' },
  },
  {
    title: 'a CONNECT of MQTT 3.1.1 with everything in it, in its order [MQTT311-3.1.3-1] [MQTT311-3.1.2-9]',
    version: 4,
    from: 'client',
    bytes: `${connect4} ee ffff 'id' 'will/topic' 'gone' 'user' 'secret'`,
    packet: {
      type: 'connect',
      protocolVersion: 4,
      cleanStart: true,
      keepAliveSeconds: 65_535,
      clientId: 'id',
      will: { topicName: 'will/topic', payload: buffer('gone'), qos: 1, retain: true, delayIntervalSeconds: 0 },
      userName: 'user',
      password: buffer('secret'),
    },
  },
  {
    title: 'a CONNECT of MQTT 3.1.1 with a User Name alone [MQTT311-3.1.2-19]',
    version: 4,
    from: 'client',
    bytes: `${connect4} 80 0000 'id' 'user'`,
    packet: {
      type: 'connect',
      protocolVersion: 4,
      cleanStart: false,
      keepAliveSeconds: 0,
      clientId: 'id',
      userName: 'user',
    },
  },
  {
    title: 'a CONNECT of MQTT 5 with every property',
    version: 5,
    from: 'client',
    bytes: `${connect5} 02 000a
      [ 11 ffffffff 15 'M' 16 0002 0001 17 00 19 01 21 ffff 22 0000 26 'k' 'v' 26 'k' '' 27 00000001 ] 'id'`,
    packet: {
      type: 'connect',
      protocolVersion: 5,
      cleanStart: true,
      keepAliveSeconds: 10,
      clientId: 'id',
      properties: {
        sessionExpiryIntervalSeconds: 4_294_967_295,
        authenticationMethod: 'M',
        authenticationData: Buffer.from([0, 1]),
        requestProblemInformation: false,
        requestResponseInformation: true,
        receiveMaximum: 65_535,
        topicAliasMaximum: 0,
        userProperties: [
          ['k', 'v'],
          ['k', ''],
        ],
        maximumPacketSizeBytes: 1,
      },
    },
  },
  {
    title: 'a CONNECT of MQTT 5 with a Will and all its properties, in its order [MQTT-3.1.3-1] [MQTT-3.1.2-9]',
    version: 5,
    from: 'client',
    bytes: `${connect5} 36 0000 [ ] 'id'
      [ 01 01 02 00000078 03 'text/plain' 08 'answer/here' 09 0001 ff 18 0000003c 26 'a' 'b' ] 'will/topic' 'gone'`,
    packet: {
      type: 'connect',
      protocolVersion: 5,
      cleanStart: true,
      keepAliveSeconds: 0,
      clientId: 'id',
      will: {
        topicName: 'will/topic',
        payload: buffer('gone'),
        qos: 2,
        retain: true,
        delayIntervalSeconds: 60,
        properties: {
          payloadFormatIndicator: 1,
          messageExpiryIntervalSeconds: 120,
          contentType: 'text/plain',
          responseTopic: 'answer/here',
          correlationData: Buffer.from([0xff]),
          userProperties: [['a', 'b']],
        },
      },
    },
  },
  {
    title: 'a CONNECT of MQTT 5 with a Password and no User Name [MQTT-3.1.2-16] [MQTT-3.1.2-19]',
    version: 5,
    from: 'client',
    bytes: `${connect5} 40 0000 [ ] 'id' 'secret'`,
    packet: {
      type: 'connect',
      protocolVersion: 5,
      cleanStart: false,
      keepAliveSeconds: 0,
      clientId: 'id',
      password: buffer('secret'),
    },
  },
  {
    title: 'a Will Delay Interval of 0 is the same as none',
    version: 5,
    from: 'client',
    only: 'decode',
    bytes: `${connect5} 06 0000 [ ] 'id' [ 18 00000000 ] 'w' ''`,
    packet: {
      type: 'connect',
      protocolVersion: 5,
      cleanStart: true,
      keepAliveSeconds: 0,
      clientId: 'id',
      will: { topicName: 'w', payload: buffer(''), qos: 0, retain: false, delayIntervalSeconds: 0 },
    },
  },
  {
    title: 'a CONNACK of MQTT 3.1.1',
    version: 4,
    from: 'server',
    bytes: '20 02 01 00',
    packet: { type: 'connack', sessionPresent: true, reasonCode: 0 },
  },
  ...(
    [
      [0x84, 1, 'Unsupported Protocol Version'],
      [0x85, 2, 'Client Identifier not valid'],
      [0x88, 3, 'Server unavailable'],
      [0x86, 4, 'Bad User Name or Password'],
      [0x87, 5, 'Not authorized'],
    ] as const
  ).map(([reasonCode, returnCode, name]): PacketRow => ({
    title: `${name} in a CONNACK of MQTT 3.1.1 is Connect Return Code ${returnCode}`,
    version: 4,
    from: 'server',
    bytes: `20 02 00 0${returnCode}`,
    packet: { type: 'connack', sessionPresent: false, reasonCode },
  })),
  {
    title: 'a CONNACK of MQTT 3.1.1 leaves its properties behind, and a Reason Code without a counterpart becomes 3',
    version: 4,
    from: 'server',
    only: 'encode',
    bytes: '20 02 00 03',
    packet: {
      type: 'connack',
      sessionPresent: false,
      reasonCode: 0x97,
      properties: { reasonString: 'too many', receiveMaximum: 1 },
    },
  },
  {
    title: 'a CONNACK of MQTT 5 with every property',
    version: 5,
    from: 'server',
    bytes: `20 .. 01 00 [ 11 00000e10 12 'assigned' 13 003c 15 'M' 16 0001 00 1a 'info' 1c 'other' 1f 'fine' 21 0014 22 000a
      24 01 25 00 26 'a' 'b' 27 00100000 28 01 29 00 2a 01 ]`,
    packet: {
      type: 'connack',
      sessionPresent: true,
      reasonCode: 0,
      properties: {
        sessionExpiryIntervalSeconds: 3600,
        assignedClientIdentifier: 'assigned',
        serverKeepAliveSeconds: 60,
        authenticationMethod: 'M',
        authenticationData: Buffer.from([0]),
        responseInformation: 'info',
        serverReference: 'other',
        reasonString: 'fine',
        receiveMaximum: 20,
        topicAliasMaximum: 10,
        maximumQoS: 1,
        retainAvailable: false,
        userProperties: [['a', 'b']],
        maximumPacketSizeBytes: 1_048_576,
        wildcardSubscriptionAvailable: true,
        subscriptionIdentifiersAvailable: false,
        sharedSubscriptionAvailable: true,
      },
    },
  },
  {
    title: 'a CONNACK of MQTT 5 without properties says so [MQTT-2.2.2-1]',
    version: 5,
    from: 'server',
    bytes: '20 03 00 87 00',
    packet: { type: 'connack', sessionPresent: false, reasonCode: 0x87 },
  },
  {
    title: 'a PUBLISH at QoS 0 has no Packet Identifier [MQTT311-2.3.1-5]',
    version: 4,
    from: 'client',
    bytes: "31 .. 'a/b' 6869",
    packet: {
      type: 'publish',
      topicName: 'a/b',
      payload: buffer('hi'),
      qos: 0,
      retain: true,
      dup: false,
      packetId: 0,
    },
  },
  {
    title: 'a PUBLISH at QoS 1 that is sent again [MQTT311-3.3.1-1]',
    version: 4,
    from: 'server',
    bytes: "3a .. 'a/b' ffff",
    packet: {
      type: 'publish',
      topicName: 'a/b',
      payload: buffer(''),
      qos: 1,
      retain: false,
      dup: true,
      packetId: 65_535,
    },
  },
  {
    title: 'a PUBLISH at QoS 0 has no Packet Identifier in MQTT 5 [MQTT-2.2.1-2]',
    version: 5,
    from: 'client',
    bytes: "30 .. 'a/b' [ ] 6869",
    packet: {
      type: 'publish',
      topicName: 'a/b',
      payload: buffer('hi'),
      qos: 0,
      retain: false,
      dup: false,
      packetId: 0,
    },
  },
  {
    title: 'a PUBLISH from a client with every property that it may have',
    version: 5,
    from: 'client',
    bytes: `3d .. 'a' 0001
      [ 01 00 02 00000001 03 'json' 08 'r' 09 0002 0102 23 0001 26 'z' '1' 26 'a' '2' 26 'z' '1' ] 00`,
    packet: {
      type: 'publish',
      topicName: 'a',
      payload: Buffer.from([0]),
      qos: 2,
      retain: true,
      dup: true,
      packetId: 1,
      properties: {
        payloadFormatIndicator: 0,
        messageExpiryIntervalSeconds: 1,
        contentType: 'json',
        responseTopic: 'r',
        correlationData: Buffer.from([1, 2]),
        topicAlias: 1,
        userProperties: [
          ['z', '1'],
          ['a', '2'],
          ['z', '1'],
        ],
      },
    },
  },
  {
    title: 'a PUBLISH from a server carries all its Subscription Identifiers [MQTT-3.3.4-4]',
    version: 5,
    from: 'server',
    bytes: "30 .. 'a' [ 0b 01 0b ffffff7f 0b 8001 ]",
    packet: {
      type: 'publish',
      topicName: 'a',
      payload: buffer(''),
      qos: 0,
      retain: false,
      dup: false,
      packetId: 0,
      properties: { subscriptionIdentifiers: [1, 268_435_455, 128] },
    },
  },
  {
    title: 'a PUBLISH whose Topic Alias stands for the Topic Name',
    version: 5,
    from: 'client',
    bytes: "30 .. '' [ 23 ffff ]",
    packet: {
      type: 'publish',
      topicName: '',
      payload: buffer(''),
      qos: 0,
      retain: false,
      dup: false,
      packetId: 0,
      properties: { topicAlias: 65_535 },
    },
  },
  {
    title: 'a Topic Name keeps U+FEFF at its beginning [MQTT-1.5.4-3] [MQTT311-1.5.3-3]',
    version: 4,
    from: 'client',
    bytes: '30 .. 0004 efbbbf61',
    packet: {
      type: 'publish',
      topicName: '\uFEFFa',
      payload: buffer(''),
      qos: 0,
      retain: false,
      dup: false,
      packetId: 0,
    },
  },
  {
    title: 'a Topic Name beyond ASCII, with a code point beyond the first plane and a non-character [MQTT-3.3.2-1]',
    version: 5,
    from: 'client',
    bytes: '30 .. 000b 61 c3bc f0aa9b94 efbfbf 2f [ ]',
    packet: {
      type: 'publish',
      topicName: 'aü\u{2A6D4}\uFFFF/',
      payload: buffer(''),
      qos: 0,
      retain: false,
      dup: false,
      packetId: 0,
    },
  },
  ...(['puback', 'pubrec', 'pubrel', 'pubcomp'] as const).flatMap((type, index): PacketRow[] => {
    const first = ['40', '50', '62', '70'][index] ?? ''
    const failure = index < 2 ? '87' : '92'
    const NAME = type.toUpperCase()
    return [
      {
        title: `a ${NAME} of MQTT 3.1.1`,
        version: 4,
        from: 'client',
        bytes: `${first} 02 1234`,
        packet: { type, packetId: 0x1234, reasonCode: 0 },
      },
      {
        title: `a ${NAME} of MQTT 3.1.1 has no room for a Reason Code`,
        version: 4,
        from: 'server',
        only: 'encode',
        bytes: `${first} 02 1234`,
        packet: {
          type,
          packetId: 0x1234,
          reasonCode: Number.parseInt(failure, 16),
          properties: { reasonString: 'no' },
        },
      },
      {
        title: `a ${NAME} that succeeds leaves off its Reason Code`,
        version: 5,
        from: 'server',
        bytes: `${first} 02 0001`,
        packet: { type, packetId: 1, reasonCode: 0 },
      },
      {
        title: `a ${NAME} with a Reason Code leaves off its Property Length`,
        version: 5,
        from: 'client',
        bytes: `${first} 03 0001 ${failure}`,
        packet: { type, packetId: 1, reasonCode: Number.parseInt(failure, 16) },
      },
      {
        title: `a ${NAME} may say that it has no properties`,
        version: 5,
        from: 'client',
        only: 'decode',
        bytes: `${first} 04 0001 00 00`,
        packet: { type, packetId: 1, reasonCode: 0 },
      },
      {
        title: `a ${NAME} with properties`,
        version: 5,
        from: 'server',
        bytes: `${first} .. ffff 00 [ 1f 'because' 26 'a' 'b' ]`,
        packet: {
          type,
          packetId: 65_535,
          reasonCode: 0,
          properties: { reasonString: 'because', userProperties: [['a', 'b']] },
        },
      },
    ]
  }),
  {
    title: 'a SUBSCRIBE of MQTT 3.1.1 [MQTT311-3.8.1-1]',
    version: 4,
    from: 'client',
    bytes: "82 .. 000a 'a/b' 01 'c/+/#' 02 '#' 00",
    packet: {
      type: 'subscribe',
      packetId: 10,
      subscriptions: [
        { topicFilter: 'a/b', qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 },
        { topicFilter: 'c/+/#', qos: 2, noLocal: false, retainAsPublished: false, retainHandling: 0 },
        { topicFilter: '#', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 },
      ],
    },
  },
  {
    title: 'a SUBSCRIBE of MQTT 3.1.1 knows no shared subscription and takes the filter as it is',
    version: 4,
    from: 'client',
    bytes: "82 .. 000a '$share/a' 01",
    packet: {
      type: 'subscribe',
      packetId: 10,
      subscriptions: [{ topicFilter: '$share/a', qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
    },
  },
  {
    title: 'a SUBSCRIBE of MQTT 5 with all options [MQTT-3.8.1-1]',
    version: 5,
    from: 'client',
    bytes: "82 .. ffff [ 0b ffffff7f 26 'a' 'b' ] 'a' 2e '$share/g/b/+' 18 'c' 01",
    packet: {
      type: 'subscribe',
      packetId: 65_535,
      subscriptions: [
        { topicFilter: 'a', qos: 2, noLocal: true, retainAsPublished: true, retainHandling: 2 },
        { topicFilter: '$share/g/b/+', qos: 0, noLocal: false, retainAsPublished: true, retainHandling: 1 },
        { topicFilter: 'c', qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 },
      ],
      properties: { subscriptionIdentifier: 268_435_455, userProperties: [['a', 'b']] },
    },
  },
  {
    title: 'a SUBSCRIBE of MQTT 5 may ask for No Local where nothing is shared',
    version: 5,
    from: 'client',
    bytes: "82 .. 0001 [ ] '$share' 04 '$shared/x' 04",
    packet: {
      type: 'subscribe',
      packetId: 1,
      subscriptions: [
        { topicFilter: '$share', qos: 0, noLocal: true, retainAsPublished: false, retainHandling: 0 },
        { topicFilter: '$shared/x', qos: 0, noLocal: true, retainAsPublished: false, retainHandling: 0 },
      ],
    },
  },
  {
    title: 'a SUBACK of MQTT 3.1.1',
    version: 4,
    from: 'server',
    bytes: '90 06 000a 00 01 02 80',
    packet: { type: 'suback', packetId: 10, reasonCodes: [0, 1, 2, 0x80] },
  },
  {
    title: 'a SUBACK of MQTT 3.1.1 has one code for every failure [MQTT311-3.9.3-2]',
    version: 4,
    from: 'server',
    only: 'encode',
    bytes: '90 05 000a 80 01 80',
    packet: {
      type: 'suback',
      packetId: 10,
      reasonCodes: [0x87, 1, 0x8f],
      properties: { reasonString: 'not yours' },
    },
  },
  {
    title: 'a SUBACK of MQTT 5 keeps the order of its Reason Codes [MQTT-3.9.3-1]',
    version: 5,
    from: 'server',
    bytes: "90 .. 000a [ 1f 'some' 26 'a' 'b' ] 02 00 01 80 83 87 8f 91 97 9e a1 a2",
    packet: {
      type: 'suback',
      packetId: 10,
      reasonCodes: [2, 0, 1, 0x80, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2],
      properties: { reasonString: 'some', userProperties: [['a', 'b']] },
    },
  },
  {
    title: 'an UNSUBSCRIBE of MQTT 3.1.1 [MQTT311-3.10.1-1]',
    version: 4,
    from: 'client',
    bytes: "a2 .. 000a 'a/b' '+/c'",
    packet: { type: 'unsubscribe', packetId: 10, topicFilters: ['a/b', '+/c'] },
  },
  {
    title: 'an UNSUBSCRIBE of MQTT 5 [MQTT-3.10.1-1]',
    version: 5,
    from: 'client',
    bytes: "a2 .. 000a [ 26 'a' 'b' ] '$share/g/a'",
    packet: {
      type: 'unsubscribe',
      packetId: 10,
      topicFilters: ['$share/g/a'],
      properties: { userProperties: [['a', 'b']] },
    },
  },
  {
    title: 'an UNSUBACK of MQTT 3.1.1',
    version: 4,
    from: 'server',
    bytes: 'b0 02 000a',
    packet: { type: 'unsuback', packetId: 10, reasonCodes: [] },
  },
  {
    title: 'an UNSUBACK of MQTT 3.1.1 has no room for Reason Codes',
    version: 4,
    from: 'server',
    only: 'encode',
    bytes: 'b0 02 000a',
    packet: { type: 'unsuback', packetId: 10, reasonCodes: [0, 0x11], properties: { reasonString: 'x' } },
  },
  {
    title: 'an UNSUBACK of MQTT 5 keeps the order of its Reason Codes [MQTT-3.11.3-1]',
    version: 5,
    from: 'server',
    bytes: "b0 .. 000a [ 1f 'x' ] 11 00 87",
    packet: {
      type: 'unsuback',
      packetId: 10,
      reasonCodes: [0x11, 0, 0x87],
      properties: { reasonString: 'x' },
    },
  },
  { title: 'a PINGREQ', version: 4, from: 'client', bytes: 'c0 00', packet: { type: 'pingreq' } },
  { title: 'a PINGREQ of MQTT 5', version: 5, from: 'client', bytes: 'c0 00', packet: { type: 'pingreq' } },
  { title: 'a PINGRESP', version: 4, from: 'server', bytes: 'd0 00', packet: { type: 'pingresp' } },
  { title: 'a PINGRESP of MQTT 5', version: 5, from: 'server', bytes: 'd0 00', packet: { type: 'pingresp' } },
  {
    title: 'a DISCONNECT of MQTT 3.1.1',
    version: 4,
    from: 'client',
    bytes: 'e0 00',
    packet: { type: 'disconnect', reasonCode: 0 },
  },
  {
    title: 'a DISCONNECT of MQTT 3.1.1 has no room for a reason',
    version: 4,
    from: 'client',
    only: 'encode',
    bytes: 'e0 00',
    packet: { type: 'disconnect', reasonCode: 4, properties: { reasonString: 'x' } },
  },
  {
    title: 'a DISCONNECT of MQTT 5 that says nothing is a normal one',
    version: 5,
    from: 'client',
    bytes: 'e0 00',
    packet: { type: 'disconnect', reasonCode: 0 },
  },
  {
    title: 'a DISCONNECT with Will Message',
    version: 5,
    from: 'client',
    bytes: 'e0 01 04',
    packet: { type: 'disconnect', reasonCode: 4 },
  },
  {
    title: 'a DISCONNECT may say that it has no properties',
    version: 5,
    from: 'client',
    only: 'decode',
    bytes: 'e0 02 00 00',
    packet: { type: 'disconnect', reasonCode: 0 },
  },
  {
    title: 'a DISCONNECT from a client with its properties',
    version: 5,
    from: 'client',
    bytes: "e0 .. 00 [ 11 00000000 1f 'bye' 26 'a' 'b' ]",
    packet: {
      type: 'disconnect',
      reasonCode: 0,
      properties: { sessionExpiryIntervalSeconds: 0, reasonString: 'bye', userProperties: [['a', 'b']] },
    },
  },
  {
    title: 'a DISCONNECT from a server with its properties',
    version: 5,
    from: 'server',
    bytes: "e0 .. 9d [ 1c 'there' 1f 'moved' ]",
    packet: {
      type: 'disconnect',
      reasonCode: 0x9d,
      properties: { serverReference: 'there', reasonString: 'moved' },
    },
  },
  {
    title: 'an AUTH that goes on',
    version: 5,
    from: 'client',
    bytes: "f0 .. 18 [ 15 'M' 16 0001 00 1f 'x' 26 'a' 'b' ]",
    packet: {
      type: 'auth',
      reasonCode: 0x18,
      properties: {
        authenticationMethod: 'M',
        authenticationData: Buffer.from([0]),
        reasonString: 'x',
        userProperties: [['a', 'b']],
      },
    },
  },
  {
    title: 'an AUTH that says nothing is a success',
    version: 5,
    from: 'server',
    bytes: 'f0 00',
    packet: { type: 'auth', reasonCode: 0 },
  },
]

const malformedConnects: readonly MalformedRow[] = [
  ...(
    [
      ['a CONNECT of MQTT 3.1 asks for a version that is not spoken here', "'MQIsdp' 03 02 003c 'id'"],
      ['a protocol name other than MQTT is refused [MQTT-3.1.2-1] [MQTT311-3.1.2-1]', "'MQTX' 04 02 003c 'id'"],
      ['a protocol name in lower case is refused [MQTT-3.1.2-1]', "'mqtt' 05 02 003c 00 'id'"],
      ['an empty protocol name is refused [MQTT-3.1.2-1]', "'' 05 02 003c 00 'id'"],
      ['MQIsdp with a level of MQTT is refused [MQTT-3.1.2-1]', "'MQIsdp' 04 02 003c 'id'"],
      ['protocol level 0 is refused [MQTT-3.1.2-2] [MQTT311-3.1.2-2]', "'MQTT' 00 02 003c 'id'"],
      ['protocol level 3 of MQTT is refused [MQTT-3.1.2-2] [MQTT311-3.1.2-2]', "'MQTT' 03 02 003c 'id'"],
      ['protocol level 6 is refused [MQTT-3.1.2-2] [MQTT311-3.1.2-2]', "'MQTT' 06 02 003c 00 'id'"],
      ['a bridge with the top bit in its level is refused [MQTT311-3.1.2-2]', "'MQTT' 84 02 003c 'id'"],
    ] as const
  ).map(([title, rest]): MalformedRow => ({
    title,
    version: 4,
    from: 'client',
    bytes: `10 .. ${rest}`,
    reasonCode: unsupportedVersion,
  })),
  ...(
    [
      ['the reserved Connect Flag must be 0 [MQTT311-3.1.2-3]', `03 003c 'id'`, malformed],
      ['Will QoS 1 without Will Flag [MQTT311-3.1.2-13]', `0a 003c 'id'`, malformed],
      ['Will QoS 2 without Will Flag [MQTT311-3.1.2-11]', `12 003c 'id'`, malformed],
      ['Will Retain without Will Flag [MQTT311-3.1.2-15]', `22 003c 'id'`, malformed],
      ['Will QoS 3 [MQTT311-3.1.2-14]', `1e 003c 'id' 'w' 'x'`, malformed],
      ['a Password without a User Name [MQTT311-3.1.2-22]', `42 003c 'id' 'p'`, malformed],
      ['the Client Identifier must be there [MQTT311-3.1.3-3]', `02 003c`, malformed],
      ['the Client Identifier is cut short', `02 003c 0003 6161`, malformed],
      ['the Client Identifier must be UTF-8 [MQTT311-3.1.3-4]', `02 003c 0001 80`, malformed],
      ['a Client Identifier with U+0000 [MQTT311-1.5.3-2]', `02 003c 0002 6100`, malformed],
      ['the Keep Alive is cut short', `02 00`, malformed],
      ['the Connect Flags are missing', ``, malformed],
      ['a Will Flag without Will fields [MQTT311-3.1.2-9]', `06 003c 'id'`, malformed],
      ['a Will Flag without a Will Message [MQTT311-3.1.2-9]', `06 003c 'id' 'w'`, malformed],
      ['the Will Topic must be UTF-8 [MQTT311-3.1.3-10]', `06 003c 'id' 0001 ff 'x'`, malformed],
      ['a Will Topic with a wildcard [MQTT311-4.7.1-1]', `06 003c 'id' 'w/#' 'x'`, topicNameInvalid],
      ['an empty Will Topic [MQTT311-4.7.3-1]', `06 003c 'id' '' 'x'`, topicNameInvalid],
      ['Will fields without Will Flag [MQTT311-3.1.2-11]', `02 003c 'id' 'w' 'x'`, malformed],
      ['a User Name Flag without a User Name [MQTT311-3.1.2-19]', `82 003c 'id'`, malformed],
      ['a User Name without a User Name Flag [MQTT311-3.1.2-18]', `02 003c 'id' 'user'`, malformed],
      ['a Password Flag without a Password [MQTT311-3.1.2-21]', `c2 003c 'id' 'user'`, malformed],
      ['a Password without a Password Flag [MQTT311-3.1.2-20]', `82 003c 'id' 'user' 'pass'`, malformed],
      ['the User Name must be UTF-8 [MQTT311-3.1.3-11]', `82 003c 'id' 0002 c328`, malformed],
      ['a User Name with U+0000 [MQTT311-1.5.3-2]', `82 003c 'id' 0003 610062`, malformed],
      ['bytes behind the payload [MQTT311-3.1.4-1]', `02 003c 'id' 00`, malformed],
    ] as const
  ).map(([title, rest, reasonCode]): MalformedRow => ({
    title: `CONNECT 3.1.1: ${title}`,
    version: 4,
    from: 'client',
    bytes: `${connect4} ${rest}`,
    reasonCode,
  })),
  ...(
    [
      ['the reserved Connect Flag must be 0 [MQTT-3.1.2-3]', `03 003c [ ] 'id'`, malformed],
      ['Will QoS 1 without Will Flag [MQTT-3.1.2-11]', `0a 003c [ ] 'id'`, malformed],
      ['Will QoS 3 without Will Flag [MQTT-3.1.2-11]', `1a 003c [ ] 'id'`, malformed],
      ['Will Retain without Will Flag [MQTT-3.1.2-13]', `22 003c [ ] 'id'`, malformed],
      ['Will QoS 3 [MQTT-3.1.2-12]', `1e 003c [ ] 'id' [ ] 'w' 'x'`, malformed],
      ['the Client Identifier must be there [MQTT-3.1.3-3]', `02 003c [ ]`, malformed],
      ['the Client Identifier must be UTF-8 [MQTT-3.1.3-4]', `02 003c [ ] 0001 80`, malformed],
      ['a Client Identifier with U+0000 [MQTT-1.5.4-2]', `02 003c [ ] 0001 00`, malformed],
      ['the Property Length is missing [MQTT-2.2.2-1]', `02 003c`, malformed],
      ['the Property Length reaches past the end', `02 003c 7f 'id'`, malformed],
      ['a property is cut by the Property Length', `02 003c 03 11 0000 0000 'id'`, malformed],
      ['a Will Flag without Will fields [MQTT-3.1.2-9]', `06 003c [ ] 'id'`, malformed],
      ['a Will Flag without Will Properties [MQTT-3.1.2-9]', `06 003c [ ] 'id' 'w' 'x'`, malformed],
      ['a Will Flag without a Will Topic [MQTT-3.1.2-9]', `06 003c [ ] 'id' [ ]`, malformed],
      ['a Will Flag without a Will Payload [MQTT-3.1.2-9]', `06 003c [ ] 'id' [ ] 'w'`, malformed],
      ['the Will Topic must be UTF-8 [MQTT-3.1.3-11]', `06 003c [ ] 'id' [ ] 0001 ff 'x'`, malformed],
      ['a Will Topic with a wildcard [MQTT-4.7.0-1]', `06 003c [ ] 'id' [ ] 'w/+' 'x'`, topicNameInvalid],
      ['an empty Will Topic [MQTT-4.7.3-1]', `06 003c [ ] 'id' [ ] '' 'x'`, topicNameInvalid],
      ['a User Name Flag without a User Name [MQTT-3.1.2-17]', `82 003c [ ] 'id'`, malformed],
      ['a User Name without a User Name Flag [MQTT-3.1.2-16]', `02 003c [ ] 'id' 'user'`, malformed],
      ['a Password Flag without a Password [MQTT-3.1.2-19]', `42 003c [ ] 'id'`, malformed],
      ['a Password without a Password Flag [MQTT-3.1.2-18]', `82 003c [ ] 'id' 'user' 'pass'`, malformed],
      ['the User Name must be UTF-8 [MQTT-3.1.3-12]', `82 003c [ ] 'id' 0001 fe`, malformed],
      ['bytes behind the payload [MQTT-3.1.4-1]', `02 003c [ ] 'id' 00`, malformed],
      ['Receive Maximum 0', `02 003c [ 21 0000 ] 'id'`, protocolError],
      ['Maximum Packet Size 0', `02 003c [ 27 00000000 ] 'id'`, protocolError],
      ['Request Response Information 2', `02 003c [ 19 02 ] 'id'`, protocolError],
      ['Request Problem Information 255', `02 003c [ 17 ff ] 'id'`, protocolError],
      ['Authentication Data without a method', `02 003c [ 16 0001 00 ] 'id'`, protocolError],
      [
        'a Response Topic of the Will with a wildcard [MQTT-3.3.2-14]',
        `06 003c [ ] 'id' [ 08 '#' ] 'w' 'x'`,
        protocolError,
      ],
      ['a Payload Format Indicator of the Will of 2', `06 003c [ ] 'id' [ 01 02 ] 'w' 'x'`, protocolError],
      ['a property of the Will among its own', `02 003c [ 18 00000001 ] 'id'`, malformed],
      ['a property of its own in the Will', `06 003c [ ] 'id' [ 21 0001 ] 'w' 'x'`, malformed],
    ] as const
  ).map(([title, rest, reasonCode]): MalformedRow => ({
    title: `CONNECT 5: ${title}`,
    version: 5,
    from: 'client',
    bytes: `${connect5} ${rest}`,
    reasonCode,
  })),
]

const others: readonly (readonly [title: string, ProtocolVersion, Sender, bytes: string, ReasonCode])[] = [
  ['packet type 0 is reserved', 4, 'client', '00 00', malformed],
  ['packet type 0 is reserved in MQTT 5', 5, 'server', '0f 00', malformed],
  ['packet type 15 is reserved in MQTT 3.1.1', 4, 'client', 'f0 00', malformed],
  ['packet type 15 from a server is reserved in MQTT 3.1.1', 4, 'server', 'f0 00', malformed],
  ['a Remaining Length of five bytes', 4, 'client', '30 80 80 80 80 01', malformed],
  ['a Remaining Length of five bytes in MQTT 5', 5, 'client', '30 ff ff ff ff 7f', malformed],
  ['a packet above the maximum', 5, 'client', '30 ff ff ff 7f', tooLarge],

  ['a client sends no CONNACK', 5, 'client', '20 03 00 00 00', protocolError],
  ['a client sends no SUBACK', 5, 'client', '90 04 0001 00 00', protocolError],
  ['a client sends no UNSUBACK', 4, 'client', 'b0 02 0001', protocolError],
  ['a client sends no PINGRESP', 4, 'client', 'd0 00', protocolError],
  ['a server sends no CONNECT', 4, 'server', '10 0c 0004 4d515454 04 02 003c 0000', protocolError],
  ['a server sends no SUBSCRIBE', 5, 'server', "82 .. 0001 [ ] 'a' 00", protocolError],
  ['a server sends no UNSUBSCRIBE', 5, 'server', "a2 .. 0001 [ ] 'a'", protocolError],
  ['a server sends no PINGREQ', 5, 'server', 'c0 00', protocolError],
  ['a server of MQTT 3.1.1 sends no DISCONNECT', 4, 'server', 'e0 00', protocolError],

  ['a reserved Connect Acknowledge Flag is set [MQTT-3.2.2-1]', 5, 'server', '20 03 02 00 00', malformed],
  ['a reserved Connect Acknowledge Flag is set in MQTT 3.1.1', 4, 'server', '20 02 80 00', malformed],
  ['Session Present in a refusal [MQTT-3.2.2-6]', 5, 'server', '20 03 01 87 00', protocolError],
  ['Session Present in a refusal [MQTT311-3.2.2-4]', 4, 'server', '20 02 01 05', protocolError],
  ['Connect Return Code 6 is reserved', 4, 'server', '20 02 00 06', malformed],
  ['a CONNACK of MQTT 3.1.1 with properties', 4, 'server', '20 03 00 00 00', malformed],
  ['a CONNACK of MQTT 5 without a Property Length [MQTT-2.2.2-1]', 5, 'server', '20 02 00 00', malformed],
  ['a CONNACK without a Reason Code', 5, 'server', '20 01 00', malformed],
  ['an empty CONNACK', 4, 'server', '20 00', malformed],
  ['a Maximum QoS of 2', 5, 'server', '20 .. 00 00 [ 24 02 ]', protocolError],
  ['a Retain Available of 2', 5, 'server', '20 .. 00 00 [ 25 02 ]', protocolError],
  ['a Wildcard Subscription Available of 2', 5, 'server', '20 .. 00 00 [ 28 02 ]', protocolError],
  ['a Subscription Identifier Available of 2', 5, 'server', '20 .. 00 00 [ 29 02 ]', protocolError],
  ['a Shared Subscription Available of 2', 5, 'server', '20 .. 00 00 [ 2a 02 ]', protocolError],
  ['a Receive Maximum of 0 from a server', 5, 'server', '20 .. 00 00 [ 21 0000 ]', protocolError],
  ['a Maximum Packet Size of 0 from a server', 5, 'server', '20 .. 00 00 [ 27 00000000 ]', protocolError],

  ['a PUBLISH with QoS 3 is malformed [MQTT-3.3.1-4]', 5, 'client', "36 .. 'a' 0001 [ ]", malformed],
  ['a PUBLISH with QoS 3 is malformed [MQTT311-3.3.1-4]', 4, 'client', "36 .. 'a' 0001", malformed],
  ['a PUBLISH with QoS 3 from a server is malformed [MQTT-3.3.1-4]', 5, 'server', "3f .. 'a' 0001 [ ]", malformed],
  ['DUP at QoS 0 [MQTT-3.3.1-2]', 5, 'client', "38 .. 'a' [ ]", malformed],
  ['DUP at QoS 0 [MQTT311-3.3.1-2]', 4, 'client', "38 .. 'a'", malformed],
  ['a PUBLISH without a Topic Name [MQTT-3.3.2-1]', 5, 'client', '30 00', malformed],
  ['a PUBLISH without a Topic Name [MQTT311-3.3.2-1]', 4, 'client', '30 00', malformed],
  ['a Topic Name that is cut short [MQTT-3.3.2-1]', 4, 'client', '30 .. 0004 616161', malformed],
  ['a Topic Name with + [MQTT-3.3.2-2]', 5, 'client', "30 .. 'a/+' [ ]", topicNameInvalid],
  ['a Topic Name with # [MQTT-3.3.2-2]', 5, 'client', "30 .. '#' [ ]", topicNameInvalid],
  ['a Topic Name with + within a level [MQTT-4.7.0-1]', 5, 'client', "30 .. 'a+b' [ ]", topicNameInvalid],
  ['a Topic Name with # from a server [MQTT-3.3.2-2]', 5, 'server', "30 .. 'a/#' [ ]", topicNameInvalid],
  ['a Topic Name with + [MQTT311-3.3.2-2]', 4, 'client', "30 .. '+' 00", topicNameInvalid],
  ['a Topic Name with # [MQTT311-4.7.1-1]', 4, 'client', "30 .. 'a/#/b' 00", topicNameInvalid],
  ['a wildcard in a Topic Name beyond ASCII [MQTT-3.3.2-2]', 5, 'client', '30 .. 0004 c3bc2f23 [ ]', topicNameInvalid],
  ['an empty Topic Name in MQTT 3.1.1 [MQTT311-4.7.3-1]', 4, 'client', "30 .. '' 00", topicNameInvalid],
  ['an empty Topic Name without Topic Alias [MQTT-4.7.3-1]', 5, 'client', "30 .. '' [ ] 00", protocolError],
  ['an empty Topic Name with other properties [MQTT-4.7.3-1]', 5, 'client', "30 .. '' [ 01 00 ]", protocolError],
  ['a Topic Name with U+0000 [MQTT-4.7.3-2]', 5, 'client', '30 .. 0003 610062 [ ]', malformed],
  ['a Topic Name with U+0000 beyond ASCII [MQTT-1.5.4-2]', 5, 'client', '30 .. 0003 c3bc00 [ ]', malformed],
  ['a Topic Name with U+0000 [MQTT311-4.7.3-2]', 4, 'client', '30 .. 0001 00', malformed],
  ['a PUBLISH at QoS 1 without a Packet Identifier', 4, 'client', "32 .. 'a'", malformed],
  ['a PUBLISH at QoS 1 with half a Packet Identifier', 4, 'client', "32 .. 'a' 00", malformed],
  ['a PUBLISH at QoS 1 with Packet Identifier 0 [MQTT-2.2.1-3]', 5, 'client', "32 .. 'a' 0000 [ ]", protocolError],
  ['a PUBLISH at QoS 2 with Packet Identifier 0 [MQTT-2.2.1-3]', 5, 'client', "34 .. 'a' 0000 [ ]", protocolError],
  ['a PUBLISH from a server with Packet Identifier 0 [MQTT-2.2.1-4]', 5, 'server', "32 .. 'a' 0000 [ ]", protocolError],
  ['a PUBLISH at QoS 1 with Packet Identifier 0 [MQTT311-2.3.1-1]', 4, 'client', "32 .. 'a' 0000", protocolError],
  ['a PUBLISH of MQTT 5 without a Property Length [MQTT-2.2.2-1]', 5, 'client', "30 .. 'a'", malformed],
  ['a Property Length of five bytes', 5, 'client', "30 .. 'a' 80 80 80 80 01", malformed],
  ['a Property Length that breaks off', 5, 'client', "30 .. 'a' 80", malformed],
  ['a Property Length past the end', 5, 'client', "30 .. 'a' 02 01", malformed],
  ['a Topic Alias of 0 [MQTT-3.3.2-8]', 5, 'client', "30 .. 'a' [ 23 0000 ]", protocolError],
  ['a Topic Alias of 0 from a server [MQTT-3.3.2-8]', 5, 'server', "30 .. 'a' [ 23 0000 ]", protocolError],
  ['a Payload Format Indicator of 2', 5, 'client', "30 .. 'a' [ 01 02 ]", protocolError],
  ['a Response Topic with + [MQTT-3.3.2-14]', 5, 'client', "30 .. 'a' [ 08 'r/+' ]", protocolError],
  ['a Response Topic with # [MQTT-3.3.2-14]', 5, 'client', "30 .. 'a' [ 08 '#' ]", protocolError],
  ['an empty Response Topic [MQTT-4.7.3-1]', 5, 'client', "30 .. 'a' [ 08 '' ]", protocolError],
  ['a Response Topic that is not UTF-8 [MQTT-3.3.2-13]', 5, 'client', "30 .. 'a' [ 08 0001 c3 ]", malformed],
  ['a Content Type that is not UTF-8 [MQTT-3.3.2-19]', 5, 'client', "30 .. 'a' [ 03 0001 80 ]", malformed],
  ['a User Property whose name is not UTF-8 [MQTT-1.5.7-1]', 5, 'client', "30 .. 'a' [ 26 0001 80 'v' ]", malformed],
  ['a User Property whose value is not UTF-8 [MQTT-1.5.7-1]', 5, 'client', "30 .. 'a' [ 26 'k' 0001 80 ]", malformed],
  ['a User Property whose value has U+0000 [MQTT-1.5.7-1]', 5, 'client', "30 .. 'a' [ 26 'k' 0001 00 ]", malformed],
  ['a User Property without a value', 5, 'client', "30 .. 'a' [ 26 'k' ]", malformed],
  ['a Message Expiry Interval that is cut short', 5, 'client', "30 .. 'a' [ 02 000000 ] 00", malformed],
  ['Correlation Data that reach past the properties', 5, 'client', "30 .. 'a' [ 09 0004 00 ] 000000", malformed],
  ['a client sends no Subscription Identifier [MQTT-3.3.4-6]', 5, 'client', "30 .. 'a' [ 0b 01 ]", protocolError],
  ['a Subscription Identifier of 0', 5, 'server', "30 .. 'a' [ 0b 00 ]", protocolError],
  ['a Subscription Identifier of 0 in three bytes', 5, 'server', "30 .. 'a' [ 0b 808000 ]", protocolError],
  ['a Subscription Identifier of five bytes', 5, 'server', "30 .. 'a' [ 0b 8080808001 ]", malformed],

  ...(['40', '50', '62', '70'] as const).flatMap((first, index): (typeof others)[number][] => {
    const name = ['PUBACK', 'PUBREC', 'PUBREL', 'PUBCOMP'][index] ?? ''
    return [
      [`an empty ${name}`, 4, 'client', `${first} 00`, malformed],
      [`an empty ${name} in MQTT 5`, 5, 'client', `${first} 00`, malformed],
      [`a ${name} with half a Packet Identifier`, 5, 'server', `${first} 01 01`, malformed],
      [`a ${name} with Packet Identifier 0`, 4, 'client', `${first} 02 0000`, protocolError],
      [`a ${name} with Packet Identifier 0 in MQTT 5`, 5, 'client', `${first} 02 0000`, protocolError],
      [`a ${name} of MQTT 3.1.1 with a Reason Code`, 4, 'client', `${first} 03 0001 00`, malformed],
      [`a ${name} with bytes behind its properties`, 5, 'client', `${first} 05 0001 00 00 00`, malformed],
      [`a ${name} with a Property Length past the end`, 5, 'client', `${first} 04 0001 00 01`, malformed],
      [`a ${name} with two Reason Strings`, 5, 'client', `${first} .. 0001 00 [ 1f 'a' 1f 'b' ]`, protocolError],
    ]
  }),

  ['a SUBSCRIBE without a Topic Filter [MQTT-3.8.3-2]', 5, 'client', '82 .. 0001 [ ]', protocolError],
  ['a SUBSCRIBE without a Topic Filter [MQTT311-3.8.3-3]', 4, 'client', '82 .. 0001', protocolError],
  ['an empty SUBSCRIBE', 5, 'client', '82 00', malformed],
  ['a SUBSCRIBE with Packet Identifier 0 [MQTT-2.2.1-3]', 5, 'client', "82 .. 0000 [ ] 'a' 00", protocolError],
  ['a SUBSCRIBE with Packet Identifier 0 [MQTT311-2.3.1-1]', 4, 'client', "82 .. 0000 'a' 00", protocolError],
  ['a SUBSCRIBE without Subscription Options', 5, 'client', "82 .. 0001 [ ] 'a'", malformed],
  ['a SUBSCRIBE without a requested QoS', 4, 'client', "82 .. 0001 'a' 00 'b'", malformed],
  ['a requested QoS of 3 [MQTT311-3.8.3-4]', 4, 'client', "82 .. 0001 'a' 03", malformed],
  ['a reserved bit beside a requested QoS [MQTT311-3.8.3-4]', 4, 'client', "82 .. 0001 'a' 04", malformed],
  ['the top bit beside a requested QoS [MQTT311-3.8.3-4]', 4, 'client', "82 .. 0001 'a' 80", malformed],
  ['a Maximum QoS of 3 in Subscription Options', 5, 'client', "82 .. 0001 [ ] 'a' 03", protocolError],
  ['a Retain Handling of 3', 5, 'client', "82 .. 0001 [ ] 'a' 30", protocolError],
  ['bit 6 of Subscription Options [MQTT-3.8.3-5]', 5, 'client', "82 .. 0001 [ ] 'a' 40", malformed],
  ['bit 7 of Subscription Options [MQTT-3.8.3-5]', 5, 'client', "82 .. 0001 [ ] 'a' 00 'b' 80", malformed],
  ['No Local on a shared subscription [MQTT-3.8.3-4]', 5, 'client', "82 .. 0001 [ ] '$share/g/a' 04", protocolError],
  ['a Topic Filter that is not UTF-8 [MQTT-3.8.3-1]', 5, 'client', '82 .. 0001 [ ] 0001 80 00', malformed],
  ['a Topic Filter that is not UTF-8 [MQTT311-3.8.3-1]', 4, 'client', '82 .. 0001 0001 80 00', malformed],
  ['a Topic Filter with U+0000 [MQTT-4.7.3-2]', 5, 'client', '82 .. 0001 [ ] 0001 00 00', malformed],
  ['an empty Topic Filter [MQTT-4.7.3-1]', 5, 'client', "82 .. 0001 [ ] '' 00", topicFilterInvalid],
  ['an empty Topic Filter [MQTT311-4.7.3-1]', 4, 'client', "82 .. 0001 '' 00", topicFilterInvalid],
  ['a # that is not last [MQTT-4.7.1-1]', 5, 'client', "82 .. 0001 [ ] 'a/#/b' 00", topicFilterInvalid],
  ['a # that is not last [MQTT311-4.7.1-2]', 4, 'client', "82 .. 0001 '#/a' 00", topicFilterInvalid],
  ['a # that is not alone in its level [MQTT-4.7.1-1]', 5, 'client', "82 .. 0001 [ ] 'a#' 00", topicFilterInvalid],
  ['a + that is not alone in its level [MQTT-4.7.1-2]', 5, 'client', "82 .. 0001 [ ] 'a+' 00", topicFilterInvalid],
  ['a + before other characters [MQTT-4.7.1-2]', 5, 'client', "82 .. 0001 [ ] '+a/b' 00", topicFilterInvalid],
  ['a + that is not alone in its level [MQTT311-4.7.1-3]', 4, 'client', "82 .. 0001 'a/+b' 00", topicFilterInvalid],
  ['$share without a ShareName [MQTT-4.8.2-1]', 5, 'client', "82 .. 0001 [ ] '$share//a' 00", topicFilterInvalid],
  ['$share without a Topic Filter [MQTT-4.8.2-2]', 5, 'client', "82 .. 0001 [ ] '$share/g' 00", topicFilterInvalid],
  [
    '$share with an empty Topic Filter [MQTT-4.8.2-2]',
    5,
    'client',
    "82 .. 0001 [ ] '$share/g/' 00",
    topicFilterInvalid,
  ],
  ['$share with + for a ShareName [MQTT-4.8.2-2]', 5, 'client', "82 .. 0001 [ ] '$share/+/a' 00", topicFilterInvalid],
  ['$share with # for a ShareName [MQTT-4.8.2-2]', 5, 'client', "82 .. 0001 [ ] '$share/#' 00", topicFilterInvalid],
  ['a Subscription Identifier of 0 in SUBSCRIBE', 5, 'client', "82 .. 0001 [ 0b 00 ] 'a' 00", protocolError],
  ['two Subscription Identifiers in SUBSCRIBE', 5, 'client', "82 .. 0001 [ 0b 01 0b 02 ] 'a' 00", protocolError],

  ['a SUBACK without a Reason Code [MQTT-3.8.4-6]', 5, 'server', '90 .. 0001 [ ]', protocolError],
  ['a SUBACK of MQTT 3.1.1 without a return code', 4, 'server', '90 02 0001', protocolError],
  ['a SUBACK with return code 3 [MQTT311-3.9.3-2]', 4, 'server', '90 03 0001 03', protocolError],
  ['a SUBACK of MQTT 3.1.1 with a code of MQTT 5 [MQTT311-3.9.3-2]', 4, 'server', '90 03 0001 87', protocolError],
  ['a SUBACK with Packet Identifier 0', 5, 'server', '90 04 0000 00 00', protocolError],

  ['an UNSUBSCRIBE without a Topic Filter [MQTT-3.10.3-2]', 5, 'client', 'a2 .. 0001 [ ]', protocolError],
  ['an UNSUBSCRIBE without a Topic Filter [MQTT311-3.10.3-2]', 4, 'client', 'a2 .. 0001', protocolError],
  ['an UNSUBSCRIBE with Packet Identifier 0 [MQTT-2.2.1-3]', 5, 'client', "a2 .. 0000 [ ] 'a'", protocolError],
  ['an UNSUBSCRIBE with Packet Identifier 0 [MQTT311-2.3.1-1]', 4, 'client', "a2 .. 0000 'a'", protocolError],
  ['a Topic Filter of UNSUBSCRIBE not in UTF-8 [MQTT-3.10.3-1]', 5, 'client', 'a2 .. 0001 [ ] 0001 80', malformed],
  ['a Topic Filter of UNSUBSCRIBE not in UTF-8 [MQTT311-3.10.3-1]', 4, 'client', 'a2 .. 0001 0001 80', malformed],
  ['an empty Topic Filter in UNSUBSCRIBE [MQTT-4.7.3-1]', 5, 'client', "a2 .. 0001 [ ] ''", topicFilterInvalid],
  ['a wrong # in UNSUBSCRIBE [MQTT-4.7.1-1]', 5, 'client', "a2 .. 0001 [ ] 'a#'", topicFilterInvalid],
  ['a Topic Filter of UNSUBSCRIBE that is cut short', 5, 'client', "a2 .. 0001 [ ] 'a' 0002 61", malformed],

  ['an UNSUBACK of MQTT 5 without a Reason Code [MQTT-3.11.3-1]', 5, 'server', 'b0 .. 0001 [ ]', protocolError],
  ['an UNSUBACK of MQTT 3.1.1 with a Reason Code', 4, 'server', 'b0 03 0001 00', malformed],
  ['an UNSUBACK with Packet Identifier 0', 4, 'server', 'b0 02 0000', protocolError],
  ['an UNSUBACK of MQTT 5 without a Property Length [MQTT-2.2.2-1]', 5, 'server', 'b0 02 0001', malformed],

  ['a PINGREQ with a body', 4, 'client', 'c0 01 00', malformed],
  ['a PINGREQ with a body in MQTT 5', 5, 'client', 'c0 01 00', malformed],
  ['a PINGRESP with a body', 4, 'server', 'd0 01 00', malformed],

  ['a DISCONNECT of MQTT 3.1.1 with a body', 4, 'client', 'e0 01 00', malformed],
  ['a DISCONNECT with bytes behind its properties', 5, 'client', 'e0 03 00 00 00', malformed],
  ['a DISCONNECT with a Property Length past the end', 5, 'client', 'e0 02 00 01', malformed],
  ['a server sends no Session Expiry Interval [MQTT-3.14.2-2]', 5, 'server', 'e0 .. 80 [ 11 00000000 ]', protocolError],

  ['an AUTH without a Property Length [MQTT-2.2.2-1]', 5, 'client', 'f0 01 18', malformed],
  ['an AUTH without an Authentication Method', 5, 'client', 'f0 02 18 00', protocolError],
  ['an AUTH with data alone', 5, 'server', 'f0 .. 18 [ 16 0001 00 ]', protocolError],
  [
    'an AUTH that says nothing is a success, which no client declares [MQTT-3.15.2-1]',
    5,
    'client',
    'f0 00',
    protocolError,
  ],
  ['an AUTH with bytes behind its properties', 5, 'client', "f0 .. 18 [ 15 'M' ] 00", malformed],
]

/** Each ill-formed sequence of bytes is refused in every string. */
const illFormed: readonly (readonly [title: string, hex: string])[] = [
  ['a lone continuation byte', '80'],
  ['a lead byte without its continuation', 'c3'],
  ['an overlong form of two bytes', 'c0af'],
  ['an overlong form of U+0000', 'c080'],
  ['an overlong form of two bytes that begins with C1', 'c1bf'],
  ['an overlong form of three bytes', 'e08080'],
  ['an overlong form of four bytes', 'f0808080'],
  ['the first high surrogate', 'eda080'],
  ['the last high surrogate', 'edafbf'],
  ['the first low surrogate', 'edb080'],
  ['the last low surrogate', 'edbfbf'],
  ['a pair of surrogates', 'eda0bdedb880'],
  ['a code point past U+10FFFF', 'f4908080'],
  ['a form of five bytes', 'f888808080'],
  ['a form of six bytes', 'fc8480808080'],
  ['the byte FE', 'fe'],
  ['the byte FF', 'ff'],
  ['three of four bytes', 'f09f98'],
  ['an ASCII byte in the place of a continuation', 'e28241'],
]

const malformedRows: readonly MalformedRow[] = [
  ...malformedConnects,
  ...others.map(([title, version, from, bytes, reasonCode]) => ({ title, version, from, bytes, reasonCode })),
  ...illFormed.flatMap(([title, hex]): MalformedRow[] => {
    const length = (2 + hex.length / 2).toString(16).padStart(4, '0')
    return [
      {
        title: `a Topic Name with ${title} [MQTT-1.5.4-1]`,
        version: 5,
        from: 'client',
        bytes: `30 .. ${length} 61${hex}62 [ ]`,
        reasonCode: malformed,
      },
      {
        title: `a Client Identifier with ${title} [MQTT311-1.5.3-1]`,
        version: 4,
        from: 'client',
        bytes: `${connect4} 02 003c ${length} 61${hex}62`,
        reasonCode: malformed,
      },
    ]
  }),
]

describe('packets in bytes', () => {
  for (const row of packets) {
    if (row.only !== 'encode') {
      test(`MQTT ${row.version} reads ${row.title}`, () => {
        assert.deepEqual(plain(decode(row)), row.packet)
      })
    }
    if (row.only !== 'decode') {
      test(`MQTT ${row.version} writes ${row.title}`, () => {
        assert.equal(encodePacket(row.packet, row.version).toString('hex'), bytesOf(row.bytes).toString('hex'))
      })
    }
  }
})

describe('malformed packets in bytes', () => {
  for (const row of malformedRows) {
    test(`MQTT ${row.version} from a ${row.from}: ${row.title}`, () => {
      const error = refusal(() => decode(row))
      assert.equal(error.reasonCode, row.reasonCode, error.message)
    })
  }
})

describe('the fixed header', () => {
  const flagsOf: Readonly<Record<string, readonly [first: number, tags: string]>> = {
    CONNECT: [0x10, '[MQTT-2.1.3-1] [MQTT311-2.2.2-1]'],
    CONNACK: [0x20, '[MQTT-2.1.3-1] [MQTT311-2.2.2-1]'],
    PUBACK: [0x40, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    PUBREC: [0x50, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    PUBREL: [0x62, '[MQTT-3.6.1-1] [MQTT311-3.6.1-1]'],
    PUBCOMP: [0x70, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    SUBSCRIBE: [0x82, '[MQTT-3.8.1-1] [MQTT311-3.8.1-1]'],
    SUBACK: [0x90, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    UNSUBSCRIBE: [0xa2, '[MQTT-3.10.1-1] [MQTT311-3.10.1-1]'],
    UNSUBACK: [0xb0, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    PINGREQ: [0xc0, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    PINGRESP: [0xd0, '[MQTT-2.1.3-1] [MQTT311-2.2.2-2]'],
    DISCONNECT: [0xe0, '[MQTT-3.14.1-1] [MQTT311-3.14.1-1]'],
    AUTH: [0xf0, '[MQTT-3.15.1-1]'],
  }
  const fromServersAlone = new Set(['CONNACK', 'SUBACK', 'UNSUBACK', 'PINGRESP'])

  for (const [name, [first, tags]] of Object.entries(flagsOf)) {
    const from = fromServersAlone.has(name) ? 'server' : 'client'
    test(`reserved flags of ${name} are refused before its body arrives ${tags}`, () => {
      for (const version of [4, 5] as const) {
        for (let flags = 0; flags < 16; flags++) {
          if (((first & 0xf0) | flags) === first) continue
          const reader = readerOf(from, name === 'CONNECT' ? undefined : version)
          reader.push(Buffer.from([(first & 0xf0) | flags]))
          assert.equal(refusal(() => reader.next()).reasonCode, malformed, `flags ${flags}`)
        }
      }
    })
  }

  test('longer forms of the Remaining Length are read', () => {
    for (const bytes of ['c0 80 00', 'c0 80 80 00', 'c0 80 80 80 00']) {
      assert.deepEqual(decode({ title: '', version: 5, from: 'client', bytes }), { type: 'pingreq' })
    }
  })

  test('the Remaining Length is written in its shortest form [MQTT-1.5.5-1]', () => {
    for (const [payload, header] of [
      [124, '307f'],
      [125, '308001'],
      [16_380, '30ff7f'],
      [16_381, '30808001'],
      [2_097_148, '30ffff7f'],
      [2_097_149, '3080808001'],
    ] as const) {
      const bytes = encodePacket(
        {
          type: 'publish',
          topicName: 'a',
          payload: Buffer.alloc(payload),
          qos: 0,
          retain: false,
          dup: false,
          packetId: 0,
        },
        4,
      )
      assert.equal(bytes.toString('hex', 0, header.length / 2), header)
      assert.equal(bytes.length, header.length / 2 + 3 + payload)
    }
  })
})

describe('Reason Codes', () => {
  const clientsDisconnect = [0, 4, 0x80, 0x81, 0x82, 0x83, 0x8c, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99]
  const serversDisconnect = [
    0, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
    0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
  ]
  const connack = [
    0, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b, 0x9c,
    0x9d, 0x9f,
  ]
  const received = [0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]
  const tables: readonly (readonly [title: string, Sender, before: string, after: string, codes: readonly number[]])[] =
    [
      ['CONNACK [MQTT-3.2.2-8]', 'server', '20 .. 00', '00', connack],
      ['PUBACK [MQTT-3.4.2-1]', 'client', '40 .. 0001', '', received],
      ['PUBREC [MQTT-3.5.2-1]', 'client', '50 .. 0001', '', received],
      ['PUBREL [MQTT-3.6.2-1]', 'client', '62 .. 0001', '', [0, 0x92]],
      ['PUBCOMP [MQTT-3.7.2-1]', 'server', '70 .. 0001', '00', [0, 0x92]],
      [
        'SUBACK [MQTT-3.9.3-2]',
        'server',
        '90 .. 0001 00 00',
        '',
        [0, 1, 2, 0x80, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2],
      ],
      ['UNSUBACK [MQTT-3.11.3-2]', 'server', 'b0 .. 0001 00 00', '', [0, 0x11, 0x80, 0x83, 0x87, 0x8f, 0x91]],
      ['DISCONNECT from a client', 'client', 'e0 ..', '', clientsDisconnect],
      ['DISCONNECT from a server', 'server', 'e0 ..', '00', serversDisconnect],
      ['AUTH from a client [MQTT-3.15.2-1]', 'client', 'f0 ..', "[ 15 'M' ]", [0x18, 0x19]],
      ['AUTH from a server [MQTT-3.15.2-1]', 'server', 'f0 ..', "[ 15 'M' ]", [0, 0x18]],
    ]
  for (const [title, from, before, after, codes] of tables) {
    test(`only those of ${title} are taken`, () => {
      for (let code = 0; code < 256; code++) {
        const bytes = `${before} ${code.toString(16).padStart(2, '0')} ${after}`
        const row: Row = { title: '', version: 5, from, bytes }
        if (codes.includes(code)) assert.ok(decode(row) !== undefined)
        else assert.equal(refusal(() => decode(row)).reasonCode, protocolError, `code ${code}`)
      }
    })
  }
})

/** True when the property may come more than once in that packet. */
function isRepeatable(holder: string, name: string): boolean {
  return name === 'User Property' || (name === 'Subscription Identifier' && holder === 'PUBLISH')
}

/**
 * True when the packet around the properties has the property already: CONNECT and AUTH bring a
 * method.
 */
function isThere(holder: string, name: string): boolean {
  return name === 'Authentication Method' && (holder === 'CONNECT' || holder === 'AUTH')
}

describe('properties', () => {
  /** A packet of each kind around its properties. */
  const holders: Readonly<Record<string, readonly [Sender, before: string, after: string]>> = {
    CONNECT: ['client', `${connect5} 02 003c [ 15 'M' `, "] 'id'"],
    'a Will': ['client', `${connect5} 06 003c [ ] 'id' [ `, "] 'w' 'x'"],
    CONNACK: ['server', '20 .. 00 00 [', ']'],
    PUBLISH: ['server', "30 .. 'a' [", ']'],
    PUBACK: ['client', '40 .. 0001 00 [', ']'],
    PUBREC: ['client', '50 .. 0001 00 [', ']'],
    PUBREL: ['client', '62 .. 0001 00 [', ']'],
    PUBCOMP: ['client', '70 .. 0001 00 [', ']'],
    SUBSCRIBE: ['client', '82 .. 0001 [', "] 'a' 00"],
    SUBACK: ['server', '90 .. 0001 [', '] 00'],
    UNSUBSCRIBE: ['client', 'a2 .. 0001 [', "] 'a'"],
    UNSUBACK: ['server', 'b0 .. 0001 [', '] 00'],
    DISCONNECT: ['client', 'e0 .. 00 [', ']'],
    AUTH: ['client', "f0 .. 18 [ 15 'M' ", ']'],
  }
  const acknowledgements = ['PUBACK', 'PUBREC', 'PUBREL', 'PUBCOMP']
  const reasons = ['CONNACK', ...acknowledgements, 'SUBACK', 'UNSUBACK', 'DISCONNECT', 'AUTH']
  /** MQTT 5.0 Table 2-4. */
  const properties: readonly (readonly [name: string, bytes: string, allowedIn: readonly string[]])[] = [
    ['Payload Format Indicator', '01 01', ['PUBLISH', 'a Will']],
    ['Message Expiry Interval', '02 00000001', ['PUBLISH', 'a Will']],
    ['Content Type', "03 'c'", ['PUBLISH', 'a Will']],
    ['Response Topic', "08 'r'", ['PUBLISH', 'a Will']],
    ['Correlation Data', '09 0001 00', ['PUBLISH', 'a Will']],
    ['Subscription Identifier', '0b 01', ['PUBLISH', 'SUBSCRIBE']],
    ['Session Expiry Interval', '11 00000001', ['CONNECT', 'CONNACK', 'DISCONNECT']],
    ['Assigned Client Identifier', "12 'a'", ['CONNACK']],
    ['Server Keep Alive', '13 0001', ['CONNACK']],
    ['Authentication Method', "15 'm'", ['CONNECT', 'CONNACK', 'AUTH']],
    ['Authentication Data', '16 0001 00', ['CONNECT', 'CONNACK', 'AUTH']],
    ['Request Problem Information', '17 01', ['CONNECT']],
    ['Will Delay Interval', '18 00000001', ['a Will']],
    ['Request Response Information', '19 01', ['CONNECT']],
    ['Response Information', "1a 'i'", ['CONNACK']],
    ['Server Reference', "1c 's'", ['CONNACK', 'DISCONNECT']],
    ['Reason String', "1f 'r'", reasons],
    ['Receive Maximum', '21 0001', ['CONNECT', 'CONNACK']],
    ['Topic Alias Maximum', '22 0001', ['CONNECT', 'CONNACK']],
    ['Topic Alias', '23 0001', ['PUBLISH']],
    ['Maximum QoS', '24 00', ['CONNACK']],
    ['Retain Available', '25 01', ['CONNACK']],
    ['User Property', "26 'a' 'b'", Object.keys(holders)],
    ['Maximum Packet Size', '27 00000001', ['CONNECT', 'CONNACK']],
    ['Wildcard Subscription Available', '28 01', ['CONNACK']],
    ['Subscription Identifier Available', '29 01', ['CONNACK']],
    ['Shared Subscription Available', '2a 01', ['CONNACK']],
  ]
  const row = (holder: string, inside: string): Row => {
    const [from, before, after] = holders[holder] ?? assert.fail()
    return { title: '', version: 5, from, bytes: `${before} ${inside} ${after}` }
  }
  for (const [name, bytes, allowedIn] of properties) {
    test(`${name} is taken where it belongs and makes every other packet malformed`, () => {
      for (const holder of Object.keys(holders)) {
        const inside = isThere(holder, name) ? '' : bytes
        if (allowedIn.includes(holder)) assert.ok(decode(row(holder, inside)) !== undefined, holder)
        else assert.equal(refusal(() => decode(row(holder, bytes))).reasonCode, malformed, holder)
      }
    })

    test(`${name} is taken more than once only where that has a meaning`, () => {
      for (const holder of allowedIn) {
        const twice = row(holder, isThere(holder, name) ? bytes : `${bytes} ${bytes}`)
        if (isRepeatable(holder, name)) assert.ok(decode(twice) !== undefined, holder)
        else assert.equal(refusal(() => decode(twice)).reasonCode, protocolError, holder)
      }
    })
  }

  test('identifiers that no property has make the packet malformed', () => {
    const known = new Set(properties.map(([, bytes]) => Number.parseInt(bytes.slice(0, 2), 16)))
    for (const holder of Object.keys(holders)) {
      for (let id = 0; id < 128; id++) {
        if (known.has(id)) continue
        const inside = `${id.toString(16).padStart(2, '0')} 00000000`
        assert.equal(refusal(() => decode(row(holder, inside))).reasonCode, malformed, `${holder} ${id}`)
      }
    }
  })

  test('an identifier of more than one byte makes the packet malformed', () => {
    assert.equal(refusal(() => decode(row('PUBLISH', 'ff01 00'))).reasonCode, malformed)
  })
})

describe('packets that end too early or too late', () => {
  for (const { title, version, from, bytes, packet } of packets.filter((row) => row.only !== 'encode')) {
    const [firstByte, ...rest] = bytesOf(bytes)
    const body = Buffer.from(rest.slice(rest.findIndex((byte) => byte < 0x80) + 1))
    const withBody = (newBody: Buffer): Buffer =>
      Buffer.concat([Buffer.from([firstByte ?? 0]), variableByteInteger(newBody.length), newBody])

    test(`MQTT ${version}: ${title}: cut anywhere it is refused, or another packet of its type`, () => {
      for (let length = 0; length < body.length; length++) {
        try {
          const cut = decode({ title, version, from, bytes }, withBody(body.subarray(0, length)))
          assert.equal(cut?.type, packet.type)
        } catch (error) {
          assert.ok(error instanceof MalformedPacketError, String(error))
        }
      }
    })

    if (packet.type !== 'publish') {
      test(`MQTT ${version}: ${title}: with a byte more it is refused`, () => {
        refusal(() => decode({ title, version, from, bytes }, withBody(Buffer.concat([body, Buffer.from([0xff])]))))
      })
    }
  }
})

describe('the error of a CONNECT says in which version to answer', () => {
  for (const [title, bytes, expected] of [
    ['MQTT 3.1.1', `${connect4} 03 003c 'id'`, 4],
    ['MQTT 5', `${connect5} 03 003c [ ] 'id'`, 5],
    ['MQTT 3.1', "10 .. 'MQIsdp' 03 02 003c 'id'", 4],
    ['a bridge of MQTT 3.1.1 with its private bit', "10 .. 'MQTT' 84 02 003c 'id'", 4],
    ['a bridge of MQTT 5 with its private bit', "10 .. 'MQTT' 85 02 003c [ ] 'id'", 5],
    ['a version to come', "10 .. 'MQTT' 06 02 003c [ ] 'id'", 5],
    ['something that is not MQTT', "10 .. 'HTTP' 05 02 003c [ ] 'id'", undefined],
    ['a CONNECT without a level', "10 .. 'MQTT'", undefined],
  ] as const) {
    test(title, () => {
      const error = refusal(() => decode({ title, version: 4, from: 'client', bytes }))
      assert.equal(error.protocolVersion, expected)
      assert.equal(error.packetType, 'connect')
    })
  }
})

describe('values that have no form on the wire', () => {
  const publish = {
    type: 'publish',
    topicName: 'a',
    payload: Buffer.alloc(0),
    qos: 0,
    retain: false,
    dup: false,
    packetId: 0,
  } as const

  test('a Topic Name above 65,535 bytes can not be sent [MQTT-4.7.3-3]', () => {
    assert.equal(encodePacket({ ...publish, topicName: 'a'.repeat(65_535) }, 4).length, 4 + 2 + 65_535)
    assert.throws(() => encodePacket({ ...publish, topicName: 'a'.repeat(65_536) }, 4), RangeError)
    assert.throws(() => encodePacket({ ...publish, topicName: 'ü'.repeat(32_768) }, 4), RangeError)
  })

  test('a string with U+0000 can not be sent [MQTT-1.5.4-2]', () => {
    assert.throws(() => encodePacket({ ...publish, topicName: 'a\0' }, 5), RangeError)
    assert.throws(
      () => encodePacket({ type: 'disconnect', reasonCode: 0x98, properties: { reasonString: '\0' } }, 5),
      RangeError,
    )
  })

  test('binary values above 65,535 bytes can not be sent', () => {
    const correlationData = Buffer.alloc(65_536)
    assert.throws(() => encodePacket({ ...publish, properties: { correlationData } }, 5), RangeError)
  })

  test('a packet above 268,435,455 bytes of Remaining Length can not be sent', () => {
    const payload = Buffer.alloc(268_435_453)
    assert.throws(() => encodePacket({ ...publish, payload }, 4), RangeError)
  })

  test('numbers too great for their fields can not be sent', () => {
    assert.throws(() => encodePacket({ type: 'puback', packetId: 65_536, reasonCode: 0 }, 4), RangeError)
    assert.throws(() => encodePacket({ ...publish, properties: { topicAlias: 65_536 } }, 5), RangeError)
    assert.throws(() => encodePacket({ ...publish, properties: { subscriptionIdentifiers: [2 ** 28] } }, 5), RangeError)
    assert.throws(() => encodePacket({ ...publish, properties: { messageExpiryIntervalSeconds: -1 } }, 5), RangeError)
  })

  test('MQTT 3.1.1 has no AUTH', () => {
    assert.throws(() => encodePacket({ type: 'auth', reasonCode: 0 }, 4), RangeError)
  })
})
