import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addApplication, addOrganization, devEuiOf, nobody, openTestRegistry, valueOf } from '../registry.testing.ts'

test('what was asked for once is answered at once, until a change touches it', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { directory } = registry
  const organizationId = await addOrganization(registry, 'acme')
  const first = await addApplication(registry, organizationId, 'first')
  const devEui = devEuiOf(1)

  assert.deepEqual(await directory.applicationsOf(organizationId), new Set([first]))
  assert.deepEqual(directory.applicationsOf(organizationId), new Set([first]))
  const second = await addApplication(registry, organizationId, 'second')
  assert.deepEqual(await directory.applicationsOf(organizationId), new Set([first, second]))

  assert.equal(await directory.organizationOf(first), organizationId)
  assert.equal(directory.organizationOf(first), organizationId)

  assert.equal(await directory.device(devEui), undefined)
  assert.equal(directory.device(devEui), undefined)
  valueOf(await registry.devices.create({ devEui, name: 'd', applicationId: first }, nobody))
  const place = { applicationId: first, organizationId, isDisabled: false, hasTags: false }
  assert.deepEqual(await directory.device(devEui), place)
  assert.deepEqual(directory.device(devEui), place)
  valueOf(await registry.devices.update(devEui, { isDisabled: true, applicationId: second }, nobody))
  assert.deepEqual(await directory.device(devEui), { ...place, applicationId: second, isDisabled: true })
  valueOf(await registry.applications.remove(second, nobody))
  assert.equal(await directory.device(devEui), undefined)
  assert.equal(await directory.organizationOf(second), undefined)
  valueOf(await registry.organizations.remove(organizationId, nobody))
  assert.deepEqual(await directory.applicationsOf(organizationId), new Set())
})

test('the version of the devices is another one after each change of a device or an application', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { directory } = registry
  const organizationId = await addOrganization(registry, 'acme')
  const [first, second] = [
    await addApplication(registry, organizationId, 'first'),
    await addApplication(registry, organizationId, 'second'),
  ]
  const devEui = devEuiOf(1)
  const changes: readonly (() => Promise<unknown>)[] = [
    async () => valueOf(await registry.devices.create({ devEui, name: 'd', applicationId: first }, nobody)),
    async () => valueOf(await registry.devices.update(devEui, { isDisabled: true }, nobody)),
    async () => valueOf(await registry.devices.update(devEui, { applicationId: second }, nobody)),
    async () => valueOf(await registry.devices.update(devEui, { tags: { floor: '3' } }, nobody)),
    () => registry.devices.createMany([{ devEui: devEuiOf(2), name: 'e', applicationId: second }], nobody),
    async () => valueOf(await registry.devices.remove(devEui, nobody)),
    async () => valueOf(await registry.applications.remove(second, nobody)),
  ]
  const versions = [directory.devicesVersion]
  for (const change of changes) {
    await change()
    versions.push(directory.devicesVersion)
    assert.equal(directory.devicesVersion, versions.at(-1), 'nothing has changed meanwhile')
  }
  assert.equal(new Set(versions).size, changes.length + 1)
})

test('an import is noticed where a device was unknown before', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const devices = [1, 2, 3].map((number) => ({ devEui: devEuiOf(number), name: `d${number}`, applicationId }))
  for (const { devEui } of devices) assert.equal(await registry.directory.device(devEui), undefined)
  await registry.devices.createMany(devices, nobody)
  for (const { devEui } of devices)
    assert.equal((await registry.directory.device(devEui))?.applicationId, applicationId)
})

test('an answer that a change overtook is not remembered', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const devEui = devEuiOf(1)
  valueOf(await registry.devices.create({ devEui, name: 'd', applicationId }, nobody))
  const removing = registry.devices.remove(devEui, nobody)
  const asked = registry.directory.device(devEui)
  valueOf(await removing)
  // A database may have answered before the change.
  await asked
  assert.equal(await registry.directory.device(devEui), undefined)
})

test('strangers cannot push known devices out by making devices up', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const devEui = devEuiOf(1)
  valueOf(await registry.devices.create({ devEui, name: 'd', applicationId }, nobody))
  const known = await registry.directory.device(devEui)
  for (let number = 0; number < 21_000; number += 1) await registry.directory.device(devEuiOf(1_000_000 + number))
  // A device that is looked up again is another object.
  assert.equal(registry.directory.device(devEui), known)
  assert.equal(await registry.directory.device(devEuiOf(1_000_000)), undefined)
})

test('a set of application ids that a caller holds is kept right, and is empty once its organization is gone', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const first = await addApplication(registry, organizationId, 'first')
  // Asked for while another application is being made.
  const making = addApplication(registry, organizationId, 'second')
  const asked = registry.directory.applicationsOf(organizationId)
  const second = await making
  const held = await asked
  assert.deepEqual(held, new Set([first, second]))
  valueOf(await registry.applications.remove(first, nobody))
  assert.deepEqual(held, new Set([second]))
  const third = await addApplication(registry, organizationId, 'third')
  assert.deepEqual(held, new Set([second, third]))
  assert.equal(registry.directory.applicationsOf(organizationId), held)
  valueOf(await registry.organizations.remove(organizationId, nobody))
  assert.deepEqual(held, new Set())
})

test('devices of a removed application are not at hand any more, also when its id is made anew', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const [one, other] = [await addOrganization(registry, 'one'), await addOrganization(registry, 'other')]
  const id = '5b5a2d3e-0d2c-4a36-9e1c-7c1f4be1a001'
  const make = async (organizationId: string) =>
    valueOf(
      await registry.applications.create(
        {
          id,
          name: 'meters',
          description: '',
          organizationId,
          serviceProfileId: '',
          serviceProfileName: '',
          payloadCodec: '',
          payloadEncoderScript: '',
          payloadDecoderScript: '',
        },
        nobody,
      ),
    )
  await make(one)
  const [first, second] = [devEuiOf(1), devEuiOf(2)]
  for (const devEui of [first, second]) {
    valueOf(await registry.devices.create({ devEui, name: devEui, applicationId: id }, nobody))
    assert.equal((await registry.directory.device(devEui))?.organizationId, one)
  }
  valueOf(await registry.applications.remove(id, nobody))
  await make(other)
  valueOf(await registry.devices.create({ devEui: first, name: 'd', applicationId: id }, nobody))
  assert.equal((await registry.directory.device(first))?.organizationId, other)
  assert.equal(await registry.directory.device(second), undefined)
  assert.equal(await registry.directory.organizationOf(id), other)
})
