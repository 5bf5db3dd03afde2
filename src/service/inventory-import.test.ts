import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addApplication, addOrganization, nobody, openTestRegistry, valueOf } from '../identity/registry.testing.ts'
import type { Registry } from '../identity/registry.ts'
import { importInventory } from '../lorawan/inventory/inventory-import.ts'
import type { InventoryDevice, InventoryProfile, InventorySource } from '../lorawan/inventory/inventory.ts'
import type { ImportReport, ImportSettings } from '../lorawan/inventory/import-settings.ts'
import { inventoryRegistry } from './inventory-registry.ts'

const WATER = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const HEAT = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c12'
const SCRIPT = 'function decodeUplink({ bytes }) { return { data: { litres: bytes[0] } } }'

/** A network server whose lists a test changes. */
class FakeNetworkServer implements InventorySource {
  applicationList = [
    { id: WATER, name: 'water', description: 'meters' },
    { id: HEAT, name: 'heat', description: '' },
  ]
  readonly deviceList = new Map<string, InventoryDevice[]>()
  readonly profileList = new Map<string, InventoryProfile>()

  async *applications() {
    yield* this.applicationList
  }

  async *devices(applicationId: string) {
    yield* this.deviceList.get(applicationId) ?? []
  }

  async profile(profileId: string) {
    return this.profileList.get(profileId)
  }

  close() {}
}

function deviceOf(devEui: string, members: Partial<InventoryDevice> = {}): InventoryDevice {
  return {
    devEui,
    joinEui: '0202020202020202',
    name: `meter ${devEui.slice(-2)}`,
    description: '',
    profileId: 'p1',
    profileName: 'Water meter',
    tags: { street: 'north' },
    variables: {},
    isDisabled: false,
    ...members,
  }
}

function profileOf(members: Partial<InventoryProfile> = {}): InventoryProfile {
  return {
    id: 'p1',
    name: 'Water meter',
    description: '',
    vendor: '',
    model: '',
    firmwareVersion: '',
    region: 'EU868',
    deviceClass: 'A',
    payloadCodec: 'CUSTOM_JS',
    payloadDecoderScript: SCRIPT,
    payloadEncoderScript: '',
    expectedIntervalSeconds: 3600,
    tags: {},
    ...members,
  }
}

interface Opened {
  readonly registry: Registry
  readonly server: FakeNetworkServer
  readonly organizationId: string
  /** Imports, with these settings in the place of the usual ones. */
  readonly run: (
    settings?: Partial<ImportSettings>,
    options?: { readonly isDryRun?: boolean; readonly removable?: ReadonlySet<string> },
  ) => Promise<ImportReport>
}

async function withServer(work: (opened: Opened) => Promise<void>): Promise<void> {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const server = new FakeNetworkServer()
  server.profileList.set('p1', profileOf())
  server.deviceList.set(WATER, [deviceOf('0000000000000001'), deviceOf('0000000000000002', { isDisabled: true })])
  const checks = {
    checkScript: async (_: string, script: string) =>
      script.includes('!!')
        ? {
            ok: false as const,
            code: 'script_exception' as const,
            message: 'unexpected token',
            line: 1,
            durationMs: 1,
            console: [],
          }
        : undefined,
  }
  await work({
    registry,
    server,
    organizationId,
    run: (settings = {}, { isDryRun = false, removable } = {}) =>
      importInventory(
        {
          source: server,
          registry: inventoryRegistry(registry, checks, nobody),
          networkServer: { name: 'main', url: 'http://chirpstack:8080' },
          signal: new AbortController().signal,
          ...(removable === undefined ? {} : { removable }),
        },
        {
          organizationId,
          applications: undefined,
          createsApplications: true,
          givesIds: true,
          profiles: 'IMPORT',
          tags: {},
          ...settings,
        },
        { isDryRun },
      ),
  })
}

test('a look writes nothing, and tells what the import then does', () =>
  withServer(async ({ registry, organizationId, run }) => {
    const look = await run({}, { isDryRun: true })
    const everything = { limit: 100, offset: 0, organizationId }
    const viewer = { userId: '0', isAdmin: true }
    assert.equal((await registry.applications.list(viewer, everything)).totalCount, 0)
    assert.equal((await registry.devices.list(viewer, everything)).totalCount, 0)
    assert.equal((await registry.deviceProfiles.list(organizationId, everything)).totalCount, 0)
    const done = await run()
    for (const report of [look, done]) {
      assert.deepEqual([report.created, report.updated, report.unchanged, report.refused], [2, 0, 0, 0])
      assert.deepEqual(
        report.applications.map(({ name, outcome }) => [name, outcome]),
        [
          ['water', 'created'],
          ['heat', 'created'],
        ],
      )
      assert.deepEqual(
        report.profiles.map(({ name, outcome }) => [name, outcome]),
        [['Water meter', 'created']],
      )
      assert.equal(report.devices[0]?.joinEui, '0202020202020202')
    }
    assert.equal((await registry.applications.get(WATER))?.description, 'meters')
    const device = await registry.devices.get('0000000000000001')
    const { items } = await registry.deviceProfiles.list(organizationId, everything)
    assert.deepEqual(items[0]?.source, { name: 'main', licence: '', url: 'http://chirpstack:8080', version: 'p1' })
    assert.equal(items[0]?.expectedIntervalSeconds, 3600)
    assert.equal(device?.deviceProfileId, items[0]?.id)
    assert.deepEqual(device?.tags, { street: 'north' })
    assert.deepEqual(device?.variables, { inventoryOf: 'main' })
    assert.equal((await registry.devices.get('0000000000000002'))?.isDisabled, true)
    assert.equal((await registry.deviceProfiles.get(items[0]?.id ?? ''))?.payloadDecoderScript, SCRIPT)
  }))

test('a second import changes nothing', () =>
  withServer(async ({ run }) => {
    await run()
    const again = await run()
    assert.deepEqual([again.created, again.updated, again.unchanged, again.devices], [0, 0, 2, []])
    assert.deepEqual(
      again.profiles.map(({ outcome }) => outcome),
      ['unchanged'],
    )
  }))

test('what changed at the network server changes here, and what was set here stays', () =>
  withServer(async ({ registry, server, run }) => {
    await run()
    const set = {
      tags: { street: 'north', own: 'tag' },
      variables: { inventoryOf: 'main', key: '1' },
      isDisabled: true,
    }
    valueOf(await registry.devices.update('0000000000000001', set, nobody))
    server.deviceList.set(WATER, [deviceOf('0000000000000001', { name: 'renamed', tags: { street: 'south' } })])
    server.deviceList.set(HEAT, [deviceOf('0000000000000002')])
    server.profileList.set('p1', profileOf({ name: 'Renamed profile', payloadDecoderScript: `${SCRIPT} ` }))
    const look = await run({}, { isDryRun: true })
    const done = await run()
    for (const report of [look, done]) {
      assert.deepEqual(
        report.devices.map(({ devEui, outcome, members }) => [devEui, outcome, members]),
        [
          ['0000000000000001', 'updated', ['name', 'deviceProfileName', 'tags']],
          ['0000000000000002', 'updated', ['applicationId', 'deviceProfileName']],
        ],
      )
      assert.deepEqual(report.profiles[0]?.members, ['name', 'payloadDecoderScript'])
    }
    const first = await registry.devices.get('0000000000000001')
    assert.equal(first?.name, 'renamed')
    assert.deepEqual(first?.tags, { street: 'south', own: 'tag' })
    assert.deepEqual(first?.variables, set.variables)
    assert.equal(first?.isDisabled, true)
    assert.equal((await registry.devices.get('0000000000000002'))?.applicationId, HEAT)
    const profile = await registry.deviceProfiles.get(first?.deviceProfileId ?? '')
    assert.equal(profile?.name, 'Renamed profile')
    assert.equal(profile?.codecVersion, 2)
  }))

test('a device of another organization is refused, and not touched', () =>
  withServer(async ({ registry, run }) => {
    const zenith = await addOrganization(registry, 'zenith')
    const applicationId = await addApplication(registry, zenith, 'meters')
    const device = { devEui: '0000000000000001', name: 'theirs', applicationId }
    valueOf(await registry.devices.create(device, nobody))
    for (const isDryRun of [true, false]) {
      const report = await run({}, { isDryRun })
      assert.deepEqual([report.created, report.refused], [1, 1])
      const refused = report.devices.find(({ outcome }) => outcome === 'refused')
      assert.equal(refused?.reason, 'device_exists_elsewhere')
      assert.equal(refused.devEui, '0000000000000001')
    }
    assert.equal((await registry.devices.get('0000000000000001'))?.name, 'theirs')
  }))

test('a missing device is told and stays; it is removed on wish, once two runs have missed it', () =>
  withServer(async ({ registry, server, run }) => {
    await run()
    const byHand = { devEui: '00000000000000aa', name: 'by hand', applicationId: WATER }
    valueOf(await registry.devices.create(byHand, nobody))
    server.deviceList.set(WATER, [deviceOf('0000000000000001')])
    const first = await run({}, { removable: new Set() })
    assert.deepEqual([first.missing, first.removed, first.missingDevEuis], [1, 0, ['0000000000000002']])
    const look = await run({}, { isDryRun: true, removable: new Set(first.missingDevEuis) })
    assert.deepEqual([look.missing, look.removed], [1, 0])
    const second = await run({}, { removable: new Set(first.missingDevEuis) })
    assert.deepEqual([second.missing, second.removed], [0, 1])
    assert.equal(await registry.devices.get('0000000000000002'), undefined)
    assert.notEqual(await registry.devices.get('00000000000000aa'), undefined)
    // A right that was taken away makes the lists empty.
    server.deviceList.clear()
    const empty = await run({}, { removable: new Set(['0000000000000001']) })
    assert.deepEqual([empty.missing, empty.removed], [1, 0])
  }))

test('named applications are imported alone, and only into applications of the organization', () =>
  withServer(async ({ registry, server, organizationId, run }) => {
    const zenith = await addOrganization(registry, 'zenith')
    const theirs = await addApplication(registry, zenith, 'theirs')
    const ours = await addApplication(registry, organizationId, 'ours')
    server.deviceList.set(HEAT, [deviceOf('0000000000000003')])
    const report = await run({ applications: { [HEAT]: ours } })
    assert.deepEqual(
      report.applications.map(({ applicationId, outcome }) => [applicationId, outcome]),
      [
        ['', 'leftOut'],
        [ours, 'unchanged'],
      ],
    )
    assert.equal(report.created, 1)
    const foreign = await run({ applications: { [WATER]: theirs } })
    assert.deepEqual(foreign.applications[0]?.reason, 'application_not_found')
    assert.equal(foreign.created + foreign.updated, 0)
  }))

test('a chosen application that the network server does not have is told, and its devices are missing and stay', () =>
  withServer(async ({ registry, server, organizationId, run }) => {
    const ours = await addApplication(registry, organizationId, 'ours')
    const others = await addApplication(registry, organizationId, 'others')
    server.deviceList.set(HEAT, [deviceOf('0000000000000003')])
    const chosen = { applications: { [WATER]: ours, [HEAT]: others } }
    await run(chosen)
    server.applicationList = server.applicationList.filter(({ id }) => id !== WATER)
    const gone = {
      id: WATER,
      name: WATER,
      applicationId: ours,
      outcome: 'missing',
      reason: 'network_server_application_not_found',
      message: 'the network server has no application with this id',
    }
    const removable = new Set(['0000000000000001', '0000000000000002'])
    for (const isDryRun of [true, false]) {
      const report = await run(chosen, { isDryRun, removable })
      assert.deepEqual(report.applications.at(-1), gone)
      assert.equal(report.applications.length, 2)
      assert.deepEqual([report.unchanged, report.refused, report.missing, report.removed], [1, 0, 2, 0])
      assert.deepEqual(report.missingDevEuis, [...removable])
    }
    // A device that has gone from another application is removed as ever.
    server.deviceList.set(HEAT, [deviceOf('0000000000000004')])
    const later = await run(chosen, { removable: new Set([...removable, '0000000000000003']) })
    assert.deepEqual([later.created, later.missing, later.removed], [1, 2, 1])
    assert.notEqual(await registry.devices.get('0000000000000001'), undefined)
    const both = await run({ applications: { [WATER]: 'none' } }, { isDryRun: true })
    assert.deepEqual(both.applications.at(-1), { ...gone, applicationId: '' })
  }))

test('a script that is no JavaScript makes no profile; its devices come without one', () =>
  withServer(async ({ registry, server, run }) => {
    server.profileList.set('p1', profileOf({ payloadDecoderScript: 'function !!' }))
    const report = await run()
    assert.deepEqual([report.profiles[0]?.outcome, report.profiles[0]?.reason], ['refused', 'script_not_parsed'])
    const device = await registry.devices.get('0000000000000001')
    assert.deepEqual([device?.deviceProfileId, device?.deviceProfileName], ['p1', 'Water meter'])
  }))

test('a profile of the same name that was made here stays as it is, and the devices get it', () =>
  withServer(async ({ registry, server, organizationId, run }) => {
    await run()
    const { items } = await registry.deviceProfiles.list(organizationId, { limit: 10, offset: 0 })
    const id = items[0]?.id ?? ''
    valueOf(
      await registry.deviceProfiles.update(id, { source: null, payloadDecoderScript: 'function Decode() {}' }, nobody),
    )
    server.deviceList.get(WATER)?.push(deviceOf('0000000000000003'))
    const report = await run()
    assert.equal(report.profiles[0]?.reason, 'device_profile_exists')
    assert.equal((await registry.devices.get('0000000000000003'))?.deviceProfileId, id)
    assert.equal((await registry.deviceProfiles.get(id))?.payloadDecoderScript, 'function Decode() {}')
    const byName = await run({ profiles: 'BY_NAME' })
    assert.deepEqual([byName.updated, byName.unchanged], [0, 3])
    const none = await run({ profiles: 'NONE' })
    assert.equal(none.updated, 3)
    assert.equal((await registry.devices.get('0000000000000003'))?.deviceProfileId, 'p1')
  }))

test('an inventory beyond its bounds changes nothing', () =>
  withServer(async ({ registry, server, run }) => {
    const many = Array.from({ length: 20_001 }, (_, index) => deviceOf(index.toString(16).padStart(16, '0')))
    server.deviceList.set(WATER, many)
    await assert.rejects(run(), { code: 'inventory_too_large' })
    assert.equal(await registry.applications.get(WATER), undefined)
  }))
