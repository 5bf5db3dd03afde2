import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BytesPart } from '../ports/transport.ts'
import { LastJoin } from '../delivery/last-join.ts'
import type { EncodedPublish } from '../../mqtt/publish.ts'
import { WriteBuffer } from './write-buffer.ts'

const one = Buffer.from([0x30, 3, 0, 1, 0x61])
const two = Buffer.from([0x30, 5, 0, 1, 0x62, 0, 0])

function connections(): { readonly outgoing: WriteBuffer; readonly written: Buffer[] }[] {
  const lastJoin = new LastJoin()
  return Array.from({ length: 3 }, () => {
    const written: Buffer[] = []
    const write = ({ bytes, start, end }: BytesPart, isLent: boolean): void => {
      const isWhole = start === 0 && end === bytes.length && !isLent
      written.push(isWhole ? bytes : Buffer.from(bytes.subarray(start, end)))
    }
    return { written, outgoing: new WriteBuffer(lastJoin, { write }) }
  })
}

function shared(bytes: Buffer, packetIdOffset = 0): EncodedPublish {
  return { bytes, start: 0, end: bytes.length, packetIdOffset }
}

test('what gathered in a turn is written as one', () => {
  const [first] = connections()
  assert.ok(first)
  first.outgoing.packet(one)
  first.outgoing.acknowledgement(0x40, 0x1234)
  first.outgoing.publish(shared(two, 5), 1, true, true, 0x0102)
  first.outgoing.flush()
  assert.deepEqual(first.written, [Buffer.from([...one, 0x40, 2, 0x12, 0x34, 0x3b, 5, 0, 1, 0x62, 1, 2])])
  first.outgoing.flush()
  assert.equal(first.written.length, 1)
  assert.deepEqual(two, Buffer.from([0x30, 5, 0, 1, 0x62, 0, 0]), 'shared bytes are not written into')
})

test('connections with the same parts write the same bytes, joined once; others their own', () => {
  const [first, second, third] = connections()
  assert.ok(first && second && third)
  const parts = [shared(one), shared(two)] as const
  for (const { outgoing } of [first, second, third]) {
    outgoing.publish(parts[0], 0, false, false, 0)
    outgoing.publish(parts[1], 0, outgoing === third.outgoing, false, 0)
    outgoing.flush()
  }
  assert.equal(first.written[0], second.written[0])
  assert.deepEqual(first.written, [Buffer.concat([one, two])])
  assert.equal(third.written[0]?.[5], 0x31)
})

test('writes of the same bytes are counted, of one packet and of several', () => {
  const lastJoin = new LastJoin()
  const write = (...parts: readonly EncodedPublish[]): void => {
    const outgoing = new WriteBuffer(lastJoin, { write: () => {} })
    for (const part of parts) outgoing.publish(part, 0, false, false, 0)
    outgoing.flush()
  }
  const [first, second] = [shared(one), shared(two)]
  write(first)
  write(first)
  write(second)
  assert.equal(lastJoin.sharedWrites, 1)
  write(first, second)
  write(first, second)
  write(second, first)
  assert.equal(lastJoin.sharedWrites, 2)
  lastJoin.forget()
  assert.equal(lastJoin.sharedWrites, 0)
})

test('a packet is written from the middle of its chunk, and as it is', () => {
  const [first, second] = connections()
  assert.ok(first && second)
  const chunk = Buffer.concat([one, two, one])
  const part = { bytes: chunk, start: one.length, end: one.length + two.length, packetIdOffset: 5 }
  first.outgoing.publish(part, 0, false, false, 0)
  first.outgoing.flush()
  second.outgoing.publish(part, 1, false, false, 0x0304)
  second.outgoing.publish(part, 2, false, true, 0x0506)
  second.outgoing.flush()
  assert.deepEqual(first.written, [two])
  assert.deepEqual(second.written, [Buffer.from([0x32, 5, 0, 1, 0x62, 3, 4, 0x3c, 5, 0, 1, 0x62, 5, 6])])
  assert.deepEqual(chunk, Buffer.concat([one, two, one]))
})

test('bytes that are more than the memory for joins are written in memory of their own', () => {
  const [first] = connections()
  assert.ok(first)
  const large = Buffer.alloc(100_000, 7)
  first.outgoing.acknowledgement(0x40, 1)
  first.outgoing.packet(large)
  assert.deepEqual(first.written, [Buffer.concat([Buffer.from([0x40, 2, 0, 1]), large])])
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
