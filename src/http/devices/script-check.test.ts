import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

interface Answer {
  readonly id: string
  readonly message: string
  readonly details: readonly object[]
}

async function send(method: 'POST' | 'PUT', url: string, application: object) {
  const session = await deployment.session('organizationAdmin')
  const answer = await deployment.ask(session, { method, url, payload: { application } })
  return { status: answer.statusCode, body: answer.json<Answer>() }
}

const BROKEN = 'function Decode(port, bytes) {\n  return { a: 1,, }\n}'
const GOOD = 'function Decode(port, bytes) { return { a: 1 } }'

test('a script that is no JavaScript is refused with its line and column, and nothing is changed', async () => {
  const { applicationId, registry } = deployment
  const savedBefore = await registry.applications.get(applicationId)
  const { status, body } = await send('PUT', `/api/applications/${applicationId}`, {
    name: 'renamed',
    payloadCodec: 'CUSTOM_JS',
    payloadDecoderScript: GOOD,
    payloadEncoderScript: BROKEN,
  })
  assert.equal(status, 400)
  assert.match(
    body.message,
    /^application\.payloadEncoderScript: is no JavaScript at line 2, column 1[0-9]: SyntaxError: /,
  )
  assert.partialDeepStrictEqual(body.details, [{ reason: 'script_not_parsed', line: 2 }])
  assert.deepEqual(await registry.applications.get(applicationId), savedBefore)
})

test('a new application with such a script is refused as well', async () => {
  const application = { name: 'x', organizationID: deployment.organizationId, payloadDecoderScript: 'function (' }
  const { status, body } = await send('POST', '/api/applications', application)
  assert.equal(status, 400)
  assert.partialDeepStrictEqual(body.details, [{ reason: 'script_not_parsed', line: 1 }])
})

test('a script is compiled and not run: one that would throw, or never end, is saved', async () => {
  const { applicationId } = deployment
  const url = `/api/applications/${applicationId}`
  for (const script of ['throw new Error("at load")', 'for (;;) {}', GOOD, '']) {
    assert.equal((await send('PUT', url, { payloadDecoderScript: script })).status, 200, script)
  }
})

test('a script that was saved before it was looked at stays, and may be sent again with other changes', async () => {
  const { organizationId, registry, userIds } = deployment
  const created = await registry.applications.create(
    {
      organizationId,
      name: 'older',
      description: '',
      serviceProfileId: '',
      serviceProfileName: '',
      payloadCodec: 'CUSTOM_JS',
      payloadDecoderScript: BROKEN,
      payloadEncoderScript: '',
    },
    { userId: userIds.globalAdmin },
  )
  assert.ok(created.ok)
  const url = `/api/applications/${created.value.id}`
  assert.equal((await send('PUT', url, { description: 'a', payloadDecoderScript: BROKEN })).status, 200)
  assert.equal((await send('PUT', url, { payloadDecoderScript: `${BROKEN} ` })).status, 400)
})
