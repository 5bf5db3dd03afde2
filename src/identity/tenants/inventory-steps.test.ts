import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addOrganization, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'

const SETTINGS = { intervalSeconds: 3600 }

test('a step belongs to its organization and network server, and keeps the outcome of its last run', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const acme = await addOrganization(registry, 'acme')
  const zenith = await addOrganization(registry, 'zenith')
  const { inventorySteps } = registry
  for (const organizationId of [acme, zenith]) {
    valueOf(await inventorySteps.put({ networkServer: 'main', organizationId, settings: SETTINGS }, nobody))
  }
  const first = { networkServer: 'main', organizationId: acme, settings: SETTINGS }
  assert.deepEqual(await inventorySteps.list(acme), [{ ...first, ranAtMs: null, outcome: null }])
  assert.equal((await inventorySteps.list()).length, 2)
  const ran = { ...first, ranAtMs: clock.now(), outcome: { code: '' } }
  await inventorySteps.ran(ran)
  assert.deepEqual(await inventorySteps.list(acme), [ran])
  assert.equal((await inventorySteps.list(zenith))[0]?.ranAtMs, null)
  valueOf(await inventorySteps.remove(first, nobody))
  assert.equal(reasonOf(await inventorySteps.remove(first, nobody)), 'inventory_step_not_found')
  assert.equal((await inventorySteps.list()).length, 1)
})

test('other settings make the step due, and the outcome of a run with the old ones is not noted', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const { inventorySteps } = registry
  const step = { networkServer: 'main', organizationId, settings: SETTINGS }
  valueOf(await inventorySteps.put(step, nobody))
  valueOf(await inventorySteps.put({ ...step, settings: { intervalSeconds: 600 } }, nobody))
  await inventorySteps.ran({ ...step, ranAtMs: clock.now(), outcome: {} })
  const [stored] = await inventorySteps.list(organizationId)
  assert.deepEqual([stored?.settings, stored?.ranAtMs], [{ intervalSeconds: 600 }, null])
})

test('an organization has a hundred steps at most, and takes them along', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const { inventorySteps } = registry
  const put = (networkServer: string) => inventorySteps.put({ networkServer, organizationId, settings: {} }, nobody)
  for (let number = 0; number < 100; number += 1) valueOf(await put(`server-${number}`))
  assert.equal(reasonOf(await put('one-more')), 'too_many_inventory_steps')
  valueOf(await put('server-7'))
  valueOf(await registry.organizations.remove(organizationId, nobody))
  assert.deepEqual(await inventorySteps.list(), [])
  assert.equal(reasonOf(await put('late')), 'organization_not_found')
})
