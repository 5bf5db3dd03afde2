import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { recordedEvents } from '../../../test/recordings/recordings.ts'
import { DeviceTags } from './event-tags.ts'

const TAGS = { floor: '3', site: 'north "A"' }
const WRITTEN = JSON.stringify(TAGS)

function into(event: string, tags: Readonly<Record<string, string>> = TAGS): string {
  return new DeviceTags(tags).into(Buffer.from(event)).toString()
}

test('tags go where the family has them, and every other byte stays', () => {
  assert.equal(into('{"devEUI":"01","tags":{},"fCnt":1.50}'), `{"devEUI":"01","tags":${WRITTEN},"fCnt":1.50}`)
  assert.equal(into('{ "a" : [1,{"tags":{}}],\n"tags" : null }'), `{ "a" : [1,{"tags":{}}],\n"tags" : ${WRITTEN} }`)
  assert.equal(
    into('{"time":"x","deviceInfo":{"devEui":"01","tags":{}},"object":{"tags":{}}}'),
    `{"time":"x","deviceInfo":{"devEui":"01","tags":${WRITTEN}},"object":{"tags":{}}}`,
  )
})

test('members of other objects that are called so are left alone', () => {
  const others = [
    '{"object":{"tags":{"a":"1"}}}',
    '{"object":[{"tags":{}}]}',
    '{"x\\"tags":{"a":"1"}}',
    '{"x\\"deviceInfo":{"tags":{}}}',
    '{"object":{"deviceInfo":{"tags":{}}}}',
  ]
  for (const event of others) assert.equal(into(event), `{"tags":${WRITTEN},${event.slice(1)}`, event)
  assert.equal(
    into('{"deviceInfo":{"devEui":"01"},"object":{"tags":{}}}'),
    `{"deviceInfo":{"tags":${WRITTEN},"devEui":"01"},"object":{"tags":{}}}`,
  )
})

test('an event without tags gets them in front', () => {
  assert.equal(into('{"devEUI":"01"}'), `{"tags":${WRITTEN},"devEUI":"01"}`)
  assert.equal(into('{}'), `{"tags":${WRITTEN}}`)
  assert.equal(into('{"deviceInfo":{"devEui":"01"}}'), `{"deviceInfo":{"tags":${WRITTEN},"devEui":"01"}}`)
  assert.equal(into('{"deviceInfo":{ }}'), `{"deviceInfo":{"tags":${WRITTEN} }}`)
})

test('the network server’s own tags stay, and of one name the registry’s value stands', () => {
  const event = '{"tags":{"floor":"1","valley":"north","__proto__":"x"}}'
  assert.equal(into(event, { floor: '3' }), '{"tags":{"floor":"3","valley":"north","__proto__":"x"}}')
  assert.equal(into('{"tags":{"a":"1"}}', { constructor: 'x' }), '{"tags":{"a":"1","constructor":"x"}}')
})

test('one after the other, each event gets the tags that go with what was sent', () => {
  const tags = new DeviceTags({ floor: '3' })
  for (const sent of ['{"a":"1"}', '{"a":"1"}', '{"a":"2"}', '{}', '{"a":"1"}']) {
    const event = tags.into(Buffer.from(`{"tags":${sent},"x":1}`)).toString()
    assert.deepEqual(JSON.parse(event), { tags: { ...(JSON.parse(sent) as object), floor: '3' }, x: 1 })
  }
})

test('what is no JSON object, breaks off, is too large, or has them already is the very same payload', () => {
  const large = `{"tags":{},"a":"${'x'.repeat(65_536)}"}`
  const others = ['', 'tags', '[{"tags":{}}]', '{"tags', '{"a":"', '{"tags":[1]}', '{"deviceInfo":"x"}', '\n$1', large]
  for (const text of [...others, `{"tags":${WRITTEN}}`]) {
    const payload = Buffer.from(text)
    assert.equal(new DeviceTags(TAGS).into(payload), payload, text.slice(0, 40))
  }
})

test('every event of a real ChirpStack gets them, and is else what it was', () => {
  const tags = { valley: 'south', floor: '3' }
  for (const version of ['v3', 'v4'] as const) {
    for (const { payload } of recordedEvents(version)) {
      const event = JSON.parse(into(JSON.stringify(payload), tags)) as Record<string, unknown>
      const before = structuredClone(payload) as Record<string, unknown>
      const place = (version === 'v4' ? before['deviceInfo'] : before) as Record<string, unknown>
      place['tags'] = { ...(place['tags'] as object), ...tags }
      assert.deepEqual(event, before)
    }
  }
})

test('any JSON object stays what it is but for its tags', () => {
  const nested = fc.constantFrom<fc.JsonValue>(
    { tags: {} },
    { deviceInfo: { tags: {} } },
    [{ tags: { x: '1' } }],
    '"tags":{',
  )
  const value = fc.oneof(fc.jsonValue(), nested)
  const event = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('tags"', 'a\\', 'x"tags', '"deviceInfo')), value)
  fc.assert(
    fc.property(event, fc.boolean(), fc.constantFrom(0, 2), (members, isOfFamilyB, space) => {
      const own = { a: '{"tags":1}', '"tags"': '\\' }
      const before: Record<string, unknown> = isOfFamilyB
        ? { ...members, deviceInfo: { ...members, tags: own }, tags: 1 }
        : { ...members, tags: own }
      if (!isOfFamilyB) delete before['deviceInfo']
      const after = JSON.parse(into(JSON.stringify(before, undefined, space))) as Record<string, unknown>
      const place = (isOfFamilyB ? before['deviceInfo'] : before) as Record<string, unknown>
      // Other members of family B's events are not looked at.
      for (const whole of isOfFamilyB ? [before, after] : []) delete whole['tags']
      place['tags'] = { ...own, ...TAGS }
      assert.deepEqual(after, JSON.parse(JSON.stringify(before)))
    }),
  )
})
