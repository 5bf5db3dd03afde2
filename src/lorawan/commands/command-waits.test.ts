import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readCommand } from './command.ts'
import { nobodyReads, plainWait, WAIT_CODES, waitWithDevice } from './command-waits.ts'
import { AWAY, DEVICE, openTestDownlinks, OTHER_DEVICE } from './downlinks.testing.ts'
import type { TestDownlinks } from './downlinks.testing.ts'

async function send(downlinks: TestDownlinks, devEui: string, id: string, confirmed = false): Promise<void> {
  const command = readCommand({ confirmed, fPort: 10, data: 'AQ==', id })
  const answer = await downlinks.commands.submit({ applicationId: '5', devEui }, command)
  assert.ok(answer.ok)
  await downlinks.settle()
}

/** The code for which each command of the device waits, by its id. */
function waits({ commands }: TestDownlinks, devEui = DEVICE): Record<string, string | undefined> {
  const items = commands.list('1', devEui)
  return Object.fromEntries(items.map((item) => [item.content.id, commands.waitOf(item)?.code]))
}

function reasonOf({ commands }: TestDownlinks, id: string): string | undefined {
  const item = commands.list('1', DEVICE).find(({ content }) => content.id === id)
  return item && commands.waitOf(item)?.reason
}

test('the first command of a device waits for the network server, the others for the first', async () => {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = { outcome: 'away', ...nobodyReads('the organization’s network server', 1_000) }
  await send(downlinks, DEVICE, 'one')
  await send(downlinks, DEVICE, 'two')
  assert.deepEqual(waits(downlinks), { one: 'network_server_away', two: 'behind_command' })
  assert.equal(
    reasonOf(downlinks, 'one'),
    'the organization’s network server has been away since 1970-01-01T00:00:01.000Z',
  )
  assert.equal(reasonOf(downlinks, 'two'), 'the command "one" of the device goes first')
})

test('a wait for the next uplink says whether the device was ever heard, not since, or in vain', () => {
  const takenAtMs = 1_000_000
  const told = (lastSeenAtMs: number | null) => waitWithDevice(plainWait('next_uplink'), { takenAtMs, lastSeenAtMs })
  assert.equal(told(null)?.code, 'device_never_heard')
  assert.match(told(null)?.reason ?? '', /after its next uplink, and this device has never been heard$/)
  for (const early of [0, takenAtMs, takenAtMs + 19_999]) {
    assert.equal(told(early)?.code, 'next_uplink')
    assert.ok(told(early)?.reason.endsWith(`its last one came at ${new Date(early).toISOString()}`))
  }
  assert.equal(told(takenAtMs + 20_000)?.code, 'receive_window_closed')
  assert.match(
    told(takenAtMs + 20_000)?.reason ?? '',
    /heard at 1970-01-01T00:17:00\.000Z, its receive windows are closed/,
  )
  const other = plainWait('paced')
  assert.equal(waitWithDevice(other, { takenAtMs, lastSeenAtMs: null }), other)
  assert.equal(waitWithDevice(undefined, { takenAtMs, lastSeenAtMs: null }), undefined)
})

test('devices that are not tried wait for the same reason', async () => {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = { outcome: 'away', ...nobodyReads('the deployment’s network server', undefined) }
  const devices = Array.from({ length: 12 }, (_, index) => `01020304050607${(16 + index).toString(16)}`)
  for (const devEui of devices) {
    downlinks.devices.set(devEui, { applicationId: '5', organizationId: '1', isDisabled: false })
    await send(downlinks, devEui, 'one')
  }
  assert.ok(downlinks.server.offered.length < devices.length)
  for (const devEui of devices) assert.deepEqual(waits(downlinks, devEui), { one: 'network_server_never_connected' })
})

test('a reason for the operator, such as an address that does not answer, is not told to senders', async () => {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = { outcome: 'away', reason: 'connect ECONNREFUSED 10.0.0.7:8080' }
  await send(downlinks, DEVICE, 'one')
  assert.deepEqual(waits(downlinks), { one: 'network_server_away' })
  assert.doesNotMatch(reasonOf(downlinks, 'one') ?? '', /10\.0\.0\.7/)
})

test('a command is on its way while its network server is asked, and the next one follows a little later', async () => {
  const downlinks = await openTestDownlinks()
  const asked = Promise.withResolvers<void>()
  downlinks.server.answer = async () => {
    await asked.promise
    return { outcome: 'taken', nextAfterMs: 250 }
  }
  await send(downlinks, DEVICE, 'one')
  await send(downlinks, DEVICE, 'two')
  assert.deepEqual(waits(downlinks), { one: 'handing_over', two: 'behind_command' })
  asked.resolve()
  await downlinks.settle()
  assert.deepEqual(waits(downlinks), { two: 'paced', one: 'next_uplink' })
})

test('if a network server takes one command of a device at a time, the next one waits for an event about it', async () => {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = { outcome: 'taken', holdsNext: true }
  await send(downlinks, DEVICE, 'one', true)
  await send(downlinks, DEVICE, 'two')
  assert.deepEqual(waits(downlinks), { two: 'awaits_word', one: 'next_uplink' })
  assert.match(reasonOf(downlinks, 'two') ?? '', /what became of the command "one" before it/)
  const told = (kind: string, members: object) =>
    downlinks.events.apply({ devEui: DEVICE, kind, payload: Buffer.from(JSON.stringify(members)) })
  told('txack', { fCnt: 7 })
  await downlinks.settle()
  assert.equal(waits(downlinks)['one'], 'device_acknowledgement')
  told('ack', { acknowledged: true, fCnt: 7 })
  await downlinks.settle()
  assert.equal(waits(downlinks)['one'], undefined)
})

test('the commands of a disabled device wait for it to be enabled, and a network server that returns ends the wait', async () => {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = AWAY
  await send(downlinks, DEVICE, 'one')
  downlinks.devices.set(OTHER_DEVICE, { applicationId: '5', organizationId: '1', isDisabled: false })
  await send(downlinks, OTHER_DEVICE, 'one')
  downlinks.devices.set(OTHER_DEVICE, { applicationId: '5', organizationId: '1', isDisabled: true })
  downlinks.server.answer = { outcome: 'taken' }
  downlinks.ready()
  await downlinks.settle()
  assert.deepEqual(waits(downlinks), { one: 'next_uplink' })
  assert.deepEqual(waits(downlinks, OTHER_DEVICE), { one: 'device_disabled' })
})

test('every code has a row in the docs, and every row a code', () => {
  const page = readFileSync(new URL('../../../docs/commands.md', import.meta.url), 'utf8')
  const rows = Array.from(page.matchAll(/^\| `([a-z_]+)` \| `(?:queued|sent)` \|/gm), ([, code = '']) => code)
  assert.deepEqual(rows.toSorted(), [...WAIT_CODES].toSorted())
})
