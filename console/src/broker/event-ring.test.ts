import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventRing } from './event-ring.ts'
import { readEvent } from './live-event.ts'

const event = (number: number, length = 10) =>
  readEvent({
    id: String(number),
    topicName: 'application/1/device/0101010101010101/event/up',
    text: ' '.repeat(length),
    receivedAtMs: 0,
  })

test('the newest stay in order, however many come', () => {
  const ring = new EventRing({ events: 5, characters: 1_000_000 })
  for (let serial = 1; serial <= 1003; serial += 1) {
    ring.push(event(serial))
    assert.ok(ring.size <= 5)
  }
  assert.deepEqual(
    ring.all().map(({ id }) => Number(id)),
    [999, 1000, 1001, 1002, 1003],
  )
})

test('large events leave room for fewer, but the newest is always there', () => {
  const ring = new EventRing({ events: 100, characters: 1000 })
  for (let serial = 1; serial <= 20; serial += 1) ring.push(event(serial, 300))
  assert.deepEqual(
    ring.all().map(({ id }) => Number(id)),
    [18, 19, 20],
  )
  ring.push(event(21, 5000))
  assert.deepEqual(
    ring.all().map(({ id }) => Number(id)),
    [21],
  )
})

test('a ring that was cleared counts from nothing', () => {
  const ring = new EventRing({ events: 3, characters: 1000 })
  for (let serial = 1; serial <= 10; serial += 1) ring.push(event(serial))
  ring.clear()
  assert.deepEqual(ring.all(), [])
  ring.push(event(11))
  assert.equal(ring.size, 1)
})
