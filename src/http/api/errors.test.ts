import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, answerFor, objectNotFound, RequestRefused } from './errors.ts'

test('each refusal code has the gRPC code and HTTP status of the API family', () => {
  const expected = {
    invalid_argument: [400, 3],
    not_found: [404, 5],
    already_exists: [409, 6],
    permission_denied: [403, 7],
    resource_exhausted: [429, 8],
    failed_precondition: [400, 9],
    unimplemented: [501, 12],
    internal: [500, 13],
    unavailable: [503, 14],
    unauthenticated: [401, 16],
  } as const
  for (const [refusal, [status, code]] of Object.entries(expected)) {
    const answer = answerFor(new RequestRefused(refusal as keyof typeof expected, 'sentence', 'reason'))
    assert.equal(answer.status, status)
    assert.deepEqual(answer.body, { error: 'sentence', code, message: 'sentence', details: [{ reason: 'reason' }] })
    assert.equal(answer.unexpected, false)
  }
})

test('what is no refusal becomes "internal error", without a word of what happened', () => {
  for (const thrown of [new Error('SELECT secret FROM users'), 'text', undefined, { code: 5, message: 'x' }]) {
    const { status, body, unexpected } = answerFor(thrown)
    assert.equal(status, 500)
    assert.equal(unexpected, true)
    assert.deepEqual(body, {
      error: 'internal error',
      code: 13,
      message: 'internal error',
      details: [{ reason: 'internal' }],
    })
  }
})

test('a registry that finds the disk full is unavailable, and nothing is said of what was to be written', () => {
  const { status, body, unexpected } = answerFor(Object.assign(new Error('insert into users'), { errcode: 13 }))
  assert.deepEqual([status, body.details, unexpected], [503, [{ reason: 'registry_full' }], false])
  assert.equal(body.message, 'the disk is full: nothing was changed')
})

test('a 401 carries a challenge, throttling carries Retry-After', () => {
  assert.deepEqual(headersOf('unauthenticated', 'login_failed'), {
    'www-authenticate': 'Bearer realm="fieldgate"',
    ...link('login_failed'),
  })
  assert.deepEqual(headersOf('resource_exhausted', 'login_throttled'), {
    'retry-after': '30',
    ...link('login_throttled'),
  })
  assert.deepEqual(headersOf('resource_exhausted', 'too_many_tokens'), link('too_many_tokens'))
  assert.equal(accepted({ ok: true, value: 7 }), 7)
})

test('the text that clients match on', () => {
  assert.equal(objectNotFound().message, 'object does not exist')
})

/** The header that leads to the paragraph of a reason. */
function link(reason: string): Record<string, string> {
  return { link: `</docs/errors#http-${reason}>; rel="help"` }
}

function headersOf(code: 'unauthenticated' | 'resource_exhausted', reason: string): Record<string, string> {
  try {
    accepted({ ok: false, code, message: 'no', reason })
    return {}
  } catch (error) {
    return { ...answerFor(error).headers }
  }
}
