import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { StateChange } from '../../broker/ports/engine.ts'
import { Message } from '../../broker/ports/message.ts'
import {
  changesOfRecord,
  changesRecordBound,
  checkRecord,
  messageRecordBound,
  placeOfRecord,
  readMessageRecord,
  topicNameOfRecord,
  writeChangesRecord,
  writeMessageRecord,
} from './record.ts'
import { branchOf, branchesWithPrefix } from './topic-branch.ts'

const SEAL = 0x5ea1_0001
const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((value) => !value.includes('\0'))
const topicName = text.filter((value) => value !== '' && !/[+#]/.test(value))
const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value))

const properties = fc.option(
  fc.record(
    {
      payloadFormatIndicator: fc.constantFrom(0, 1),
      messageExpiryIntervalSeconds: fc.integer({ min: 0, max: 0xffff_ffff }),
      contentType: text,
      responseTopic: topicName,
      correlationData: bytes,
      userProperties: fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 }),
    },
    { requiredKeys: ['contentType'], noNullPrototype: true },
  ),
  { nil: undefined },
)

const message = fc
  .record({
    topicName,
    payload: bytes,
    qos: fc.constantFrom(0, 1, 2),
    retain: fc.boolean(),
    properties,
    publisherKey: text,
    expiresAtMs: fc.constantFrom(Infinity, 0, 1_800_000_000_123),
  })
  .map(({ expiresAtMs, ...fields }) => new Message(fields, expiresAtMs))

const changes: fc.Arbitrary<StateChange[]> = fc.array(
  fc.record({ key: text, value: fc.option(bytes, { nil: undefined }) }, { noNullPrototype: true }),
  { maxLength: 5 },
)

const place = fc.record(
  {
    partition: fc.integer({ min: 0, max: 0xffff }),
    offset: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    ownedAtMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  },
  { noNullPrototype: true },
)

test('a message is read from its record as it was written, with its place and its changes, and fits the bound', () => {
  fc.assert(
    fc.property(message, place, changes, fc.integer({ min: 0, max: 50 }), (original, where, with_, start) => {
      const bound = messageRecordBound(original, with_)
      const memory = Buffer.alloc(start + bound)
      const end = writeMessageRecord(memory, start, original, where, with_, SEAL)
      assert.ok(end <= memory.length)
      assert.equal(checkRecord(memory, start, end, bound, SEAL), end - start)
      const read = readMessageRecord(memory, start)
      memory.fill(0xff, end)
      const { topicName: name, payload, qos, retain, publisherKey, expiresAtMs } = original
      assert.deepEqual(
        [read.topicName, read.qos, read.retain, read.publisherKey, read.expiresAtMs],
        [name, qos, retain, publisherKey, expiresAtMs],
      )
      assert.deepEqual(read.payload, Buffer.from(payload))
      assert.deepEqual(read.properties, original.properties)
      assert.deepEqual(placeOfRecord(memory, start), where)
      assert.equal(topicNameOfRecord(memory, start), name)
      assert.deepEqual(changesOfRecord(memory, start), with_)
    }),
  )
})

test('changes are read from their record as they were written', () => {
  fc.assert(
    fc.property(changes, (original) => {
      const memory = Buffer.alloc(changesRecordBound(original))
      const end = writeChangesRecord(memory, 0, original, SEAL)
      assert.equal(checkRecord(memory, 0, end, memory.length, SEAL), end)
      assert.deepEqual(changesOfRecord(memory, 0), original)
    }),
  )
})

test('a record with a wrong bit or a missing end is no record', () => {
  fc.assert(
    fc.property(message, place, fc.nat(), fc.integer({ min: 0, max: 7 }), (original, where, at, bit) => {
      const memory = Buffer.alloc(messageRecordBound(original, undefined))
      const end = writeMessageRecord(memory, 0, original, where, undefined, SEAL)
      assert.ok(checkRecord(memory, 0, end - 1, memory.length, SEAL) < 0)
      memory[at % end] = (memory[at % end] as number) ^ (1 << bit)
      assert.ok(checkRecord(memory, 0, end, end, SEAL) <= 0)
    }),
  )
})

test('a Topic Name has the bits of each of its prefixes', () => {
  const level = fc.constantFrom('application', 'device', '1', '2', 'ä', '', '0102030405060708')
  fc.assert(
    fc.property(fc.array(level, { minLength: 1, maxLength: 8 }), fc.nat(), (levels, cut) => {
      const name = levels.join('/')
      const { mask, bits } = branchesWithPrefix(name.slice(0, cut % (name.length + 1)))
      assert.equal((branchOf(name) & mask) >>> 0, bits)
    }),
  )
  assert.notEqual(branchOf('application/1/device/a/event/up'), branchOf('application/1/device/b/event/up'))
  assert.equal(branchOf('application/1/device/a/event/up'), branchOf('application/1/device/a/event/join'))
})
