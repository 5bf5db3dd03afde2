import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addApplication, addOrganization, devEuiOf, nobody, openTestRegistry, valueOf } from '../registry.testing.ts'
import type { Registry } from '../registry.ts'
import type { LiveDevices } from './tagged-devices.ts'

async function openBench() {
  const opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const applicationId = await addApplication(registry, organizationId, 'meters')
  const foreignOrganizationId = await addOrganization(registry, 'zenith')
  const foreignApplicationId = await addApplication(registry, foreignOrganizationId, 'barns')
  return { ...opened, organizationId, applicationId, foreignOrganizationId, foreignApplicationId }
}

async function addDevice(registry: Registry, number: number, applicationId: string, tags: Record<string, string>) {
  const device = { devEui: devEuiOf(number), name: `device ${number}`, applicationId, tags }
  valueOf(await registry.devices.create(device, nobody))
}

/** The numbers of the devices of the set, after the changes so far have been looked up. */
async function numbers(registry: Registry, set: LiveDevices): Promise<readonly number[]> {
  await registry.taggedDevices.taggedWith('1', { nobody: String(Math.random()) })
  return [1, 2, 3, 4, 5, 6].filter((number) => set.has(devEuiOf(number)))
}

test('a set has the devices of its organization with all of the tags, and not another organization’s', async () => {
  await using bench = await openBench()
  const { registry, organizationId, applicationId, foreignApplicationId } = bench
  await addDevice(registry, 1, applicationId, { site: 'north', floor: '1' })
  await addDevice(registry, 2, applicationId, { site: 'north' })
  await addDevice(registry, 3, applicationId, { site: 'south', floor: '1' })
  await addDevice(registry, 4, foreignApplicationId, { site: 'north', floor: '1' })
  // The text of the tag stands in this one, but not as a tag.
  await addDevice(registry, 5, applicationId, { 'x"site': 'north', note: '"site":"north"', __proto__: 'x' })
  const north = await registry.taggedDevices.taggedWith(organizationId, { site: 'north' })
  assert.deepEqual(await numbers(registry, north), [1, 2])
  const floor = await registry.taggedDevices.taggedWith(organizationId, { site: 'north', floor: '1' })
  assert.deepEqual(await numbers(registry, floor), [1])
  const none = await registry.taggedDevices.taggedWith('999', { site: 'north' })
  assert.deepEqual(await numbers(registry, none), [])
})

test('a set follows devices that come, change their tags, go, and come again elsewhere', async () => {
  await using bench = await openBench()
  const { registry, organizationId, applicationId, foreignApplicationId } = bench
  const north = await registry.taggedDevices.taggedWith(organizationId, { site: 'north' })
  await addDevice(registry, 1, applicationId, { site: 'north' })
  await addDevice(registry, 2, applicationId, { site: 'south' })
  assert.deepEqual(await numbers(registry, north), [1])
  valueOf(await registry.devices.update(devEuiOf(1), { tags: {} }, nobody))
  valueOf(await registry.devices.update(devEuiOf(2), { tags: { site: 'north' } }, nobody))
  assert.deepEqual(await numbers(registry, north), [2])
  valueOf(await registry.devices.remove(devEuiOf(2), nobody))
  assert.deepEqual(await numbers(registry, north), [])
  await addDevice(registry, 2, foreignApplicationId, { site: 'north' })
  assert.deepEqual(await numbers(registry, north), [])
  const many = [3, 4].map((number) => ({
    devEui: devEuiOf(number),
    name: `device ${number}`,
    applicationId,
    tags: { site: number === 3 ? 'north' : 'south' },
  }))
  for (const created of await registry.devices.createMany(many, nobody)) valueOf(created)
  assert.deepEqual(await numbers(registry, north), [3])
})

test('a device that changes while a large set is read is in it as it is at the end', async () => {
  await using bench = await openBench()
  const { registry, organizationId, applicationId } = bench
  const many = Array.from({ length: 2_500 }, (_, index) => ({
    devEui: devEuiOf(index + 1),
    // The order of names is the order in which they are read.
    name: String(index + 1).padStart(5, '0'),
    applicationId,
    tags: { site: 'north' },
  }))
  for (const created of await registry.devices.createMany(many, nobody)) valueOf(created)
  const asked = registry.taggedDevices.taggedWith(organizationId, { site: 'north' })
  valueOf(await registry.devices.update(devEuiOf(1), { tags: {} }, nobody))
  valueOf(await registry.devices.remove(devEuiOf(2), nobody))
  const north = await asked
  assert.deepEqual(await numbers(registry, north), [3, 4, 5, 6])
  assert.equal(north.has(devEuiOf(2_500)), true)
})
