import assert from 'node:assert/strict'
import { test } from 'node:test'
import { array, assert as assertProperty, asyncProperty, constantFrom, oneof, string } from 'fast-check'
import { faultOfTopicFilter, nearestEventKind } from './nearest-topic-filter.ts'
import type { KnownThings } from './nearest-topic-filter.ts'
import { EVENT_KINDS } from './topics.ts'

const OWN = '00005eef1000000b'
const SECOND = '00005eef1000000c'
const places: ReadonlyMap<string, string> = new Map([
  [OWN, '5'],
  [SECOND, '6'],
])
const known: KnownThings = {
  applicationIds: new Set(['5', '6']),
  applicationOf: (devEui) => places.get(devEui),
}

async function told(topicFilter: string): Promise<readonly (string | undefined)[]> {
  const fault = await faultOfTopicFilter(topicFilter, known)
  return [fault?.code, fault?.nearest]
}

test('a Topic Filter that events can match has no fault', async () => {
  const matching = [
    'application/5/device/+/event/+',
    'application/+/device/+/event/up',
    'application/5/device/x/event/response',
  ]
  for (const kind of EVENT_KINDS) matching.push(`application/5/device/${OWN}/event/${kind}`)
  for (const topicFilter of matching) assert.deepEqual(await told(topicFilter), [undefined, undefined], topicFilter)
})

test('each fault has its code, and the nearest Topic Filter keeps what is right', async () => {
  const all = 'application/5/device/+/event/+'
  const up = `application/5/device/${OWN}/event/up`
  const cases: readonly (readonly [string, string, string | undefined])[] = [
    ['#', 'wildcard_too_wide', undefined],
    ['application/5/#', 'wildcard_too_wide', all],
    [`application/+/device/${OWN}/event/up`, 'wildcard_too_wide', up],
    ['+/5/device/+/event/+', 'wildcard_too_wide', all],
    [`Application/5/device/${OWN}/event/up`, 'level_wrong', up],
    [`application/5/devices/${OWN}/event/up`, 'level_wrong', up],
    [`application/5/device/${OWN}/up`, 'level_missing', up],
    [`application/5/device/${OWN}`, 'level_count_wrong', `application/5/device/${OWN}/event/+`],
    [`/application/5/device/${OWN}/event/up`, 'level_count_wrong', up],
    [`application/5/device/${OWN}/command/down`, 'command_topic', `application/5/device/${OWN}/event/+`],
    [`application/5/device/${OWN.toUpperCase()}/event/up`, 'dev_eui_malformed', up],
    ['application/5/device/00-00-5E-EF-10-00-00-0B/event/up', 'dev_eui_malformed', up],
    ['application/5/device/meter/event/up', 'dev_eui_malformed', 'application/5/device/+/event/up'],
    [`application/5/device/${SECOND}/event/up`, 'device_elsewhere', `application/6/device/${SECOND}/event/up`],
    ['application/5/device/00005eef10000099/event/up', 'device_unknown', 'application/5/device/+/event/up'],
    [`application/5/device/${OWN}/event/uplink`, 'event_kind_unknown', up],
    ['application/5/device/+/event/UP', 'event_kind_unknown', 'application/5/device/+/event/up'],
    [`application/77/device/${OWN}/event/up`, 'application_unknown', up],
    ['application/77/device/+/event/up', 'application_unknown', undefined],
  ]
  for (const [topicFilter, code, nearest] of cases) {
    assert.deepEqual(await told(topicFilter), [code, nearest], topicFilter)
  }
})

test('the nearest Topic Filter never has a fault, and reasons stay short, whatever was asked', async () => {
  const level = oneof(
    constantFrom(
      'application',
      'device',
      'event',
      'Event',
      '5',
      '6',
      OWN,
      SECOND.toUpperCase(),
      '+',
      '#',
      'uplink',
      'up',
      '',
    ),
    string({ maxLength: 60 }),
  )
  await assertProperty(
    asyncProperty(array(level, { maxLength: 9 }), async (levels) => {
      const fault = await faultOfTopicFilter(levels.join('/'), known)
      if (fault === undefined) return
      assert.ok(fault.reason.length < 200)
      if (fault.nearest !== undefined) assert.equal(await faultOfTopicFilter(fault.nearest, known), undefined)
    }),
  )
})

test('a kind of event that people write in their own words stands for the real one', () => {
  const near = ['uplink', 'UP', 'joins', 'errors', 'gps', 'constructor', ''].map(nearestEventKind)
  assert.deepEqual(near, ['up', 'up', 'join', 'error', 'location', undefined, undefined])
})
