/** The tenant that a retained message counts for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_LIMITS } from '../ports/limits.ts'
import type { SteadyMs } from '../../clock.ts'
import { Message } from '../ports/message.ts'
import { RetainedMessages } from './retained-messages.ts'

function message(topicName: string, sender: string, size = 1): Message {
  const publisherKey = sender === '' ? '' : `${sender}\0someone\0client`
  const payload = Buffer.alloc(size)
  return new Message({ topicName, payload, qos: 1, retain: true, properties: undefined, publisherKey }, Infinity)
}

/** A store with room for one message of each tenant. */
function storeOf(tenants: ReadonlyMap<string, string>): RetainedMessages {
  const limits = { ...DEFAULT_LIMITS, maximumRetainedMessagesPerTenant: 1 }
  return new RetainedMessages(limits, { tenantOfTopic: (topicName) => tenants.get(topicName) })
}

const FULL = 'no room for another retained message of this organization'

describe('the tenant of a retained message', () => {
  it('is the tenant of its topic, whoever publishes it', () => {
    const retained = storeOf(
      new Map([
        ['a1', 'a'],
        ['a2', 'a'],
        ['b1', 'b'],
      ]),
    )
    retained.set(message('a1', 'deployment'))
    assert.equal(retained.whyFull(message('a2', 'deployment')), FULL)
    assert.equal(retained.whyFull(message('b1', 'deployment')), undefined)
    assert.equal(retained.whyFull(message('other', 'deployment')), undefined)
    assert.equal(retained.whyFull(message('other', 'a')), FULL)
  })

  it('is the tenant of its publisher where nobody knows that of the topic', () => {
    const retained = storeOf(new Map())
    retained.set(message('1', 'a'))
    retained.set(message('2', ''))
    assert.equal(retained.whyFull(message('3', 'a')), FULL)
    assert.equal(retained.whyFull(message('3', '')), FULL)
    assert.equal(retained.whyFull(message('3', 'b')), undefined)
  })

  it('changes with the next message when the topic has come to another tenant', () => {
    const tenants = new Map([['1', 'a']])
    const retained = storeOf(tenants)
    const under = message('1', 'deployment')
    retained.reserve(under)
    tenants.set('1', 'b')
    // The room was kept for the tenant of then.
    retained.release(under)
    assert.equal(retained.whyFull(message('2', 'a')), undefined)
    retained.set(under)
    assert.equal(retained.whyFull(message('2', 'b')), FULL)
    tenants.set('1', 'c')
    retained.set(message('2', 'c'))
    assert.equal(retained.whyFull(message('1', 'deployment')), FULL)
    retained.set(message('2', '', 0))
    retained.set(message('1', 'deployment'))
    assert.equal(retained.whyFull(message('2', 'b')), undefined)
    assert.equal(retained.whyFull(message('2', 'c')), FULL)
    retained.set(message('1', '', 0))
    assert.equal(retained.whyFull(message('2', 'c')), undefined)
  })

  it('a message on its way keeps its room, and gives it back when nobody owns it', () => {
    const retained = storeOf(new Map())
    const under = message('1', 'a')
    retained.reserve(under)
    assert.equal(retained.whyFull(message('2', 'a')), FULL)
    retained.release(under)
    retained.release(under)
    assert.equal(retained.whyFull(message('2', 'a')), undefined)
  })
})

describe('the room of all retained messages', () => {
  it('has an assured share for a tenant that holds little, when others have filled it', () => {
    const limits = { ...DEFAULT_LIMITS, maximumRetainedMessages: 512, maximumRetainedBytes: 256_000 }
    const retained = new RetainedMessages(limits)
    const all = 'no room for another retained message'
    for (let index = 0; index < 8; index += 1) retained.set(message(`large ${index}`, `tenant ${index}`, 31_800))
    assert.equal(retained.whyFull(message('x', 'tenant 1', 500)), all)
    assert.equal(retained.whyFull(message('x', 'ninth', 500)), undefined)
    assert.equal(retained.whyFull(message('x', 'ninth', 1_000)), all)
    retained.set(message('x', 'ninth', 500))
    assert.equal(retained.whyFull(message('y', 'ninth', 500)), all)
    assert.equal(retained.whyFull(message('y', 'ninth', 200)), undefined)
  })
})

describe('a retained message', () => {
  it('is no slice of a slab that it shares with others', () => {
    const retained = new RetainedMessages(DEFAULT_LIMITS)
    const text = 'some text in a slab of the process'
    const payload = Buffer.from(text.padEnd(8_192)).subarray(0, text.length)
    assert.ok(payload.buffer.byteLength > payload.length)
    const fields = { topicName: 'a', payload, qos: 1, retain: true, properties: undefined, publisherKey: '' } as const
    retained.set(new Message(fields, Infinity))
    const [kept] = retained.match('a', 0 as SteadyMs)
    assert.equal(kept?.payload.toString(), payload.toString())
    assert.equal(kept?.payload.buffer.byteLength, payload.length)
  })
})
