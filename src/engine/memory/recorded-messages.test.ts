import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Message } from '../../broker/ports/message.ts'
import type { MessageFields } from '../../broker/ports/message.ts'
import { DecodedMessages } from '../reading/decoded-messages.ts'
import { ChunkMemory, RecordedMessages } from './recorded-messages.ts'

function store(maximumMessages: number, chunkBytes = 4_096): RecordedMessages {
  // No memory for decoded messages: each read comes from the chunks.
  return new RecordedMessages(3, maximumMessages, new ChunkMemory(chunkBytes), new DecodedMessages(8, 0))
}

function messageWith(fields: Partial<MessageFields>, expiresAtMs = Infinity): Message {
  const plain: MessageFields = {
    topicName: 'a/b',
    payload: Buffer.from('x'),
    qos: 0,
    retain: false,
    properties: undefined,
    publisherKey: '',
  }
  return new Message({ ...plain, ...fields }, expiresAtMs)
}

test('a message comes back as it was, beside messages of other forms', () => {
  const messages = [
    messageWith({ payload: Buffer.alloc(0), topicName: 'ä/b' }),
    messageWith({ qos: 1, retain: true, publisherKey: 'tenant/user/client' }, 1_700_000_000_123),
    messageWith({ properties: { contentType: 'text/plain', correlationData: Buffer.from('c') } }),
    messageWith({ qos: 2, properties: { userProperties: [['a', 'b']] } }, 5),
    messageWith({ payload: Buffer.alloc(10_000, 7) }),
    messageWith({ payload: Buffer.from('last') }),
  ]
  const recorded = store(100)
  messages.forEach((message, index) => {
    message.ownedAtMs = 1_000 + index
    recorded.append(message)
  })
  messages.forEach((message, offset) => {
    const read = recorded.message(offset)
    for (const name of ['topicName', 'payload', 'qos', 'retain', 'publisherKey', 'expiresAtMs', 'ownedAtMs'] as const) {
      assert.deepEqual(read[name], message[name], name)
    }
    assert.deepEqual({ ...read.properties }, { ...message.properties })
    assert.deepEqual([read.partition, read.offset, read.kept], [3, offset, true])
    assert.equal(recorded.topicName(offset), message.topicName)
    assert.equal(recorded.ownedAtMs(offset), message.ownedAtMs)
  })
})

test('a message that cannot be stored leaves no trace', () => {
  const recorded = store(100)
  recorded.append(messageWith({ payload: Buffer.from('one') }))
  const { bytes, tail } = recorded
  assert.throws(() => recorded.append(messageWith({ properties: { responseTopic: '#' } }, 5)), RangeError)
  assert.deepEqual([recorded.bytes, recorded.tail], [bytes, tail])
  recorded.append(messageWith({ payload: Buffer.from('two') }))
  assert.equal(recorded.message(1).payload.toString(), 'two')
})

test('the bytes count texts and payloads, and go down to nothing with the messages', () => {
  const recorded = store(10)
  assert.equal(recorded.isTrimmable, false)
  for (let number = 0; number < 100; number += 1) {
    recorded.append(messageWith({ topicName: 't'.repeat(1_000), payload: Buffer.alloc(500) }))
  }
  assert.ok(recorded.bytes > 100 * 1_500, `${recorded.bytes}`)
  assert.equal(recorded.isTrimmable, true)
  recorded.trim(Infinity)
  assert.equal(recorded.isTrimmable, false)
  assert.ok(recorded.first > 80 && recorded.first <= 90, `${recorded.first}`)
  while (recorded.first < recorded.tail) recorded.shed()
  assert.equal(recorded.bytes, 0)
  recorded.append(messageWith({ payload: Buffer.from('again') }))
  assert.equal(recorded.message(100).payload.toString(), 'again')
})
