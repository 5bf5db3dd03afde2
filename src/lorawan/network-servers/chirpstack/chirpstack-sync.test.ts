import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import grpc from '@grpc/grpc-js'
import { apiOf, APPLICATION, FakeChirpStack, TENANT } from '../../../../test/support/fake-chirpstack.ts'
import type { FakeDevice } from '../../../../test/support/fake-chirpstack.ts'
import { NO_PROFILE } from '../../../identity/devices/device-profile.testing.ts'
import { nobody, openTestRegistry, valueOf } from '../../../identity/registry.testing.ts'
import type { Registry } from '../../../identity/registry.ts'
import { syncedRegistry } from '../../../service/synced-registry.ts'
import type { ChirpStackApi } from './chirpstack-api.ts'
import { ChirpStackSync } from './chirpstack-sync.ts'
import type { ChirpStackSyncParts } from './chirpstack-sync.ts'
import { GONE_SINCE } from './synced-fields.ts'
import { silentLogger } from '../../../logger.ts'

const OTHER_APPLICATION = '9a3de2f0-2e63-4b0e-8b5f-2d8ff8c1a0b7'
const ONE = '0101010101010101'

describe('a synchronisation with ChirpStack', () => {
  let chirpStack: FakeChirpStack
  let api: ChirpStackApi
  let opened: Awaited<ReturnType<typeof openTestRegistry>>
  let registry: Registry
  let logged: object[]

  beforeEach(async () => {
    chirpStack = new FakeChirpStack()
    await chirpStack.start()
    api = apiOf(chirpStack)
    opened = await openTestRegistry()
    registry = opened.registry
    logged = []
  })

  afterEach(async () => {
    api.close()
    chirpStack.stop()
    await opened[Symbol.asyncDispose]()
  })

  const everything = { userId: '0', isAdmin: true }
  const page = { limit: 100, offset: 0 }
  const sync = (fields: Partial<ChirpStackSyncParts> = {}): ChirpStackSync => {
    const log = { ...silentLogger, warn: (entry: object, message: string) => void logged.push({ ...entry, message }) }
    const parts = {
      name: 'main',
      api,
      registry: syncedRegistry(registry),
      tenants: undefined,
      clock: { now: () => 0 },
      log,
    }
    return new ChirpStackSync({ ...parts, ...fields }, [])
  }
  const devicesIn = (id: string): Map<string, FakeDevice> => {
    const devices = chirpStack.devices.get(id) ?? new Map<string, FakeDevice>()
    chirpStack.devices.set(id, devices)
    return devices
  }

  it('makes organizations, applications and devices, page by page, and changes nothing when nothing has changed', async () => {
    for (let index = 0; index < 1203; index += 1) {
      devicesIn(APPLICATION).set(index.toString(16).padStart(16, '0'), { name: `meter ${index}`, tags: { floor: '3' } })
    }
    const one = sync()
    const report = await one.run()
    assert.deepEqual(report, { applications: 1, devices: 1203, created: 1204, updated: 0, disabled: 0, conflicts: 0 })
    assert.equal(chirpStack.calls.filter((call) => call === 'devices').length, 3)
    const [organization] = (await registry.organizations.list(everything, page)).items
    assert.deepEqual([organization?.name, organization?.displayName], ['valley-sons-52f14cd4', 'Valley & Sons'])
    assert.equal((await registry.applications.get(APPLICATION))?.organizationId, organization?.id)
    const device = await registry.devices.get('00000000000004b2')
    assert.deepEqual([device?.name, device?.applicationId, device?.tags], ['meter 1202', APPLICATION, { floor: '3' }])
    assert.deepEqual(one.applications, new Set([APPLICATION]))
    const again = await one.run()
    assert.deepEqual([again.created, again.updated, again.disabled], [0, 0, 0])
  })

  it('follows names, descriptions, profiles and tags', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    chirpStack.tenants.set(TENANT, 'Valley Ltd')
    chirpStack.applications.get(TENANT)?.set(APPLICATION, 'Water, new')
    devicesIn(APPLICATION).set(ONE, { name: 'meter 2', description: 'cellar', profile: 'A1', tags: { a: 'b' } })
    assert.equal((await one.run()).updated, 2)
    const device = await registry.devices.get(ONE)
    assert.deepEqual(
      [device?.name, device?.description, device?.deviceProfileName, device?.tags],
      ['meter 2', 'cellar', 'A1', { a: 'b' }],
    )
    assert.equal((await registry.applications.get(APPLICATION))?.name, 'Water, new')
    assert.equal((await registry.organizations.list(everything, page)).items[0]?.displayName, 'Valley Ltd')
  })

  it('leaves a device profile that was given to the device here', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter', profile: 'A1' })
    const one = sync()
    await one.run()
    const organizationId = (await registry.devices.get(ONE))?.organizationId ?? ''
    const { id } = valueOf(await registry.deviceProfiles.create(organizationId, NO_PROFILE, nobody))
    const own = { deviceProfileId: id, deviceProfileName: 'Meter' }
    valueOf(await registry.devices.update(ONE, own, nobody))
    devicesIn(APPLICATION).set(ONE, { name: 'renamed', profile: 'A2' })
    await one.run()
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.name, device?.deviceProfileId, device?.deviceProfileName], ['renamed', id, 'Meter'])
  })

  it('disables a device that two rounds did not find, and enables it when it is back', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    devicesIn(APPLICATION).clear()
    assert.equal((await one.run()).disabled, 0)
    assert.equal((await one.run()).disabled, 1)
    const gone = await registry.devices.get(ONE)
    assert.deepEqual([gone?.isDisabled, gone?.variables], [true, { [GONE_SINCE]: '1970-01-01T00:00:00.000Z' }])
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    assert.equal((await one.run()).updated, 1)
    const back = await registry.devices.get(ONE)
    assert.deepEqual([back?.isDisabled, back?.variables], [false, {}])
  })

  it('leaves a device disabled that somebody here has disabled', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    valueOf(await registry.devices.update(ONE, { isDisabled: true }, nobody))
    devicesIn(APPLICATION).set(ONE, { name: 'renamed' })
    await one.run()
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.isDisabled, device?.name], [true, 'renamed'])
  })

  it('moves a device that was moved to another application of its tenant', async () => {
    chirpStack.applications.get(TENANT)?.set(OTHER_APPLICATION, 'Gas')
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    devicesIn(APPLICATION).clear()
    devicesIn(OTHER_APPLICATION).set(ONE, { name: 'meter' })
    await one.run()
    await one.run()
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.applicationId, device?.isDisabled], [OTHER_APPLICATION, false])
  })

  it('takes no device and no application of another organization', async () => {
    const stranger = { name: 'stranger', displayName: 'Stranger', canHaveGateways: false }
    const { id: organizationId } = valueOf(await registry.organizations.create(stranger, nobody))
    const synced = syncedRegistry(registry)
    assert.ok(await synced.createApplication({ id: OTHER_APPLICATION, organizationId, name: 'own', description: '' }))
    const own = { devEui: ONE, name: 'own', applicationId: OTHER_APPLICATION }
    valueOf(await registry.devices.create(own, nobody))
    chirpStack.applications.get(TENANT)?.set(OTHER_APPLICATION, 'taken')
    devicesIn(APPLICATION).set(ONE, { name: 'taken' })
    devicesIn(OTHER_APPLICATION).set(ONE, { name: 'taken' })
    const one = sync()
    assert.equal((await one.run()).conflicts, 2)
    assert.equal((await registry.devices.get(ONE))?.name, 'own')
    assert.equal((await registry.applications.get(OTHER_APPLICATION))?.name, 'own')
    assert.deepEqual(one.applications, new Set([APPLICATION]))
    assert.equal(logged.length, 2)
  })

  it('tells applications of one name apart, and does not rename them each time', async () => {
    chirpStack.applications.get(TENANT)?.set(OTHER_APPLICATION, 'Water')
    const one = sync()
    await one.run()
    assert.equal((await registry.applications.get(OTHER_APPLICATION))?.name, 'Water (9a3de2f0)')
    assert.equal((await one.run()).updated, 0)
  })

  it('cuts names that the registry would refuse', async () => {
    chirpStack.tenants.set(TENANT, '\n')
    chirpStack.applications.get(TENANT)?.set(APPLICATION, ' ')
    const tags = { '': 'x', ok: 'y'.repeat(2000), 'a\nb': 'z' }
    devicesIn(APPLICATION).set(ONE, { name: `${'n'.repeat(99)}😀😀`, description: 'a\0b', tags })
    const report = await sync().run()
    assert.deepEqual([report.created, report.conflicts], [2, 0])
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.name, device?.description], [`${'n'.repeat(99)}😀`, 'a b'])
    assert.deepEqual(device?.tags, { ok: 'y'.repeat(1000) })
  })

  it('of named tenants alone puts them into the organizations that were named', async () => {
    chirpStack.tenants.set(OTHER_APPLICATION, 'Another tenant')
    const own = { name: 'own', displayName: 'Own', canHaveGateways: false }
    const { id } = valueOf(await registry.organizations.create(own, nobody))
    await sync({ tenants: new Map([[TENANT, id]]) }).run()
    assert.equal((await registry.applications.get(APPLICATION))?.organizationId, id)
    assert.equal((await registry.organizations.list(everything, page)).totalCount, 1)
    assert.ok(!chirpStack.calls.includes('tenants'))
    const known = await syncedRegistry(registry).syncedApplications('chirpstack/main/', [id])
    assert.deepEqual(known, [APPLICATION])
  })

  it('disables nothing when it could not read a list to its end', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    chirpStack.fault = { code: grpc.status.PERMISSION_DENIED, details: 'no' }
    await assert.rejects(one.run(), /PERMISSION_DENIED/)
    await assert.rejects(one.run(), /PERMISSION_DENIED/)
    assert.equal((await registry.devices.get(ONE))?.isDisabled, false)
  })

  it('needs the right API key', async () => {
    const wrong = apiOf(chirpStack, 'another')
    await assert.rejects(sync({ api: wrong }).run(), /UNAUTHENTICATED/)
    wrong.close()
  })
})
