import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedEvents, recordedForms } from '../../../test/recordings/recordings.ts'
import { EventInspection } from './event-inspection.ts'
import type { PublishedEventKind } from '../topics.ts'

const DEVICE = '0102030405060708'
const GOOD = Buffer.from(JSON.stringify({ devEUI: DEVICE }))
const BAD = Buffer.from([0x0a, 0x24, 0x00])

function codeOf(payload: string | Buffer, devEui = DEVICE): string | undefined {
  return new EventInspection().inspect('up', devEui, { payload: Buffer.from(payload) }, 0)?.code
}

test('what a real ChirpStack writes as the documentation says is in order', () => {
  for (const version of ['v3', 'v4'] as const) {
    for (const { kind, devEui, payload } of recordedEvents(version)) {
      const inspection = new EventInspection()
      const fault = inspection.inspect(
        kind as PublishedEventKind,
        devEui,
        { payload: Buffer.from(JSON.stringify(payload)) },
        0,
      )
      assert.equal(fault, undefined, `${version} ${kind}`)
    }
  }
})

test('what real ChirpStacks write as Protocol Buffers, and ids in base64, is told with the setting to change', () => {
  const forms = [...recordedForms('v4'), ...recordedForms('v3')]
  assert.equal(forms.filter(({ kind }) => kind === 'up').length, 3)
  for (const { form, kind, devEui, hex } of forms) {
    const fault = new EventInspection().inspect(
      kind as PublishedEventKind,
      devEui,
      { payload: Buffer.from(hex, 'hex') },
      0,
    )
    assert.equal(fault?.code, form === 'protobuf' ? 'event_unreadable_binary' : 'event_unreadable_ids', kind)
    assert.match(fault?.reason ?? '', form === 'protobuf' ? /json=true.*ChirpStack v4/ : /marshaler="json_v3"/)
    // A list of refusals keeps 256 characters of a reason.
    assert.ok((fault?.reason.length ?? 0) <= 256)
  }
})

test('text, JSON that is no object, an empty payload and another device’s are told; what names no device is not', () => {
  for (const payload of ['temperature=21.5', '', '[1]', '"x"', 'null', '{"a":']) {
    assert.equal(codeOf(payload), 'event_unreadable_text', payload)
  }
  assert.equal(codeOf('{"devEUI":"0102030405060709"}'), 'event_unreadable_device')
  assert.equal(codeOf('{"deviceInfo":{"devEui":"0102030405060709"},"devEUI":"x"}'), 'event_unreadable_device')
  const unharmed = ['{}', '{"devEUI":7}', '{"deviceInfo":null}', '{"deviceInfo":{"devEui":"0102030405060708"}}']
  for (const payload of unharmed) assert.equal(codeOf(payload), undefined, payload)
  assert.equal(codeOf('{"devEUI":"A0B1C2D5000000FF"}', 'a0b1c2d5000000ff'), undefined)
  // A large payload is not parsed.
  assert.equal(codeOf(Buffer.alloc(65_537, 0x01)), undefined)
})

test('of each kind the first event is looked at, then one in 1,000, then the first one after a minute', () => {
  const inspection = new EventInspection()
  const looks = (second: number, events: number): number => {
    let seen = 0
    for (let index = 0; index < events; index += 1) {
      if (inspection.inspect('up', DEVICE, { payload: BAD }, second) !== undefined) seen += 1
    }
    return seen
  }
  assert.equal(looks(5, 1), 1)
  assert.equal(inspection.inspect('join', DEVICE, { payload: BAD }, 5)?.code, 'event_unreadable_binary')
  assert.equal(looks(5, 999), 0)
  assert.equal(looks(5, 1), 1)
  assert.equal(looks(64, 998), 0)
  assert.equal(looks(65, 2), 1)
  assert.equal(inspection.inspect('up', DEVICE, { payload: GOOD }, 130), undefined)
})

test('it is news once a minute, however many are looked at', () => {
  const inspection = new EventInspection()
  let news = 0
  let faults = 0
  for (let second = 0; second < 180; second += 1) {
    for (let index = 0; index < 1_000; index += 1) {
      const fault = inspection.inspect('up', DEVICE, { payload: BAD }, second)
      if (fault !== undefined) faults += 1
      if (fault?.isNews === true) news += 1
    }
  }
  assert.deepEqual([faults, news], [180, 3])
})
