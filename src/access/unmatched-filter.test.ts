import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DevicePlace } from '../identity/devices/directory.ts'
import { EVENT_KINDS } from '../lorawan/topics.ts'
import { whyUnmatched } from './unmatched-filter.ts'

const OWN = '0102030405060708'
const OTHER_APPLICATION = '0102030405060709'
const FOREIGN = '010203040506070a'
const DISABLED = '010203040506070b'
const NOBODY = '010203040506070c'

const places: Readonly<Record<string, DevicePlace>> = {
  [OWN]: { applicationId: '5', organizationId: '1', isDisabled: false, hasTags: false },
  [OTHER_APPLICATION]: { applicationId: '6', organizationId: '1', isDisabled: false, hasTags: false },
  [FOREIGN]: { applicationId: '7', organizationId: '2', isDisabled: false, hasTags: false },
  [DISABLED]: { applicationId: '5', organizationId: '1', isDisabled: true, hasTags: false },
}

function why(tail: string) {
  const directory = { device: (devEui: string) => places[devEui] }
  return whyUnmatched(`application/5/device/${tail}`, (applicationId) => ['5', '6'].includes(applicationId), directory)
}

async function codeOf(tail: string): Promise<string | undefined> {
  return (await why(tail))?.code
}

test('what an event may match is not marked, and a Response Topic is not', async () => {
  const matching = ['+/event/+', `${OWN}/event/+`, '+/event/response', 'reader-7/event/response']
  for (const kind of [...EVENT_KINDS, 'log', 'integration']) matching.push(`${OWN}/event/${kind}`, `+/event/${kind}`)
  for (const tail of matching) assert.equal(await codeOf(tail), undefined, tail)
})

test('a kind that no event has is marked, with the right kind where one is near', async () => {
  assert.deepEqual(await why(`${OWN}/event/uplink`), {
    code: 'event_kind_unknown',
    reason: 'no event is of the kind "uplink": write up',
  })
  const listed = /: write up, join, ack, error, status, location, txack, state or \+$/
  assert.match((await why('+/event/constructor'))?.reason ?? '', listed)
  assert.equal((await why('+/event/UP'))?.reason, 'no event is of the kind "UP": write up')
  assert.equal(await codeOf('+/event/'), 'event_kind_unknown')
  const long = await why(`+/event/${'x'.repeat(9_000)}`)
  assert.ok((long?.reason.length ?? 0) < 200)
})

test('a DevEUI in another form than that of topics is marked, with the form that matches', async () => {
  const forms = ['00005EEF1000000B', '0x00005eef1000000b', '00-00-5E-EF-10-00-00-0B', '00:00:5e:ef:10:00:00:0b']
  for (const form of forms) {
    const unmatched = await why(`${form}/event/up`)
    assert.deepEqual(
      [unmatched?.code, unmatched?.reason.endsWith('write 00005eef1000000b')],
      ['dev_eui_malformed', true],
      form,
    )
  }
  assert.match((await why('meter-7/event/up'))?.reason ?? '', /16 hexadecimal digits/)
})

test('a device of nobody and one of another organization read the same; one of the own organization is placed', async () => {
  assert.deepEqual(await why(`${FOREIGN}/event/up`), await why(`${NOBODY}/event/up`))
  assert.equal(await codeOf(`${NOBODY}/event/up`), 'device_unknown')
  assert.deepEqual(await why(`${OTHER_APPLICATION}/event/+`), {
    code: 'device_elsewhere',
    reason: `the device belongs to application 6: write application/6/device/${OTHER_APPLICATION}/event/+`,
  })
  assert.equal(await codeOf(`${DISABLED}/event/+`), 'device_disabled')
})
