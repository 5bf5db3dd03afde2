import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureHeaders } from './signature.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER = 'whsec_wo9+6mCCGXQZ2LBXNWhBSTfhgVwFvvbUAVyhHNxPHJo='

test('a signature is the one of the Standard Webhooks specification', () => {
  const content = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSeconds: 1_614_265_330,
    body: '{"test": 2432232314}',
  }
  assert.deepEqual(signatureHeaders(content, [{ secret: SECRET }], 0), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    // Made by the package standardwebhooks 1.1.1.
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('two secrets sign during the overlap, and one after it', () => {
  const content = { id: '1-2', timestampSeconds: 1, body: '{}' }
  const secrets = [{ secret: SECRET }, { secret: OTHER, retiresAtMs: 1_000 }]
  const both = signatureHeaders(content, secrets, 999)['webhook-signature'].split(' ')
  assert.equal(both.length, 2)
  assert.deepEqual(signatureHeaders(content, secrets, 1_000)['webhook-signature'].split(' '), [both[0]])
  assert.deepEqual(signatureHeaders(content, [{ secret: OTHER }], 0)['webhook-signature'], both[1])
})
