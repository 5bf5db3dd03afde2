import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment
let session: string

before(async () => {
  deployment = await openTestDeployment()
  session = await deployment.session('organizationAdmin')
})

after(async () => {
  await deployment.close()
})

interface Answer {
  readonly id: string
  readonly message: string
  readonly details: readonly { readonly reason: string; readonly vectors?: readonly object[] }[]
}

async function send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) {
  const url = `/api/device-profiles${path}`
  const answer = await deployment.ask(session, { method, url, ...(payload === undefined ? {} : { payload }) })
  return { status: answer.statusCode, body: answer.json<Answer>() }
}

const GOOD = 'function decodeUplink(input) { return { data: { a: input.bytes[0] + Number(input.variables.add) } } }'
const WRONG = 'function decodeUplink() { return { data: { a: 1 } } }'
const VECTORS = [
  { name: 'one byte', fPort: 2, bytes: '05', expected: { data: { a: 7 } } },
  { name: 'no byte', fPort: 2, bytes: '', expected: { data: { a: null } } },
]
const CODEC = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: GOOD, variables: { add: '2' }, testVectors: VECTORS }

async function created(name: string): Promise<string> {
  const deviceProfile = { name, organizationID: deployment.organizationId, ...CODEC }
  const { status, body } = await send('POST', '', { deviceProfile })
  assert.equal(status, 200, body.message)
  return body.id
}

test('a codec that breaks a vector is refused with what was expected and got, and saved with force', async () => {
  const id = await created('Broken')
  const changes = { deviceProfile: { payloadDecoderScript: WRONG } }
  const { status, body } = await send('PUT', `/${id}`, changes)
  assert.equal(status, 400)
  assert.deepEqual(body.details, [
    {
      reason: 'codec_test_failed',
      vectors: [
        { name: 'one byte', expected: '{"a":7}', got: '{"a":1}' },
        { name: 'no byte', expected: '{"a":null}', got: '{"a":1}' },
      ],
    },
  ])
  assert.equal((await deployment.registry.deviceProfiles.get(id))?.payloadDecoderScript, GOOD)
  assert.equal((await send('PUT', `/${id}`, { ...changes, force: true })).status, 200)
  assert.equal((await deployment.registry.deviceProfiles.get(id))?.payloadDecoderScript, WRONG)
  // A change that is not about the codec needs no force.
  assert.equal((await send('PUT', `/${id}`, { deviceProfile: { vendor: 'Maker' } })).status, 200)
})

test('a script that is no JavaScript is refused with its place', async () => {
  const id = await created('Unparsed')
  const { status, body } = await send('PUT', `/${id}`, { deviceProfile: { payloadDecoderScript: 'function (' } })
  assert.equal(status, 400)
  assert.match(body.message, /^deviceProfile\.payloadDecoderScript: is no JavaScript at line 1/)
  assert.partialDeepStrictEqual(body.details, [{ reason: 'script_not_parsed', line: 1 }])
})

test('a version is restored as a new version, and its vectors are run before', async () => {
  const id = await created('Restored')
  assert.equal(
    (await send('PUT', `/${id}`, { deviceProfile: { payloadDecoderScript: WRONG, testVectors: [] } })).status,
    200,
  )
  const listed = (await send('GET', `/${id}/versions`)).body as unknown as {
    result: { version: number; userID: string }[]
  }
  assert.deepEqual(
    listed.result.map(({ version, userID }) => [version, userID]),
    [
      [2, deployment.userIds.organizationAdmin],
      [1, deployment.userIds.organizationAdmin],
    ],
  )
  assert.equal((await send('POST', `/${id}/restore`, { version: 1 })).status, 200)
  assert.partialDeepStrictEqual(await deployment.registry.deviceProfiles.get(id), {
    payloadDecoderScript: GOOD,
    codecVersion: 3,
  })
  assert.equal((await send('POST', `/${id}/restore`, { version: 9 })).status, 404)
  assert.equal((await send('PUT', `/${id}`, { deviceProfile: { testVectors: VECTORS } })).status, 200)
  assert.equal((await send('POST', `/${id}/restore`, { version: 2 })).body.details[0]?.reason, 'codec_test_failed')
})

test('drafts are tested without being saved, commands as well', async () => {
  const id = await created('Draft')
  const payloadEncoderScript = 'function encodeDownlink(input) { return { bytes: [input.data.a], fPort: 9 } }'
  const testVectors = [
    { name: 'right', object: { a: 255 }, expectedBytes: 'FF', expectedFPort: 9 },
    { name: 'wrong', object: { a: 1 }, expectedBytes: '02' },
    { name: 'must fail', fPort: 1, bytes: '', expected: { errors: ['no bytes'] } },
  ]
  const { body } = await send('POST', `/${id}/test`, { deviceProfile: { payloadEncoderScript, testVectors } })
  assert.deepEqual(body, {
    outcomes: [
      { name: 'right', ok: true, expected: '{"bytes":"ff","fPort":9}', got: '{"bytes":"ff","fPort":9}' },
      { name: 'wrong', ok: false, expected: '{"bytes":"02"}', got: '{"bytes":"01"}' },
      { name: 'must fail', ok: false, expected: 'a failure', got: '{"a":null}' },
    ],
  })
  assert.deepEqual((await deployment.registry.deviceProfiles.get(id))?.testVectors, VECTORS)
})

test('a device that is given a profile shows its name, and keeps it from being deleted without detach', async () => {
  const { devEui } = deployment
  const id = await created('In use')
  const changes = { url: `/api/devices/${devEui}`, payload: { device: { deviceProfileID: id } } }
  assert.equal((await deployment.ask(session, { method: 'PUT', ...changes })).statusCode, 200)
  assert.equal((await deployment.registry.devices.get(devEui))?.deviceProfileName, 'In use')
  assert.equal((await send('DELETE', `/${id}`)).body.details[0]?.reason, 'device_profile_in_use')
  assert.equal((await send('DELETE', `/${id}?detach=true`)).status, 200)
  assert.equal((await deployment.registry.devices.get(devEui))?.deviceProfileId, '')
})
