import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { encodePacket } from './encode-packet.ts'
import { MalformedPacketError } from './malformed-packet.ts'
import { PacketReader } from './packet-reader.ts'
import { plainPacket } from './plain-packet.testing.ts'
import type { ConnectPacket, Packet, ProtocolVersion, PublishPacket } from './packet.ts'
import { encodePublish } from './publish.ts'

const maximumPacketSizeBytes = 1_000_000

const connect: ConnectPacket = {
  type: 'connect',
  protocolVersion: 5,
  cleanStart: true,
  keepAliveSeconds: 60,
  clientId: 'client',
}

function publishOf(payload: Buffer, packetId = 7): PublishPacket {
  return { type: 'publish', topicName: 'a/b', payload, qos: 1, retain: false, dup: false, packetId }
}

function serverReader(version: ProtocolVersion = 5): PacketReader<'server'> {
  const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
  reader.protocolVersion = version
  return reader
}

/** All packets in the chunks. After each chunk, `next` is called until it returns undefined. */
function readAll(reader: PacketReader, chunks: Iterable<Buffer>): Packet[] {
  const packets: Packet[] = []
  for (const chunk of chunks) {
    reader.push(chunk)
    for (let packet = reader.next(); packet !== undefined; packet = reader.next()) packets.push(plainPacket(packet))
  }
  return packets
}

/** The bytes in pieces of the given sizes, repeated. */
function* pieces(bytes: Buffer, sizes: readonly number[]): Iterable<Buffer> {
  let start = 0
  for (let index = 0; start < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    yield bytes.subarray(start, start + size)
    start += size
  }
}

function refusal(readIt: () => unknown): MalformedPacketError {
  try {
    readIt()
  } catch (error) {
    assert.ok(error instanceof MalformedPacketError, String(error))
    return error
  }
  assert.fail('it was read without an error')
}

/** The packets that a new connection reads from the chunks. */
function read(chunks: Iterable<Buffer>): Packet[] {
  return readAll(new PacketReader({ role: 'server', maximumPacketSizeBytes }), chunks)
}

describe('chunks', () => {
  const stream: readonly Packet[] = [
    connect,
    publishOf(Buffer.alloc(0)),
    { type: 'pingreq' },
    publishOf(Buffer.from('x'.repeat(300))),
    { type: 'puback', packetId: 1, reasonCode: 0 },
    publishOf(Buffer.alloc(20_000, 'y'), 9),
    { type: 'disconnect', reasonCode: 4 },
  ]
  const bytes = Buffer.concat(stream.map((packet) => encodePacket(packet, 5)))
  const whole = read([bytes])

  test('a chunk that was read to its end is not held', () => {
    const reader = serverReader()
    const chunk = Buffer.concat([
      encodePacket(publishOf(Buffer.from('one')), 5),
      encodePacket(publishOf(Buffer.from('two')), 5),
    ])
    const isHeld = (): boolean => reader.firstBuffered(1).some(({ buffer }) => buffer === chunk.buffer)
    reader.push(chunk)
    reader.next()
    assert.equal(isHeld(), true, 'a packet waits in it')
    reader.next()
    assert.equal(isHeld(), false)
  })

  test('one chunk gives all its packets', () => {
    assert.deepEqual(
      whole.map((packet) => packet.type),
      stream.map((packet) => packet.type),
    )
  })

  test('bytes one by one give the same packets', () => {
    assert.deepEqual(read(pieces(bytes, [1])), whole)
  })

  test('chunks of any sizes, empty ones too, give the same packets', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 400 }), { minLength: 1, maxLength: 20 }), (sizes) => {
        fc.pre(sizes.some((size) => size > 0))
        assert.deepEqual(read(pieces(bytes, sizes)), whole)
      }),
      { numRuns: 200 },
    )
  })

  test('packets that are left unread wait, and more chunks line up behind them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.nat({ max: 3 })), { minLength: 1 }),
        (steps) => {
          const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
          const packets: Packet[] = []
          let start = 0
          for (let index = 0; start < bytes.length; index++) {
            const [size, takes] = steps[index % steps.length] ?? [1, 0]
            reader.push(bytes.subarray(start, start + size))
            start += size
            for (let take = 0; take < takes; take++) {
              const packet = reader.next()
              if (packet !== undefined) packets.push(plainPacket(packet))
            }
          }
          packets.push(...readAll(reader, [Buffer.alloc(0)]))
          assert.deepEqual(packets, whole)
          assert.equal(reader.bufferedBytes, 0)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('the payload of a packet in one chunk is a view into it, and a split one is not', () => {
    const packet = encodePacket(publishOf(Buffer.from('payload')), 5)
    const [inPlace] = readAll(serverReader(), [packet])
    assert.ok(inPlace?.type === 'publish')
    packet.fill('!', packet.length - 7)
    assert.equal(inPlace.payload.toString(), '!!!!!!!')
    const [joined] = readAll(serverReader(), [packet.subarray(0, 9), packet.subarray(9)])
    assert.ok(joined?.type === 'publish')
    packet.fill('?', packet.length - 7)
    assert.equal(joined.payload.toString(), '!!!!!!!')
  })

  test('a Will Message is a copy, for it outlives its chunk', () => {
    const payload = Buffer.from('gone')
    const correlationData = Buffer.from('case')
    const will = {
      topicName: 'w',
      payload,
      qos: 0,
      retain: false,
      delayIntervalSeconds: 0,
      properties: { correlationData },
    }
    const chunk = encodePacket({ ...connect, will: { ...will, qos: 0 } }, 5)
    const [packet] = read([chunk])
    chunk.fill('!')
    assert.ok(packet?.type === 'connect')
    assert.equal(packet.will?.payload.toString(), 'gone')
    assert.equal(packet.will?.properties?.correlationData?.toString(), 'case')
  })

  test('two split packets in a row do not share memory', () => {
    const one = encodePacket(publishOf(Buffer.from('first')), 5)
    const two = encodePacket(publishOf(Buffer.from('other')), 5)
    const packets = readAll(serverReader(), pieces(Buffer.concat([one, two]), [3]))
    assert.deepEqual(
      packets.map((packet) => (packet.type === 'publish' ? packet.payload.toString() : '')),
      ['first', 'other'],
    )
  })

  test('bufferedBytes counts what no packet was made of yet', () => {
    const reader = serverReader()
    const packet = encodePacket(publishOf(Buffer.alloc(100)), 5)
    reader.push(packet)
    reader.push(packet.subarray(0, 50))
    assert.equal(reader.bufferedBytes, packet.length + 50)
    reader.next()
    assert.equal(reader.bufferedBytes, 50)
    assert.equal(reader.next(), undefined)
    assert.equal(reader.bufferedBytes, 50)
    reader.push(packet.subarray(50, 60))
    assert.equal(reader.bufferedBytes, 60)
    assert.equal(reader.next(), undefined)
    reader.push(packet.subarray(60))
    assert.equal(reader.next()?.type, 'publish')
    assert.equal(reader.bufferedBytes, 0)
  })

  test('a packet that drips byte by byte is copied a bounded number of times', (t) => {
    const copied: number[] = []
    const copy = Buffer.prototype.copy
    t.mock.method(Buffer.prototype, 'copy', function counting(this: Buffer, ...rest: Parameters<typeof copy>) {
      const count = copy.apply(this, rest)
      copied.push(count)
      return count
    })
    const bytesOfPacket = encodePacket(publishOf(Buffer.alloc(50_000)), 5)
    const packets = readAll(serverReader(), pieces(bytesOfPacket, [1]))
    assert.equal(packets.length, 1)
    const total = copied.reduce((sum, count) => sum + count, 0)
    assert.ok(total < 3 * bytesOfPacket.length, `${total} bytes were copied for ${bytesOfPacket.length}`)
  })

  test('a header that claims megabytes claims no memory', (t) => {
    const reader = serverReader()
    reader.maximumPacketSizeBytes = 268_435_460
    const allocated: number[] = []
    const allocUnsafe = Buffer.allocUnsafe.bind(Buffer)
    t.mock.method(Buffer, 'allocUnsafe', (size: number) => {
      allocated.push(size)
      return allocUnsafe(size)
    })
    reader.push(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1, 0x61]))
    assert.equal(reader.next(), undefined)
    assert.ok(Math.max(...allocated) <= 4096)
  })
})

describe('the maximum packet size', () => {
  test('a packet of exactly the maximum is read, one byte more is refused', () => {
    const packet = encodePacket(publishOf(Buffer.alloc(200)), 5)
    const reader = serverReader()
    reader.maximumPacketSizeBytes = packet.length
    assert.equal(readAll(reader, [packet]).length, 1)
    reader.maximumPacketSizeBytes = packet.length - 1
    assert.equal(refusal(() => readAll(reader, [packet])).reasonCode, 0x95)
  })

  test('it is refused once the fixed header is there, before anything else of it', () => {
    const reader = serverReader()
    reader.push(Buffer.from([0x32, 0x80, 0x80]))
    assert.equal(reader.next(), undefined)
    reader.push(Buffer.from([0x40]))
    const error = refusal(() => reader.next())
    assert.equal(error.reasonCode, 0x95)
    assert.equal(error.packetType, 'publish')
    assert.equal(error.protocolVersion, 5)
  })

  test('a CONNECT is measured too', () => {
    const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: 1000 })
    reader.push(Buffer.from([0x10, 0xff, 0x7f]))
    const error = refusal(() => reader.next())
    assert.equal(error.reasonCode, 0x95)
    assert.equal(error.packetType, 'connect')
  })
})

describe('order', () => {
  test('the first packet is a CONNECT [MQTT-3.1.0-1] [MQTT311-3.1.0-1]', () => {
    for (const firstByte of [0x30, 0x40, 0x62, 0x82, 0xa2, 0xc0, 0xe0, 0xf0]) {
      const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
      reader.push(Buffer.from([firstByte]))
      assert.equal(refusal(() => reader.next()).reasonCode, 0x82)
    }
  })

  test('what is not MQTT at all is refused at its first byte', () => {
    for (const text of ['GET / HTTP/1.1\r\n', '\x16\x03\x01', 'SSH-2.0-', '\0']) {
      const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
      reader.push(Buffer.from(text, 'latin1'))
      assert.equal(refusal(() => reader.next()).protocolVersion, undefined)
    }
  })

  test('a second CONNECT is a protocol error [MQTT-3.1.0-2] [MQTT311-3.1.0-2]', () => {
    const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
    assert.equal(readAll(reader, [encodePacket(connect, 5)]).length, 1)
    const error = refusal(() => readAll(reader, [encodePacket({ ...connect, protocolVersion: 4 }, 4)]))
    assert.equal(error.reasonCode, 0x82)
    assert.equal(error.protocolVersion, 5)
    assert.equal(reader.protocolVersion, 5)
  })

  test('a CONNECT sets the version in which the rest is read', () => {
    for (const version of [4, 5] as const) {
      const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
      assert.equal(reader.protocolVersion, undefined)
      const bytes = [encodePacket({ ...connect, protocolVersion: version }, version)]
      bytes.push(encodePacket(publishOf(Buffer.from('x')), version))
      const [, publish] = readAll(reader, [Buffer.concat(bytes)])
      assert.equal(reader.protocolVersion, version)
      assert.ok(publish?.type === 'publish')
      assert.equal(publish.payload.toString(), 'x')
    }
  })

  test('a client that has not set its version is told so', () => {
    const reader = new PacketReader({ role: 'client', maximumPacketSizeBytes })
    reader.push(Buffer.from([0x20, 2, 0, 0]))
    assert.throws(() => reader.next(), assert.AssertionError)
  })
})

describe('after an error', () => {
  test('the packets before it are given, then the same error at each call', () => {
    const reader = serverReader()
    reader.push(Buffer.concat([encodePacket({ type: 'pingreq' }, 5), Buffer.from([0x36, 0]), Buffer.alloc(100)]))
    assert.deepEqual(reader.next(), { type: 'pingreq' })
    const error = refusal(() => reader.next())
    assert.equal(
      refusal(() => reader.next()),
      error,
    )
    reader.push(encodePacket({ type: 'pingreq' }, 5))
    assert.equal(reader.bufferedBytes, 0)
    assert.equal(
      refusal(() => reader.next()),
      error,
    )
  })

  test('it tells nothing of what was sent but numbers', () => {
    const secret = Buffer.from('hunter2')
    const bytes = Buffer.concat([
      encodePacket({ ...connect, userName: 'u', password: secret }, 5),
      encodePacket({ type: 'pingreq' }, 5),
    ])
    bytes[1] = (bytes[1] as number) + 2
    const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes })
    const error = refusal(() => readAll(reader, [bytes]))
    assert.ok(!JSON.stringify([error.message, error]).includes('hunter2'))
  })
})

describe('encodePublish', () => {
  test('leaves the Packet Identifier for the caller to patch', () => {
    for (const version of [4, 5] as const) {
      const { bytes, packetIdOffset } = encodePublish(
        {
          topicName: 'ä/b',
          payload: Buffer.from('x'),
          qos: 2,
          retain: true,
          dup: false,
          properties: { topicAlias: 3 },
        },
        version,
      )
      assert.equal(bytes.readUInt16BE(packetIdOffset), 0)
      bytes.writeUInt16BE(0x1234, packetIdOffset)
      const [packet] = readAll(serverReader(version), [bytes])
      assert.ok(packet?.type === 'publish')
      assert.equal(packet.packetId, 0x1234)
      assert.equal(packet.topicName, 'ä/b')
      assert.equal(packet.payload.toString(), 'x')
    }
  })

  test('has no Packet Identifier at QoS 0 [MQTT-2.2.1-2]', () => {
    const publish = { topicName: 'a', payload: Buffer.from('x'), qos: 0, retain: false, dup: false } as const
    const { bytes, packetIdOffset } = encodePublish(publish, 4)
    assert.equal(packetIdOffset, 0)
    assert.equal(bytes.toString('hex'), '300400016178')
  })
})

/** Reads to the end or to an error. A packet takes two bytes at least, which bounds the loop. */
function readAnything(from: 'client' | 'server', version: ProtocolVersion | undefined, bytes: Buffer): void {
  const reader = new PacketReader({ role: from === 'client' ? 'server' : 'client', maximumPacketSizeBytes: 100_000 })
  reader.protocolVersion = version
  reader.push(bytes)
  let count = 0
  try {
    while (reader.next() !== undefined) count++
  } catch (error) {
    assert.ok(error instanceof MalformedPacketError, String(error))
  }
  assert.ok(count <= bytes.length / 2)
}

describe('random bytes', () => {
  const context = fc.tuple(
    fc.constantFrom('client' as const, 'server' as const),
    fc.constantFrom(4 as const, 5 as const),
  )

  test('throw nothing but MalformedPacketError, and end', () => {
    fc.assert(
      fc.property(context, fc.uint8Array({ maxLength: 64 }), ([from, version], bytes) => {
        readAnything(from, version, Buffer.from(bytes))
      }),
      { numRuns: 8000 },
    )
  })

  test('behind a right fixed header throw nothing but MalformedPacketError, and end', () => {
    const firstByte = fc.constantFrom(0x20, 0x30, 0x32, 0x3d, 0x40, 0x62, 0x82, 0x90, 0xa2, 0xb0, 0xe0, 0xf0)
    fc.assert(
      fc.property(context, firstByte, fc.uint8Array({ maxLength: 100 }), ([from, version], first, body) => {
        readAnything(from, version, Buffer.from([first, body.length, ...body]))
      }),
      { numRuns: 8000 },
    )
  })

  test('in the place of bytes of a right packet throw nothing but MalformedPacketError, and end', () => {
    const originals = [
      encodePacket({ ...connect, userName: 'u', password: Buffer.from('p') }, 5),
      encodePacket(
        { ...publishOf(Buffer.from('pay')), properties: { contentType: 'c', userProperties: [['a', 'b']] } },
        5,
      ),
      encodePacket({ type: 'puback', packetId: 1, reasonCode: 0x10, properties: { reasonString: 'x' } }, 5),
    ]
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fc.constantFrom(...originals), changes, (original, replacements) => {
        const bytes = Buffer.from(original)
        for (const [place, value] of replacements) bytes[place % bytes.length] = value
        readAnything('client', original[0] === 0x10 ? undefined : 5, bytes)
      }),
      { numRuns: 8000 },
    )
  })
})
