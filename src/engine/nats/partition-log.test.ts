import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { messageOf } from '../engine-client.testing.ts'
import { firstOffset } from './envelope.ts'
import { PartitionLog } from './partition-log.ts'
import type { ReadEnvelope } from './partition-log.ts'

const START = { tail: 0, total: 0, sequence: 0 }
const ENVELOPE_BYTES = 1_000
/** The log adds its own 256 bytes for each envelope. */
const ROOM_FOR_TWO = 2 * (ENVELOPE_BYTES + 256)

function envelope(sequence: number, messages = 1, ownedAtMs = sequence * 1_000): ReadEnvelope {
  const texts = Array.from({ length: messages }, (_, place) => messageOf('a/b', `${sequence}-${place}`))
  return { sequence, ownedAtMs, messages: texts, bytes: ENVELOPE_BYTES }
}

/** Takes an envelope, and all its messages. */
function arrive(log: PartitionLog, arrived: ReadEnvelope): void {
  log.add(arrived)
  for (const place of arrived.messages.keys()) log.advance(firstOffset(arrived.sequence) + place)
}

function sequences(envelopes: readonly ReadEnvelope[] | undefined): readonly number[] | undefined {
  return envelopes?.map(({ sequence }) => sequence)
}

describe('a partition as a process knows it', () => {
  test('ends behind the last message that arrived', () => {
    const log = new PartitionLog(START, Infinity)
    arrive(log, envelope(3, 2))
    assert.equal(log.tail, firstOffset(3) + 2)
    assert.equal(log.total, 2)
    arrive(log, envelope(4, 0))
    assert.equal(log.tail, firstOffset(3) + 2, 'an envelope without messages moves no tail')
    assert.equal(log.sequence, 4)
  })

  test('takes no envelope twice', () => {
    const log = new PartitionLog({ ...START, sequence: 7 }, Infinity)
    assert.throws(() => log.add(envelope(7)))
  })

  test('gives the envelopes in memory, and says where not all are there', () => {
    const log = new PartitionLog({ ...START, sequence: 4 }, ROOM_FOR_TWO)
    for (const sequence of [5, 6, 7]) arrive(log, envelope(sequence))
    assert.equal(log.envelopesFrom(5, 10), undefined, 'the first one had to go')
    assert.deepEqual(sequences(log.envelopesFrom(6, 10)), [6, 7])
    assert.deepEqual(sequences(log.envelopesFrom(6, 1)), [6])
    assert.deepEqual(sequences(log.envelopesFrom(8, 10)), [])
    assert.equal(log.envelopesFrom(4, 10), undefined, 'it arrived before the process began')
  })

  test('forgets what retention has removed', () => {
    const log = new PartitionLog(START, Infinity)
    for (const sequence of [1, 2, 3]) arrive(log, envelope(sequence))
    log.forgetBefore(3)
    assert.equal(log.envelopesFrom(2, 10), undefined)
    assert.deepEqual(sequences(log.envelopesFrom(3, 10)), [3])
  })

  test('finds the first envelope since a time, if it knows one from before', () => {
    const log = new PartitionLog(START, Infinity)
    for (const sequence of [1, 2, 3]) arrive(log, envelope(sequence))
    assert.equal(log.since(1_000), undefined, 'there may be an earlier one')
    assert.equal(log.since(1_001)?.sequence, 2)
    assert.equal(log.since(3_001), undefined)
  })

  test('counts the messages between places, though offsets have gaps', () => {
    const log = new PartitionLog(START, ROOM_FOR_TWO)
    arrive(log, envelope(1, 3))
    arrive(log, envelope(5, 2))
    arrive(log, envelope(9, 4))
    assert.equal(log.messagesBetween(0, log.tail), 9)
    assert.equal(log.messagesBetween(firstOffset(1) + 1, log.tail), 8)
    assert.equal(log.messagesBetween(firstOffset(3), log.tail), 6)
    assert.equal(log.messagesBetween(firstOffset(5) + 1, firstOffset(9) + 1), 2)
    assert.equal(log.messagesBetween(log.tail, firstOffset(1)), 0)
  })

  test('counts from a place that it did not see those since it began, and one', () => {
    const log = new PartitionLog({ tail: firstOffset(100) + 1, total: 500, sequence: 100 }, Infinity)
    arrive(log, envelope(101, 3))
    assert.equal(log.messagesBetween(firstOffset(50), log.tail), 4)
    assert.equal(log.messagesBetween(0, log.tail), 503, 'the beginning of the stream is known')
  })
})
