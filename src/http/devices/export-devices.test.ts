import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { MAXIMUM_ENTRIES } from '../../identity/devices/device-rows.ts'
import { NO_PROFILE } from '../../identity/devices/device-profile.testing.ts'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'

const ACTOR = { userId: null }

let deployment: TestDeployment

beforeEach(async () => {
  deployment = await openTestDeployment()
})

afterEach(async () => {
  await deployment.close()
})

async function exported(query: string, person: Person = 'deviceAdmin') {
  const url = `/api/devices/export?${query}`
  return deployment.ask(await deployment.session(person), { method: 'GET', url })
}

async function imported(payload: string, query: string, person: Person = 'deviceAdmin') {
  const answer = await deployment.ask(await deployment.session(person), {
    method: 'POST',
    url: `/api/devices/import?applicationID=${deployment.applicationId}&${query}`,
    headers: { 'content-type': 'text/csv' },
    payload,
  })
  const report = answer.json<Readonly<Record<string, unknown>>>()
  const { createdCount, updatedCount, unchangedCount, refusedCount, errors } = report
  return { counts: [createdCount, updatedCount, unchangedCount, refusedCount].map(Number), errors, report }
}

const DEVICES = [
  { devEui: 'aa00000000000001', name: 'one, "first"', description: 'two\nlines', tags: { floor: '1' } },
  { devEui: 'aa00000000000002', name: '=HYPERLINK("http://x")', tags: { 'a:b': '+1' }, variables: { offset: '-0.5' } },
  {
    devEui: 'aa00000000000003',
    name: '-',
    isDisabled: true,
    deviceProfileId: 'theirs',
    deviceProfileName: 'Their, name',
  },
  { devEui: 'aa00000000000004', name: 'four', tags: { floor: '"' } },
]

/** Creates the devices; the last one has a device profile. */
async function make(): Promise<string> {
  const { registry, organizationId, applicationId } = deployment
  const profile = await registry.deviceProfiles.create(organizationId, { ...NO_PROFILE, name: 'Water; meter' }, ACTOR)
  assert.ok(profile.ok)
  const last = { deviceProfileId: profile.value.id, deviceProfileName: 'Water; meter' }
  for (const [index, device] of DEVICES.entries()) {
    const own = index === DEVICES.length - 1 ? last : {}
    assert.ok((await registry.devices.create({ ...device, ...own, applicationId }, ACTOR)).ok)
  }
  return profile.value.id
}

test('an export that is imported as it is changes nothing, and makes the same devices elsewhere', async () => {
  const profileId = await make()
  const { registry, organizationId, applicationId } = deployment
  const answer = await exported(`organizationID=${organizationId}`)
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8')
  const table = answer.body
  assert.match(
    table,
    /^devEUI,name,description,applicationID,profile,deviceProfileID,deviceProfileName,isDisabled,tag:a:b,/,
  )
  // No cell begins like a formula, except as a text.
  for (const cell of [/(?:^|,)=HYPERLINK/m, /,\+1/, /,-0\.5/]) assert.doesNotMatch(table, cell)
  const before = await Promise.all(DEVICES.map(({ devEui }) => registry.devices.get(devEui)))
  const again = await imported(table, 'update=true')
  assert.deepEqual(again.counts.slice(0, 2), [0, 0], JSON.stringify(again.errors))
  assert.equal(again.counts[3], 0)
  for (const { devEui } of DEVICES) assert.ok((await registry.devices.remove(devEui, ACTOR)).ok)
  assert.equal((await imported(table, 'update=true')).counts[0], DEVICES.length)
  for (const [index, { devEui }] of DEVICES.entries()) {
    const { createdAtMs: _, updatedAtMs: __, ...device } = (await registry.devices.get(devEui)) ?? assert.fail(devEui)
    assert.partialDeepStrictEqual(
      { ...before[index] },
      { ...device, tags: { ...device.tags }, variables: { ...device.variables } },
    )
    assert.equal(device.applicationId, applicationId)
  }
  assert.equal((await registry.devices.get('aa00000000000004'))?.deviceProfileId, profileId)
})

test('rows change the devices that exist: the members that they give, and no others', async () => {
  await make()
  const { registry } = deployment
  const table =
    'devEUI,name,tag:floor,tag:new,isDisabled\n' +
    'aa00000000000001,renamed,,x,\naa00000000000002,,,,\naa00000000000003,-,,,no\naa00000000000009,nine,,,\n'
  const look = await imported(table, 'update=true&dryRun=true')
  assert.deepEqual(look.counts, [1, 2, 1, 0])
  assert.equal((await registry.devices.get('aa00000000000001'))?.name, 'one, "first"')
  assert.deepEqual((await imported(table, 'update=true')).counts, [1, 2, 1, 0])
  const first = await registry.devices.get('aa00000000000001')
  assert.deepEqual(
    [first?.name, { ...first?.tags }, first?.description],
    ['renamed', { floor: '1', new: 'x' }, 'two\nlines'],
  )
  assert.equal((await registry.devices.get('aa00000000000003'))?.isDisabled, false)
  assert.equal((await registry.devices.get('aa00000000000009'))?.name, 'nine')
  // Without the wish, all of them are refused.
  assert.deepEqual((await imported(table, '')).counts, [0, 0, 0, 4])
})

test('a row never changes a device of another organization, and a member may not change any', async () => {
  const { registry, foreignApplicationId } = deployment
  const devEui = 'bb00000000000001'
  assert.ok((await registry.devices.create({ devEui, name: 'theirs', applicationId: foreignApplicationId }, ACTOR)).ok)
  const { counts, errors } = await imported(`devEUI,name\n${devEui},mine\n`, 'update=true')
  assert.deepEqual(counts, [0, 0, 0, 1])
  assert.partialDeepStrictEqual(errors, [{ reason: 'device_exists_elsewhere' }])
  assert.equal((await registry.devices.get(devEui))?.name, 'theirs')
  await make()
  const refused = await imported('devEUI,name\naa00000000000001,x\n', 'update=true', 'member')
  assert.notEqual(refused.report['code'], undefined)
  assert.equal((await registry.devices.get('aa00000000000001'))?.name, 'one, "first"')
})

test('an export needs a place, and has a bound on its columns', async () => {
  const { registry, applicationId, organizationId } = deployment
  assert.equal((await exported('')).statusCode, 400)
  const empty = await exported(`organizationID=${organizationId}`)
  assert.equal(empty.statusCode, 200)
  for (let number = 0; number * MAXIMUM_ENTRIES <= 500; number += 1) {
    const tags = Object.fromEntries(Array.from({ length: MAXIMUM_ENTRIES }, (_, index) => [`t${number}-${index}`, 'x']))
    const devEui = `cc000000000000${number.toString(16).padStart(2, '0')}`
    assert.ok((await registry.devices.create({ devEui, name: devEui, applicationId, tags }, ACTOR)).ok)
  }
  const wide = await exported(`applicationID=${applicationId}`)
  assert.equal(wide.statusCode, 400)
  assert.match(wide.body, /too_many_columns/)
})
