import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import { openTestUnknownDevices } from '../http/devices/unknown-devices.testing.ts'
import type { UnknownDevices } from '../lorawan/unknown-devices/unknown-devices.ts'
import type { WaitingDevices } from '../lorawan/unknown-devices/waiting-devices.ts'
import { LocalDeployment } from '../nodes.testing.ts'
import { createWaitingOfNodes } from './waiting-of-nodes.ts'

interface TestNode {
  readonly here: UnknownDevices
  readonly all: WaitingDevices
}

const NOWHERE = { directory: { device: () => undefined } } as unknown as Parameters<typeof openTestUnknownDevices>[0]

let clock: TestClock
let deployment: LocalDeployment
let a: TestNode
let b: TestNode

beforeEach(() => {
  clock = new TestClock()
  deployment = new LocalDeployment(clock)
  a = join('a')
  b = join('b')
})

function join(name: string): TestNode {
  const here = openTestUnknownDevices(NOWHERE, clock)
  return { here, all: createWaitingOfNodes(here, deployment.join(name).bus) }
}

/** An event of the device comes to the node, later than all before. */
async function hear({ here }: TestNode, number: number, deviceName: string, organizationId = '1'): Promise<void> {
  clock.advance(1)
  const payload = Buffer.from(
    JSON.stringify({ deviceInfo: { deviceName, deviceProfileName: `profile ${deviceName}` } }),
  )
  const event = { applicationId: '', devEui: devEuiOf(number), kind: 'up', payload } as const
  await here.keep({ networkServer: 'http', organizationId }, event)
}

function devEuiOf(number: number): string {
  return number.toString(16).padStart(16, '0')
}

const ALL = { owner: '1', filter: {} }

test('a page has the devices of all nodes in the order in which they were first heard of, each once', async () => {
  await hear(a, 3, 'three')
  await hear(b, 2, 'two')
  await hear(b, 3, 'three, renamed')
  await hear(a, 1, 'one')
  await hear(b, 9, 'of another organization', '2')
  for (const { all } of [a, b]) {
    const { totalCount, items, missing } = await all.page(ALL, 0, 10)
    assert.deepEqual([totalCount, missing], [3, []])
    assert.deepEqual(
      items.map(({ names, eventCount, lastAtMs, firstAtMs }) => [names.deviceName, eventCount, lastAtMs - firstAtMs]),
      [
        ['three, renamed', 2, 2],
        ['two', 1, 0],
        ['one', 1, 0],
      ],
    )
    assert.deepEqual(
      (await all.page(ALL, 1, 1)).items.map(({ devEui }) => devEui),
      [devEuiOf(2)],
    )
    const filtered = await all.page({ owner: '1', filter: { deviceProfileName: 'profile two' } }, 0, 10)
    assert.deepEqual([filtered.totalCount, filtered.items[0]?.devEui], [1, devEuiOf(2)])
    const named = await all.page({ ...ALL, devEuis: [devEuiOf(1), devEuiOf(3)] }, 0, 10)
    assert.equal(named.totalCount, 2)
  }
})

test('the details of thousands of devices come in several answers', async () => {
  const long = 'ä'.repeat(100)
  for (let number = 0; number < 1_000; number += 1) await hear(b, number, `${long}${number}`)
  const { items } = await a.all.page(ALL, 0, 1_000)
  assert.equal(new Set(items.map(({ devEui }) => devEui)).size, 1_000)
})

test('a device is forgotten at all nodes', async () => {
  await hear(a, 1, 'one')
  await hear(b, 1, 'one')
  assert.equal(await a.all.forget('2', devEuiOf(1)), false)
  assert.equal(await a.all.forget('1', devEuiOf(1)), true)
  assert.equal((await b.all.page(ALL, 0, 0)).totalCount, 0)
  assert.equal(await a.all.forget('1', devEuiOf(1)), false)
})
