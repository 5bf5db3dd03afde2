import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Change } from '../store/changes.ts'
import type { CreatedTogether, NewDevice } from './device.ts'
import {
  addApplication,
  addMember,
  addOrganization,
  addUser,
  devEuiOf,
  nobody,
  openTestRegistry,
  reasonOf,
  valueOf,
} from '../registry.testing.ts'

const admin = { userId: '1', isAdmin: true }
const all = { limit: 1000, offset: 0 }

test('applications: name unique within the organization, fields checked, told of', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const other = await addOrganization(registry, 'other')
  const heard: Change[] = []
  registry.changes.subscribe((change) => heard.push(change))
  const id = await addApplication(registry, organizationId, 'Meters')
  await addApplication(registry, other, 'Meters')
  await assert.rejects(addApplication(registry, organizationId, 'Meters'), /application_exists/)
  await assert.rejects(addApplication(registry, '99', 'Meters'), /organization_not_found/)
  for (const name of ['', 'a\0b', 'x'.repeat(101)]) {
    await assert.rejects(addApplication(registry, organizationId, name), /invalid_name/)
  }
  const update = async (fields: object): Promise<string> =>
    reasonOf(await registry.applications.update(id, fields, nobody))
  assert.equal(await update({ payloadCodec: 'LUA' }), 'invalid_payload_codec')
  assert.equal(await update({ eventShape: 'V5' }), 'invalid_event_shape')
  assert.equal(await update({ objectCommands: 'yes' }), 'invalid_object_commands')
  assert.equal(await update({ payloadDecoderScript: 'x'.repeat(524_289) }), 'invalid_payload_script')
  assert.equal(
    await update({ payloadDecoderScript: 'function Decode() {\n\treturn {}\r\n}', payloadCodec: 'CUSTOM_JS' }),
    'ok',
  )
  const first = await registry.applications.get(id)
  assert.deepEqual([first?.eventShape, first?.objectCommands, first?.retainsLastEvents], ['', '', false])
  assert.equal(await update({ eventShape: 'V3', objectCommands: 'NETWORK_SERVER' }), 'ok')
  const changed = await registry.applications.get(id)
  assert.deepEqual([changed?.eventShape, changed?.objectCommands], ['V3', 'NETWORK_SERVER'])
  assert.equal(await update({ retainsLastEvents: true }), 'ok')
  assert.equal(await update({ description: 'they stay' }), 'ok')
  assert.equal((await registry.applications.get(id))?.retainsLastEvents, true)
  assert.equal(await update({ retainsLastEvents: false }), 'ok')
  assert.equal(await update({ organizationId: other, id: '99' }), 'ok')
  assert.equal((await registry.applications.get(id))?.organizationId, organizationId)
  assert.deepEqual(
    heard.map(({ kind }) => kind),
    [
      'application_created',
      'application_created',
      ...Array.from({ length: 5 }, () => 'application_changed'),
      'last_events_ended',
      'application_changed',
    ],
  )
})

test('a removed application is out of sight at once and takes its devices along', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const applicationId = await addApplication(registry, organizationId, 'a')
  const devices = Array.from({ length: 500 }, (_, number) => ({
    devEui: devEuiOf(number),
    name: `d${number}`,
    applicationId,
  }))
  await registry.devices.createMany(devices, nobody)
  const removed = registry.applications.remove(applicationId, nobody)
  // The change is told while devices are still being taken away.
  await new Promise<void>((resolve) => {
    registry.changes.subscribe(() => resolve())
  })
  assert.equal(await registry.applications.get(applicationId), undefined)
  assert.equal(await registry.devices.get(devEuiOf(499)), undefined)
  assert.equal((await registry.devices.list(admin, all)).totalCount, 0)
  valueOf(await removed)
  const again = await addApplication(registry, organizationId, 'a')
  const outcomes = await registry.devices.createMany(
    devices.map(({ devEui, name }) => ({ devEui, name, applicationId: again })),
    nobody,
  )
  assert.ok(outcomes.every(({ ok }) => ok))
  assert.equal((await registry.devices.list(admin, { ...all, search: 'd49' })).totalCount, 11)
})

test('a removal that was cut short goes on at the next start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-removal-'))
  const options = { file: join(directory, 'registry.db') }
  {
    await using opened = await openTestRegistry(options)
    const { registry } = opened
    const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
    const devices = Array.from({ length: 900 }, (_, number) => ({
      devEui: devEuiOf(number),
      name: `d${number}`,
      applicationId,
    }))
    await registry.devices.createMany(devices, nobody)
    const told = new Promise<void>((resolve) => {
      registry.changes.subscribe(() => resolve())
    })
    void registry.applications.remove(applicationId, nobody)
    await told
  }
  await using opened = await openTestRegistry(options)
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'other')
  const applicationId = await addApplication(registry, organizationId, 'b')
  // Waits behind what the start began.
  valueOf(await registry.applications.remove(applicationId, nobody))
  const again = await addApplication(registry, organizationId, 'c')
  assert.equal(
    reasonOf(await registry.devices.create({ devEui: devEuiOf(899), name: 'd', applicationId: again }, nobody)),
    'ok',
  )
  rmSync(directory, { recursive: true })
})

/** Devices to be, with DevEUIs in a row. */
function devicesFrom(from: number, count: number, applicationId: string): readonly NewDevice[] {
  return Array.from({ length: count }, (_, index) => ({ devEui: devEuiOf(from + index), name: 'd', applicationId }))
}

test('devices that are created together have one entry of the audit for each organization', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const [first, second] = [await addOrganization(registry, 'first'), await addOrganization(registry, 'second')]
  const [one, other] = [await addApplication(registry, first, 'a'), await addApplication(registry, second, 'b')]
  const entries = async () => {
    const { items } = await registry.audit.list(admin, { ...all, search: 'device' })
    return items.map(({ action, organizationId, subject, detail }) => [
      action,
      organizationId,
      subject,
      detail['count'],
    ])
  }
  const together: CreatedTogether = new Map()
  await registry.devices.createMany(devicesFrom(0, 1, one), nobody, together)
  assert.deepEqual(await entries(), [['device.created', first, devEuiOf(0), undefined]])
  // Again, and refused: the entry stays.
  await registry.devices.createMany(devicesFrom(0, 1, one), nobody, together)
  assert.deepEqual(await entries(), [['device.created', first, devEuiOf(0), undefined]])
  await registry.devices.createMany([...devicesFrom(0, 250, one), ...devicesFrom(1000, 150, other)], nobody, together)
  await registry.devices.createMany(devicesFrom(2000, 1, other), nobody, together)
  assert.deepEqual(await entries(), [
    ['devices.created', second, second, 151],
    ['devices.created', first, first, 250],
  ])
  assert.equal((await registry.audit.list(admin, { ...all, search: 'devices.created' })).totalCount, 2)
  await registry.devices.createMany(devicesFrom(3000, 150, one), nobody)
  assert.deepEqual((await entries())[0], ['devices.created', first, first, 150])
})

test('an import tells the outcome of each row, and the good ones are there', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  valueOf(await registry.devices.create({ devEui: devEuiOf(7), name: 'seven', applicationId }, nobody))
  const rows: NewDevice[] = [
    { devEui: `0x${devEuiOf(1).toUpperCase()}`, name: 'one', applicationId },
    { devEui: devEuiOf(1), name: 'one again', applicationId },
    { devEui: devEuiOf(7), name: 'there already', applicationId },
    { devEui: 'nonsense', name: 'no eui', applicationId },
    { devEui: devEuiOf(2), name: 'nul \0', applicationId },
    { devEui: devEuiOf(3), name: 'no application', applicationId: '99' },
    { devEui: devEuiOf(4), name: 'bad tags', applicationId, tags: { a: 'x'.repeat(1001) } },
    ...Array.from({ length: 450 }, (_, number) => ({
      devEui: devEuiOf(100 + number),
      name: `row ${number}`,
      applicationId,
    })),
  ]
  let batches = 0
  registry.changes.subscribe(({ kind }) => {
    if (kind === 'devices_changed') batches += 1
  })
  const outcomes = await registry.devices.createMany(rows, nobody)
  assert.deepEqual(outcomes.slice(0, 7).map(reasonOf), [
    'ok',
    'device_exists',
    'device_exists',
    'invalid_dev_eui',
    'invalid_name',
    'application_not_found',
    'invalid_tags',
  ])
  assert.ok(outcomes.slice(7).every(({ ok }) => ok))
  assert.equal(batches, 5)
  assert.equal((await registry.devices.list(admin, all)).totalCount, 452)
  assert.deepEqual(await registry.devices.createMany([], nobody), [])
})

test('an import leaves what is remembered of other devices', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const applicationId = await addApplication(registry, organizationId, 'a')
  const device = (number: number) => ({ devEui: devEuiOf(number), name: `device ${number}`, applicationId })
  valueOf(await registry.devices.create(device(1), nobody))
  await registry.directory.device(devEuiOf(1))
  assert.equal(await registry.directory.device(devEuiOf(2)), undefined)
  await registry.devices.createMany([device(2), device(3)], nobody)
  assert.ok(!(registry.directory.device(devEuiOf(1)) instanceof Promise), 'it is still at hand')
  assert.equal((await registry.directory.device(devEuiOf(2)))?.applicationId, applicationId)
})

test('tags come back as they were given, whatever they are called', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const tags = JSON.parse('{"__proto__": "polluted", "constructor": "c", "toString": "t"}') as Record<string, string>
  const device = { devEui: devEuiOf(1), name: "Robert'); drop table devices; --", applicationId, tags }
  valueOf(await registry.devices.create(device, nobody))
  const found = await registry.devices.get(`0X${devEuiOf(1)}`)
  assert.deepEqual(Object.entries(found?.tags ?? {}), Object.entries(tags))
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
  assert.equal(found?.name, device.name)
  assert.equal((await registry.devices.list(admin, { ...all, search: "'); DROP" })).totalCount, 1)
})

test('a device moves between applications of its organization, and to no other', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const organizationId = await addOrganization(registry, 'acme')
  const here = await addApplication(registry, organizationId, 'here')
  const there = await addApplication(registry, organizationId, 'there')
  const foreign = await addApplication(registry, await addOrganization(registry, 'other'), 'foreign')
  const devEui = devEuiOf(1)
  valueOf(await registry.devices.create({ devEui, name: 'd', applicationId: here }, nobody))
  const heard: Change[] = []
  registry.changes.subscribe((change) => heard.push(change))
  assert.equal(
    reasonOf(await registry.devices.update(devEui, { applicationId: foreign }, nobody)),
    'application_not_found',
  )
  valueOf(await registry.devices.update(devEui, { applicationId: there, name: 'moved' }, nobody))
  assert.deepEqual(heard, [
    { kind: 'device_removed', devEui, applicationId: here, organizationId },
    { kind: 'device_changed', devEui, applicationId: there, organizationId },
  ])
  const count = async (applicationId: string, search = ''): Promise<number> =>
    (await registry.devices.list(admin, { ...all, applicationId, search })).totalCount
  assert.deepEqual([await count(here), await count(there), await count(there, 'move')], [0, 1, 1])
})

test('signs of life: the newest counts, and what is not told stays', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const devEui = devEuiOf(1)
  valueOf(await registry.devices.create({ devEui, name: 'd', applicationId }, nobody))
  assert.equal((await registry.devices.get(devEui))?.lastSeenAtMs, null)
  await registry.devices.recordSeen([
    { devEui, lastSeenAtMs: 2000, batteryLevel: 81.5 },
    { devEui: devEuiOf(99), lastSeenAtMs: 2000 },
    { devEui: 'nonsense', lastSeenAtMs: 2000 },
    { devEui: devEui.toUpperCase(), lastSeenAtMs: 3000, margin: -7 },
    { devEui, lastSeenAtMs: 1000, batteryLevel: 10 },
  ])
  await registry.devices.recordSeen([{ devEui, lastSeenAtMs: 2500, batteryLevel: 1 }])
  await registry.devices.recordSeen([])
  const device = await registry.devices.get(devEui)
  assert.deepEqual([device?.lastSeenAtMs, device?.batteryLevel, device?.margin], [3000, 81.5, -7])
})

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

test('deep offsets are reached from either end', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const applicationId = await addApplication(registry, await addOrganization(registry, 'acme'), 'a')
  const count = 33_500
  const devices = Array.from({ length: count }, (_, number) => ({ devEui: devEuiOf(number), name: 'd', applicationId }))
  await registry.devices.createMany(devices, nobody)
  for (const offset of [0, 16_384, 16_385, 16_749, 16_751, 17_114, 17_115, count - 3]) {
    const { items } = await registry.devices.list(admin, { limit: 2, offset })
    assert.deepEqual(
      items.map(({ devEui }) => devEui),
      [devEuiOf(offset), devEuiOf(offset + 1)],
      String(offset),
    )
  }
})

test('every way of finding a page gives the same page', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  // More than one statement looks through, in three organizations of which the member has two.
  const count = 17_000
  const organizations = [
    await addOrganization(registry, 'first'),
    await addOrganization(registry, 'second'),
    await addOrganization(registry, 'third'),
  ]
  const applications: string[] = []
  for (const organizationId of organizations) applications.push(await addApplication(registry, organizationId, 'a'))
  const member = { userId: await addUser(registry, 'member'), isAdmin: false }
  for (const organizationId of organizations.slice(0, 2)) await addMember(registry, organizationId, member.userId)
  const kinds = ['Sensor', 'sensor é', 'METER_%', 'Zähler "x"', '\u{1f321} thermo', '\uff5a wide']
  const devices = Array.from({ length: count }, (_, number) => ({
    devEui: devEuiOf((number * 7919) % count),
    name: `${kinds[number % kinds.length]} ${(number * 31) % 1000}`,
    applicationId: applications[number % 40 === 0 ? 1 : number % 2000 === 1 ? 2 : 0] ?? '',
  }))
  assert.ok((await registry.devices.createMany(devices, nobody)).every(({ ok }) => ok))
  const model = devices
    .map(({ devEui, name, applicationId }) => ({ devEui, applicationId, key: `${fold(name)}\n${devEui}` }))
    .toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)))
  const scopes = [
    { viewer: admin, filter: {}, has: () => true },
    { viewer: admin, filter: { applicationId: applications[0] ?? '' }, has: (id: string) => id === applications[0] },
    { viewer: admin, filter: { organizationId: organizations[1] ?? '' }, has: (id: string) => id === applications[1] },
    { viewer: member, filter: {}, has: (id: string) => id !== applications[2] },
    { viewer: member, filter: { organizationId: organizations[2] ?? '' }, has: () => false },
  ]
  const searches = [
    undefined,
    's',
    'SENSOR',
    'sensor é 1',
    '_',
    '%',
    '"',
    'é',
    'ER "X',
    '\u{1f321}',
    'ｚ wi',
    'zzz',
    '00ff',
    '\n',
    ' 99',
    '0000000000000042',
  ]
  for (const { viewer, filter, has } of scopes) {
    for (const search of searches) {
      const wanted = search === undefined ? '' : fold(search)
      const matching = model.filter(
        ({ applicationId, key }) => has(applicationId) && key.includes(wanted) && search !== '\n',
      )
      for (const [limit, offset] of [
        [3, 0],
        [5, Math.floor(matching.length / 3)],
        [5, Math.max(matching.length - 7, 0)],
        [5, matching.length - 2],
        [0, 0],
        [5, matching.length + 10],
      ] as const) {
        const page = search === undefined ? { limit, offset, ...filter } : { limit, offset, search, ...filter }
        const listed = await registry.devices.list(viewer, page)
        const from = Math.max(offset, 0)
        assert.equal(listed.totalCount, matching.length, JSON.stringify(page))
        assert.deepEqual(
          listed.items.map(({ devEui }) => devEui),
          matching.slice(from, from + limit).map(({ devEui }) => devEui),
          JSON.stringify(page),
        )
      }
    }
  }
  // A remembered search gives way to a change.
  const meters = await registry.devices.list(admin, { ...all, search: 'meter' })
  const [first] = meters.items
  assert.ok(first)
  valueOf(await registry.devices.update(first.devEui, { name: 'renamed' }, nobody))
  assert.equal((await registry.devices.list(admin, { ...all, search: 'meter' })).totalCount, meters.totalCount - 1)
  const applicationId = applications[0] ?? ''
  valueOf(await registry.applications.remove(applicationId, nobody))
  const left = model.filter(
    (device) =>
      device.applicationId !== applicationId && device.key.includes('meter') && device.devEui !== first.devEui,
  )
  assert.equal((await registry.devices.list(admin, { ...all, search: 'meter' })).totalCount, left.length)
})
