import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { intersectScopes, parseScope, reachesDevice, reachesEventKind, readScope, scopeText } from './scope.ts'
import type { Scope, ScopedDevice } from './scope.ts'

function parsed(body: Record<string, unknown>): Scope | undefined {
  const result = parseScope(body)
  assert.ok(result.ok, result.ok ? '' : result.message)
  return result.value
}

test('a body without members of a scope has no limit', () => {
  assert.equal(parsed({ organizationId: '1', ttlInSeconds: '60' }), undefined)
  assert.equal(parsed({ isReadOnly: false, reachesAllApplications: false }), undefined)
  assert.equal(scopeText(undefined), null)
  assert.equal(readScope(null), undefined)
})

test('each member has one spelling, so that equal scopes have equal texts', () => {
  const first = parsed({
    devEuis: ['0xAABBCCDDEEFF0011', '0101010101010101', '0101010101010101'],
    applicationIds: [12, '3'],
    eventKinds: ['up', 'ack', 'join', 'up'],
    tags: { site: 'north', floor: '1' },
    isReadOnly: true,
  })
  assert.deepEqual(first, {
    applicationIds: ['12', '3'],
    devEuis: ['0101010101010101', 'aabbccddeeff0011'],
    tags: { floor: '1', site: 'north' },
    eventKinds: ['up', 'join', 'ack'],
    isReadOnly: true,
  })
  const second = parsed({
    isReadOnly: true,
    tags: { floor: '1', site: 'north' },
    eventKinds: ['ack', 'join', 'up'],
    applicationIds: ['3', '12'],
    devEuis: ['0101010101010101', 'aabbccddeeff0011'],
  })
  assert.equal(scopeText(first), scopeText(second))
  assert.deepEqual(readScope(scopeText(first)), first)
})

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1))

for (const [body, message] of [
  [{ applicationIds: [] }, /^applicationIds: .*1 to 100/],
  [{ applicationIds: many(101) }, /^applicationIds: .*1 to 100/],
  [{ applicationIds: '1' }, /^applicationIds: /],
  [{ applicationIds: null }, /^applicationIds: /],
  [{ applicationIds: ['+'] }, /^applicationIds\.0: .*digits/],
  [{ applicationIds: ['1', '01'] }, /^applicationIds\.1: /],
  [{ applicationIds: [-1] }, /^applicationIds\.0: /],
  [{ devEuis: [] }, /^devEuis: /],
  [{ devEuis: ['+'] }, /^devEuis\.0: .*16 hex/],
  [{ devEuis: Array.from({ length: 101 }, () => '0101010101010101') }, /^devEuis: /],
  [{ eventKinds: [] }, /^eventKinds: /],
  [{ eventKinds: ['+'] }, /^eventKinds\.0: must be one of up, /],
  [{ eventKinds: ['UP'] }, /^eventKinds\.0: /],
  [{ tags: {} }, /^tags: /],
  [{ tags: [] }, /^tags: /],
  [{ tags: { a: 1 } }, /^tags: /],
  [{ tags: { '': 'x' } }, /^tags: /],
  [{ tags: Object.fromEntries(many(9).map((name) => [name, 'x'])) }, /^tags: .*1 to 8/],
  [{ isReadOnly: 'true' }, /^isReadOnly: /],
  [{ isReadOnly: null }, /^isReadOnly: /],
  [{ reachesAllApplications: 1 }, /^reachesAllApplications: /],
] as const) {
  test(`a scope of ${JSON.stringify(body).slice(0, 60)} is refused, never taken for no limit`, () => {
    const result = parseScope(body)
    assert.ok(!result.ok)
    assert.equal(result.reason, 'scope_invalid')
    assert.match(result.message, message)
  })
}

test('a text that is no scope is never read as no limit', () => {
  for (const text of ['', 'null', '{}', '[]', '{"applicationIds":[]}', '{"isReadOnly":false}']) {
    assert.throws(() => readScope(text))
  }
})

test('nothing that both scopes reach: refused, never taken for no limit', () => {
  for (const [first, second] of [
    [{ applicationIds: ['1'] }, { applicationIds: ['2'] }],
    [{ devEuis: ['0101010101010101'] }, { devEuis: ['0202020202020202'] }],
    [{ eventKinds: ['up'] }, { eventKinds: ['join'] }],
    [{ tags: { site: 'north' } }, { tags: { site: 'south' } }],
  ] as const) {
    const result = intersectScopes(first, second)
    assert.ok(!result.ok)
    assert.equal(result.reason, 'scope_empty')
  }
})

test('the way to subscribe to all applications stays, whichever of the two has it', () => {
  const result = intersectScopes({ applicationIds: ['1'] }, { reachesAllApplications: true })
  assert.deepEqual(result, { ok: true, value: { applicationIds: ['1'], reachesAllApplications: true } })
})

const anyScope: fc.Arbitrary<Scope | undefined> = fc
  .record(
    {
      applicationIds: fc.uniqueArray(fc.constantFrom('1', '2', '3'), { minLength: 1 }),
      devEuis: fc.uniqueArray(fc.constantFrom('0101010101010101', '0202020202020202'), { minLength: 1 }),
      tags: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.constantFrom('x', 'y'), { minKeys: 1 }),
      eventKinds: fc.uniqueArray(fc.constantFrom('up', 'join', 'log'), { minLength: 1 }),
      isReadOnly: fc.constant(true),
    },
    { requiredKeys: [] },
  )
  .map((body) => parsed(body))

const anyDevice: fc.Arbitrary<ScopedDevice> = fc.record({
  applicationId: fc.constantFrom('1', '2', '3', '4'),
  devEui: fc.constantFrom('0101010101010101', '0202020202020202', '0303030303030303'),
  tags: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.constantFrom('x', 'y')),
})

test('two scopes together reach what both reach, and nothing else', () => {
  fc.assert(
    fc.property(anyScope, anyScope, anyDevice, fc.constantFrom('up', 'join', 'log', 'ack'), (a, b, device, kind) => {
      const both = intersectScopes(a, b)
      const reaches = (scope: Scope | undefined): boolean =>
        reachesDevice(scope, device) && reachesEventKind(scope, kind)
      assert.equal(both.ok && reaches(both.value), reaches(a) && reaches(b))
      if (both.ok) assert.equal(both.value?.isReadOnly === true, a?.isReadOnly === true || b?.isReadOnly === true)
    }),
  )
})

test('a scope is the same after it was written and read', () => {
  fc.assert(
    fc.property(anyScope, (scope) => {
      const text = scopeText(scope)
      assert.deepEqual(readScope(text), scope)
      assert.equal(scopeText(readScope(text)), text)
    }),
  )
})
