import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EventPayloads } from '../src/lorawan/events.ts'
import type { EventKind } from '../src/lorawan/topics.ts'
import type { DeviceRecord } from './device-file.ts'
import { DEVICE_MODEL_IDS, deviceModel } from './device-models.ts'
import type { DeviceModelId } from './device-models.ts'
import { createGateways } from './gateways.ts'
import { createRandom } from './random.ts'
import { SimulatedDevice } from './simulated-device.ts'
import type { DeviceEvent } from './simulated-device.ts'

const START_MS = Date.UTC(2026, 0, 1, 12)
const NEAR = { latitude: 46.6, longitude: 7.9, altitude: 800 }
const COMMAND = { confirmed: true, fPort: 10, data: 'AA==' }

describe('a simulated device', () => {
  it('joins first, with an address and what was received', () => {
    const device = createDevice()
    assert.equal(device.dueAtMs, START_MS)
    const [event] = device.run(START_MS)
    const join = payloadOf(event, 'join')
    assert.match(join.devAddr, /^[0-9a-f]{8}$/)
    assert.ok(join.rxInfo.length > 0)
    assert.match(join.rxInfo[0]?.gatewayID ?? '', /^[0-9a-f]{16}$/)
    assert.equal(join.rxInfo[0]?.time, '2026-01-01T12:00:00.000Z')
  })

  it('does nothing before it is due', () => {
    const device = createDevice()
    assert.deepEqual(device.run(START_MS - 1), [])
    device.run(START_MS)
    assert.deepEqual(device.run(device.dueAtMs - 1), [])
  })

  it('sends uplinks with ascending frame counters, about once in each interval', () => {
    const events = eventsOf(createDevice(), 3_600_000)
    const ups = events.filter((event) => event.kind === 'up').map((event) => payloadOf(event, 'up'))
    assert.ok(Math.abs(ups.length - 60) <= 6, `${ups.length} uplinks in an hour`)
    assert.deepEqual(
      ups.map((up) => up.fCnt),
      ups.map((_up, index) => index),
    )
  })

  it('writes every member of each kind of event, zeros and false among them', () => {
    const members: Record<EventKind, string> = {
      up: 'deviceProfileName deviceProfileID rxInfo txInfo adr fCnt fPort data object',
      join: 'devAddr rxInfo txInfo',
      ack: 'acknowledged fCnt',
      error: 'type error fCnt',
      status: 'margin externalPowerSource batteryLevel batteryLevelUnavailable',
      location: 'location',
      txack: 'fCnt gatewayID txInfo',
    }
    const seen = new Map<EventKind, object>()
    for (const model of ['gps-tracker', 'energy-meter'] as const) {
      const device = createDevice({ model })
      const events = [...eventsOf(device, 120_000), ...device.receive(json(COMMAND), START_MS + 120_000)]
      for (const event of [...events, ...eventsOf(device, 86_400_000)]) {
        if (event.kind !== 'up' || 'object' in event.payload) seen.set(event.kind, event.payload)
      }
    }
    for (const [kind, own] of Object.entries(members) as [EventKind, string][]) {
      const expected = ['applicationID', 'applicationName', 'deviceName', 'devEUI', 'tags', ...own.split(' ')]
      assert.deepEqual(Object.keys(seen.get(kind) ?? {}), expected, kind)
      assert.ok(!JSON.stringify(seen.get(kind)).includes('null'), kind)
    }
  })

  it('of every model sends payloads that fit and are decoded', () => {
    for (const model of DEVICE_MODEL_IDS) {
      for (const event of eventsOf(createDevice({ model }), 7_200_000)) {
        if (event.kind !== 'up') continue
        const up = payloadOf(event, 'up')
        assert.ok(Buffer.from(up.data, 'base64').length <= 51, model)
        assert.ok(up.fPort >= 1 && up.fPort <= 223, model)
        assert.equal(up.deviceProfileName, deviceModel(model).deviceProfileName)
      }
    }
  })

  it('repeats every event from its seed, and another seed gives others', () => {
    assert.equal(anHourOf(1), anHourOf(1))
    assert.notEqual(anHourOf(1), anHourOf(2))
  })
})

describe('a command to a simulated device', () => {
  it('is sent one second after the next uplink, which comes soon, and answered with txack, then ack', () => {
    const { device, nowMs } = joinedDevice({ faultRate: 0 })
    assert.deepEqual(device.receive(json(COMMAND), nowMs), [])
    assert.ok(device.dueAtMs <= nowMs + 2000, 'the uplink is brought forward')
    const uplinkAtMs = device.dueAtMs
    assert.ok(device.run(uplinkAtMs).some((event) => event.kind === 'up'))
    assert.equal(device.dueAtMs, uplinkAtMs + 1000)
    const [event, ...others] = device.run(device.dueAtMs)
    assert.deepEqual(others, [])
    const txack = payloadOf(event, 'txack')
    assert.equal(txack.fCnt, 0)
    assert.match(txack.gatewayID, /^[0-9a-f]{16}$/)
    const answer = device.run(device.dueAtMs).find((each) => each.kind === 'ack')
    assert.deepEqual(
      { acknowledged: payloadOf(answer, 'ack').acknowledged, fCnt: payloadOf(answer, 'ack').fCnt },
      { acknowledged: true, fCnt: 0 },
    )
  })

  it('gets no ack where it is unconfirmed', () => {
    const { device, nowMs } = joinedDevice({ faultRate: 0 })
    device.receive(json({ ...COMMAND, confirmed: false }), nowMs)
    assert.deepEqual(countsOf(eventsOf(device, 600_000)), { txack: 1, ack: 0 })
  })

  it('is not acknowledged by a device that always fails', () => {
    const { device, nowMs } = joinedDevice({ faultRate: 1 })
    device.receive(json(COMMAND), nowMs)
    const ack = eventsOf(device, 600_000).find((event) => event.kind === 'ack')
    assert.equal(payloadOf(ack, 'ack').acknowledged, false)
  })

  it('waits its turn: one downlink after each uplink, with ascending counters, an ack for each', () => {
    const { device, nowMs } = joinedDevice({ faultRate: 0 })
    for (let count = 0; count < 5; count += 1) device.receive(json(COMMAND), nowMs)
    const events = eventsOf(device, 600_000).filter(({ kind }) => kind === 'txack' || kind === 'ack')
    assert.deepEqual(
      events.map((event) => `${event.kind} ${(event.payload as EventPayloads['txack' | 'ack']).fCnt}`),
      [0, 1, 2, 3, 4].flatMap((fCnt) => [`txack ${fCnt}`, `ack ${fCnt}`]),
    )
  })

  it('that comes before the join is sent after the first uplink', () => {
    const device = createDevice({ faultRate: 0 })
    device.receive(json(COMMAND), START_MS)
    assert.deepEqual(countsOf(eventsOf(device, 600_000)), { txack: 1, ack: 1 })
  })

  it('changes what the device measures', () => {
    const { device, nowMs } = joinedDevice({ model: 'valve-actuator' })
    device.receive(json({ ...COMMAND, data: 'AA==' }), nowMs)
    const ups = eventsOf(device, 600_000).flatMap((event) => (event.kind === 'up' ? [payloadOf(event, 'up')] : []))
    assert.deepEqual(
      [ups[0]?.object?.['open'], ups.at(-1)?.object?.['open'], ups.at(-1)?.object?.['positionPercent']],
      [true, false, 0],
    )
  })

  it('may give an object of Cayenne LPP in the place of data', () => {
    const { device, nowMs } = joinedDevice({ model: 'street-light' })
    device.receive(json({ confirmed: false, fPort: 2, object: { digitalOutput: { 1: 0 } } }), nowMs)
    const events = eventsOf(device, 600_000)
    assert.equal(countsOf(events).txack, 1)
    const last = events.findLast((event) => event.kind === 'up')
    assert.deepEqual(payloadOf(last, 'up').object?.['switch'], { 1: 0 })
  })

  it('that is too long for the data rate becomes an error, and the next one is sent', () => {
    const { device, nowMs } = joinedDevice({ location: { ...NEAR, latitude: NEAR.latitude + 0.2 } })
    device.receive(json({ ...COMMAND, data: Buffer.alloc(52).toString('base64') }), nowMs)
    device.receive(json({ ...COMMAND, data: Buffer.alloc(51).toString('base64') }), nowMs)
    const events = eventsOf(device, 600_000)
    const error = payloadOf(
      events.find((event) => event.kind === 'error'),
      'error',
    )
    assert.equal(error.type, 'DOWNLINK_PAYLOAD_SIZE')
    assert.equal(error.error, 'payload of 52 bytes exceeds the maximum of 51 at DR0')
    assert.equal(countsOf(events).txack, 1)
  })

  it('that expired, cannot be encoded, is none, or is one too many becomes an error', () => {
    const { device, nowMs } = joinedDevice()
    const expiresAt = new Date(nowMs + 1).toISOString()
    device.receive(json({ ...COMMAND, expiresAt }), nowMs)
    const late = eventsOf(device, 60_000).find((event) => event.kind === 'error')
    assert.match(payloadOf(late, 'error').error, /expired/)
    const laterMs = START_MS + 120_000
    const refused = (command: object): string =>
      device
        .receive(json(command), laterMs)
        .map((event) => `${payloadOf(event, 'error').type}: ${payloadOf(event, 'error').error}`)
        .join()
    assert.match(refused({ confirmed: true, fPort: 1, object: { led: { 1: 1 } } }), /^DOWNLINK_CODEC: .*"led"/)
    assert.match(refused({ confirmed: true, fPort: 0, data: '' }), /^UNKNOWN: fPort/)
    assert.match(refused({ confirmed: 'true', fPort: 1, data: '' }), /^UNKNOWN: confirmed/)
    assert.match(refused({ confirmed: true, fPort: 1 }), /^UNKNOWN: there is neither/)
    assert.match(refused([]), /^UNKNOWN: confirmed/)
    for (let count = 0; count < 16; count += 1) assert.equal(refused(COMMAND), '')
    assert.match(refused(COMMAND), /^UNKNOWN: the device's downlink queue is full/)
  })
})

interface DeviceOptions {
  readonly model?: DeviceModelId
  readonly seed?: number
  readonly faultRate?: number
  readonly location?: DeviceRecord['location']
}

function createDevice(options: DeviceOptions = {}): SimulatedDevice {
  const random = createRandom(options.seed ?? 1)
  return new SimulatedDevice({
    record: {
      applicationID: '5',
      applicationName: 'application',
      deviceName: 'device',
      devEUI: '00005eef10000001',
      model: options.model ?? 'temperature-humidity',
      tags: { site: 'here' },
      location: options.location ?? NEAR,
    },
    gateways: createGateways([NEAR], random.fork('gateways')),
    random: random.fork('device'),
    intervalMs: 60_000,
    joinAtMs: START_MS,
    ...(options.faultRate === undefined ? {} : { faultRate: options.faultRate }),
  })
}

/** A device that has joined and sent once; its next uplink is a minute away. */
function joinedDevice(options: DeviceOptions = {}): { device: SimulatedDevice; nowMs: number } {
  const device = createDevice(options)
  device.run(device.dueAtMs)
  const nowMs = device.dueAtMs
  device.run(nowMs)
  return { device, nowMs }
}

function anHourOf(seed: number): string {
  return JSON.stringify(eventsOf(createDevice({ seed }), 3_600_000))
}

/** Lets time pass, and gives all events of it. */
function eventsOf(device: SimulatedDevice, durationMs: number): DeviceEvent[] {
  const endMs = device.dueAtMs + durationMs
  const events: DeviceEvent[] = []
  while (device.dueAtMs <= endMs) events.push(...device.run(device.dueAtMs))
  return events
}

function countsOf(events: readonly DeviceEvent[]): { txack: number; ack: number } {
  return {
    txack: events.filter((event) => event.kind === 'txack').length,
    ack: events.filter((event) => event.kind === 'ack').length,
  }
}

function payloadOf<Kind extends EventKind>(event: DeviceEvent | undefined, kind: Kind): EventPayloads[Kind] {
  assert.equal(event?.kind, kind)
  return event?.payload as EventPayloads[Kind]
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}
