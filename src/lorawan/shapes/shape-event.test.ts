import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { faultsOf } from '../../../test/contracts/validators.ts'
import { recordedEvents, recordedForms } from '../../../test/recordings/recordings.ts'
import type { RecordedVersion } from '../../../test/recordings/recordings.ts'
import type { JsonObject } from '../../json.ts'
import { SAMPLES_A } from '../contracts/samples-a.ts'
import { SAMPLES_B } from '../contracts/samples-b.ts'
import { readTheThingsStackEvent } from '../network-servers/http/the-things-stack-events.ts'
import type { PublishedEventKind } from '../topics.ts'
import type { EventShape } from './event-facts.ts'
import { shapeEvent, unshapedError } from './shape-event.ts'

type Shape = Exclude<EventShape, ''>

const DEV_EUI = '0102030405060708'
const RECEIVED_AT_MS = Date.parse('2026-03-01T00:00:00Z')

interface Source {
  readonly kind: PublishedEventKind
  readonly devEui: string
  readonly payload: object
}

function shapedText(source: Source, shape: Shape): string {
  const payload = Buffer.from(JSON.stringify(source.payload))
  return shapedBytes(payload, source, shape)
}

function shapedBytes(payload: Buffer, { kind, devEui }: Omit<Source, 'payload'>, shape: Shape): string {
  const result = shapeEvent({ kind, applicationId: '5', devEui, payload, receivedAtMs: RECEIVED_AT_MS }, shape)
  assert.ok(result.ok, JSON.stringify(result))
  return result.payload.toString()
}

function shaped(source: Source, shape: Shape): JsonObject {
  return JSON.parse(shapedText(source, shape)) as JsonObject
}

/** The event in one shape after the other. */
function through(source: Source, ...shapes: readonly Shape[]): JsonObject {
  return shapes.reduce((payload, shape) => shaped({ ...source, payload }, shape), source.payload as JsonObject)
}

/** Without members of these names, at any depth. */
function without(value: unknown, names: readonly string[]): unknown {
  return JSON.parse(JSON.stringify(value, (name, member: unknown) => (names.includes(name) ? undefined : member)))
}

function recorded(version: RecordedVersion): readonly Source[] {
  return recordedEvents(version) as readonly Source[]
}

const IDS = { device_id: 'dev1', application_ids: { application_id: 'app1' }, dev_eui: DEV_EUI, dev_addr: '00BCB929' }
const WEBHOOKS: readonly JsonObject[] = [
  {
    uplink_message: {
      f_port: 2,
      frm_payload: 'gkHe',
      decoded_payload: { temperature: 1 },
      normalized_payload: [{ air: { temperature: 21.5 }, time: '2026-01-31T08:00:00Z' }],
      rx_metadata: [{ gateway_ids: { gateway_id: 'roof' }, rssi: -35 }],
      settings: {
        data_rate: { lora: { bandwidth: 125000, spreading_factor: 7, coding_rate: '4/5' } },
        frequency: 868300000,
      },
    },
  },
  { join_accept: { session_key_id: 'AXA50' } },
  { downlink_ack: { f_cnt: 3, correlation_ids: [] } },
  { downlink_sent: { f_cnt: 3, correlation_ids: [] } },
  { downlink_failed: { downlink: {}, error: { name: 'application_downlink_too_long', message_format: 'too long' } } },
  { location_solved: { location: { latitude: 47.1, longitude: 8.2 } } },
  { service_data: { service: 'geo', data: { a: 1 } } },
]

/** The events of The Things Stack, as its webhooks bring them. */
const THE_THINGS_STACK: readonly Source[] = WEBHOOKS.map((webhook) => {
  const read = readTheThingsStackEvent({ end_device_ids: IDS, received_at: '2026-01-31T08:00:00Z', ...webhook })
  assert.ok(read !== undefined && read !== 'silent')
  return { kind: read.kind, devEui: DEV_EUI, payload: JSON.parse(read.payload('5').toString()) as object }
})

const SAMPLES: readonly Source[] = [SAMPLES_A, SAMPLES_B].flatMap((samples) =>
  Object.entries(samples).map(([kind, payload]) => ({ kind: kind as PublishedEventKind, devEui: DEV_EUI, payload })),
)

const ALL: readonly Source[] = [...recorded('v3'), ...recorded('v4'), ...THE_THINGS_STACK, ...SAMPLES]

/** Faults of promised members that the source does not tell: docs/events.md lists them. */
const UNTOLD =
  /required property '(?:devAddr|confirmed|dr|txInfo|adr|uplinkID)'|gatewayID must match|error\/level must be/

describe('a shape of events', () => {
  it('leaves an event that has the shape already as it is, in each byte', () => {
    for (const [version, shape] of [
      ['v3', 'V3'],
      ['v4', 'V4'],
    ] as const) {
      for (const { kind, devEui, payload } of recorded(version)) {
        const bytes = Buffer.from(` ${JSON.stringify(payload)} `)
        const event = { kind, applicationId: '5', devEui, payload: bytes, receivedAtMs: RECEIVED_AT_MS }
        assert.deepEqual(shapeEvent(event, shape), { ok: true, payload: bytes, isChanged: false })
      }
    }
  })

  it('agrees with the contract of its family, but for members that the source does not tell', () => {
    for (const source of ALL) {
      for (const [shape, family] of [
        ['V3', 'a'],
        ['V4', 'b'],
        ['NORMALIZED', 'normalized'],
      ] as const) {
        // ChirpStack v3 has no kind log: its events have the members of an error.
        const kind = shape === 'V3' && source.kind === 'log' ? 'error' : source.kind
        const faults = faultsOf(`events/${family}/${kind}`, shaped(source, shape))
        const isNormalized = family === 'normalized'
        assert.deepEqual(
          faults.filter((fault) => isNormalized || !UNTOLD.test(fault)),
          [],
          `${shape} ${JSON.stringify(source)}`,
        )
      }
    }
  })

  it('of ChirpStack v3 comes back from V4 with all but the transmission of a join', () => {
    for (const source of recorded('v3')) {
      const lost = source.kind === 'join' ? ['rxInfo', 'txInfo'] : []
      const added = ['error', 'log'].includes(source.kind) ? ['level'] : []
      const before = { ...source.payload, applicationID: '5' }
      assert.deepEqual(without(through(source, 'V4', 'V3'), added), without(before, lost))
    }
  })

  it('of ChirpStack v4 comes back from V3 with the members that V3 can say', () => {
    const lost = (
      'deduplicationId devAddr confirmed regionConfigId queueItemId downlinkId metadata tenantId ' +
      'tenantName deviceProfileId deviceProfileName deviceClassEnabled applicationId nsTime timeSinceGpsEpoch channel ' +
      'context crcStatus modulation power timing time deduplication_id location'
    ).split(' ')
    for (const source of recorded('v4')) {
      assert.deepEqual(without(through(source, 'V3', 'V4'), lost), without(source.payload, lost), source.kind)
    }
  })

  it('changes nothing more when it is applied again', () => {
    for (const source of ALL) {
      for (const shape of ['V3', 'V4'] as const) assert.deepEqual(through(source, shape, shape), shaped(source, shape))
    }
  })

  it('writes zero and false values', () => {
    const { uplinkId: _, snr: __, ...gateway } = SAMPLES_B.up.rxInfo[0]
    const payload = { ...SAMPLES_B.up, fCnt: 0, adr: false, rxInfo: [gateway] }
    const v3 = shaped({ kind: 'up', devEui: DEV_EUI, payload }, 'V3')
    assert.deepEqual([v3['fCnt'], v3['adr']], [0, false])
    assert.equal((v3['rxInfo'] as JsonObject[])[0]?.['loRaSNR'], 0)
    const { confirmed: ___, ...unconfirmed } = payload
    const normalized = shaped({ kind: 'up', devEui: DEV_EUI, payload: unconfirmed }, 'NORMALIZED')
    assert.deepEqual([normalized['confirmed'], normalized['adr']], [false, false])
  })

  it('keeps the spelling of numbers in the object', () => {
    const object = '{"serial":12345678901234567890,"t":21.50,"e":1e3}'
    const text = JSON.stringify({ ...SAMPLES_A.up, object: 0 }).replace('"object":0', `"object":${object}`)
    for (const shape of ['V4', 'NORMALIZED'] as const) {
      assert.ok(shapedBytes(Buffer.from(text), { kind: 'up', devEui: DEV_EUI }, shape).includes(`"object":${object}`))
    }
  })

  it('reads ids that ChirpStack v3 has written in base64', () => {
    const forms = recordedForms('v3').filter(({ form }) => form === 'base64-ids')
    assert.ok(forms.length > 0)
    for (const { kind, devEui, hex } of forms) {
      const source = { kind: kind as PublishedEventKind, devEui }
      const event = JSON.parse(shapedBytes(Buffer.from(hex, 'hex'), source, 'NORMALIZED')) as JsonObject
      assert.deepEqual(faultsOf(`events/normalized/${kind}`, event), [])
      assert.equal(event['devEui'], devEui)
      for (const { gatewayId } of (event['rxInfo'] ?? []) as { readonly gatewayId: string }[]) {
        assert.match(gatewayId, /^[0-9a-f]{16}$/)
      }
    }
  })

  it('gives the measurements of The Things Stack', () => {
    const [uplink] = THE_THINGS_STACK
    assert.ok(uplink !== undefined)
    const normalized = shaped(uplink, 'NORMALIZED')
    assert.deepEqual(normalized['normalized'], [{ air: { temperature: 21.5 }, time: '2026-01-31T08:00:00Z' }])
    assert.equal(normalized['fCnt'], 0)
  })

  it('tells a fault of ChirpStack v4 by the type of ChirpStack v3, and keeps a code without one', () => {
    const log = { ...SAMPLES_B.log, level: 'ERROR' }
    const told = shaped({ kind: 'log', devEui: DEV_EUI, payload: log }, 'V3')
    assert.deepEqual([told['type'], told['fCnt'], told['code']], ['UPLINK_FCNT_RETRANSMISSION', 118, undefined])
    const expired = shaped({ kind: 'log', devEui: DEV_EUI, payload: { ...log, code: 'EXPIRED' } }, 'V3')
    assert.deepEqual([expired['type'], expired['code']], ['UNKNOWN', 'EXPIRED'])
    const command = shaped({ kind: 'error', devEui: DEV_EUI, payload: SAMPLES_A.error }, 'V4')
    assert.deepEqual(
      [command['code'], command['member'], command['commandId']],
      ['command_out_of_range', 'fPort', 'valve-7'],
    )
  })

  it('says of an event that it can’t read which member is wrong', () => {
    const event = { kind: 'up', applicationId: '5', devEui: DEV_EUI, receivedAtMs: RECEIVED_AT_MS } as const
    const reason = (payload: string): unknown => {
      const result = shapeEvent({ ...event, payload: Buffer.from(payload) }, 'NORMALIZED')
      return result.ok ? undefined : result.reason
    }
    assert.equal(reason('{"fCnt":"7"}'), 'fCnt: must be a number')
    assert.equal(reason('{"rxInfo":[1]}'), 'rxInfo: must be a list of objects')
    assert.equal(reason('[]'), 'the event must be a JSON object of at most 65536 bytes')
    assert.equal(reason(`{"a":"${'x'.repeat(65_536)}"}`), 'the event must be a JSON object of at most 65536 bytes')
    for (const [shape, family] of [
      ['V3', 'a'],
      ['V4', 'b'],
      ['NORMALIZED', 'normalized'],
    ] as const) {
      const error = unshapedError({ ...event, payload: Buffer.from('[]') }, shape, 'data: must be a text')
      assert.deepEqual(faultsOf(`events/${family}/error`, JSON.parse(error.toString())), [])
      assert.match(error.toString(), /EVENT_NOT_SHAPED.*|.*went on as it was received: data: must be a text/)
    }
  })

  it('names the device of an event that it can’t read, as far as the names are readable', () => {
    const event = { kind: 'up', applicationId: '5', devEui: DEV_EUI, receivedAtMs: RECEIVED_AT_MS } as const
    const named = (payload: object, shape: 'V3' | 'V4' | 'NORMALIZED'): JsonObject => {
      const error = unshapedError({ ...event, payload: Buffer.from(JSON.stringify(payload)) }, shape, 'the reason')
      return JSON.parse(error.toString()) as JsonObject
    }
    const deviceInfo = { ...SAMPLES_B.up.deviceInfo, deviceProfileName: 7, tags: { site: 'north', floor: 2 } }
    const { applicationName, deviceName, tenantName } = SAMPLES_B.up.deviceInfo
    assert.notEqual(deviceName, '')
    const ofB = named({ ...SAMPLES_B.up, deviceInfo, fCnt: 'x' }, 'NORMALIZED')
    assert.deepEqual(
      [ofB['applicationName'], ofB['deviceName'], ofB['tenantName'], ofB['deviceProfileName'], ofB['tags']],
      [applicationName, deviceName, tenantName, '', { site: 'north' }],
    )
    assert.equal(named({ ...SAMPLES_B.up, fCnt: 'x' }, 'V3')['deviceName'], deviceName)
    const ofA = named({ ...SAMPLES_A.up, fCnt: 'x' }, 'V4')['deviceInfo'] as JsonObject
    assert.deepEqual(
      [ofA['applicationName'], ofA['deviceName'], ofA['devEui']],
      [SAMPLES_A.up.applicationName, SAMPLES_A.up.deviceName, DEV_EUI],
    )
    assert.equal(named({ deviceInfo: [] }, 'V3')['deviceName'], '')
  })

  it('never throws, and writes JSON, whatever a network server sends', () => {
    const names = [...new Set(ALL.flatMap(({ payload }) => Object.keys(payload)))]
    const payloads = fc.dictionary(fc.constantFrom(...names, '__proto__', 'shape'), fc.jsonValue())
    const kinds = fc.constantFrom(...new Set(ALL.map(({ kind }) => kind)))
    const shapes = fc.constantFrom('V3', 'V4', 'NORMALIZED')
    fc.assert(
      fc.property(payloads, kinds, shapes, (members, kind, shape) => {
        const payload = Buffer.from(JSON.stringify(members))
        const event = { kind, applicationId: '5', devEui: DEV_EUI, payload, receivedAtMs: RECEIVED_AT_MS }
        const result = shapeEvent(event, shape)
        if (result.ok) JSON.parse(result.payload.toString())
        else assert.match(result.reason, /must be|is missing/)
      }),
      { numRuns: 500 },
    )
  })

  it('keeps each value of an uplink from V3 through V4, and from V4 through V3', () => {
    const ups = fc.record({
      fCnt: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fPort: fc.integer({ min: 0, max: 255 }),
      adr: fc.boolean(),
      data: fc.base64String({ minLength: 4 }),
      object: fc.dictionary(fc.string(), fc.jsonValue()),
      rssi: fc.integer({ min: -140, max: 0 }),
      snr: fc.integer({ min: -64, max: 64 }).map((quarters) => quarters / 4),
      tags: fc.dictionary(fc.string(), fc.string()),
    })
    fc.assert(
      fc.property(ups, ({ rssi, snr, tags, ...up }) => {
        const { object: _, ...known } = SAMPLES_A.up
        const rxInfo = [{ ...SAMPLES_A.up.rxInfo[0], rssi, loRaSNR: snr }]
        const before = JSON.parse(JSON.stringify({ ...known, ...up, rxInfo, tags })) as object
        const after = through({ kind: 'up', devEui: DEV_EUI, payload: before }, 'V4', 'V3')
        assert.deepEqual(after, before)
      }),
    )
  })
})
