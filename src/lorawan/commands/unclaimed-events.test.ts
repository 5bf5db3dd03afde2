import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { UnclaimedEvents } from './unclaimed-events.ts'

let events: UnclaimedEvents

beforeEach(() => {
  events = new UnclaimedEvents()
})

describe('events about downlinks that belong to no known command', () => {
  it('are claimed by their id, once, in their order', () => {
    keep('1', 'a', 'x', 'first')
    keep('1', 'a', 'y', 'other')
    keep('1', 'a', 'x', 'second')
    assert.deepEqual(events.ids('1', 'a'), ['x', 'y'])
    assert.deepEqual(claimed('1', 'a', 'x'), ['first', 'second'])
    assert.deepEqual(claimed('1', 'a', 'x'), [])
    assert.deepEqual(events.ids('1', 'a'), ['y'])
    events.forget('a')
    assert.deepEqual(events.ids('1', 'a'), [])
  })

  it('belong to the organization of the device at that time', () => {
    keep('1', 'a', 'x', 'secret')
    assert.deepEqual(claimed('2', 'a', 'x'), [])
    assert.deepEqual(events.ids('1', 'a'), [])
  })

  it('are kept of each device up to six, of 500 devices of one organization, and of 2,000 devices in all', () => {
    for (let index = 0; index < 7; index += 1) keep('1', 'a', `${index}`, '')
    assert.equal(events.ids('1', 'a').length, 6)
    for (let index = 1; index < 501; index += 1) keep('1', `a${index}`, 'x', '')
    assert.deepEqual([events.ids('1', 'a499'), events.ids('1', 'a500')], [['x'], []])
    for (const organizationId of ['2', '3', '4']) {
      for (let index = 0; index < 500; index += 1) keep(organizationId, `${organizationId}-${index}`, 'x', '')
    }
    assert.equal(events.ids('1', 'a').length, 6)
    keep('5', 'b', 'x', '')
    // The earliest device makes room.
    assert.deepEqual([events.ids('5', 'b'), events.ids('1', 'a')], [['x'], []])
  })

  it('are not kept when they are large', () => {
    keep('1', 'a', 'x', 'x'.repeat(4_097))
    assert.deepEqual(events.ids('1', 'a'), [])
  })
})

function keep(organizationId: string, devEui: string, id: string, payload: string): void {
  events.keep(organizationId, id, { devEui, kind: 'txack', payload: Buffer.from(payload) })
}

function claimed(organizationId: string, devEui: string, id: string): string[] {
  return events.claim(organizationId, devEui, id).map(({ payload }) => payload.toString())
}
