import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentRefusals } from './recent-refusals.ts'
import type { RefusalFields } from './recent-refusals.ts'

function refusalOf(tenant: string | undefined, clientId: string, fields: Partial<RefusalFields> = {}): RefusalFields {
  const holder = tenant === undefined ? undefined : { tenant, identity: 'user', ground: 'token' }
  const base = {
    kind: 'connect',
    code: 'token_expired',
    reason: 'the token has expired',
    address: '::1',
    topic: undefined,
  } as const
  return { ...base, clientId, holder, ...fields }
}

function clientsOf(refusals: RecentRefusals, tenant?: string): (string | undefined)[] {
  return refusals.list(tenant === undefined ? {} : { tenant }).map(({ clientId }) => clientId)
}

test('refusals are told newest first, each tenant’s apart, and those of nobody known among all', () => {
  const refusals = new RecentRefusals()
  refusals.record(refusalOf('a', 'a1'), 1)
  refusals.record(refusalOf('b', 'b1'), 2)
  refusals.record(refusalOf(undefined, 'x'), 3)
  refusals.record(refusalOf('a', 'a2'), 4)
  assert.deepEqual(clientsOf(refusals, 'a'), ['a2', 'a1'])
  assert.deepEqual(clientsOf(refusals, 'b'), ['b1'])
  assert.deepEqual(clientsOf(refusals, 'c'), [])
  assert.deepEqual(clientsOf(refusals), ['a2', 'x', 'b1', 'a1'])
})

test('of one identity is told what was refused to it, in each tenant', () => {
  const refusals = new RecentRefusals()
  refusals.record(refusalOf('a', 'a1'), 1)
  refusals.record(refusalOf('b', 'b1'), 2)
  refusals.record(refusalOf('b', 'b2', { holder: { tenant: 'b', identity: 'another', ground: 'token' } }), 3)
  refusals.record(refusalOf(undefined, 'x', { address: 'user' }), 4)
  const of = (tenant?: string) =>
    refusals.list({ identity: 'user', ...(tenant === undefined ? {} : { tenant }) }).map(({ clientId }) => clientId)
  assert.deepEqual(of(), ['b1', 'a1'])
  assert.deepEqual(of('b'), ['b1'])
})

test('a repetition counts, moves to the front and takes no place', () => {
  const refusals = new RecentRefusals({ inAll: 10, perTenant: 2 })
  refusals.record(refusalOf('a', 'stubborn'), 1)
  refusals.record(refusalOf('a', 'other'), 2)
  for (let atMs = 3; atMs < 1_003; atMs += 1) refusals.record(refusalOf('a', 'stubborn'), atMs)
  const [first, second, ...more] = refusals.list({ tenant: 'a' })
  assert.deepEqual([first?.clientId, first?.count, first?.firstAtMs, first?.atMs], ['stubborn', 1_001, 1, 1_002])
  assert.equal(second?.clientId, 'other')
  assert.deepEqual(more, [])
})

test('a tenant loses its own oldest at its bound', () => {
  const refusals = new RecentRefusals({ inAll: 100, perTenant: 3 })
  for (let index = 0; index < 8; index += 1) refusals.record(refusalOf('a', `c${index}`), index)
  assert.deepEqual(clientsOf(refusals, 'a'), ['c7', 'c6', 'c5'])
})

test('within a tenant, one who is refused all the time does not hide what was refused to the others', () => {
  const refusals = new RecentRefusals({ inAll: 100, perTenant: 10 })
  const networkServer = { tenant: 'a', identity: 'network-server', ground: 'credential' }
  refusals.record(refusalOf('a', 'mine'), 0)
  for (let index = 0; index < 500; index += 1)
    refusals.record(refusalOf('a', 'server', { holder: networkServer, topic: `device/${index}` }), 1 + index)
  refusals.record(refusalOf('a', 'mine-too'), 900)
  assert.equal(refusals.list({ tenant: 'a' }).length, 10)
  assert.deepEqual(
    clientsOf(refusals, 'a').filter((clientId) => clientId !== 'server'),
    ['mine-too', 'mine'],
  )
})

test('of those who did not prove who they are, one address does not hide the others', () => {
  const refusals = new RecentRefusals({ inAll: 100, perTenant: 10 })
  refusals.record(refusalOf(undefined, 'honest', { address: '198.51.100.1' }), 0)
  for (let index = 0; index < 500; index += 1) refusals.record(refusalOf(undefined, `x${index}`), 1 + index)
  assert.equal(refusals.list().length, 10)
  assert.equal(clientsOf(refusals).at(-1), 'honest')
})

test('at the bound of all, a flood of one tenant or of nobody known takes no place of the others', () => {
  const refusals = new RecentRefusals({ inAll: 20, perTenant: 15 })
  refusals.record(refusalOf('quiet', 'mine'), 0)
  for (let index = 0; index < 6; index += 1) refusals.record(refusalOf('busy', `b${index}`), 1 + index)
  for (let index = 0; index < 500; index += 1) refusals.record(refusalOf('hostile', `h${index}`), 10 + index)
  for (let index = 0; index < 500; index += 1) refusals.record(refusalOf(undefined, `x${index}`), 600 + index)
  assert.deepEqual(clientsOf(refusals, 'quiet'), ['mine'])
  assert.equal(refusals.list({ tenant: 'busy' }).length, 6)
  assert.equal(refusals.list().length, 20)
  assert.ok(refusals.list({ tenant: 'hostile' }).length >= 6)
})

test('many tenants have one place each before anybody has two', () => {
  const refusals = new RecentRefusals({ inAll: 4, perTenant: 4 })
  for (let index = 0; index < 4; index += 1) refusals.record(refusalOf('first', `f${index}`), index)
  for (const tenant of ['b', 'c', 'd']) refusals.record(refusalOf(tenant, tenant), 10)
  assert.deepEqual(new Set(clientsOf(refusals)), new Set(['b', 'c', 'd', 'f3']))
  refusals.record(refusalOf('e', 'e'), 11)
  assert.equal(refusals.list().length, 4)
})

test('texts of a client are kept cut', () => {
  const refusals = new RecentRefusals()
  refusals.record(refusalOf('a', 'c', { reason: 'r'.repeat(70_000), topic: 't'.repeat(70_000) }), 1)
  const [kept] = refusals.list()
  assert.deepEqual([kept?.reason.length, kept?.topic?.length], [256, 256])
})
