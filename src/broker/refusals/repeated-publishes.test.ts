import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepeatedPublishes } from './repeated-publishes.ts'
import type { RefusedPublish } from './repeated-publishes.ts'

const ONE: RefusedPublish = {
  holder: { tenant: 'tenant', identity: 'user' },
  clientId: 'client',
  packetId: 1,
  topicName: 'topic',
}

test('a message is the same by client, Packet Identifier and Topic Name, for a minute after it came last', () => {
  const repeated = new RepeatedPublishes()
  assert.equal(repeated.count(ONE, 0), 0)
  assert.equal(repeated.count(ONE, 60), 1)
  assert.equal(repeated.count(ONE, 120), 2)
  for (const other of [
    { ...ONE, clientId: 'another' },
    { ...ONE, packetId: 2 },
    { ...ONE, topicName: 'another' },
    { ...ONE, holder: { tenant: 'tenant', identity: 'another' } },
    { ...ONE, holder: { tenant: 'another', identity: 'user' } },
  ]) {
    assert.equal(repeated.count(other, 120), 0)
  }
  assert.equal(repeated.count(ONE, 181), 0)
})

test('what is remembered is bounded, and a tenant pushes out its own alone', () => {
  const repeated = new RepeatedPublishes()
  const neighbour = { ...ONE, holder: { tenant: 'neighbour', identity: 'user' } }
  repeated.count(ONE, 0)
  repeated.count(neighbour, 0)
  for (let packetId = 2; packetId <= 257; packetId += 1) repeated.count({ ...ONE, packetId }, 0)
  assert.equal(repeated.count(ONE, 0), 0)
  assert.equal(repeated.count(neighbour, 0), 1)
  for (let tenant = 0; tenant < 1_000; tenant += 1) {
    repeated.count({ ...ONE, holder: { tenant: `tenant ${tenant}`, identity: 'user' } }, 0)
  }
  assert.equal(repeated.count(neighbour, 0), 0)
})
