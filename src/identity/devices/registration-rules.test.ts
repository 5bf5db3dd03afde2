import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addApplication, addOrganization, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'
import type { RegistrationRuleSettings } from './registration-rules.ts'

const SETTINGS: RegistrationRuleSettings = {
  isOfDeployment: false,
  networkServer: '',
  networkServerApplicationId: '7',
  networkServerApplicationName: '',
  networkServerProfileName: 'Water',
  devEuiPrefix: 'aa',
  nameTemplate: 'North {deviceName}',
  deviceProfileId: '',
  deviceProfileName: '',
  tags: { site: 'north' },
}
const PAGE = { limit: 1_000, offset: 0 }

test('rules keep their order and their settings, and belong to their organization alone', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const acme = await addOrganization(registry, 'acme')
  const zenith = await addOrganization(registry, 'zenith')
  const application = await addApplication(registry, acme, 'meters')
  const told: unknown[] = []
  registry.changes.subscribe((change) => told.push(change))
  const { registrationRules } = registry
  const first = valueOf(await registrationRules.create(application, SETTINGS, nobody))
  const second = valueOf(await registrationRules.create(application, { ...SETTINGS, devEuiPrefix: '' }, nobody))
  const { totalCount, items } = await registrationRules.list(acme, PAGE)
  assert.equal(totalCount, 2)
  const others = { organizationId: acme, applicationId: application, createdAtMs: clock.now() }
  assert.deepEqual(items[0], { ...SETTINGS, ...others, id: first.id })
  assert.deepEqual(
    items.map(({ id }) => id),
    [first.id, second.id],
  )
  assert.deepEqual(await registrationRules.all(), items)
  assert.equal((await registrationRules.list(zenith, PAGE)).totalCount, 0)
  assert.equal(reasonOf(await registrationRules.remove(zenith, first.id, nobody)), 'registration_rule_not_found')
  valueOf(await registrationRules.remove(acme, first.id, nobody))
  assert.deepEqual(
    (await registrationRules.all()).map(({ id }) => id),
    [second.id],
  )
  const change = { kind: 'registration_rules_changed', organizationId: acme }
  assert.deepEqual(told, [change, change, change])
})

test('a rule ends with its application, and with its organization', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const meters = await addApplication(registry, acme, 'meters')
  const valves = await addApplication(registry, acme, 'valves')
  await registry.registrationRules.create(meters, SETTINGS, nobody)
  const kept = valueOf(await registry.registrationRules.create(valves, SETTINGS, nobody))
  valueOf(await registry.applications.remove(meters, nobody))
  assert.deepEqual(
    (await registry.registrationRules.all()).map(({ id }) => id),
    [kept.id],
  )
  valueOf(await registry.organizations.remove(acme, nobody))
  assert.deepEqual(await registry.registrationRules.all(), [])
  assert.equal(reasonOf(await registry.registrationRules.create(valves, SETTINGS, nobody)), 'application_not_found')
})

test('an organization has at most 100 rules', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const zenith = await addOrganization(registry, 'zenith')
  const meters = await addApplication(registry, acme, 'meters')
  for (let count = 0; count < 100; count += 1) {
    valueOf(await registry.registrationRules.create(meters, SETTINGS, nobody))
  }
  const refused = await registry.registrationRules.create(meters, SETTINGS, nobody)
  assert.equal(reasonOf(refused), 'too_many_registration_rules')
  const theirs = await addApplication(registry, zenith, 'meters')
  valueOf(await registry.registrationRules.create(theirs, SETTINGS, nobody))
})
