import assert from 'node:assert/strict'
import test from 'node:test'
import { SequenceCheck } from './sequence-check.ts'

const NONE = { lost: 0, repeatedOrLate: 0, misdirected: 0 }

function receive(check: SequenceCheck, receiver: number, stream: number, sequences: readonly number[]): boolean[] {
  return sequences.map((sequence) => check.received(receiver, stream, sequence))
}

test('messages that come once and in order are no fault, at each receiver of a stream', () => {
  const check = new SequenceCheck([[0, 1], [1]], 2)
  assert.deepEqual(receive(check, 0, 0, [0, 1, 2]), [true, true, true])
  assert.deepEqual(receive(check, 1, 0, [0, 1, 2]), [true, true, true])
  assert.deepEqual(receive(check, 1, 1, [0]), [true])
  assert.deepEqual(check.faults([3, 1]), NONE)
})

test('a gap is lost messages', () => {
  const check = new SequenceCheck([[0]], 1)
  receive(check, 0, 0, [0, 3, 4])
  assert.deepEqual(check.faults([5]), { ...NONE, lost: 2 })
})

test('what was sent and never came is lost', () => {
  const check = new SequenceCheck([[0, 1]], 2)
  receive(check, 0, 0, [0, 1])
  assert.deepEqual(check.faults([2]), { ...NONE, lost: 2 })
})

test('a message that comes twice, or behind a later one, is counted and is no delivery', () => {
  const check = new SequenceCheck([[0]], 1)
  assert.deepEqual(receive(check, 0, 0, [0, 0, 2, 1]), [true, false, true, false])
  assert.deepEqual(check.faults([3]), { lost: 1, repeatedOrLate: 2, misdirected: 0 })
})

test('a message of a stream that is not the receiver’s is misdirected', () => {
  const check = new SequenceCheck([[0], [1]], 2)
  assert.equal(check.received(1, 0, 0), false)
  assert.equal(check.received(0, 7, 0), false)
  assert.equal(check.faults([0, 0]).misdirected, 2)
})
