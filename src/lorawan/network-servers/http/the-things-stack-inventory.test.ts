/** The inventory of a stand-in of The Things Stack. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readApplications, readInventory } from '../../inventory/inventory.ts'
import { listing, openStandIn, STAND_IN_KEY } from './the-things-stack.testing.ts'
import type { StandIn } from './the-things-stack.testing.ts'
import { TheThingsStackInventory } from './the-things-stack-inventory.ts'

const SIGNAL = new AbortController().signal
const SCRIPT = 'function decodeUplink(input) { return { data: { battery: input.bytes[0] } } }'

function sourceOf({ url }: StandIn): TheThingsStackInventory {
  const headers = { authorization: `Bearer ${STAND_IN_KEY}` }
  return new TheThingsStackInventory({ baseUrl: new URL(url), headers, ca: undefined }, 'meters')
}

test('lists the application, its devices page by page, and one profile for each version', async () => {
  const formatters = { up_formatter: 'FORMATTER_JAVASCRIPT', up_formatter_parameter: SCRIPT }
  await using standIn = await openStandIn(listing(401, formatters))
  const { asked } = standIn
  const source = sourceOf(standIn)
  assert.deepEqual(await readApplications(source, SIGNAL), [
    { id: 'meters', name: 'Meters of the valley', description: '' },
  ])
  const { devices, profiles } = await readInventory(source, ['meters'], { withProfiles: true, signal: SIGNAL })
  assert.equal(devices.length, 401)
  assert.deepEqual(devices[17], {
    applicationId: 'meters',
    devEui: '0000000000000011',
    joinEui: '70b3d57ed0000000',
    name: 'Meter 17',
    description: '',
    profileId: 'acme/flow/2.0/EU_863_870',
    profileName: 'acme flow 2.0 EU_863_870',
    tags: { street: 'north' },
    variables: { theThingsStackDeviceId: 'meter-17' },
    isDisabled: false,
  })
  assert.deepEqual(
    [...profiles.values()],
    [
      {
        id: 'acme/flow/2.0/EU_863_870',
        name: 'acme flow 2.0 EU_863_870',
        description: '',
        vendor: 'acme',
        model: 'flow',
        firmwareVersion: '2.0',
        region: 'EU_863_870',
        deviceClass: '',
        payloadCodec: 'CUSTOM_JS',
        payloadDecoderScript: SCRIPT,
        payloadEncoderScript: '',
        expectedIntervalSeconds: 0,
        tags: {},
      },
    ],
  )
  const pages = asked.filter(({ pathname }) => pathname.endsWith('/devices'))
  assert.deepEqual(
    pages.map(({ searchParams }) => searchParams.get('page')),
    ['1', '2', '3'],
  )
  assert.equal(asked.filter(({ pathname }) => pathname.endsWith('/link')).length, 1)
})

test('a device with the default id needs no variable, and a device without DevEUI is left out', async () => {
  const ids = { device_id: 'eui-00000000000000aa', dev_eui: '00000000000000AA' }
  const listed = [{ ids }, { ids: { device_id: 'abp' } }, 'no device']
  await using standIn = await openStandIn(({ pathname }) =>
    pathname.endsWith('/link') ? { status: 404, body: {} } : { body: { end_devices: listed } },
  )
  const { devices, profiles } = await readInventory(sourceOf(standIn), ['meters'], {
    withProfiles: true,
    signal: SIGNAL,
  })
  assert.deepEqual(
    devices.map(({ devEui, name, variables, profileName }) => [devEui, name, variables, profileName]),
    [['00000000000000aa', 'eui-00000000000000aa', {}, 'meters']],
  )
  assert.equal(profiles.size, 0)
})

for (const [formatter, codec] of [
  ['FORMATTER_CAYENNELPP', 'CAYENNE_LPP'],
  ['FORMATTER_REPOSITORY', ''],
] as const) {
  test(`the default formatter ${formatter} makes the codec "${codec}"`, async () => {
    await using standIn = await openStandIn(listing(1, { up_formatter: formatter }))
    const { profiles } = await readInventory(sourceOf(standIn), ['meters'], { withProfiles: true, signal: SIGNAL })
    assert.equal([...profiles.values()][0]?.payloadCodec, codec)
  })
}

for (const [what, answer, code] of [
  ['a key without the right', { status: 403, body: { code: 7 } }, 'inventory_key_refused'],
  ['an error', { status: 500, body: 'no' }, 'inventory_failed'],
  ['no JSON', { body: '<html>' }, 'inventory_failed'],
  ['a list in the place of an object', { body: [] }, 'inventory_failed'],
  ['an answer beyond the bound', { body: `{"end_devices": [], "x": "${'x'.repeat(9_000_000)}"}` }, 'inventory_failed'],
] as const) {
  test(`${what} is the fault ${code}, and nothing of it is used`, async () => {
    await using standIn = await openStandIn(() => answer)
    await assert.rejects(readInventory(sourceOf(standIn), ['meters'], { withProfiles: false, signal: SIGNAL }), {
      code,
    })
  })
}

test('a server that lists pages for ever meets the bound of devices', async () => {
  await using standIn = await openStandIn(listing(1_000_000))
  await assert.rejects(readInventory(sourceOf(standIn), ['meters'], { withProfiles: false, signal: SIGNAL }), {
    code: 'inventory_too_large',
  })
})

test('a server that is away is inventory_unreachable', async () => {
  const target = { baseUrl: new URL('http://127.0.0.1:1'), headers: {}, ca: undefined }
  const source = new TheThingsStackInventory(target, 'meters')
  await assert.rejects(readApplications(source, SIGNAL), { code: 'inventory_unreachable' })
  source.close()
})
