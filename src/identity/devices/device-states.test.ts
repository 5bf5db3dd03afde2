import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addApplication, addOrganization, devEuiOf, nobody, openTestRegistry } from '../registry.testing.ts'
import type { Registry } from '../registry.ts'
import { DEVICE_ORDERS } from './device.ts'
import type { DevicePage, DeviceSeen } from './device.ts'
import { MAXIMUM_SORTED } from './device-list.ts'

const admin = { userId: '1', isAdmin: true }
const T = 1_767_225_600_000
const [ONE, TWO, THREE] = [devEuiOf(1), devEuiOf(2), devEuiOf(3)]

async function addDevices(registry: Registry, count = 3): Promise<string> {
  const organizationId = await addOrganization(registry, 'acme')
  const applicationId = await addApplication(registry, organizationId, 'a')
  const devices = Array.from({ length: count }, (_, index) => ({
    devEui: devEuiOf(index + 1),
    name: `meter ${index + 1}`,
    applicationId,
  }))
  await registry.devices.createMany(devices, nobody)
  return organizationId
}

async function see(registry: Registry, ...seen: readonly DeviceSeen[]): Promise<void> {
  await registry.devices.recordSeen(seen)
}

/** Tells of all changes, and returns what was told. */
async function tell(registry: Registry): Promise<readonly string[]> {
  const untold = await registry.deviceStates.untold(10)
  await registry.deviceStates.told(untold)
  return untold.map(({ device: { devEui, state } }) => `${devEui.slice(-1)} ${state}`)
}

test('a device is never heard, then on time; each change is noted until it was told', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  await addDevices(registry)
  assert.deepEqual(await tell(registry), [])
  const before = await registry.devices.get(ONE)
  assert.deepEqual([before?.state, before?.stateSinceMs, before?.intervalSeconds], ['NEVER_HEARD', null, null])
  await see(registry, { devEui: ONE, lastSeenAtMs: T, rssi: -70, snr: 9.5, intervalSeconds: 600, lossPercent: 2.5 })
  await see(registry, { devEui: ONE, lastSeenAtMs: T + 1 })
  const { state, stateSinceMs, rssi, snr, intervalSeconds, lossPercent } = (await registry.devices.get(ONE)) ?? {}
  assert.deepEqual([state, stateSinceMs, rssi, snr, intervalSeconds, lossPercent], ['ON_TIME', T, -70, 9.5, 600, 2.5])
  // Its first event tells this.
  assert.deepEqual(await tell(registry), [])
  await see(registry, { devEui: ONE, lastSeenAtMs: T + 2, lowBattery: true, weakSignal: false })
  await see(registry, { devEui: ONE, lastSeenAtMs: T + 3, lowBattery: true })
  const [changed] = await registry.deviceStates.untold(10)
  const { lowBattery, weakSignal } = changed?.device ?? {}
  assert.deepEqual([lowBattery, weakSignal, changed?.changes], [true, false, 1])
})

test('a change while another one is told stays noted', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  await addDevices(registry)
  await see(registry, { devEui: ONE, lastSeenAtMs: T, lowBattery: true })
  const untold = await registry.deviceStates.untold(10)
  await see(registry, { devEui: ONE, lastSeenAtMs: T + 1, losingFrames: true })
  await registry.deviceStates.told(untold)
  assert.deepEqual(await tell(registry), ['1 ON_TIME'])
})

test('a device is due once heard, and a judgement counts only if it was not heard since', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { deviceStates } = registry
  const organizationId = await addDevices(registry)
  await see(registry, { devEui: ONE, lastSeenAtMs: T }, { devEui: TWO, lastSeenAtMs: T, intervalSeconds: 60 })
  await tell(registry)
  const due = await deviceStates.due(T, 10)
  assert.deepEqual(
    due.toSorted((one, other) => (one.devEui < other.devEui ? -1 : 1)),
    [ONE, TWO].map((devEui) => {
      const intervalSeconds = devEui === TWO ? 60 : null
      return { devEui, organizationId, state: 'ON_TIME', lastSeenAtMs: T, intervalSeconds, lossPercent: null }
    }),
  )
  await see(registry, { devEui: TWO, lastSeenAtMs: T + 5 })
  const judged = due.map((device) => ({ device, state: 'LATE' as const, dueAtMs: T + 100 }))
  await deviceStates.judge(judged, T + 50)
  // A second node has judged the same.
  await deviceStates.judge(judged, T + 60)
  assert.deepEqual(await tell(registry), ['1 LATE'])
  assert.equal((await registry.devices.get(ONE))?.stateSinceMs, T + 50)
  assert.deepEqual(
    (await deviceStates.due(T + 99, 10)).map(({ devEui }) => devEui),
    [TWO],
  )
  const late = (await deviceStates.due(T + 100, 10)).find(({ devEui }) => devEui === ONE)
  assert.ok(late)
  await deviceStates.judge([{ device: late, state: 'SILENT', dueAtMs: undefined }], T + 100)
  assert.deepEqual(await tell(registry), ['1 SILENT'])
  assert.deepEqual(
    (await deviceStates.due(T + 1e9, 10)).map(({ devEui }) => devEui),
    [TWO],
  )
  await see(registry, { devEui: ONE, lastSeenAtMs: T + 200 })
  assert.deepEqual(await tell(registry), ['1 ON_TIME'])
  assert.equal((await deviceStates.due(T + 200, 10)).length, 2)
})

test('devices are counted by organization and state', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addDevices(registry)
  const other = await addOrganization(registry, 'beta')
  const applicationId = await addApplication(registry, other, 'b')
  await registry.devices.createMany([{ devEui: devEuiOf(9), name: 'nine', applicationId }], nobody)
  await see(registry, { devEui: TWO, lastSeenAtMs: T })
  const counts = (await registry.deviceStates.counts()).map(({ organizationId: id, state, devices }) => {
    return `${id} ${state} ${devices}`
  })
  assert.deepEqual(
    counts.toSorted(),
    [`${organizationId} NEVER_HEARD 2`, `${organizationId} ON_TIME 1`, `${other} NEVER_HEARD 1`].toSorted(),
  )
})

test('an organization was heard since a time, and another one was not', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addDevices(registry)
  const other = await addOrganization(registry, 'beta')
  await see(registry, { devEui: ONE, lastSeenAtMs: T })
  const answers = [
    await registry.deviceStates.wasHeardSince(organizationId, T - 1),
    await registry.deviceStates.wasHeardSince(organizationId, T),
    await registry.deviceStates.wasHeardSince(other, T - 1),
  ]
  assert.deepEqual(answers, [true, false, false])
})

test('a list is filtered by state and flag, and sorted with those first that need somebody', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  await addDevices(registry)
  await see(
    registry,
    { devEui: TWO, lastSeenAtMs: T, batteryLevel: 90 },
    { devEui: THREE, lastSeenAtMs: T - 5, batteryLevel: 10, lowBattery: true },
  )
  const due = await registry.deviceStates.due(T, 10)
  const device = due.find(({ devEui }) => devEui === TWO)
  assert.ok(device)
  await registry.deviceStates.judge([{ device, state: 'SILENT', dueAtMs: undefined }], T)
  const list = async (page: Partial<DevicePage>): Promise<string> => {
    const { items, totalCount } = await registry.devices.list(admin, { limit: 10, offset: 0, ...page })
    return `${totalCount}: ${items.map(({ devEui }) => devEui.slice(-1)).join('')}`
  }
  assert.equal(await list({ state: 'SILENT' }), '1: 2')
  assert.equal(await list({ state: 'NEVER_HEARD' }), '1: 1')
  assert.equal(await list({ state: 'LATE' }), '0: ')
  assert.equal(await list({ flag: 'lowBattery' }), '1: 3')
  assert.equal(await list({ flag: 'lowBattery', state: 'SILENT' }), '0: ')
  assert.equal(await list({ flag: 'weakSignal' }), '0: ')
  assert.deepEqual(await Promise.all(DEVICE_ORDERS.map((orderBy) => list({ orderBy }))), [
    '3: 123',
    '3: 231',
    '3: 321',
    '3: 321',
  ])
  assert.equal(await list({ orderBy: 'state', search: 'meter', limit: 1, offset: 1 }), '3: 3')
})

test('a longer list is filtered by slices, and sorted by name alone', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  await addDevices(registry, MAXIMUM_SORTED + 1)
  await see(registry, { devEui: devEuiOf(MAXIMUM_SORTED), lastSeenAtMs: T, weakSignal: true })
  const page = { limit: 10, offset: 0 }
  for (const asked of [
    { state: 'ON_TIME' },
    { flag: 'weakSignal' },
    { flag: 'weakSignal', search: 'meter' },
  ] as const) {
    const { totalCount, items } = await registry.devices.list(admin, { ...page, ...asked })
    assert.deepEqual([totalCount, items[0]?.devEui], [1, devEuiOf(MAXIMUM_SORTED)])
  }
  // The count is not remembered: a state changes without a change of the registry.
  await see(registry, { devEui: ONE, lastSeenAtMs: T })
  assert.equal((await registry.devices.list(admin, { ...page, state: 'ON_TIME' })).totalCount, 2)
  assert.equal((await registry.devices.list(admin, { ...page, orderBy: 'lastSeenAt' })).isTooLong, true)
})
