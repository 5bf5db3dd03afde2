import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

async function send(person: Person, payload: object, applicationId = deployment.applicationId) {
  const url = `/api/applications/${applicationId}/codec/test`
  const answer = await deployment.ask(await deployment.session(person), { method: 'POST', url, payload })
  return { status: answer.statusCode, body: answer.json<Record<string, Record<string, unknown>>>() }
}

const CAYENNE = { temperatureSensor: { '1': 25 }, humiditySensor: { '1': 32 } }

test('bytes are decoded and an object is encoded by a codec of the body, without storing it', async () => {
  const { status, body } = await send('organizationAdmin', {
    payloadCodec: 'CAYENNE_LPP',
    data: 'AWcA+gFoQA==',
    object: CAYENNE,
  })
  assert.equal(status, 200)
  const plain = { warnings: [], console: [], error: null, durationMs: 0 }
  assert.deepEqual(body, {
    decoded: { object: CAYENNE, ...plain },
    encoded: { data: 'AWcA+gFoQA==', hex: '016700fa016840', fPort: null, ...plain },
  })
  const stored = await deployment.registry.applications.get(deployment.applicationId)
  assert.equal(stored?.payloadCodec, '')
})

test('the stored codec is tried where the body has none', async () => {
  const created = await deployment.ask(await deployment.session('organizationAdmin'), {
    method: 'POST',
    url: '/api/applications',
    payload: {
      application: {
        name: 'with scripts',
        organizationID: deployment.organizationId,
        payloadCodec: 'CUSTOM_JS',
        payloadDecoderScript: 'function Decode(p, b, v) { console.log("n", b.length); return { p, b, v } }',
        payloadEncoderScript:
          'function encodeDownlink({ data }) { return { bytes: [data.a], fPort: 9, warnings: ["hot"] } }\n' +
          'function decodeDownlink({ bytes }) { return { data: { a: bytes[0] } } }',
      },
    },
  })
  const { id } = created.json<{ id: string }>()
  const up = await send('organizationAdmin', { hex: '01FF', fPort: 3, variables: { a: 'b' }, object: { a: 7 } }, id)
  const { decoded, encoded } = up.body
  assert.deepEqual(decoded?.object, { p: 3, b: [1, 255], v: { a: 'b' } })
  assert.deepEqual(decoded?.console, ['n 2'])
  assert.ok(Number(decoded?.durationMs) > 0)
  assert.deepEqual([encoded?.hex, encoded?.fPort, encoded?.warnings, encoded?.error], ['07', 9, ['hot'], null])
  const down = await send('organizationAdmin', { hex: '07', direction: 'down' }, id)
  assert.deepEqual(down.body.decoded?.object, { a: 7 })
  assert.equal(down.body.encoded, undefined)
})

test('a codec that fails answers with its reason, message and line', async () => {
  const { status, body } = await send('organizationAdmin', {
    payloadCodec: 'CUSTOM_JS',
    payloadDecoderScript: 'function Decode() {\n  throw new Error("no") }',
    payloadEncoderScript: 'function Encode() { return [300] }',
    data: 'AQ',
    object: {},
  })
  assert.equal(status, 200)
  assert.equal(body.decoded?.object, null)
  assert.deepEqual(body.decoded?.error, {
    code: 'UPLINK_CODEC',
    reason: 'script_exception',
    message: 'Error: no',
    line: 2,
  })
  assert.deepEqual(body.encoded?.error, {
    code: 'DOWNLINK_CODEC',
    reason: 'result_invalid',
    message: 'byte 0: 300 is not an integer from 0 to 255',
    line: null,
  })
  assert.deepEqual([body.encoded?.data, body.encoded?.hex], ['', ''])
})

test('samples that can’t be taken are refused with the member at fault', async () => {
  for (const [payload, message] of [
    [{}, 'data: is missing, and hex and object as well'],
    [{ hex: '0', payloadCodec: '' }, 'hex: must be pairs of hexadecimal digits'],
    [{ hex: '00', data: 'AA==' }, 'hex: is given, and data as well'],
    [{ data: 'A*==' }, 'data: must be base64'],
    [{ data: 'AA==', fPort: 0 }, 'fPort: must be an integer from 1 to 255'],
    [{ data: 'AA==', direction: 'left' }, 'direction: must be "up" or "down"'],
    [{ data: 'AA==', variables: { a: 1 } }, 'variables.a: must be an object of strings'],
    [{ data: 'AA==', payloadCodec: 'LUA' }, 'payloadCodec: must be "", "CAYENNE_LPP" or "CUSTOM_JS"'],
    [{ hex: '00'.repeat(1025) }, 'hex: must be a string of at most 2048 characters'],
    [
      { data: 'AA==', payloadDecoderScript: 'x'.repeat(524_289) },
      'payloadDecoderScript: must be a string of at most 524288 characters',
    ],
  ] as const) {
    const { status, body } = await send('organizationAdmin', payload)
    assert.deepEqual([status, body.message], [400, message])
  }
})

test('an endless script of one person’s trial is stopped, and then held back', async () => {
  const payload = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: 'for (;;);', hex: '00' }
  const reasons: unknown[] = []
  for (let n = 0; n < 4; n += 1) {
    const { status, body } = await send('organizationAdmin', payload)
    assert.equal(status, 200)
    reasons.push((body.decoded?.error as { reason: string } | undefined)?.reason)
  }
  assert.deepEqual(reasons, ['time_exceeded', 'time_exceeded', 'time_exceeded', 'script_quarantined'])
})

test('the reference has no such route where no codecs run', async () => {
  const without = await openTestDeployment({ codecs: undefined })
  const document = await without.ask(undefined, { method: 'GET', url: '/api/openapi.json' })
  assert.doesNotMatch(document.body, /codec\/test/)
  await without.close()
})
