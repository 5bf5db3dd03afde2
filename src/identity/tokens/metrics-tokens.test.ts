import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nobody, openTestRegistry, reasonOf, testStartMs, valueOf } from '../registry.testing.ts'

const all = { limit: 1000, offset: 0 }

test('a metrics token is good until it is revoked, and is kept as a hash', async () => {
  await using opened = await openTestRegistry()
  const { metricsTokens, audit } = opened.registry
  const { id, token } = valueOf(await metricsTokens.create('Prometheus', nobody))
  assert.match(token, /^fgm_[\w-]{43}$/)
  assert.equal(await metricsTokens.authenticate(token), true)
  for (const wrong of ['', 'fgm_', token.slice(0, -1), `${token}x`, token.toUpperCase(), 'x'.repeat(1_000_000), id]) {
    assert.equal(await metricsTokens.authenticate(wrong), false, wrong.slice(0, 60))
  }
  const { items } = await audit.list({ userId: '0', isAdmin: true }, all)
  assert.equal(JSON.stringify([items, await metricsTokens.list(all)]).includes(token.slice(4)), false)
  valueOf(await metricsTokens.revoke(id, nobody))
  assert.equal(await metricsTokens.authenticate(token), false)
  assert.equal(reasonOf(await metricsTokens.revoke(id, nobody)), 'metrics_token_not_found')
  const entries = (await audit.list({ userId: '0', isAdmin: true }, all)).items.slice(0, 2)
  assert.deepEqual(
    entries.map(({ action, detail }) => [action, detail]),
    [
      ['metrics_token.revoked', { name: 'Prometheus' }],
      ['metrics_token.created', { name: 'Prometheus' }],
    ],
  )
})

test('metrics tokens are listed by name with their last use, to a minute', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const { metricsTokens } = registry
  const { token } = valueOf(await metricsTokens.create('b', nobody))
  valueOf(await metricsTokens.create('A', nobody))
  const lastUses = async () =>
    (await metricsTokens.list(all)).items.map(({ name, lastUsedAtMs }) => [name, lastUsedAtMs])
  assert.deepEqual(await lastUses(), [
    ['A', null],
    ['b', null],
  ])
  for (const [afterMs, seenMs] of [
    [0, 0],
    [59_999, 0],
    [1, 60_000],
  ] as const) {
    clock.advance(afterMs)
    await metricsTokens.authenticate(token)
    assert.deepEqual((await lastUses())[1], ['b', testStartMs + seenMs])
  }
})

test('the names of metrics tokens are unique in any case, and a deployment has a hundred at most', async () => {
  await using opened = await openTestRegistry()
  const { metricsTokens } = opened.registry
  valueOf(await metricsTokens.create('Prometheus', nobody))
  assert.equal(reasonOf(await metricsTokens.create('PROMETHEUS', nobody)), 'metrics_token_exists')
  assert.equal(reasonOf(await metricsTokens.create('a\nb', nobody)), 'invalid_name')
  for (let count = 1; count < 100; count += 1) valueOf(await metricsTokens.create(`scraper ${count}`, nobody))
  assert.equal(reasonOf(await metricsTokens.create('one more', nobody)), 'too_many_metrics_tokens')
})
