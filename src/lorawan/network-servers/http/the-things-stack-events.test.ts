import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { faultsOf } from '../../../../test/contracts/validators.ts'
import type { JsonObject } from '../../../json.ts'
import { readTheThingsStackEvent } from './the-things-stack-events.ts'

const DEV_EUI = '0004a30b001c0530'
const IDS = {
  device_id: 'dev1',
  application_ids: { application_id: 'app1' },
  dev_eui: '0004A30B001C0530',
  join_eui: '800000000000000C',
  dev_addr: '00BCB929',
}
const DEVICE_INFO = {
  tenantId: '',
  tenantName: '',
  applicationId: '5',
  applicationName: 'app1',
  deviceProfileId: '',
  deviceProfileName: '',
  deviceName: 'dev1',
  devEui: DEV_EUI,
  tags: {},
}
const COMMON = { time: '2020-02-12T15:15:01.123Z', deviceInfo: DEVICE_INFO }

/**
 * The kind and the payload of the event of a webhook, without the id, which depends on the whole
 * body.
 */
function translated(member: string, message: object): { readonly kind: string; readonly event: JsonObject } {
  const body = { end_device_ids: IDS, correlation_ids: ['as:up:01'], received_at: COMMON.time, [member]: message }
  const read = readTheThingsStackEvent(body)
  assert.ok(read !== undefined && read !== 'silent')
  assert.deepEqual([read.devEui, read.deviceId], [DEV_EUI, 'dev1'])
  const { deduplicationId, ...event } = JSON.parse(read.payload('5').toString()) as JsonObject
  assert.deepEqual(faultsOf(`events/b/${read.kind}`, { deduplicationId, ...event }), [])
  assert.match(String(deduplicationId), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  const again = JSON.parse(read.payload('5').toString()) as JsonObject
  assert.equal(again['deduplicationId'], deduplicationId)
  return { kind: read.kind, event }
}

function idOf(fCnt: number): unknown {
  const read = readTheThingsStackEvent({ end_device_ids: IDS, uplink_message: { f_cnt: fCnt } })
  assert.ok(read !== undefined && read !== 'silent')
  return (JSON.parse(read.payload('5').toString()) as JsonObject)['deduplicationId']
}

describe('a webhook of The Things Stack', () => {
  it('about an uplink is an up event', () => {
    const uplink = {
      session_key_id: 'AXA50...',
      f_cnt: 1,
      f_port: 2,
      confirmed: true,
      frm_payload: 'gkHe',
      decoded_payload: { temperature: 1, humidity: 0 },
      rx_metadata: [
        {
          gateway_ids: { gateway_id: 'gtw1', eui: '9C5C8E00001A05C4' },
          time: '2020-02-12T15:15:45.787Z',
          rssi: -35,
          snr: 5.2,
          uplink_token: 'ChIKEA...',
          location: { latitude: 37.97, longitude: 23.72, altitude: 2, source: 'SOURCE_REGISTRY' },
        },
      ],
      settings: {
        data_rate: { lora: { bandwidth: 125000, spreading_factor: 7, coding_rate: '4/6' } },
        frequency: '868300000',
      },
      received_at: '2020-02-12T15:15:00Z',
      version_ids: { brand_id: 'the-things-products', model_id: 'the-things-uno' },
      network_ids: { net_id: '000013', tenant_id: 'tenant1', cluster_id: 'eu1' },
      attributes: { floor: '3' },
    }
    const { kind, event } = translated('uplink_message', uplink)
    assert.equal(kind, 'up')
    assert.deepEqual(event, {
      time: COMMON.time,
      deviceInfo: {
        ...DEVICE_INFO,
        tenantName: 'tenant1',
        deviceProfileName: 'the-things-products/the-things-uno',
        tags: { floor: '3' },
      },
      devAddr: '00bcb929',
      fCnt: 1,
      fPort: 2,
      confirmed: true,
      data: 'gkHe',
      object: { temperature: 1, humidity: 0 },
      rxInfo: [
        {
          gatewayId: '9c5c8e00001a05c4',
          gwTime: '2020-02-12T15:15:45.787Z',
          rssi: -35,
          snr: 5.2,
          location: { latitude: 37.97, longitude: 23.72, altitude: 2 },
          context: 'ChIKEA...',
          metadata: { gateway_id: 'gtw1' },
        },
      ],
      txInfo: {
        frequency: 868300000,
        modulation: { lora: { bandwidth: 125000, spreadingFactor: 7, codeRate: 'CR_4_6' } },
      },
    })
  })

  it('without its zero, false and empty values has them in the event', () => {
    const { event } = translated('uplink_message', {})
    const none = { fCnt: 0, fPort: 0, confirmed: false, data: '', rxInfo: [], txInfo: { frequency: 0 } }
    assert.deepEqual(event, { ...COMMON, devAddr: '00bcb929', ...none })
  })

  it('about a join is a join event', () => {
    const { kind, event } = translated('join_accept', { session_key_id: 'x', received_at: 'earlier' })
    assert.equal(kind, 'join')
    assert.deepEqual(event, { ...COMMON, devAddr: '00bcb929' })
  })

  const queueItemId = '0b7e1f60-4f0e-4d6e-8a54-9a4a6c3f1d02'
  const downlink = { f_port: 15, f_cnt: 11, correlation_ids: ['as:downlink:1', `fieldgate:${queueItemId}`] }

  it('about a downlink that was sent is a txack event with the id of the command', () => {
    const { kind, event } = translated('downlink_sent', downlink)
    assert.equal(kind, 'txack')
    assert.deepEqual(event, { ...COMMON, queueItemId, fCntDown: 11 })
  })

  it('about an acknowledgement, or a missing one, is an ack event', () => {
    for (const [member, acknowledged] of [
      ['downlink_ack', true],
      ['downlink_nack', false],
    ] as const) {
      const { kind, event } = translated(member, downlink)
      assert.equal(kind, 'ack')
      assert.deepEqual(event, { ...COMMON, queueItemId, acknowledged, fCntDown: 11 })
    }
  })

  it('about a downlink of somebody else has no id', () => {
    const { event } = translated('downlink_sent', { correlation_ids: ['as:downlink:1'] })
    assert.deepEqual(event, { ...COMMON, queueItemId: '', fCntDown: 0 })
  })

  it('about a downlink that failed is a log event with the cause', () => {
    const tooLong = {
      name: 'application_downlink_too_long',
      message_format: 'payload length `{length}` exceeds `{max}` of {band}',
      attributes: { length: 250, max: '51', band: {} },
    }
    const causes = [
      [{ namespace: 'pkg/networkserver', name: 'no_path', message_format: 'no path' }, 'UNKNOWN', 'no path'],
      [{ name: 'downlink_expired' }, 'EXPIRED', 'downlink_expired'],
      [tooLong, 'DOWNLINK_PAYLOAD_SIZE', 'payload length `250` exceeds `51` of {band}'],
      [{ name: 'constructor' }, 'UNKNOWN', 'constructor'],
      [{ name: '' }, 'UNKNOWN', 'the downlink failed'],
    ] as const
    for (const [error, code, description] of causes) {
      const { kind, event } = translated('downlink_failed', { downlink, error })
      assert.equal(kind, 'log')
      const context = { queue_item_id: queueItemId, error: error.name }
      assert.deepEqual(event, { ...COMMON, level: 'ERROR', code, description, context })
    }
  })

  it('about a command that is queued is a log event, and silent about a downlink of somebody else', () => {
    const { kind, event } = translated('downlink_queued', downlink)
    assert.equal(kind, 'log')
    const said = { level: 'INFO', code: 'UNKNOWN', description: 'the downlink is queued' }
    assert.deepEqual(event, { ...COMMON, ...said, context: { queue_item_id: queueItemId } })
    assert.equal(readTheThingsStackEvent({ end_device_ids: IDS, downlink_queued: { f_port: 1 } }), 'silent')
  })

  it('about an invalidated queue is a log event', () => {
    const { kind, event } = translated('downlink_queue_invalidated', {
      downlinks: [downlink, downlink],
      last_f_cnt_down: 3,
    })
    assert.deepEqual(
      [kind, event['level'], event['code'], event['context']],
      ['log', 'WARNING', 'F_CNT_DOWN', { downlinks: '2' }],
    )
  })

  it('about a location is a location event', () => {
    const { kind, event } = translated('location_solved', { service: 'x', location: { latitude: 1.5, longitude: 0 } })
    assert.equal(kind, 'location')
    assert.deepEqual(event, { ...COMMON, location: { latitude: 1.5, longitude: 0, altitude: 0 } })
  })

  it('with data of a service is an integration event', () => {
    const { kind, event } = translated('service_data', { service: 'lora-cloud', data: { a: 1 } })
    assert.equal(kind, 'integration')
    assert.deepEqual(event, { ...COMMON, integrationName: 'lora-cloud', eventType: 'service_data', object: { a: 1 } })
  })

  it('that repeats another has the same id, and a different one has not', () => {
    assert.equal(idOf(1), idOf(1))
    assert.notEqual(idOf(1), idOf(2))
  })
})
