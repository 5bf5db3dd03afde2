import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NewApplication } from '../tenants/applications.ts'
import type { Change } from './changes.ts'
import type { Registry } from '../registry.ts'
import { nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'

const UUID = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const DEV_EUI = '0101010101010101'
const everything = { userId: '0', isAdmin: true }
const page = { limit: 10, offset: 0 }

async function organization(registry: Registry, name: string): Promise<string> {
  return valueOf(await registry.organizations.create({ name, displayName: name, canHaveGateways: false }, nobody)).id
}

function application(organizationId: string, name: string, id?: string): NewApplication {
  return {
    organizationId,
    name,
    description: '',
    serviceProfileId: '',
    serviceProfileName: '',
    payloadCodec: '',
    payloadEncoderScript: '',
    payloadDecoderScript: '',
    ...(id === undefined ? {} : { id }),
  }
}

describe('the id of an application', () => {
  it('is the UUID that was asked for, everywhere', async () => {
    await using opened = await openTestRegistry()
    const { applications, devices, directory, changes } = opened.registry
    const told: Change[] = []
    changes.subscribe((change) => told.push(change))
    const owner = await organization(opened.registry, 'one')
    const created = await applications.create(application(owner, 'app', UUID), nobody)
    assert.deepEqual(valueOf(created), { id: UUID })
    assert.equal((await applications.get(UUID))?.id, UUID)
    assert.equal((await applications.list(everything, page)).items[0]?.id, UUID)
    valueOf(await devices.create({ devEui: DEV_EUI, name: 'device', applicationId: UUID }, nobody))
    assert.equal((await devices.get(DEV_EUI))?.applicationId, UUID)
    const listed = await devices.list(everything, { ...page, applicationId: UUID })
    assert.deepEqual(
      listed.items.map((device) => device.applicationId),
      [UUID],
    )
    assert.deepEqual(await directory.applicationsOf(owner), new Set([UUID]))
    assert.equal(await directory.organizationOf(UUID), owner)
    assert.equal((await directory.device(DEV_EUI))?.applicationId, UUID)
    valueOf(await devices.update(DEV_EUI, { name: 'renamed' }, nobody))
    valueOf(await applications.update(UUID, { name: 'renamed' }, nobody))
    valueOf(await devices.remove(DEV_EUI, nobody))
    valueOf(await applications.remove(UUID, nobody))
    const ids = told.flatMap((change) => ('applicationId' in change ? [change.applicationId] : []))
    assert.deepEqual(
      ids,
      Array.from({ length: 6 }, () => UUID),
    )
  })

  it('is one alone: the number of its row does not find an application with a UUID', async () => {
    await using opened = await openTestRegistry()
    const { applications, devices } = opened.registry
    const owner = await organization(opened.registry, 'one')
    valueOf(await applications.create(application(owner, 'app', UUID), nobody))
    assert.equal(await applications.get('1'), undefined)
    assert.equal(
      reasonOf(await devices.create({ devEui: DEV_EUI, name: 'device', applicationId: '1' }, nobody)),
      'application_not_found',
    )
    assert.equal(await applications.get('-1'), undefined)
  })

  it('leaves all digits to others where it is a UUID', async () => {
    await using opened = await openTestRegistry()
    const { applications, devices } = opened.registry
    const owner = await organization(opened.registry, 'one')
    const [other] = ['8e2a7b63-7e3c-4c5f-8b6f-1f7b2a9a3d22']
    valueOf(await applications.create(application(owner, 'app', UUID), nobody))
    valueOf(await applications.create(application(owner, 'other', other), nobody))
    assert.deepEqual(valueOf(await applications.create(application(owner, 'asked for', '1'), nobody)), { id: '1' })
    assert.deepEqual(valueOf(await applications.create(application(owner, 'given'), nobody)), { id: '2' })
    valueOf(await devices.create({ devEui: DEV_EUI, name: 'device', applicationId: UUID }, nobody))
    assert.equal((await devices.get(DEV_EUI))?.applicationId, UUID)
    valueOf(await applications.remove('2', nobody))
    assert.deepEqual(valueOf(await applications.create(application(owner, 'given later'), nobody)), { id: '3' })
  })

  it('may be asked for as digits, and those that the registry gives go on above it', async () => {
    await using opened = await openTestRegistry()
    const { applications } = opened.registry
    const owner = await organization(opened.registry, 'one')
    assert.deepEqual(valueOf(await applications.create(application(owner, 'app', '57'), nobody)), { id: '57' })
    assert.deepEqual(valueOf(await applications.create(application(owner, 'next'), nobody)), { id: '58' })
  })

  for (const id of ['0', '1000000000', UUID.toUpperCase(), 'app', '+', '', '1/device', `${UUID} `]) {
    it(`can't be ${JSON.stringify(id)}`, async () => {
      await using opened = await openTestRegistry()
      const owner = await organization(opened.registry, 'one')
      const outcome = await opened.registry.applications.create(application(owner, 'app', id), nobody)
      assert.equal(reasonOf(outcome), 'invalid_application_id')
    })
  }

  it('belongs to one organization at a time, and brings nothing of the former one back', async () => {
    await using opened = await openTestRegistry()
    const { applications, devices, directory } = opened.registry
    const [one, other] = [await organization(opened.registry, 'one'), await organization(opened.registry, 'other')]
    valueOf(await applications.create(application(one, 'app', UUID), nobody))
    valueOf(await devices.create({ devEui: DEV_EUI, name: 'device', applicationId: UUID }, nobody))
    assert.equal((await directory.device(DEV_EUI))?.organizationId, one)
    assert.equal(reasonOf(await applications.create(application(other, 'app', UUID), nobody)), 'application_exists')
    valueOf(await applications.remove(UUID, nobody))
    valueOf(await applications.create(application(other, 'app', UUID), nobody))
    assert.equal(await directory.organizationOf(UUID), other)
    assert.equal(await directory.device(DEV_EUI), undefined)
  })
})

describe('the external id of an organization', () => {
  it('finds it, is unique, and is free again when the organization is gone', async () => {
    await using opened = await openTestRegistry()
    const { organizations } = opened.registry
    const fields = { name: 'one', displayName: 'One', canHaveGateways: false, externalId: 'chirpstack/main/1' }
    const { id } = valueOf(await organizations.create(fields, nobody))
    assert.equal((await organizations.findByExternalId('chirpstack/main/1'))?.id, id)
    assert.equal(await organizations.findByExternalId('chirpstack/main/2'), undefined)
    assert.deepEqual(await organizations.listExternal('chirpstack/main/'), [id])
    assert.deepEqual(await organizations.listExternal('chirpstack/mai/'), [])
    assert.equal(reasonOf(await organizations.create({ ...fields, name: 'two' }, nobody)), 'organization_exists')
    valueOf(await organizations.remove(id, nobody))
    assert.equal(await organizations.findByExternalId('chirpstack/main/1'), undefined)
    assert.equal(reasonOf(await organizations.create(fields, nobody)), 'ok')
    const wrong = { ...fields, name: 'three', externalId: 'a b' }
    assert.equal(reasonOf(await organizations.create(wrong, nobody)), 'invalid_external_id')
  })
})
