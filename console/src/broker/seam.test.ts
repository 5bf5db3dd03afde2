import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvent } from './live-event.ts'
import type { LiveEvent } from './live-event.ts'
import { Seam } from './seam.ts'

const event = (id: string | undefined): LiveEvent =>
  readEvent({ id, topicName: 'application/1/device/0101010101010101/event/up', text: '{}', receivedAtMs: 0 })
const idsOf = (events: readonly LiveEvent[]): (string | undefined)[] => events.map(({ id }) => id)

test('what is stored and live is shown once, in order', () => {
  const seam = new Seam()
  for (const id of ['3', '4', '5']) assert.equal(seam.live(event(id)), undefined)
  const stored = ['1', '2', '3', '4'].map(event)
  assert.deepEqual(idsOf(seam.close(stored, [])), ['1', '2', '3', '4', '5'])
  const next = event('6')
  assert.equal(seam.live(next), next)
})

test('after a reconnection only what was missed comes in, before what came since', () => {
  const seam = new Seam()
  const shown = seam.close(['1', '2'].map(event), [])
  seam.open()
  assert.equal(seam.live(event('5')), undefined)
  assert.deepEqual(idsOf(seam.close(['1', '2', '3', '4', '5'].map(event), shown)), ['3', '4', '5'])
})

test('events without an id are never taken for each other', () => {
  const seam = new Seam()
  seam.live(event(undefined))
  seam.live(event(undefined))
  assert.equal(seam.close([], []).length, 2)
})
