import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  DEV_EUI,
  FAR,
  NEAR,
  START_MS,
  command,
  createDevice,
  eventsUntil,
  joined,
  ofKind,
  untilEvent,
} from './device.testing.ts'
import { MAXIMUM_QUEUE } from './downlink-queue.ts'
import { createGateways } from './gateways.ts'
import type { Gateways } from './gateways.ts'
import type { NetworkEvent } from './network-event.ts'
import { createRandom } from './random.ts'
import { region } from './region.ts'
import type { SimulatedDevice } from './simulated-device.ts'

const CONFIRMED = { confirmed: true }
const MINUTE_MS = 60_000

describe('a command to a device of class A', () => {
  it('waits for an uplink, and is sent one second after it', () => {
    const { device, nowMs } = joined({ intervalMs: 600_000 })
    assert.equal(device.receive(command(), nowMs + 2000).outcome, 'queued')
    assert.ok(device.dueAtMs >= nowMs + 540_000, 'nothing happens before the next uplink')
    const uplinkAtMs = device.dueAtMs
    assert.ok(device.run(uplinkAtMs).some(({ kind }) => kind === 'up'))
    assert.equal(device.dueAtMs, uplinkAtMs + 1000)
    assert.deepEqual(device.run(uplinkAtMs + 999), [])
    const [txack, ...others] = device.run(uplinkAtMs + 1000)
    assert.ok(txack?.kind === 'txack')
    assert.deepEqual(others, [])
    assert.deepEqual([txack.fCntDown, txack.delaySeconds, txack.carrier.dataRate.dr], [0, 1, 5])
    assert.match(txack.gatewayId, /^[0-9a-f]{16}$/)
  })

  it('is sent in its window by a device that would rather send: it listens first', () => {
    const { device, nowMs } = joined({ intervalMs: 200 })
    device.receive(command(CONFIRMED), nowMs)
    const up = untilEvent(device, 'up')
    assert.equal(untilEvent(device, 'txack').atMs, up.atMs + 1000)
    assert.ok(untilEvent(device, 'ack').acknowledged)
  })

  it('that is confirmed is acknowledged by the next uplink, which the device hastens', () => {
    const { device, nowMs } = joined({ intervalMs: 600_000 })
    device.receive(command(CONFIRMED), nowMs)
    const txack = untilEvent(device, 'txack')
    const ack = untilEvent(device, 'ack')
    assert.ok(ack.atMs <= txack.atMs + 2000)
    assert.deepEqual([ack.acknowledged, ack.fCntDown], [true, txack.fCntDown])
    assert.equal(ack.queueItemId.id, txack.queueItemId.id)
  })

  it('that is unconfirmed gets no ack', () => {
    const { device, nowMs } = joined({ intervalMs: MINUTE_MS })
    device.receive(command(), nowMs)
    const events = eventsUntil(device, nowMs + 10 * MINUTE_MS)
    assert.deepEqual([ofKind(events, 'txack').length, ofKind(events, 'ack').length], [1, 0])
  })

  it('takes its turn: one for each uplink, in order, with ascending counters, an ack before the next', () => {
    const { device, nowMs } = joined({ intervalMs: 600_000 })
    for (let count = 0; count < 5; count += 1) device.receive(command({ ...CONFIRMED, id: `id ${count}` }), nowMs)
    const events = eventsUntil(device, nowMs + 30 * MINUTE_MS)
    assert.deepEqual(
      events.flatMap((event) =>
        event.kind === 'txack' || event.kind === 'ack'
          ? [`${event.kind} ${event.queueItemId.id} ${event.fCntDown}`]
          : [],
      ),
      [0, 1, 2, 3, 4].flatMap((count) => [`txack id ${count} ${count}`, `ack id ${count} ${count}`]),
    )
    const between = events.filter(({ kind }) => kind === 'txack' || kind === 'up').map(({ kind }) => kind)
    for (const [index, kind] of between.entries()) {
      if (kind === 'txack') assert.equal(between[index - 1], 'up', 'a downlink comes after an uplink alone')
    }
  })

  it('is sent again with a new frame counter, and after the last try not acknowledged', () => {
    const { device, nowMs } = joinedThenDeaf({ retries: 2 })
    device.receive(command(CONFIRMED), nowMs)
    const events = eventsUntil(device, nowMs + 60 * MINUTE_MS)
    const fCnts = ofKind(events, 'txack').map(({ fCntDown }) => fCntDown)
    assert.deepEqual(fCnts, [0, 1, 2])
    assert.deepEqual(
      ofKind(events, 'ack').map(({ acknowledged, fCntDown }) => ({ acknowledged, fCntDown })),
      [{ acknowledged: false, fCntDown: 2 }],
    )
  })

  it('that comes before the join is sent after the first uplink', () => {
    const device = createDevice()
    device.receive(command(), START_MS)
    const join = untilEvent(device, 'join')
    assert.equal(untilEvent(device, 'txack').atMs, join.atMs + 1000)
  })

  it('outlives a new session', () => {
    const { device, nowMs } = joined({ intervalMs: 600_000, radio: { powerCutEveryMs: MINUTE_MS * 2 } })
    device.receive(command(), nowMs)
    const join = untilEvent(device, 'join')
    const txack = untilEvent(device, 'txack')
    assert.ok(txack.atMs > join.atMs && txack.fCntDown === 0)
  })

  it('changes what the device measures', () => {
    const { device, nowMs } = joined({ model: 'valve-actuator', intervalMs: MINUTE_MS })
    device.receive(command({ data: 'AA==' }), nowMs)
    const ups = ofKind(eventsUntil(device, nowMs + 10 * MINUTE_MS), 'up')
    assert.deepEqual([ups[0]?.object?.['open'], ups.at(-1)?.object?.['open']], [true, false])
  })

  it('may give an object of Cayenne LPP in the place of data', () => {
    const { device, nowMs } = joined({ model: 'street-light', intervalMs: MINUTE_MS })
    device.receive(command({ data: undefined, object: { digitalOutput: { 1: 0 } } }), nowMs)
    const ups = ofKind(eventsUntil(device, nowMs + 10 * MINUTE_MS), 'up')
    assert.deepEqual(ups.at(-1)?.object?.['switch'], { 1: 0 })
  })
})

describe('a receive window', () => {
  it('that the gateway misses since it sends is followed by the second, a second later and slower', () => {
    const gateways = oneGateway()
    const { device, nowMs } = joined({ gateways, intervalMs: 600_000 })
    device.receive(command(), nowMs)
    const up = untilEvent(device, 'up')
    gateways.send([up.heard.receptions[0].gateway], up.atMs, 1500)
    const txack = untilEvent(device, 'txack')
    assert.equal(txack.atMs, up.atMs + 2000)
    assert.deepEqual([txack.delaySeconds, txack.carrier.frequency, txack.carrier.dataRate.dr], [2, 869_525_000, 0])
  })

  it('that is missed with the second is told, and the command stays for the next uplink', () => {
    const gateways = oneGateway()
    const { device, nowMs } = joined({ gateways, intervalMs: 600_000 })
    device.receive(command(), nowMs)
    const up = untilEvent(device, 'up')
    gateways.send([up.heard.receptions[0].gateway], up.atMs, 3000)
    const fault = untilEvent(device, 'fault')
    assert.deepEqual([fault.code, fault.queueItemId, fault.atMs], ['DOWNLINK_GATEWAY', undefined, up.atMs + 2000])
    const next = untilEvent(device, 'up')
    assert.equal(untilEvent(device, 'txack').atMs, next.atMs + 1000)
  })
})

describe('a command to a device of class C', () => {
  it('is sent at once, without an uplink', () => {
    const { device, nowMs } = joined({ deviceClass: 'C', intervalMs: 600_000 })
    device.receive(command(), nowMs + 5000)
    const [txack] = device.run(nowMs + 5000)
    assert.ok(txack?.kind === 'txack')
    assert.deepEqual([txack.delaySeconds, txack.carrier.frequency], [undefined, 869_525_000])
  })

  it('that is confirmed is answered by an uplink within two seconds', () => {
    const { device, nowMs } = joined({ deviceClass: 'C', intervalMs: 600_000 })
    device.receive(command(CONFIRMED), nowMs + 5000)
    const ack = untilEvent(device, 'ack')
    assert.ok(ack.acknowledged && ack.atMs <= nowMs + 7000)
  })

  it('is not acknowledged when nothing is heard for five seconds', () => {
    const { device, nowMs } = joinedThenDeaf({ retries: 1, deviceClass: 'C' })
    device.receive(command(CONFIRMED), nowMs)
    const first = untilEvent(device, 'txack')
    const second = untilEvent(device, 'txack')
    assert.ok(second.atMs >= first.atMs + 5000 && second.atMs <= first.atMs + 7000)
    const ack = untilEvent(device, 'ack')
    assert.deepEqual([ack.acknowledged, ack.fCntDown], [false, second.fCntDown])
  })

  it('follows the one before after a second', () => {
    const { device, nowMs } = joined({ deviceClass: 'C', intervalMs: 600_000 })
    for (let count = 0; count < 3; count += 1) device.receive(command(), nowMs + 5000)
    const times = ofKind(eventsUntil(device, nowMs + 30_000), 'txack').map(({ atMs }) => atMs)
    assert.equal(times.length, 3)
    assert.ok(times.every((atMs, index) => index === 0 || atMs - (times[index - 1] ?? 0) >= 1000))
  })

  it('waits for the first uplink after a join', () => {
    const device = createDevice({ deviceClass: 'C' })
    device.receive(command(), START_MS)
    const join = untilEvent(device, 'join')
    assert.ok(untilEvent(device, 'txack').atMs >= join.atMs)
  })

  it('waits for a gateway that sends', () => {
    const gateways = oneGateway()
    const { device, nowMs } = joined({ gateways, deviceClass: 'C', intervalMs: 600_000 })
    const up = untilEvent(device, 'up')
    gateways.send([up.heard.receptions[0].gateway], up.atMs, 700)
    device.receive(command(), up.atMs)
    assert.equal(untilEvent(device, 'txack').atMs, up.atMs + 700)
    assert.ok(up.atMs > nowMs)
  })
})

describe('a command that is not sent', () => {
  it('is too long for the data rate: 51 bytes at DR0, 242 at DR5; the next one is sent', () => {
    for (const [location, fits, dr] of [
      [FAR, 51, 0],
      [NEAR, 242, 5],
    ] as const) {
      const { device, nowMs } = joined({ location, intervalMs: MINUTE_MS })
      device.receive(command({ data: bytes(fits + 1) }), nowMs)
      device.receive(command({ data: bytes(fits) }), nowMs)
      const events = eventsUntil(device, nowMs + 10 * MINUTE_MS)
      const [fault] = ofKind(events, 'fault')
      assert.equal(fault?.code, 'DOWNLINK_PAYLOAD_SIZE')
      assert.equal(fault.description, `payload of ${fits + 1} bytes exceeds the maximum of ${fits} at DR${dr}`)
      assert.deepEqual(fault.context, { item_size: String(fits + 1), max_payload_size: String(fits) })
      assert.equal(ofKind(events, 'txack').length, 1)
    }
  })

  it('is longer than 11 bytes at the slowest data rate of AS923', () => {
    const { device, nowMs } = joined({
      location: FAR,
      intervalMs: MINUTE_MS,
      radio: { region: region('AS923') },
      model: 'door-contact',
    })
    device.receive(command({ data: bytes(12) }), nowMs)
    device.receive(command({ data: bytes(11) }), nowMs)
    const events = eventsUntil(device, nowMs + 10 * MINUTE_MS)
    assert.match(ofKind(events, 'fault')[0]?.description ?? '', /12 bytes exceeds the maximum of 11 at DR2/)
    assert.equal(ofKind(events, 'txack').length, 1)
  })

  it('expired before its turn came', () => {
    const { device, nowMs } = joined({ intervalMs: MINUTE_MS, family: 'B' })
    const [late, inTime] = ['8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d', '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4e']
    for (const [id, afterMs] of [
      [late, 1000],
      [inTime, 10 * MINUTE_MS],
    ] as const) {
      device.receive(command({ devEui: DEV_EUI, id, expiresAt: new Date(nowMs + afterMs).toISOString() }), nowMs)
    }
    const events = eventsUntil(device, nowMs + 5 * MINUTE_MS)
    const [fault] = ofKind(events, 'fault')
    assert.deepEqual([fault?.code, fault?.queueItemId?.id], ['DOWNLINK_EXPIRED', late])
    assert.deepEqual(idsOf(ofKind(events, 'txack')), [inTime])
  })

  it('never expires in family A, which knows no such time', () => {
    const { device, nowMs } = joined({ intervalMs: MINUTE_MS })
    device.receive(command({ expiresAt: new Date(nowMs - 1000).toISOString(), id: 'late' }), nowMs)
    const events = eventsUntil(device, nowMs + 5 * MINUTE_MS)
    assert.deepEqual(idsOf(ofKind(events, 'txack')), ['late'])
  })

  it('has an object that cannot be encoded', () => {
    const { device, nowMs } = joined()
    const fate = device.receive(command({ data: undefined, object: { led: { 1: 1 } }, id: 'x' }), nowMs)
    assert.ok(fate.outcome === 'refused' && fate.event.kind === 'fault')
    assert.equal(fate.event.code, 'DOWNLINK_CODEC')
    assert.match(fate.event.description, /"led"/)
    assert.equal(fate.event.queueItemId?.id, 'x')
  })

  it('has an object that cannot be encoded, in family B, which tells nobody', () => {
    const { device } = joined({ family: 'B' })
    const payload = command({ devEui: DEV_EUI, data: undefined, object: { led: { 1: 1 } } })
    assert.equal(reasonOf(device, payload), 'the object cannot be encoded')
  })

  it('is one too many', () => {
    const { device, nowMs } = joined()
    for (let count = 0; count < MAXIMUM_QUEUE; count += 1) {
      assert.equal(device.receive(command(), nowMs).outcome, 'queued')
    }
    const fate = device.receive(command(), nowMs)
    assert.ok(fate.outcome === 'refused' && fate.event.kind === 'fault' && fate.event.code === 'DOWNLINK_QUEUE_FULL')
  })

  it('has the id of one that is queued', () => {
    const { device, nowMs } = joined()
    assert.equal(device.receive(command({ id: 'same' }), nowMs).outcome, 'queued')
    assert.equal(reasonOf(device, command({ id: 'same' })), 'a command of this id is queued already')
  })

  it('is none: it is ignored, as network servers do', () => {
    const { device } = joined()
    assert.equal(reasonOf(device, Buffer.from('{')), 'the command is not JSON')
    assert.equal(reasonOf(device, Buffer.from('null')), 'the command is not a JSON object')
    assert.equal(reasonOf(device, command({ confirmed: 'true' })), 'confirmed is not a boolean')
    assert.equal(reasonOf(device, command({ fPort: 0 })), 'fPort is not a whole number from 1 to 255')
    assert.equal(reasonOf(device, command({ fPort: 300 })), 'fPort is not a whole number from 1 to 255')
    assert.equal(reasonOf(device, command({ data: undefined })), 'there is neither data nor object')
  })

  it('does not name its device, or has an id that is no UUID, in family B', () => {
    const { device, nowMs } = joined({ family: 'B' })
    const id = '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d'
    assert.equal(reasonOf(device, command()), 'devEui is not the DevEUI of the topic')
    assert.equal(reasonOf(device, command({ devEui: DEV_EUI.toUpperCase() })), 'devEui is not the DevEUI of the topic')
    assert.equal(reasonOf(device, command({ devEui: DEV_EUI, id: 'x' })), 'id is not a UUID')
    assert.equal(reasonOf(device, command({ devEui: DEV_EUI, expiresAt: 'soon' })), 'expiresAt is not a time')
    assert.equal(device.receive(command({ devEui: DEV_EUI, id }), nowMs).outcome, 'queued')
    assert.equal(device.receive(command({ devEui: DEV_EUI }), nowMs).outcome, 'queued')
  })
})

function reasonOf(device: SimulatedDevice, payload: Buffer): string {
  const fate = device.receive(payload, START_MS)
  return fate.outcome === 'ignored' ? fate.reason : fate.outcome
}

function idsOf(events: readonly Extract<NetworkEvent, { kind: 'txack' }>[]): string[] {
  return events.map(({ queueItemId }) => queueItemId.id)
}

function bytes(count: number): string {
  return Buffer.alloc(count, 2).toString('base64')
}

function oneGateway(): Gateways {
  return createGateways([NEAR], createRandom(7))
}

/** A device that has a session and no longer hears anything. */
function joinedThenDeaf(options: { readonly retries: number; readonly deviceClass?: 'A' | 'C' }): {
  device: SimulatedDevice
  nowMs: number
} {
  return joined({
    intervalMs: MINUTE_MS,
    radio: { downlinkRetries: options.retries, resumedShare: 1, downlinkLossRate: 1 },
    ...(options.deviceClass === undefined ? {} : { deviceClass: options.deviceClass }),
  })
}
