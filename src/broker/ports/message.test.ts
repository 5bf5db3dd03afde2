import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { IncomingPublish } from '../../mqtt/incoming-publish.ts'
import { PacketReader } from '../../mqtt/packet-reader.ts'
import { Topic } from '../../mqtt/topic.ts'
import { Message, sizeOfMessage } from './message.ts'

/** A message at QoS 0 with the Topic Name `a`, received in a chunk. */
function received(payload: Buffer): { readonly message: Message; readonly packet: IncomingPublish } {
  const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: 1_000_000 })
  reader.protocolVersion = 4
  const length = payload.length + 3
  const head = length < 128 ? [0x30, length] : [0x30, (length & 0x7f) | 0x80, length >> 7]
  reader.push(Buffer.from([...head, 0, 1, 0x61, ...payload]))
  const packet = reader.next()
  assert.ok(packet instanceof IncomingPublish)
  const { topicName, qos, retain, properties } = packet
  return { packet, message: new Message({ topicName, qos, retain, properties, publisherKey: '' }, Infinity, packet) }
}

function encoded(message: Message): Buffer {
  const { bytes, start, end } = message.shared(4, false)
  return bytes.subarray(start, end)
}

const HELLO = Buffer.from('hello')
const CHANGES: readonly [string, (message: Message) => void, string][] = [
  ['another topic', (message) => message.readdress(new Topic('b')), '300800016268656c6c6f'],
  ['another payload', (message) => (message.payload = Buffer.from('x')), '300400016178'],
  ['memory of its own', (message) => message.keep(), '300800016168656c6c6f'],
]

describe('a message that was received', () => {
  test('goes on in the bytes that it came in', () => {
    const { message, packet } = received(HELLO)
    assert.equal(message.shared(4, false), packet)
    assert.equal(message.payload.toString(), 'hello')
    assert.equal(message.payloadBytes, 5)
    assert.equal(message.sizeBytes, sizeOfMessage(message))
    assert.equal(message.shared(4, true), message.shared(4, true))
    assert.equal(message.shared(4, true).packetIdOffset, 5)
  })

  for (const [title, change, hex] of CHANGES) {
    test(`is encoded anew with ${title}`, () => {
      const { message, packet } = received(HELLO)
      change(message)
      assert.notEqual(message.shared(4, false), packet)
      assert.equal(encoded(message).toString('hex'), hex)
      const target = Buffer.alloc(message.payloadBytes)
      message.copyPayload(target, 0)
      assert.deepEqual(target, message.payload)
    })
  }

  for (const size of [0, 5, 2_047, 2_048, 10_000]) {
    test(`keeps a payload of ${size} bytes whatever becomes of its chunk`, () => {
      const payload = Buffer.alloc(size, 'abc')
      const { message, packet } = received(payload)
      message.keep()
      // A payload that is most of its chunk stays there: nobody writes into a chunk.
      if (size < 2_048) packet.bytes.fill(0)
      assert.ok(message.kept)
      assert.deepEqual(message.payload, payload)
      assert.deepEqual(message.withoutForms().payload, payload)
    })
  }

  test('tells its id in another encoding than the one it came in', () => {
    const { message } = received(HELLO)
    message.partition = 1
    message.offset = 2
    message.tellId('id')
    const { bytes, start, end } = message.shared(5, false)
    assert.ok(bytes.subarray(start, end).includes('1-2'))
    assert.equal(encoded(message).toString('hex'), '300800016168656c6c6f')
  })
})
