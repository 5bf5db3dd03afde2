import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestPermit, connectPacket, createHarness } from '../../../test/support/broker-harness.ts'
import { silentLogger } from '../../logger.ts'
import type { Decision } from '../ports/policy.ts'

const REFUSED: Decision = {
  allowed: false,
  reasonCode: 0x87,
  reason: 'not yours',
  code: 'not_granted',
  untold: 'close',
}

test('a connection is seen with what it carries both ways', async () => {
  const { broker, clock, connect, open } = await createHarness()
  const reader = await connect({ clientId: 'reader', userName: 'acme/anna', keepAliveSeconds: 30 })
  await reader.subscribe('a/#')
  const writer = await connect({ clientId: 'writer', userName: 'acme/bert', protocolVersion: 4 })
  await connect({ clientId: 'foreign', userName: 'zenith/zoe' })
  // A connection before CONNECT has no tenant yet.
  open()
  for (let index = 0; index < 10; index += 1) writer.publish('a/b', 'x')
  await writer.sync()
  clock.advance(broker, 2)
  const [read, write, ...more] = broker.connections('acme')
  assert.deepEqual(more, [])
  assert.deepEqual(
    [read?.clientId, read?.identity, read?.ground, read?.keepAliveSeconds, read?.protocolVersion, read?.peer.listener],
    ['reader', 'anna', 'a ground', 30, 5, 'tcp'],
  )
  assert.deepEqual(read?.topicFilters, ['a/#'])
  assert.equal(write?.protocolVersion, 4)
  assert.equal(write?.carried.messagesIn, 10)
  assert.equal(write?.carried.messagesOut, 0)
  assert.equal(read?.carried.messagesOut, 10)
  assert.equal(read?.carried.bytesOut, Buffer.concat(reader.receivedBytes).length)
  assert.equal(write?.rates.messagesInPerSecond, 5)
  assert.equal(read?.rates.messagesOutPerSecond, 5)
  assert.equal([...broker.connections()].length, 3)
})

test('an administrator ends a connection with 0x98, and its number never comes again', async () => {
  const { broker, connect } = await createHarness()
  const client = await connect({ clientId: 'c' })
  const [view] = broker.connections()
  assert.ok(view !== undefined)
  assert.equal(broker.endConnection(view.number + 1), false)
  assert.equal(broker.endConnection(view.number), true)
  assert.equal((await client.next('disconnect')).reasonCode, 0x98)
  await client.closed()
  assert.deepEqual([...broker.connections()], [])
  await connect({ clientId: 'c' })
  assert.equal(broker.endConnection(view.number), false)
  assert.equal([...broker.connections()].length, 1)
})

test('a refused CONNECT is kept with its client, and with the holder whom the credential proved', async () => {
  const { broker, policy, open } = await createHarness()
  const holder = { tenant: 'acme', identity: 'anna', ground: 'token:1' }
  policy.admit = ({ userName }) => ({
    allowed: false,
    reasonCode: 0x86,
    reason: 'the token has expired',
    code: 'token_expired',
    untold: 'close',
    holder: userName === 'known' ? holder : undefined,
  })
  for (const userName of ['known', 'forged']) {
    const client = open()
    client.send(connectPacket({ clientId: `of-${userName}`, userName }))
    assert.equal((await client.next('connack')).reasonCode, 0x86)
  }
  const [own, ...more] = broker.recentRefusals.list({ tenant: 'acme' })
  assert.deepEqual(more, [])
  assert.deepEqual(
    [own?.kind, own?.code, own?.reason, own?.clientId, own?.address, own?.holder],
    ['connect', 'token_expired', 'the token has expired', 'of-known', '127.0.0.1', holder],
  )
  assert.equal(broker.recentRefusals.list().length, 2)
})

test('refused subscriptions, messages and Will Messages are kept with their topic, whose they are, and why', async () => {
  const { broker, policy, connect, clock } = await createHarness()
  const permit = new TestPermit('acme', 'anna')
  policy.admit = () => ({ allowed: true, permit })
  const client = await connect({
    clientId: 'c',
    will: { topicName: 'w', payload: Buffer.from('x'), qos: 0, retain: false, delayIntervalSeconds: 0 },
  })
  permit.subscribe = () => REFUSED
  assert.equal(await client.subscribe('s/#'), 0x87)
  permit.publish = () => REFUSED
  client.publish('p/q', 'x', { qos: 1 })
  assert.equal((await client.next('puback')).reasonCode, 0x87)
  clock.advance(broker, 1)
  client.drop()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    broker.recentRefusals
      .list({ tenant: 'acme' })
      .map(({ kind, code, reason, topic, holder }) => [kind, code, reason, topic, holder?.ground]),
    [
      ['will', 'not_granted', 'not yours', 'w', 'a ground'],
      ['publish', 'not_granted', 'not yours', 'p/q', 'a ground'],
      ['subscribe', 'not_granted', 'not yours', 's/#', 'a ground'],
    ],
  )
  assert.equal(broker.refusals.get('will:not_granted'), 1)
})

test('a fault that the permit finds in a message is kept, counted and told while it is news; the message goes on', async () => {
  const lines: [object, string][] = []
  const { broker, policy, connect } = await createHarness({
    log: { ...silentLogger, warn: (fields, message) => void lines.push([fields, message]) },
  })
  const permit = new TestPermit('acme', 'network-server:1')
  let looks = 0
  permit.inspect = ({ name }, { payload }, second) => {
    looks += 1
    const isNews = looks === 1
    return payload[0] === 0x0a ? { code: 'unreadable', reason: `no. ${second}`, topic: `${name}/+`, isNews } : undefined
  }
  policy.admit = ({ userName }) => ({ allowed: true, permit: userName === 'server' ? permit : new TestPermit('acme') })
  const reader = await connect({ clientId: 'reader' })
  await reader.subscribe('#')
  const server = await connect({ clientId: 'server', userName: 'server' })
  for (const payload of ['\n$1', '{}', '\n$2']) server.publish('a', payload)
  server.publish('a', '\n$3', { qos: 1 })
  await server.next('puback')
  const received = (await reader.sync()).map((packet) => (packet.type === 'publish' ? packet.payload.toString() : ''))
  assert.deepEqual(received, ['\n$1', '{}', '\n$2', '\n$3'])
  const [kept, ...more] = broker.recentRefusals.list({ tenant: 'acme', identity: 'network-server:1' })
  assert.deepEqual(more, [])
  assert.deepEqual([kept?.kind, kept?.code, kept?.topic, kept?.count], ['notice', 'unreadable', 'a/+', 3])
  assert.equal(broker.counters.publishesFaulty, 3)
  assert.equal(broker.counters.publishesRefused, 0)
  assert.deepEqual(
    lines.map(([, message]) => message),
    ['publish.faulty'],
  )
})

test('a token that is refused on a live connection is told like one that is refused to connect', async () => {
  const { broker, policy, connect } = await createHarness()
  policy.admit = () => ({ allowed: true, permit: new TestPermit('acme', 'anna') })
  policy.renew = () => ({ allowed: false, reasonCode: 0x87, reason: 'revoked', code: 'token_revoked', untold: 'close' })
  const client = await connect({ properties: { authenticationMethod: 'TEST' } })
  client.send({ type: 'auth', reasonCode: 0x19, properties: { authenticationMethod: 'TEST' } })
  assert.equal((await client.next('disconnect')).reasonCode, 0x87)
  assert.deepEqual(
    broker.recentRefusals.list({ tenant: 'acme' }).map(({ kind, code }) => [kind, code]),
    [['connect', 'token_revoked']],
  )
})
