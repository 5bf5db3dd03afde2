import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_PROFILE } from '../identity/devices/device-profile.testing.ts'
import {
  addApplication,
  addOrganization,
  devEuiOf,
  nobody,
  openTestRegistry,
  valueOf,
} from '../identity/registry.testing.ts'
import { profileLimitsOf } from './fleet.ts'

test('the limits of a profile reach its devices, and follow its changes', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const applicationId = await addApplication(registry, organizationId, 'a')
  const fields = { ...NO_PROFILE, expectedIntervalSeconds: 3_600, batteryLimitPercent: 50 }
  const { id } = valueOf(await registry.deviceProfiles.create(organizationId, fields, nobody))
  const [ONE, TWO] = [devEuiOf(1), devEuiOf(2)]
  const devices = [ONE, TWO].map((devEui) => ({ devEui, name: devEui, applicationId }))
  await registry.devices.createMany(devices, nobody)
  valueOf(await registry.devices.update(ONE, { deviceProfileId: id }, nobody))
  const limits = profileLimitsOf(registry)
  const seen = [ONE, TWO].map((devEui) => ({ devEui, batteryLevel: 30, lowBattery: false, intervalSeconds: 60 }))
  const [one, two] = await limits.applyTo(seen)
  assert.deepEqual([one?.lowBattery, one?.intervalSeconds], [true, 3_600])
  assert.deepEqual([two?.lowBattery, two?.intervalSeconds], [false, 60])
  assert.equal(await limits.expectedIntervalSecondsOf(ONE), 3_600)
  valueOf(await registry.deviceProfiles.update(id, { expectedIntervalSeconds: 900 }, nobody))
  assert.equal(await limits.expectedIntervalSecondsOf(ONE), 900)
})
