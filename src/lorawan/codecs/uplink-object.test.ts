import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { openTestCodecs } from './codecs.testing.ts'
import { addObject } from './uplink-object.ts'
import type { UplinkCodec } from './uplink-object.ts'

const codecs = openTestCodecs()
after(() => codecs.close())

const CAYENNE: UplinkCodec = { applicationId: '5', codec: 'CAYENNE_LPP', script: '', variables: {}, receivedAtMs: 0 }

/**
 * An event as network servers of family A write it, with spellings of numbers that parsing and
 * writing would change.
 */
const FAMILY_A =
  '{"applicationID":"5","applicationName":"meters","deviceName":"m 1","devEUI":"0101010101010101","rxInfo":[{"gatewayID":' +
  '"0202020202020202","time":"2026-01-15T12:00:00Z","rssi":-57.0,"loRaSNR":10}],"adr":true,"fCnt":18446744073709551615,' +
  '"fPort":2,"data":"AWcA+gFoQA==","tags":{"a\\"b":"}"}}'

const FAMILY_B =
  '{ "deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d", "time": "2026-01-15T12:00:00.25Z", "deviceInfo": {"tenantId":' +
  '"52f14cd4", "devEui": "0101010101010101"}, "fCnt": 7, "fPort": 2, "confirmed": false, "data": "AWcA+gFoQA==" }\n'

const OBJECT = '"object":{"temperatureSensor":{"1":25},"humiditySensor":{"1":32}}'

async function added(text: string, codec: UplinkCodec = CAYENNE) {
  const { payload, error } = await addObject(Buffer.from(text), codec, codecs)
  return { text: payload.toString(), error: error && { kind: error.kind, text: error.payload.toString() } }
}

describe('an uplink without object', () => {
  it('gets it behind data, and nothing else of its text changes', async () => {
    for (const text of [FAMILY_A, FAMILY_B]) {
      const result = await added(text)
      assert.equal(result.text, text.replace('"AWcA+gFoQA=="', `"AWcA+gFoQA==",${OBJECT}`))
      assert.equal(result.error, undefined)
    }
  })

  it('gets it in the place of a null', async () => {
    const result = await added(FAMILY_B.replace('"fCnt"', '"object" : null , "fCnt"'))
    assert.equal(result.text, FAMILY_B.replace('"fCnt"', `${OBJECT.replace(':', ' : ')} , "fCnt"`))
  })

  it('gets the measurements of a script that normalizes as a list, unless it has measurements', async () => {
    const script =
      'function decodeUplink() { return { data: { t: 21.5 } } }\n' +
      'function normalizeUplink({ data }) { return { data: { air: { temperature: data.t } } } }'
    const normalizing: UplinkCodec = { ...CAYENNE, codec: 'CUSTOM_JS', script }
    const list = '"normalized":[{"air":{"temperature":21.5}}]'
    assert.ok((await added(FAMILY_A, normalizing)).text.includes(`"data":"AWcA+gFoQA==","object":{"t":21.5},${list},`))
    const own = FAMILY_A.replace('"tags"', '"normalized":[],"tags"')
    assert.ok(!(await added(own, normalizing)).text.includes('air'))
    const several = script.replace('{ data: { air: { temperature: data.t } } }', '{ data: [{ a: 1 }, { a: 2 }] }')
    assert.ok(
      (await added(FAMILY_B, { ...normalizing, script: several })).text.includes('"normalized":[{"a":1},{"a":2}]'),
    )
  })

  it('keeps what came with it where it can’t be decoded, and an error event of its family tells why', async () => {
    const a = await added(FAMILY_A.replace('AWcA+gFoQA==', 'AWcA+gFo'))
    assert.equal(a.text, FAMILY_A.replace('AWcA+gFoQA==', 'AWcA+gFo'))
    assert.deepEqual(a.error, {
      kind: 'error',
      text:
        '{"applicationID":"5","applicationName":"meters","deviceName":"m 1","devEUI":"0101010101010101","tags":{"a\\"b":"}"},' +
        '"type":"UPLINK_CODEC","error":"humiditySensor.1: needs 1 bytes, 0 are left","fCnt":18446744073709551615}',
    })
    const b = await added(FAMILY_B.replace('AWcA+gFoQA==', '/w=='))
    assert.deepEqual(b.error, {
      kind: 'log',
      text:
        '{"time":"2026-01-15T12:00:00.25Z","deviceInfo":{"tenantId":"52f14cd4", "devEui": "0101010101010101"},"level":"ERROR",' +
        '"code":"UPLINK_CODEC","description":"byte 0: a channel without a type",' +
        '"context":{"deduplication_id":"3ac7e3c4-4401-4b8d-9386-a5c902f9202d"}}',
    })
  })

  it('tells the line of a script, and gives it the time and the variables', async () => {
    const codec = { ...CAYENNE, codec: 'CUSTOM_JS', variables: { room: '7' } } as const
    const thrown = await added(FAMILY_A, { ...codec, script: 'function Decode() {\n  throw new Error("no") }' })
    assert.match(thrown.error?.text ?? '', /"error":"Error: no \(line 2\)"/)
    const script = 'function decodeUplink(i) { return { data: [i.recvTime.getTime(), i.variables.room, i.fPort] } }'
    const timeMs = Date.UTC(2026, 0, 15, 12)
    assert.ok((await added(FAMILY_A, { ...codec, script })).text.includes(`"object":[${timeMs},"7",2]`))
    assert.ok((await added(FAMILY_B, { ...codec, script })).text.includes(`"object":[${timeMs + 250},"7",2]`))
    const untimed = FAMILY_A.replace('"time":"2026-01-15T12:00:00Z"', '"time":null')
    assert.ok((await added(untimed, { ...codec, script, receivedAtMs: 99 })).text.includes('"object":[99,"7",2]'))
  })

  it('with data that is no base64 gets an error event', async () => {
    const result = await added(FAMILY_A.replace('AWcA+gFoQA==', 'AWcA+gF*'))
    assert.match(result.error?.text ?? '', /"error":"data: is not base64"/)
  })

  it('gets members that are missing in its error event as empty ones', async () => {
    const result = await added('{"fPort":1,"data":"/w=="}')
    assert.equal(
      result.error?.text,
      '{"applicationID":"","applicationName":"","deviceName":"","devEUI":"","tags":{},"type":"UPLINK_CODEC",' +
        '"error":"byte 0: a channel without a type","fCnt":0}',
    )
  })
})

describe('an event passes as it is', () => {
  const passing: readonly (readonly [title: string, text: string])[] = [
    ['that has an object', FAMILY_A.replace('"fPort"', '"object":{},"fPort"')],
    ['that has false for an object', FAMILY_A.replace('"fPort"', '"object":false,"fPort"')],
    ['without data', FAMILY_A.replace('"data":"AWcA+gFoQA==",', '')],
    ['with empty data', FAMILY_A.replace('AWcA+gFoQA==', '')],
    ['of the MAC layer', FAMILY_A.replace('"fPort":2', '"fPort":0')],
    ['without fPort', FAMILY_A.replace('"fPort":2,', '')],
    ['that is no JSON', `${FAMILY_A}}`],
    ['that is an array', '[{"fPort":2,"data":"/w=="}]'],
    ['that is null', 'null'],
    ['that is too large', FAMILY_A.replace('meters', 'x'.repeat(70_000))],
  ]
  for (const [title, text] of passing) {
    it(title, async () => {
      assert.deepEqual(await added(text), { text, error: undefined })
    })
  }

  it('that is not UTF-8, byte by byte', async () => {
    const payload = Buffer.from(FAMILY_A.replace('meters', 'm\u00e9'), 'latin1')
    assert.equal((await addObject(payload, CAYENNE, codecs)).payload, payload)
  })

  it('where the application has no codec', async () => {
    assert.deepEqual(await added(FAMILY_A, { ...CAYENNE, codec: '' }), { text: FAMILY_A, error: undefined })
  })
})

describe('for any event', () => {
  it('all members but object stay equal, and in their order', async () => {
    const event = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 8, noNullPrototype: true })
    const space = fc.constantFrom(undefined, 1, '\t')
    await fc.assert(
      fc.asyncProperty(event, event, space, async (before, behind, spaces) => {
        const given: Record<string, unknown> = { ...before, fPort: 3, data: 'AWcA+g==', ...behind }
        Object.assign(given, { fPort: 3, data: 'AWcA+g==' })
        delete given.object
        const { text, error } = await added(JSON.stringify(given, null, spaces))
        assert.equal(error, undefined)
        const { object, ...others } = JSON.parse(text) as Record<string, unknown>
        assert.deepEqual(object, { temperatureSensor: { '1': 25 } })
        assert.deepEqual(Object.keys(others), Object.keys(given))
        assert.deepEqual(others, JSON.parse(JSON.stringify(given)))
      }),
    )
  })

  it('goes behind the last data of the event itself, whatever names and texts stand around it', async () => {
    // Names as they are written: with escapes, twice, or as those within other values.
    const name = fc.constantFrom(
      'data',
      'd\\u0061ta',
      'x\\\\',
      'q\\"',
      'q\\\\\\"',
      ' }',
      '\\":\\"',
      'rxInfo',
      'ü\u{1f600}',
    )
    const inner = fc.oneof(fc.jsonValue(), fc.constant({ data: 'x', object: {}, 'd"\\': [{ object: '}\\' }] }))
    const member = fc.tuple(name, inner, fc.constantFrom('', ' ', '\n\t')).map(([written, value, space]) => {
      const isData = JSON.parse(`"${written}"`) === 'data'
      return `"${written}"${space}:${space}${isData ? '"AWcA+gFoQA=="' : JSON.stringify(value)}${space}`
    })
    await fc.assert(
      fc.asyncProperty(fc.array(member), fc.array(member), async (before, behind) => {
        const text = `{${[...before, '"fPort":2,"data":"AWcA+gFoQA=="', ...behind].join(',')}}`
        const result = (await added(text)).text
        assert.equal(result.replace(`,${OBJECT}`, ''), text)
        const values = JSON.parse(text) as Readonly<Record<string, unknown>>
        assert.deepEqual(JSON.parse(result), { ...values, ...JSON.parse(`{${OBJECT}}`) })
        const rest = result.slice(result.indexOf(OBJECT) + OBJECT.length).trim()
        const later = JSON.parse(rest.startsWith(',') ? `{${rest.slice(1)}` : `{${rest}`) as object
        assert.equal(Object.hasOwn(later, 'data'), false)
      }),
    )
  })
})
