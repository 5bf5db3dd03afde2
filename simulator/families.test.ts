import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brokerEvent } from './broker-event.ts'
import type { BrokerEvent } from './broker-event.ts'
import { DEV_EUI, START_MS, command, createDevice, eventsUntil, joined, untilEvent } from './device.testing.ts'
import type { NetworkEvent } from './network-event.ts'

const ID = '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d'

/** Some events of each kind, from the life of a device with a command of that id. */
function life(family: 'A' | 'B'): NetworkEvent[] {
  const { device, nowMs } = joined({ model: 'gps-tracker', family, intervalMs: 60_000 })
  const members = family === 'B' ? { devEui: DEV_EUI } : {}
  device.receive(command({ ...members, confirmed: true, id: ID }), nowMs)
  device.receive(command({ ...members, data: Buffer.alloc(243).toString('base64') }), nowMs)
  const first = createDevice({ model: 'gps-tracker' })
  const join = untilEvent(first, 'join')
  return [join, ...eventsUntil(device, nowMs + 3_600_000)]
}

function spelled(family: 'A' | 'B', carriesIds = false): ReadonlyMap<string, BrokerEvent['payload']> {
  return new Map(life(family).map((event) => [event.kind, brokerEvent(event, family, carriesIds).payload]))
}

describe('family A', () => {
  it('writes exactly the members of each kind', () => {
    const events = spelled('A')
    const members: Record<string, string> = {
      up: 'deviceProfileName deviceProfileID rxInfo txInfo adr fCnt fPort data object',
      join: 'devAddr rxInfo txInfo',
      ack: 'acknowledged fCnt',
      fault: 'type error fCnt',
      status: 'margin externalPowerSource batteryLevel batteryLevelUnavailable',
      location: 'location',
      txack: 'fCnt',
    }
    for (const [kind, own] of Object.entries(members)) {
      const expected = ['applicationID', 'applicationName', 'deviceName', 'devEUI', 'tags', ...own.split(' ')]
      assert.deepEqual(Object.keys(events.get(kind) ?? {}), expected, kind)
      assert.ok(!JSON.stringify(events.get(kind)).includes('null'), kind)
    }
  })

  it('tells the ids of commands only where it is asked to', () => {
    for (const kind of ['txack', 'ack']) {
      assert.ok(!('queueItemId' in (spelled('A').get(kind) ?? {})), kind)
      assert.equal((spelled('A', true).get(kind) as { queueItemId: string }).queueItemId, ID, kind)
    }
    assert.ok(!('queueItemId' in (spelled('A', true).get('fault') ?? {})), 'that command had no id')
  })

  it('publishes faults as error, with a type of its own', () => {
    const fault = life('A').find(({ kind }) => kind === 'fault')
    assert.ok(fault !== undefined)
    const { kind, payload, applicationId, devEui } = brokerEvent(fault, 'A', false)
    assert.deepEqual([kind, applicationId, devEui], ['error', '5', DEV_EUI])
    assert.equal((payload as { type: string }).type, 'DOWNLINK_PAYLOAD_SIZE')
  })
})

describe('family B', () => {
  it('writes exactly the members of each kind, deviceInfo among them', () => {
    const events = spelled('B')
    const members: Record<string, string> = {
      up: 'deduplicationId time deviceInfo devAddr adr dr fCnt fPort confirmed data object rxInfo txInfo regionConfigId',
      join: 'deduplicationId time deviceInfo devAddr regionConfigId',
      ack: 'deduplicationId time deviceInfo queueItemId acknowledged fCntDown',
      fault: 'time deviceInfo level code description context',
      status: 'deduplicationId time deviceInfo margin externalPowerSource batteryLevelUnavailable batteryLevel',
      location: 'deduplicationId time deviceInfo location',
      txack: 'downlinkId time deviceInfo queueItemId fCntDown gatewayId txInfo',
    }
    for (const [kind, own] of Object.entries(members)) {
      assert.deepEqual(Object.keys(events.get(kind) ?? {}), own.split(' '), kind)
      assert.deepEqual(
        Object.keys((events.get(kind) as { deviceInfo: object }).deviceInfo),
        'tenantId tenantName applicationId applicationName deviceProfileId deviceProfileName deviceName devEui deviceClassEnabled tags'.split(
          ' ',
        ),
      )
    }
  })

  it('carries the id of a command, its own where the command had none', () => {
    const events = life('B')
    for (const kind of ['txack', 'ack'] as const) {
      const event = events.find((each) => each.kind === kind)
      assert.ok(event !== undefined)
      assert.equal((brokerEvent(event, 'B', false).payload as { queueItemId: string }).queueItemId, ID)
    }
    const fault = spelled('B').get('fault') as { code: string; level: string; context: Record<string, string> }
    assert.deepEqual([fault.code, fault.level, fault.context['item_size']], ['DOWNLINK_PAYLOAD_SIZE', 'ERROR', '243'])
    assert.match(fault.context['queue_item_id'] ?? '', /^[0-9a-f-]{36}$/)
  })

  it('publishes faults as log', () => {
    const fault = life('B').find(({ kind }) => kind === 'fault')
    assert.ok(fault !== undefined)
    assert.equal(brokerEvent(fault, 'B', false).kind, 'log')
  })

  it('tells how an uplink was heard, with the gateway’s time', () => {
    const up = untilEvent(createDevice(), 'up')
    const payload = brokerEvent(up, 'B', false).payload as {
      time: string
      rxInfo: { gatewayId: string; gwTime: string; timeSinceGpsEpoch: string; snr: number; channel: number }[]
      txInfo: { modulation: object }
    }
    assert.equal(payload.time, new Date(up.atMs).toISOString().replace('Z', '+00:00'))
    const [reception] = payload.rxInfo
    assert.ok(reception !== undefined && reception.channel >= 0 && reception.channel <= 7)
    assert.equal(reception.gwTime, payload.time, 'the first gateway has GPS')
    const gpsSeconds = (up.atMs - Date.UTC(1980, 0, 6)) / 1000 + 18
    assert.equal(reception.timeSinceGpsEpoch, `${gpsSeconds.toFixed(3)}s`)
    assert.deepEqual(payload.txInfo.modulation, {
      lora: { bandwidth: 125_000, spreadingFactor: 7, codeRate: 'CR_4_5' },
    })
    assert.ok(up.atMs > START_MS)
  })
})
