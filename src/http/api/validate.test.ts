import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import type { TSchema } from 'typebox'
import { compileValidator, RULE } from './validate.ts'

function check(schema: TSchema, httpPart: string, value: unknown): unknown {
  const validate = compileValidator({ schema, method: 'GET', url: '/', httpPart })
  const result = (validate as (value: unknown) => { value?: unknown; error?: Error })(value)
  return result.error === undefined ? result.value : result.error.message
}

const Body = Type.Object({
  organizationId: Type.String({ pattern: '^[0-9]+$', [RULE]: 'must be a string of digits' }),
  device: Type.Optional(Type.Object({ isDisabled: Type.Boolean(), count: Type.Optional(Type.Integer()) })),
  tags: Type.Optional(Type.Record(Type.String(), Type.String(), { [RULE]: 'must be an object of strings' })),
  list: Type.Optional(Type.Array(Type.Object({ id: Type.String() }))),
})

test('a refusal is one sentence that names the member', () => {
  for (const [value, sentence] of [
    [null, 'body: must be an object'],
    [[], 'body: must be an object'],
    [{}, 'organizationId: is missing'],
    [{ organizationId: 'x' }, 'organizationId: must be a string of digits'],
    [{ organizationId: 1 }, 'organizationId: must be a string of digits'],
    [{ organizationId: '1', device: 1 }, 'device: must be an object'],
    [{ organizationId: '1', device: {} }, 'device.isDisabled: is missing'],
    [{ organizationId: '1', device: { isDisabled: 'true' } }, 'device.isDisabled: must be a boolean'],
    [{ organizationId: '1', device: { isDisabled: true, count: 1.5 } }, 'device.count: must be an integer'],
    [{ organizationId: '1', tags: { a: 1 } }, 'tags.a: must be an object of strings'],
    [{ organizationId: '1', list: [{ id: '1' }, {}] }, 'list.1.id: is missing'],
  ] as const) {
    assert.equal(check(Body, 'body', value), sentence)
  }
})

test('a body is taken as it is', () => {
  const value = { organizationId: '1', device: { isDisabled: false }, unknown: { a: 1 } }
  assert.equal(check(Body, 'body', value), value)
})

test('a query becomes the integers and booleans of its schema, and nothing else of it remains', () => {
  const Query = Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 0, [RULE]: 'must be an integer from 0' })),
    dryRun: Type.Optional(Type.Boolean()),
    search: Type.Optional(Type.String()),
  })
  assert.deepEqual(check(Query, 'querystring', { limit: '12', dryRun: 'true', search: '5', other: 'x' }), {
    limit: 12,
    dryRun: true,
    search: '5',
  })
  assert.deepEqual(check(Query, 'querystring', {}), {})
  assert.ok(Object.is((check(Query, 'querystring', { limit: '-0' }) as { limit: number }).limit, 0))
  for (const limit of ['', ' 1', '1 ', '1e2', '0x1', '1.0', '-1', '1'.repeat(16), ['1', '2']]) {
    assert.equal(check(Query, 'querystring', { limit }), 'limit: must be an integer from 0')
  }
  assert.equal(check(Query, 'querystring', { dryRun: 'yes' }), 'dryRun: must be a boolean')
})
