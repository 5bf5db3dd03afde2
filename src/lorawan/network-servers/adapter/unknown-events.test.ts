import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { OwnMessage } from '../../../broker/ports/consumer.ts'
import type { DevicePlace } from '../../commands/command-ports.ts'
import { EventInspection } from '../../uplinks/event-inspection.ts'
import type { UnknownEvent } from '../../unknown-devices/unknown-devices.ts'
import { createCounters } from './counters.ts'
import { DeviceEventSink } from './device-event-sink.ts'

const DEVICE = '0102030405060708'
const EVENT = { devEui: DEVICE, kind: 'up', payload: Buffer.from('{}') }

describe('a sink of organization 7, for a device that nobody has registered', () => {
  let places: Map<string, DevicePlace>
  let kept: UnknownEvent[]
  let published: OwnMessage[]
  let precedes: boolean
  let hasRoom: boolean

  beforeEach(() => {
    places = new Map()
    kept = []
    published = []
    precedes = false
    hasRoom = true
  })

  function sink(): DeviceEventSink {
    const parts = {
      placeOf: (devEui: string) => places.get(devEui),
      organizationOf: (applicationId: string) => ({ 5: '7', 6: '7', 9: '8' })[applicationId],
      publisher: { publish: async (message: OwnMessage) => void published.push(message) },
      unknownDevices: {
        precede: () => precedes,
        keep: (_source: object, event: UnknownEvent) => {
          if (!hasRoom) return undefined
          kept.push(event)
          return Promise.resolve()
        },
      },
      networkServer: 'entry:one',
      ready: () => {},
      counters: createCounters(),
      inspection: new EventInspection(),
      clock: { steady: () => 0 as never },
      log: { debug() {}, info() {}, warn() {}, error() {} },
    }
    return new DeviceEventSink(parts, '7')
  }

  it('keeps the event, and refuses it where there is no room', async () => {
    await sink().event({ ...EVENT, applicationId: 'theirs' })
    assert.deepEqual([kept.length, published.length], [1, 0])
    hasRoom = false
    await assert.rejects(sink().event({ ...EVENT, applicationId: 'theirs' }), { code: 'event_device_unknown' })
  })

  it('keeps the event of another organization’s device for itself, as that of no device', async () => {
    places.set(DEVICE, { applicationId: '9', organizationId: '8', isDisabled: false })
    await sink().event({ ...EVENT, applicationId: '9' })
    assert.deepEqual([kept.length, published.length], [1, 0])
  })

  it('delivers under the device’s application what names an application of the network server’s', async () => {
    places.set(DEVICE, { applicationId: '5', organizationId: '7', isDisabled: false })
    await sink().event({ ...EVENT, applicationId: 'theirs' })
    await sink().event({ ...EVENT, applicationId: '9' })
    const topicName = `application/5/device/${DEVICE}/event/up`
    assert.deepEqual(
      published.map((message) => message.topicName),
      [topicName, topicName],
    )
    await assert.rejects(sink().event({ ...EVENT, applicationId: '6' }), { code: 'event_device_unknown' })
  })

  it('puts an event behind those that are still kept, or lets it go on where there is no room', async () => {
    places.set(DEVICE, { applicationId: '5', organizationId: '7', isDisabled: false })
    precedes = true
    await sink().event({ ...EVENT, applicationId: '5' })
    assert.deepEqual([kept.length, published.length], [1, 0])
    hasRoom = false
    await sink().event({ ...EVENT, applicationId: '5' })
    assert.deepEqual([kept.length, published.length], [1, 1])
  })
})
