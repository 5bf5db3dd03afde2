import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { VALID, WRONG_COMMANDS } from '../../lorawan/commands/invalid-commands.testing.ts'
import { must, newDevice, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment
let serial = 0

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

test('a command is accepted with its id, and listed as it waits', async () => {
  const devEui = await freshDevice()
  const first = await send(devEui, { ...VALID, id: 'valve-7', expiresAt: '2030-01-02T03:04:05Z', priority: -1 })
  assert.deepEqual([first.statusCode, first.json()], [200, { id: 'valve-7', state: 'queued', repeated: false }])
  const second = await send(devEui, VALID)
  const { id } = second.json<{ id: string }>()
  assert.match(id, /^[0-9a-f-]{36}$/)
  const common = {
    devEUI: devEui,
    confirmed: false,
    fPort: 10,
    data: 'AQID',
    objectJSON: '',
    state: 'queued',
    createdAt: new Date(deployment.clock.now()).toISOString(),
    leftQueueAt: null,
    transmittedAt: null,
    fCnt: null,
    code: '',
    error: '',
  }
  const waitsFirst = {
    waitCode: 'network_server_never_connected',
    waitReason: 'no network server serves the application',
  }
  const waitsBehind = { waitCode: 'behind_command', waitReason: `the command "${id}" of the device goes first` }
  assert.deepEqual(await list(devEui), {
    totalCount: '2',
    deviceQueueItems: [
      { ...common, ...waitsFirst, id, priority: 0, expiresAt: null },
      { ...common, ...waitsBehind, id: 'valve-7', priority: -1, expiresAt: '2030-01-02T03:04:05.000Z' },
    ],
  })
})

for (const [title, payload, member, code, message] of WRONG_COMMANDS) {
  // A body with __proto__ is refused before.
  if (title.includes('prototype')) continue
  test(`a command with ${title} is refused with the member and the fault`, async () => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    const answer = await send(deployment.devEui, text)
    const body = answer.json<{ message: string; code: number; details: [{ reason: string }] }>()
    assert.deepEqual([answer.statusCode, body.code, body.details[0].reason], [400, 3, `command_${code}`], body.message)
    assert.ok(body.message.startsWith(`deviceQueueItem.${member ?? ''}`), body.message)
    assert.ok(body.message.includes(message), body.message)
  })
}

test('jsonObject is the object as text, beside which data may be empty', async () => {
  const devEui = await freshDevice()
  const command = { confirmed: true, fPort: 5, data: '', jsonObject: '{"led": {"1": 1}}' }
  const refused = await send(devEui, command)
  assert.deepEqual(
    [refused.statusCode, sentence(refused)],
    [
      400,
      'deviceQueueItem.jsonObject: neither the application nor its network server has a codec for it; send data, or set objectCommands of the application if its network server has a codec',
    ],
  )
  assert.equal(sentence(await send(devEui, { ...command, jsonObject: '{' })), 'deviceQueueItem.jsonObject: is not JSON')
  for (const jsonObject of [[1], 5, true, null]) {
    const answer = await send(devEui, { ...command, jsonObject, object: { led: 1 } })
    assert.equal(sentence(answer), 'deviceQueueItem.jsonObject: must be JSON as text, or an object')
  }
  const wrong = await send(devEui, { ...command, jsonObject: '5' })
  assert.equal(sentence(wrong), 'deviceQueueItem.jsonObject: must be an object, not a number')
  await setCodec('CUSTOM_JS')
  assert.equal((await send(devEui, command)).statusCode, 200)
  assert.equal((await send(devEui, { ...command, jsonObject: '', object: { led: 1 } })).statusCode, 200)
  await setCodec('')
  const { deviceQueueItems } = await list(devEui)
  assert.deepEqual(
    deviceQueueItems.map(({ data }) => Buffer.from(String(data), 'base64').toString()),
    ['{"led":{"1":1}}', '{"led":1}'],
  )
})

test('devEUI in the body must be the one of the path', async () => {
  const devEui = await freshDevice()
  assert.equal((await send(devEui, { ...VALID, devEUI: devEui.toUpperCase() })).statusCode, 200)
  const refused = await send(devEui, { ...VALID, devEUI: 'ffffffffffffffff' })
  assert.equal(sentence(refused), 'deviceQueueItem.devEUI: is another device than the one that is addressed')
})

test('the same id twice is one command, and another one is refused', async () => {
  const devEui = await freshDevice()
  await send(devEui, { ...VALID, id: 'a' })
  const again = await send(devEui, { ...VALID, id: 'a' })
  assert.deepEqual([again.statusCode, again.json()], [200, { id: 'a', state: 'queued', repeated: true }])
  const other = await send(devEui, { ...VALID, fPort: 11, id: 'a' })
  assert.deepEqual([other.statusCode, reason(other)], [400, 'command_id_taken'])
  assert.equal(sentence(other), 'deviceQueueItem.id: another command for this device has it')
})

test('a full queue answers 429, a disabled device 400', async () => {
  const devEui = await freshDevice()
  for (let count = 0; count < 100; count += 1) assert.equal((await send(devEui, VALID)).statusCode, 200)
  const full = await send(devEui, VALID)
  assert.deepEqual([full.statusCode, reason(full)], [429, 'command_queue_full'])
  must(await deployment.registry.devices.update(devEui, { isDisabled: true }, { userId: null }))
  const disabled = await send(devEui, VALID)
  assert.deepEqual([disabled.statusCode, reason(disabled)], [400, 'command_device_disabled'])
})

test('a command that waits is cancelled by its id, whatever characters that has', async () => {
  const devEui = await freshDevice()
  for (const id of ['a/b%', 'c']) await send(devEui, { ...VALID, id })
  const cancel = async (id: string) =>
    deployment.ask(await deployment.session('member'), {
      method: 'DELETE',
      url: `/api/devices/${devEui}/queue/${encodeURIComponent(id)}`,
    })
  const answer = await cancel('a/b%')
  assert.deepEqual([answer.statusCode, answer.json()], [200, {}])
  assert.equal((await cancel('nothing')).statusCode, 404)
  const items = (await list(devEui)).deviceQueueItems
  assert.deepEqual(
    items.map(({ id, state, code, error }) => [id, state, code, error]),
    [
      ['c', 'queued', '', ''],
      ['a/b%', 'cancelled', 'command_cancelled', 'the command was cancelled'],
    ],
  )
  assert.ok(items[1]?.['leftQueueAt'])
})

test('all commands are cancelled at once', async () => {
  const devEui = await freshDevice()
  for (const id of ['a', 'b']) await send(devEui, { ...VALID, id })
  const url = `/api/devices/${devEui}/queue`
  const answer = await deployment.ask(await deployment.session('member'), { method: 'DELETE', url })
  assert.deepEqual([answer.statusCode, answer.json()], [200, { cancelled: ['a', 'b'], sent: [] }])
  const { deviceQueueItems } = await list(devEui)
  assert.deepEqual(
    deviceQueueItems.map(({ state }) => state),
    ['cancelled', 'cancelled'],
  )
})

function freshDevice(): Promise<string> {
  serial += 1
  const devEui = serial.toString(16).padStart(16, 'c')
  return newDevice(deployment.registry, deployment.applicationId, devEui)
}

async function send(devEui: string, command: string | object): Promise<LightMyRequestResponse> {
  const text = typeof command === 'string' ? command : JSON.stringify(command)
  return deployment.ask(await deployment.session('member'), {
    method: 'POST',
    url: `/api/devices/${devEui}/queue`,
    headers: { 'content-type': 'application/json' },
    payload: `{"deviceQueueItem":${text}}`,
  })
}

async function list(devEui: string) {
  const url = `/api/devices/${devEui}/queue`
  const answer = await deployment.ask(await deployment.session('member'), { method: 'GET', url })
  assert.equal(answer.statusCode, 200)
  return answer.json<{ totalCount: string; deviceQueueItems: Record<string, unknown>[] }>()
}

async function setCodec(payloadCodec: '' | 'CUSTOM_JS'): Promise<void> {
  const { registry, applicationId } = deployment
  must(await registry.applications.update(applicationId, { payloadCodec }, { userId: null }))
}

function sentence(answer: LightMyRequestResponse): string {
  return answer.json<{ message: string }>().message
}

function reason(answer: LightMyRequestResponse): string {
  return answer.json<{ details: [{ reason: string }] }>().details[0].reason
}
