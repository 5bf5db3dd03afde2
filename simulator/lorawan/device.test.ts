import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LorawanDevice } from './device.ts'
import type { DeviceSettings, ReceivedFrame } from './device.ts'
import { createNetworkSide } from './network-side.testing.ts'

test('a device that joined counts its uplinks from 0', async () => {
  const { device, network } = joined('A')
  await device.join()
  assert.deepEqual([await device.uplink(2, hex('01')), await device.uplink(3, hex('02'))], [0, 1])
  assert.deepEqual(network.uplinks(), [
    { fCnt: 0, fPort: 2, payload: '01', isConfirmed: false, isAcknowledgement: false, fOpts: '' },
    { fCnt: 1, fPort: 3, payload: '02', isConfirmed: false, isAcknowledgement: false, fOpts: '' },
  ])
  await device.join()
  assert.equal(await device.uplink(2, hex('01')), 0)
})

test('a device that is not answered has not joined', async (context) => {
  const { device } = joined('A', { isAnswering: false })
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const joining = assert.rejects(device.join({ timeoutMs: 500 }), /no join accept in 500 ms/)
  context.mock.timers.tick(500)
  await joining
  await assert.rejects(device.uplink(2, hex('01')), /has not joined/)
})

test('application payloads are told in order, with port, counter and kind', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fPort: 10, payload: 'aa' })
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 1 })
  network.answer({ fCnt: 4, fPort: 11, payload: 'bb', isConfirmed: true })
  assert.deepEqual(device.received.map(brief), [
    [0, 10, 'aa', false],
    [4, 11, 'bb', true],
  ])
  assert.equal(device.frames.length, 3)
})

test('a frame that comes twice is taken once, and told', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fPort: 10, payload: 'aa' })
  network.answer({ fCnt: 0, fPort: 10, payload: 'aa' })
  assert.equal(device.received.length, 1)
  assert.deepEqual(device.notTaken, ['repeated_fcnt'])
})

test('class A acknowledges a confirmed downlink with its next uplink, and only that one', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fPort: 10, payload: 'aa', isConfirmed: true })
  await device.uplink(2, hex('02'))
  await device.uplink(2, hex('03'))
  assert.deepEqual(
    network.uplinks().map(({ isAcknowledgement }) => isAcknowledgement),
    [false, true, false],
  )
})

test('class C acknowledges at once, with a frame of its own', async () => {
  const { device, network } = joined('C')
  await device.join()
  network.sendAtOnce({ fCnt: 0, fPort: 10, payload: 'aa', isConfirmed: true })
  assert.deepEqual(network.uplinks(), [
    { fCnt: 0, fPort: null, payload: '', isConfirmed: false, isAcknowledgement: true, fOpts: '' },
  ])
  assert.deepEqual(
    device.received.map(({ isAnswer }) => isAnswer),
    [false],
  )
})

test('class A hears nothing outside of its receive windows, and class C nothing after its end', async () => {
  const a = joined('A')
  await a.device.join()
  a.network.sendAtOnce({ fCnt: 0, fPort: 10, payload: 'aa' })
  assert.equal(a.device.frames.length, 0)
  const c = joined('C')
  await c.device.join()
  c.device.close()
  c.network.sendAtOnce({ fCnt: 0, fPort: 10, payload: 'aa' })
  assert.equal(c.device.frames.length, 0)
})

test('a device can be told not to hear and not to acknowledge', async () => {
  const { device, network } = joined('C')
  await device.join()
  device.isHearing = false
  network.sendAtOnce({ fCnt: 0, fPort: 10, payload: 'aa' })
  assert.equal(device.frames.length, 0)
  device.isHearing = true
  device.isAcknowledging = false
  network.sendAtOnce({ fCnt: 1, fPort: 10, payload: 'aa', isConfirmed: true })
  await device.uplink(2, hex('01'))
  assert.equal(device.received.length, 1)
  assert.deepEqual(
    network.uplinks().map(({ isAcknowledgement }) => isAcknowledgement),
    [false],
  )
})

test('MAC answers go with the next uplink; those about windows until a downlink comes', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fOpts: '060805' })
  await device.uplink(2, hex('02'))
  await device.uplink(2, hex('03'))
  network.answer({ fCnt: 1 })
  await device.uplink(2, hex('04'))
  assert.deepEqual(
    network.uplinks().map(({ fOpts }) => fOpts),
    ['', '06c80a08', '08', ''],
  )
})

test('MAC commands of port 0 are answered and are no application payload', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fPort: 0, payload: '06' })
  await device.uplink(2, hex('02'))
  assert.equal(network.uplinks()[1]?.fOpts, '06c80a')
  assert.deepEqual(device.received, [])
  assert.deepEqual(
    device.frames[0]?.macCommands.map(({ name }) => name),
    ['DevStatusReq'],
  )
})

test('MAC answers that are too many for one uplink wait for the next', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fPort: 0, payload: '06'.repeat(6) })
  await device.emptyUplink()
  await device.emptyUplink()
  await device.emptyUplink()
  assert.deepEqual(
    network.uplinks().map(({ fOpts }) => fOpts.length / 2),
    [0, 15, 3, 0],
  )
})

test('LinkADRReq changes the data rate of the next uplink', async () => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  network.answer({ fCnt: 0, fOpts: '0320070001' })
  await device.uplink(2, hex('02'))
  assert.deepEqual(network.spreadingFactors(), [7, 7, 10])
})

test('the next frame of a kind can be waited for, but not for ever', async (context) => {
  const { device, network } = joined('A')
  await device.join()
  await device.uplink(2, hex('01'))
  const awaited = device.nextFrame(({ fPort }) => fPort === 11)
  network.answer({ fCnt: 0, fPort: 10, payload: 'aa' })
  network.answer({ fCnt: 1, fPort: 11, payload: 'bb' })
  assert.equal((await awaited).fCnt, 1)
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const waiting = assert.rejects(device.nextFrame(undefined, 500), /no such frame in 500 ms/)
  context.mock.timers.tick(500)
  await waiting
})

test('the last frame can be sent again, bit by bit', async () => {
  const { device, network } = joined('A')
  await assert.rejects(device.repeat(), /has sent nothing yet/)
  await device.join()
  await device.uplink(2, hex('01'))
  await device.repeat()
  const [first, second] = network.uplinks()
  assert.deepEqual(second, first)
  assert.equal(await device.uplink(2, hex('02')), 1)
})

function brief({ fCnt, fPort, payload, isConfirmed }: ReceivedFrame): unknown[] {
  return [fCnt, fPort, payload.toString('hex'), isConfirmed]
}

function joined(deviceClass: DeviceSettings['deviceClass'], { isAnswering = true } = {}) {
  const network = createNetworkSide({ isAnswering })
  const { radio, appKey } = network
  const [devEui, joinEui] = ['0200000000000001', '0101010101010101']
  return { network, device: new LorawanDevice({ devEui, joinEui, appKey, deviceClass, gateways: [radio] }) }
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
