import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LorawanDevice } from './device.ts'
import type { DeviceSettings, ReceivedFrame } from './device.ts'
import type { DownlinkItem } from './gateway-messages.ts'
import { loraPacket } from './lora-packet.ts'

const APP_KEY = '00112233445566778899aabbccddeeff'
const DEV_ADDR = Buffer.from('00f04a8e', 'hex')

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

interface Downlink {
  readonly fCnt: number
  readonly fPort?: number
  readonly payload?: string
  readonly fOpts?: string
  readonly isConfirmed?: boolean
}

function brief({ fCnt, fPort, payload, isConfirmed }: ReceivedFrame): unknown[] {
  return [fCnt, fPort, payload.toString('hex'), isConfirmed]
}

/** A device in the reach of a network server that answers each join request, written with nothing of the device's. */
function joined(deviceClass: DeviceSettings['deviceClass'], { isAnswering = true } = {}) {
  const sent: { readonly phyPayload: Buffer; readonly spreadingFactor: number }[] = []
  const listeners = new Set<(item: DownlinkItem) => void>()
  const keys = { NwkSKey: Buffer.alloc(16), AppSKey: Buffer.alloc(16) }
  const answerers: ((item: DownlinkItem) => void)[] = []
  const device = new LorawanDevice({
    devEui: '0200000000000001',
    joinEui: '0101010101010101',
    appKey: APP_KEY,
    deviceClass,
    gateways: [
      {
        async transmit(phyPayload, { spreadingFactor }, receiver) {
          sent.push({ phyPayload, spreadingFactor })
          answerers.push(receiver)
          const packet = loraPacket.fromWire(phyPayload)
          if (packet.isJoinRequestMessage() && isAnswering) receiver(item(acceptOf(packet.DevNonce), 5000))
        },
        listen(receiver) {
          listeners.add(receiver)
          return () => listeners.delete(receiver)
        },
      },
    ],
  })

  function acceptOf(devNonce: Buffer | undefined): Buffer {
    const appKey = hex(APP_KEY)
    const [NetID, AppNonce] = [Buffer.from([0, 0, 0]), Buffer.from([1, 2, 3])]
    Object.assign(keys, loraPacket.generateSessionKeys10(appKey, NetID, AppNonce, devNonce ?? Buffer.alloc(2)))
    const fields = { MType: 'Join Accept', NetID, AppNonce, DevAddr: DEV_ADDR, DLSettings: 0, RxDelay: 1 }
    // The library leaves the encrypted half where it can be read, and the other in the clear.
    const packet = loraPacket.fromFields(fields, undefined, undefined, appKey)
    return Buffer.concat([Buffer.from([0x20]), packet.MACPayloadWithMIC ?? Buffer.alloc(0)])
  }

  function dataFrame({ fCnt, fPort, payload = '', fOpts = '', isConfirmed = false }: Downlink): Buffer {
    const fields = {
      MType: isConfirmed ? 'Confirmed Data Down' : 'Unconfirmed Data Down',
      DevAddr: DEV_ADDR,
      FCnt: fCnt,
      FOpts: fOpts,
      payload: hex(payload),
      ...(fPort === undefined ? {} : { FPort: fPort }),
    }
    const packet = loraPacket.fromFields(fields, keys.AppSKey, keys.NwkSKey)
    loraPacket.recalculateMIC(packet, keys.NwkSKey)
    return packet.PHYPayload ?? Buffer.alloc(0)
  }

  const network = {
    answer: (downlink: Downlink) => answerers.at(-1)?.(item(dataFrame(downlink), 1000)),
    sendAtOnce: (downlink: Downlink) => {
      for (const listener of listeners) listener(item(dataFrame(downlink), undefined))
    },
    spreadingFactors: () => sent.map(({ spreadingFactor }) => spreadingFactor),
    /** What the network server reads in the data frames; a frame with a wrong integrity code fails the test. */
    uplinks: () =>
      sent
        .map(({ phyPayload }) => loraPacket.fromWire(phyPayload))
        .filter((packet) => packet.isDataMessage())
        .map((packet) => {
          assert.ok(loraPacket.verifyMIC(packet, keys.NwkSKey))
          const fPort = packet.getFPort()
          const payload = fPort === null ? Buffer.alloc(0) : loraPacket.decrypt(packet, keys.AppSKey, keys.NwkSKey)
          return {
            fCnt: packet.getFCnt(),
            fPort,
            payload: payload.toString('hex'),
            isConfirmed: packet.isConfirmed(),
            isAcknowledgement: packet.getFCtrlACK(),
            fOpts: packet.FOpts?.toString('hex') ?? '',
          }
        }),
  }
  return { device, network }
}

function item(phyPayload: Buffer, delayMs: number | undefined): DownlinkItem {
  return { phyPayload, delayMs, frequency: 868_100_000, spreadingFactor: 7, context: Buffer.alloc(4) }
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
