import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addApplication,
  addOrganization,
  devEuiOf,
  nobody,
  openTestRegistry,
  reasonOf,
  valueOf,
} from '../registry.testing.ts'
import { NO_PROFILE } from './device-profile.testing.ts'
import { decodesPortOf } from './profile-ports.ts'
import { PROFILE_BOUNDS } from './profile-rules.ts'

test('a profile is kept as it was given, is announced, and applies to devices of its organization alone', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const zenith = await addOrganization(registry, 'zenith')
  const told: object[] = []
  registry.changes.subscribe((change) => told.push(change))
  const fields = {
    ...NO_PROFILE,
    vendor: 'Maker',
    payloadCodec: 'CUSTOM_JS' as const,
    payloadDecoderScript: 'function Decode() { return 1 }',
    tags: { kind: 'meter' },
    marginLimitDb: -5,
    testVectors: [{ name: 'a', fPort: 1, bytes: '01', expected: { data: 1 } }],
  }
  const { id } = valueOf(await registry.deviceProfiles.create(acme, fields, nobody))
  assert.deepEqual(told, [{ kind: 'device_profile_changed', profileId: id, organizationId: acme }])
  assert.partialDeepStrictEqual(await registry.deviceProfiles.get(id), {
    ...fields,
    organizationId: acme,
    codecVersion: 1,
  })
  const { items } = await registry.deviceProfiles.list(acme, { limit: 10, offset: 0, search: 'MAKER' })
  assert.deepEqual(
    items.map((item) => [item.id, 'testVectors' in item]),
    [[id, false]],
  )
  assert.equal((await registry.deviceProfiles.list(zenith, { limit: 10, offset: 0 })).totalCount, 0)
  for (const [organizationId, devEui] of [
    [acme, devEuiOf(1)],
    [zenith, devEuiOf(2)],
  ] as const) {
    const applicationId = await addApplication(registry, organizationId, 'meters')
    const device = { devEui, name: devEui, applicationId, deviceProfileId: id }
    valueOf(await registry.devices.create(device, nobody))
  }
  assert.equal((await registry.directory.device(devEuiOf(1)))?.profileId, id)
  assert.equal((await registry.directory.device(devEuiOf(2)))?.profileId, undefined)
  assert.equal(await registry.deviceProfiles.deviceCount(id), 1)
})

test('a change of the codec is a version with its author, and the versions are bounded', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const acme = await addOrganization(registry, 'acme')
  const { id } = valueOf(await registry.deviceProfiles.create(acme, NO_PROFILE, nobody))
  valueOf(await registry.deviceProfiles.update(id, { name: 'Renamed' }, nobody))
  assert.deepEqual(
    (await registry.deviceProfiles.versions(id)).map(({ version }) => version),
    [1],
  )
  for (let count = 2; count <= PROFILE_BOUNDS.versions + 2; count += 1) {
    clock.advance(1_000)
    valueOf(await registry.deviceProfiles.update(id, { payloadDecoderScript: `// ${count}` }, { userId: '7' }))
  }
  const versions = await registry.deviceProfiles.versions(id)
  assert.equal(versions.length, PROFILE_BOUNDS.versions)
  assert.partialDeepStrictEqual(versions[0], { version: 22, actorUserId: '7', createdAtMs: clock.now() })
  assert.equal(await registry.deviceProfiles.version(id, 2), undefined)
  assert.equal((await registry.deviceProfiles.version(id, 3))?.payloadDecoderScript, '// 3')
  // Long scripts leave room for fewer versions, and the newest stays.
  for (const letter of 'abcdefgh') {
    const payloadDecoderScript = letter.repeat(PROFILE_BOUNDS.script)
    valueOf(await registry.deviceProfiles.update(id, { payloadDecoderScript }, nobody))
  }
  const sizes = (await registry.deviceProfiles.versions(id)).map(({ size }) => size)
  assert.deepEqual(
    sizes,
    Array.from({ length: 5 }, () => PROFILE_BOUNDS.script),
  )
})

test('a profile in use is only removed with detach, which leaves its devices without one', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const applicationId = await addApplication(registry, acme, 'meters')
  const { id } = valueOf(await registry.deviceProfiles.create(acme, NO_PROFILE, nobody))
  const devices = Array.from({ length: 101 }, (_, index) => {
    const devEui = devEuiOf(index + 1)
    return { devEui, name: devEui, applicationId, deviceProfileId: id }
  })
  await registry.devices.createMany(devices, nobody)
  assert.equal((await registry.directory.device(devEuiOf(101)))?.profileId, id)
  const refused = await registry.deviceProfiles.remove(id, { detach: false }, nobody)
  assert.equal(reasonOf(refused), 'device_profile_in_use')
  assert.match(refused.ok ? '' : refused.message, /^101 devices have the device profile/)
  valueOf(await registry.deviceProfiles.remove(id, { detach: true }, nobody))
  assert.equal(await registry.deviceProfiles.get(id), undefined)
  assert.deepEqual(await registry.deviceProfiles.versions(id), [])
  assert.equal((await registry.directory.device(devEuiOf(101)))?.profileId, undefined)
  assert.equal((await registry.devices.get(devEuiOf(101)))?.deviceProfileId, '')
})

test('wrong fields, a name that is taken and too many characters are refused', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const create = async (fields: object): Promise<string> =>
    reasonOf(await registry.deviceProfiles.create(acme, { ...NO_PROFILE, ...fields }, nobody))
  assert.equal(await create({}), 'ok')
  assert.equal(await create({}), 'device_profile_exists')
  const vector = { name: 'a', fPort: 1, bytes: '01', expected: { data: 1 } }
  for (const fields of [
    { vendor: 'a\nb' },
    { batteryLimitPercent: 101 },
    { expectedIntervalSeconds: 0.5 },
    {
      fPortRules: [
        { fPort: 1, use: 'DECODE' },
        { fPort: 1, use: 'PASS' },
      ],
    },
    { fPortRules: [{ fPort: 256, use: 'PASS' }] },
    { testVectors: [{ ...vector, bytes: '0' }] },
    { testVectors: [{ ...vector, expected: {} }] },
    { testVectors: [{ name: 'b', object: 1, expectedBytes: 'x' }] },
    { testVectors: Array.from({ length: PROFILE_BOUNDS.vectors + 1 }, () => vector) },
  ]) {
    assert.equal(
      await create({ name: 'other', ...fields }),
      'invalid_device_profile',
      JSON.stringify(fields).slice(0, 80),
    )
  }
  assert.equal(await create({ name: 'other', payloadCodec: 'LUA' }), 'invalid_payload_codec')
  const script = 'x'.repeat(PROFILE_BOUNDS.script)
  const outcomes: string[] = []
  for (let count = 0; count < 33; count += 1) {
    outcomes.push(await create({ name: `long ${count}`, payloadDecoderScript: script, payloadEncoderScript: script }))
  }
  assert.deepEqual([outcomes[30], outcomes[32]], ['ok', 'device_profiles_too_large'])
})

test('an organization that is removed takes its profiles along', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const { id } = valueOf(await registry.deviceProfiles.create(acme, NO_PROFILE, nobody))
  valueOf(await registry.organizations.remove(acme, nobody))
  assert.equal(await registry.deviceProfiles.get(id), undefined)
})

test('rules of FPorts: with a DECODE only its FPorts are decoded, with PASS alone all others', () => {
  assert.equal(decodesPortOf([]), undefined)
  const only = decodesPortOf([
    { fPort: 2, use: 'DECODE' },
    { fPort: 3, use: 'PASS' },
  ])
  assert.deepEqual(
    [1, 2, 3].map((fPort) => only?.(fPort)),
    [false, true, false],
  )
  const but = decodesPortOf([{ fPort: 3, use: 'PASS' }])
  assert.deepEqual(
    [1, 3].map((fPort) => but?.(fPort)),
    [true, false],
  )
})
