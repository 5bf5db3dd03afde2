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
  assert.equal(await asked, undefined)
  assert.equal(await registry.directory.device(devEui), undefined)
})

test('strangers cannot push known devices out by making devices up', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const devEui = devEuiOf(1)
  valueOf(await registry.devices.create({ devEui, name: 'd', applicationId }, nobody))
  await registry.directory.device(devEui)
  for (let number = 0; number < 21_000; number += 1) await registry.directory.device(devEuiOf(1_000_000 + number))
  assert.equal(registry.directory.device(devEui) instanceof Promise, false)
  assert.equal(registry.directory.device(devEuiOf(1_000_000)) instanceof Promise, true)
})
