import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LastJoin } from '../delivery/last-join.ts'
import { WriteBuffer } from './write-buffer.ts'

const one = Buffer.from([0x30, 3, 0, 1, 0x61])
const two = Buffer.from([0x30, 5, 0, 1, 0x62, 0, 0])

function connections(): { readonly outgoing: WriteBuffer; readonly written: Buffer[] }[] {
  const lastJoin = new LastJoin()
  return Array.from({ length: 3 }, () => {
    const written: Buffer[] = []
    return { written, outgoing: new WriteBuffer(lastJoin, { write: (bytes) => written.push(bytes) }) }
  })
}

test('what gathered in a turn is written as one', () => {
  const [first] = connections()
  assert.ok(first)
  first.outgoing.packet(one)
  first.outgoing.acknowledgement(0x40, 0x1234)
  first.outgoing.publish({ bytes: two, packetIdOffset: 5 }, 1, true, true, 0x0102)
  first.outgoing.flush()
  assert.deepEqual(first.written, [Buffer.from([...one, 0x40, 2, 0x12, 0x34, 0x3b, 5, 0, 1, 0x62, 1, 2])])
  first.outgoing.flush()
  assert.equal(first.written.length, 1)
  assert.deepEqual(two, Buffer.from([0x30, 5, 0, 1, 0x62, 0, 0]), 'shared bytes are not written into')
})

test('connections with the same parts write the same bytes, joined once; others their own', () => {
  const [first, second, third] = connections()
  assert.ok(first && second && third)
  for (const { outgoing } of [first, second, third]) {
    outgoing.publish({ bytes: one, packetIdOffset: 0 }, 0, false, false, 0)
    outgoing.publish({ bytes: two, packetIdOffset: 0 }, 0, outgoing === third.outgoing, false, 0)
    outgoing.flush()
  }
  assert.equal(first.written[0], second.written[0])
  assert.deepEqual(first.written, [Buffer.concat([one, two])])
  assert.equal(third.written[0]?.[5], 0x31)
})

test('writes of the same bytes are counted, of one packet and of several', () => {
  const lastJoin = new LastJoin()
  const write = (...parts: readonly Buffer[]): void => {
    const outgoing = new WriteBuffer(lastJoin, { write: () => {} })
    for (const bytes of parts) outgoing.publish({ bytes, packetIdOffset: 0 }, 0, false, false, 0)
    outgoing.flush()
  }
  write(one)
  write(one)
  write(two)
  assert.equal(lastJoin.sharedWrites, 1)
  write(one, two)
  write(one, two)
  write(two, one)
  assert.equal(lastJoin.sharedWrites, 2)
  lastJoin.forget()
  assert.equal(lastJoin.sharedWrites, 0)
})

test('an array that was handed over is not written into again', () => {
  const [first, second] = connections()
  assert.ok(first && second)
  for (const parts of [
    [one, two],
    [two, one],
  ]) {
    for (const { outgoing } of [first, second]) {
      for (const part of parts) outgoing.packet(part)
      outgoing.flush()
    }
  }
  assert.deepEqual(second.written, [Buffer.concat([one, two]), Buffer.concat([two, one])])
})
