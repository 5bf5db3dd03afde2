/** Devices that send without being registered, by the commands of an operator. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { commandLine, json, succeed } from '../../src/cli/command-line.testing.ts'
import type { Shell } from '../../src/cli/command-line.testing.ts'
import { Administration } from '../support/administration.ts'
import { LiveConnections, publish } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { WireClient } from '../support/wire-client.ts'

let service: RunningService
let administration: Administration
let live: LiveConnections
let networkServer: WireClient
let organizationId: string
let shell: Shell

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization('alpine')
  await administration.application(organizationId, { name: 'water' })
  networkServer = await live.networkServer(await administration.serviceCredential(organizationId))
  shell = commandLine(service.dataDirectory)
})

after(async () => {
  live.closeAll()
  await service.stop()
})

/** An event of a device that is not registered arrives. */
async function hear(devEui: string, deviceName: string, deviceProfileName: string): Promise<void> {
  const deviceInfo = { deviceName, applicationId: 'theirs', applicationName: 'North', deviceProfileName }
  const payload = JSON.stringify({ deviceInfo, fCnt: 1, fPort: 1, data: 'AQ==' })
  assert.ok((await publish(networkServer, `application/theirs/device/${devEui}/event/up`, payload)) < 0x80)
}

async function waiting(): Promise<readonly unknown[]> {
  const { result } = await json(shell, 'unknown-devices list --organization alpine')
  return (result as readonly Readonly<Record<string, unknown>>[]).map(({ devEUI }) => devEUI)
}

test('devices that wait are listed, one is registered, one is forgotten, and all of a profile are registered', async () => {
  await hear('aa00000000000001', 'Meter 1', 'Water')
  await hear('aa00000000000002', 'Meter 2', 'Water')
  await hear('aa00000000000003', 'Valve', 'Valve')
  await hear('bb00000000000004', 'Lamp', 'Light')
  const table = await succeed(
    shell,
    'unknown-devices list --organization alpine --prefix AA --server-application-name North',
  )
  assert.match(table, /^DEVEUI +NAME +NETWORK SERVER +APPLICATION +PROFILE +EVENTS +FIRST +LAST\n/)
  assert.match(table, /^aa00000000000001 {2}Meter 1 +\S+ +North +Water +1 /m)
  assert.doesNotMatch(table, /Lamp/)

  assert.equal(
    await succeed(shell, 'unknown-devices register aa00000000000003 --application water --tag street=north'),
    'Registered 1 device.\n',
  )
  assert.match(await succeed(shell, 'device get aa00000000000003'), /tags +\{"street":"north"\}/)
  assert.equal(
    await succeed(shell, 'unknown-devices forget bb00000000000004 --organization alpine --yes'),
    'Forgot the unknown device bb00000000000004 with 1 kept event.\n',
  )
  assert.deepEqual(await waiting(), ['aa00000000000001', 'aa00000000000002'])

  await succeed(shell, 'profile create Meter --organization alpine --codec CAYENNE_LPP')
  const all = 'unknown-devices register --all --server-profile Water --application water --device-profile Meter'
  assert.equal(await succeed(shell, `${all} --name-template North-{deviceName}`), 'Registered 2 devices.\n')
  const device = await succeed(shell, 'device get aa00000000000001')
  assert.match(device, /^name +North-Meter 1$/m)
  const { result } = await json(shell, 'profile list --organization alpine')
  const [profile] = result as readonly { readonly id: string }[]
  assert.match(device, new RegExp(`^deviceProfileID +${profile?.id}$`, 'm'))
  assert.deepEqual(await waiting(), [])
})

test('a command that means no device is refused, and a device that can’t be registered is told', async () => {
  const neither = await shell('unknown-devices register --application water')
  assert.deepEqual([neither.code, neither.out], [2, ''])
  assert.match(neither.error, /Name the devices, or give --all/)
  const both = await shell('unknown-devices register cc00000000000001 --all --application water')
  assert.equal(both.code, 2)
  const none = await shell('unknown-devices forget cc00000000000001 --organization alpine --yes')
  assert.deepEqual([none.code, none.error], [1, 'fieldgate: No device cc00000000000001 waits there.\n'])

  // The device belongs to another organization, so its events wait here.
  const other = await administration.application(await administration.organization())
  const devEui = await administration.device(other)
  await hear(devEui, 'Foreign', 'Water')
  const refused = await shell('unknown-devices register --all --application water')
  assert.deepEqual([refused.code, refused.out], [1, 'Registered 0 devices. 1 device could not be registered.\n'])
  assert.match(
    refused.error,
    new RegExp(`^${devEui}  the device ".*" in application ".*" of organization ".*" has this DevEUI`),
  )
  await succeed(shell, `unknown-devices forget ${devEui} --organization alpine --yes`)
})

test('a rule registers devices by itself, is listed, and is deleted', async () => {
  const id = (
    await succeed(shell, 'registration-rule create --application water --server-profile Gas --prefix DD --tag kind=gas')
  ).trim()
  await hear('dd00000000000001', 'Gas 1', 'Gas')
  await hear('dd00000000000002', 'Other', 'Heat')
  const list = await succeed(shell, 'registration-rule list --organization alpine')
  assert.match(list, new RegExp(`^${id} +water +Gas +dd +no$`, 'm'))
  assert.deepEqual(await waiting(), ['dd00000000000002'])
  assert.match(await succeed(shell, 'device get dd00000000000001'), /tags +\{"kind":"gas"\}/)
  assert.equal(
    await succeed(shell, `registration-rule delete ${id} --organization alpine --yes`),
    `Deleted the registration rule ${id}.\n`,
  )
  const gone = await shell(`registration-rule delete ${id} --organization alpine --yes`)
  assert.deepEqual([gone.code, gone.error], [1, `fieldgate: There is no registration rule ${id}.\n`])
})
