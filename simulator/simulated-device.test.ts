import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEVICE_MODEL_IDS } from './device-models.ts'
import { FAR, START_MS, createDevice, eventsUntil, ofKind, untilEvent } from './device.testing.ts'
import type { NetworkEvent } from './network-event.ts'
import { region } from './region.ts'

const HOUR_MS = 3_600_000

describe('a device that joins', () => {
  it('is accepted five seconds after its request, and told with its first uplink', () => {
    const device = createDevice()
    assert.equal(device.dueAtMs, START_MS)
    assert.deepEqual(device.run(START_MS), [])
    assert.equal(device.dueAtMs, START_MS + 5000)
    assert.deepEqual(device.run(START_MS + 5000), [])
    assert.ok(device.dueAtMs >= START_MS + 6000 && device.dueAtMs <= START_MS + 8000)
    const [join, up] = device.run(device.dueAtMs)
    assert.ok(join?.kind === 'join' && up?.kind === 'up')
    assert.match(join.devAddr, /^[0-9a-f]{8}$/)
    assert.equal(up.devAddr, join.devAddr)
    assert.equal(up.fCnt, 0)
    assert.ok(up.heard.receptions.length > 0)
  })

  it('tries again, slower and slower, until a gateway hears it', () => {
    const device = createDevice({ location: FAR })
    const join = untilEvent(device, 'join')
    assert.equal(join.heard.carrier.dataRate.dr, 0)
    assert.ok(join.atMs > START_MS + 5 * 6500, 'five requests were not heard')
  })

  it('joins again after its accept was lost, with a new number', () => {
    const deaf = createDevice({ radio: { downlinkLossRate: 1 } })
    assert.deepEqual(eventsUntil(deaf, START_MS + HOUR_MS), [])
    const joins = Array.from({ length: 20 }, (_device, seed) =>
      untilEvent(createDevice({ radio: { downlinkLossRate: 0.5 }, seed }), 'join'),
    )
    const late = joins.filter(({ atMs }) => atMs > START_MS + 5000 + 6500).length
    assert.ok(late >= 4 && late <= 16, `the first accept of ${late} was lost`)
  })

  it('whose request comes twice is refused once, and accepted', () => {
    const events = eventsUntil(createDevice({ radio: { repeatRate: 1 } }), START_MS + 10_000)
    assert.equal(ofKind(events, 'fault').filter(({ code }) => code === 'OTAA').length, 1)
    assert.equal(ofKind(events, 'join').length, 1)
  })

  it('begins each session with a new address and frame counter', () => {
    const events = eventsUntil(createDevice({ intervalMs: 60_000, radio: { rejoinRate: 0.1 } }), START_MS + 5 * HOUR_MS)
    const joins = ofKind(events, 'join')
    assert.ok(joins.length > 5, `${joins.length} sessions`)
    assert.equal(new Set(joins.map(({ devAddr }) => devAddr)).size, joins.length)
    for (const [index, event] of events.entries()) {
      const next = events[index + 1]
      if (event.kind === 'join') assert.ok(next?.kind === 'up' && next.fCnt === 0)
    }
  })

  it('goes on with the session that it has where it need not join', () => {
    const events = eventsUntil(createDevice({ radio: { resumedShare: 1 } }), START_MS + HOUR_MS)
    const [up] = events
    assert.ok(up?.kind === 'up' && up.fCnt > 0)
    assert.deepEqual(ofKind(events, 'join'), [])
  })

  it('joins again after each power cut', () => {
    const events = eventsUntil(createDevice({ radio: { powerCutEveryMs: HOUR_MS } }), START_MS + 3.5 * HOUR_MS)
    assert.deepEqual(
      ofKind(events, 'join').map(({ atMs }) => Math.floor((atMs - START_MS) / HOUR_MS)),
      [0, 1, 2, 3],
    )
  })

  it('joins again when it has used all frame counters of 16 bits', () => {
    const device = createDevice({ intervalMs: 1000, radio: { resumedShare: 1, frameCounterBits: 16 } })
    const first = untilEvent(device, 'up').fCnt
    const events = eventsUntil(device, START_MS + (65_536 - first) * 1100 + 60_000)
    const ups = ofKind(events, 'up').map(({ fCnt }) => fCnt)
    const last = ups.indexOf(65_535)
    assert.ok(last > 0)
    assert.equal(ups[last + 1], 0)
    assert.equal(ofKind(events, 'join').length, 1)
  })

  it('counts on over 16 bits with a counter of 32', () => {
    const device = createDevice({ intervalMs: 1000, radio: { resumedShare: 1 } })
    const first = untilEvent(device, 'up').fCnt
    const ups = ofKind(eventsUntil(device, START_MS + (65_540 - first) * 1100), 'up').map(({ fCnt }) => fCnt)
    assert.ok(ups.includes(65_535) && ups.includes(65_536))
    assert.deepEqual(
      ups,
      ups.map((_fCnt, index) => first + 1 + index),
    )
  })
})

describe('the uplinks of a device', () => {
  it('come about once in each interval, with ascending frame counters', () => {
    const ups = ofKind(eventsUntil(createDevice({ intervalMs: 60_000 }), START_MS + HOUR_MS), 'up')
    assert.ok(Math.abs(ups.length - 60) <= 6, `${ups.length} uplinks in an hour`)
    assert.deepEqual(
      ups.map(({ fCnt }) => fCnt),
      ups.map((_up, index) => index),
    )
  })

  it('leave gaps in the frame counter where they are lost', () => {
    const ups = ofKind(
      eventsUntil(createDevice({ intervalMs: 60_000, radio: { uplinkLossRate: 0.3 } }), START_MS + 10 * HOUR_MS),
      'up',
    )
    const last = ups.at(-1)?.fCnt ?? 0
    const share = ups.length / (last + 1)
    assert.ok(share > 0.6 && share < 0.8, `${ups.length} of ${last + 1} heard`)
  })

  it('that come twice have the same frame counter, and are told as a retransmission', () => {
    const events = eventsUntil(createDevice({ intervalMs: 60_000, radio: { repeatRate: 1 } }), START_MS + HOUR_MS / 2)
    const counters = (kind: NetworkEvent['kind']): number[] =>
      events.flatMap((event) =>
        event.kind === kind && 'fCnt' in event && !('code' in event && event.code === 'OTAA') ? [event.fCnt] : [],
      )
    assert.ok(counters('up').length >= 25)
    assert.deepEqual(counters('fault'), counters('up'))
  })

  it('that ask for an acknowledgement are sent once where it comes, and four times where it does not', () => {
    const clear = eventsUntil(createDevice({ intervalMs: 60_000, radio: { confirmedRate: 1 } }), START_MS + HOUR_MS)
    assert.ok(ofKind(clear, 'up').every(({ confirmed }) => confirmed))
    assert.deepEqual(ofKind(clear, 'fault'), [])
    const lossy = eventsUntil(
      createDevice({
        intervalMs: 60_000,
        radio: { confirmedRate: 1, uplinkLossRate: 0.4, downlinkLossRate: 0.4, resumedShare: 1 },
      }),
      START_MS + 10 * HOUR_MS,
    )
    const retransmitted = ofKind(lossy, 'fault').filter(({ code }) => code === 'UPLINK_RETRANSMISSION')
    assert.ok(retransmitted.length > 50, `${retransmitted.length} retransmissions`)
    const heard = new Set(ofKind(lossy, 'up').map(({ fCnt }) => fCnt))
    for (const { fCnt } of retransmitted) assert.ok(heard.has(fCnt))
    // Four attempts get through an air that loses four frames in ten: 1 - 0.4⁴ = 97 %.
    const counters = ofKind(lossy, 'up').map(({ fCnt }) => fCnt)
    const sent = (counters.at(-1) ?? 0) - (counters[0] ?? 0) + 1
    assert.ok(counters.length / sent > 0.93, `${counters.length} of ${sent}`)
  })

  it('of every model in every region fit their data rate', () => {
    for (const id of ['EU868', 'US915', 'AS923'] as const) {
      for (const model of DEVICE_MODEL_IDS) {
        const device = createDevice({ model, intervalMs: 60_000, radio: { region: region(id) } })
        for (const { measurement, dataRate } of ofKind(eventsUntil(device, START_MS + HOUR_MS), 'up').map((up) => ({
          measurement: up,
          dataRate: up.heard.carrier.dataRate,
        }))) {
          assert.ok(measurement.bytes.length <= dataRate.maximumPayloadBytes, `${model} in ${id}`)
          assert.ok(measurement.fPort >= 1 && measurement.fPort <= 223)
          assert.ok(region(id).channels.includes(measurement.heard.carrier.frequency))
        }
      }
    }
  })

  it('get faster where the signal allows it, by an answer of the network server', () => {
    const device = createDevice({ intervalMs: 60_000, radio: { uplinkLossRate: 0.9 }, seed: 3 })
    // In the bad air the device joins slowly; then the air clears by chance for its frames, and
    // advice reaches it.
    const ups = ofKind(eventsUntil(device, START_MS + 96 * HOUR_MS), 'up').map((up) => up.heard.carrier.dataRate.dr)
    assert.ok(ups.length > 0 && Math.max(...ups) === 5, `${ups.length} uplinks at ${[...new Set(ups)].join()}`)
  })

  it('get slower when nobody answers for 96 of them', () => {
    const device = createDevice({ intervalMs: 60_000, radio: { resumedShare: 1 }, location: FAR })
    const ups = ofKind(eventsUntil(device, START_MS + 6 * HOUR_MS), 'up')
    assert.equal(ups[0]?.heard.carrier.dataRate.dr, 0)
    // From DR5 to DR0: 96 unheard uplinks for the first step, 32 for each other.
    assert.ok((ups[0]?.atMs ?? 0) > START_MS + (96 + 4 * 32 - 30) * 60_000)
  })

  it('have no object where the network server has no codec, or it fails', () => {
    const without = ofKind(eventsUntil(createDevice({ radio: { withoutObjectShare: 1 } }), START_MS + HOUR_MS), 'up')
    assert.deepEqual(
      without.map(({ object }) => object),
      [undefined],
    )
    const failed = eventsUntil(createDevice({ radio: { codecErrorRate: 1 } }), START_MS + HOUR_MS)
    assert.equal(ofKind(failed, 'up')[0]?.object, undefined)
    assert.deepEqual(
      ofKind(failed, 'fault').map(({ code }) => code),
      ['UPLINK_CODEC'],
    )
  })

  it('bring a status at every tenth, with a battery that goes down', () => {
    const levels = ofKind(eventsUntil(createDevice({ intervalMs: 60_000 }), START_MS + 24 * HOUR_MS), 'status').map(
      ({ batteryLevel }) => batteryLevel,
    )
    assert.ok(levels.length > 130)
    assert.ok((levels.at(-1) ?? 0) < (levels[0] ?? 0))
    assert.deepEqual(
      levels,
      levels.toSorted((one, other) => other - one),
    )
  })

  it('of a tracker bring its location, and keep their data rate', () => {
    const events = eventsUntil(createDevice({ model: 'gps-tracker', intervalMs: 60_000 }), START_MS + HOUR_MS)
    assert.equal(ofKind(events, 'location').length, ofKind(events, 'up').length)
    assert.ok(ofKind(events, 'up').every(({ adr }) => !adr))
  })

  it('repeat from the seed, and another seed gives others', () => {
    assert.equal(anHourOf(1), anHourOf(1))
    assert.notEqual(anHourOf(1), anHourOf(2))
  })
})

function anHourOf(seed: number): string {
  return JSON.stringify(eventsUntil(createDevice({ seed, intervalMs: 60_000 }), START_MS + HOUR_MS))
}
