import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { HOOK_SECRET, must, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment
let token: string
let ownClientId: string

before(async () => {
  deployment = await openTestDeployment()
  token = await newToken()
  ownClientId = `${deployment.organizationId}-dashboard`
})

after(async () => {
  await deployment.close()
})

async function newToken(ttlSeconds = 3_600): Promise<string> {
  const { registry, userIds, organizationId } = deployment
  return must(await registry.tokens.issueBrokerAccess({ userId: userIds.member, organizationId, ttlSeconds })).jwt
}

const asBasic = (secret: string): string => `Basic ${Buffer.from(`broker:${secret}`).toString('base64')}`

/** The answer to a question, with the secret as brokers send it in an address. */
async function ask(path: string, payload: object, authorization = asBasic(HOOK_SECRET)) {
  const headers = { authorization }
  const url = `/api/broker-hooks/${path}`
  return deployment.ask(undefined, { method: 'POST', url, payload, headers })
}

async function askRabbit(path: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const headers = { authorization: asBasic(HOOK_SECRET), 'content-type': 'application/x-www-form-urlencoded' }
  const payload = new URLSearchParams({ username: token, vhost: '/', ...fields }).toString()
  const answer = await deployment.ask(undefined, {
    method: 'POST',
    url: `/api/broker-hooks/rabbitmq/${path}`,
    payload,
    headers,
  })
  assert.equal(answer.statusCode, 200, answer.body)
  assert.match(String(answer.headers['content-type']), /^text\/plain/)
  return answer.body
}

const events = (): string => `application/${deployment.applicationId}/device/${deployment.devEui}/event`
const command = (): string => `application/${deployment.applicationId}/device/${deployment.devEui}/command/down`
const foreignEvents = (): string => `application/${deployment.foreignApplicationId}/device/+/event/+`

const connectMosquitto = (clientid: string, password = 'default') =>
  ask('mosquitto/user', { username: token, password, clientid })
const accessMosquitto = (topic: string, acc: number) =>
  ask('mosquitto/acl', { username: token, clientid: ownClientId, topic, acc })
const inAmqp = (topic: string): string => topic.replaceAll('/', '.').replaceAll('+', '*')
const askTopic = (permission: string, routingKey: string, more = {}) =>
  askRabbit('topic', { resource: 'topic', name: 'amq.topic', permission, routing_key: routingKey, ...more })

describe('who may ask', () => {
  for (const [title, authorization, status] of [
    ['the secret by Basic authentication', asBasic(HOOK_SECRET), 200],
    ['the secret as a bearer token', `Bearer ${HOOK_SECRET}`, 200],
    ['another secret', asBasic(HOOK_SECRET.replace('a', 'b')), 401],
    ['a longer secret', asBasic(`${HOOK_SECRET}0`), 401],
    ['a broker-access token', 'the token', 401],
    ['no colon in Basic authentication', `Basic ${Buffer.from(HOOK_SECRET).toString('base64')}`, 401],
    ['a very long header', `Bearer ${'a'.repeat(5_000)}`, 401],
  ] as const) {
    test(`${title}: ${status}`, async () => {
      const given = authorization === 'the token' ? `Bearer ${token}` : authorization
      const { statusCode } = await ask('emqx/authz', { username: token, action: 'subscribe', topic: 'a' }, given)
      assert.equal(statusCode, status)
    })
  }

  test('without a secret, programs of this machine alone may ask, and none that a proxy speaks for', async () => {
    await using open = await withoutSecret()
    const question: InjectOptions = {
      method: 'POST',
      url: '/api/broker-hooks/emqx/authz',
      payload: { username: 'a', action: 'subscribe', topic: 'a' },
    }
    const statusOf = async (more: InjectOptions) =>
      (await open.deployment.app.inject({ ...question, ...more })).statusCode
    assert.equal(await statusOf({ remoteAddress: '127.0.0.1' }), 200)
    assert.equal(await statusOf({ remoteAddress: '203.0.113.7' }), 401)
    assert.equal(await statusOf({ remoteAddress: '127.0.0.1', headers: { 'x-forwarded-for': '203.0.113.7' } }), 401)
  })
})

async function withoutSecret() {
  const { ForeignBrokers } = await import('../../access/foreign-brokers.ts')
  const { AccessPolicy } = await import('../../access/policy.ts')
  const { registry } = deployment
  const judge = new ForeignBrokers({ policy: new AccessPolicy(registry), changes: registry.changes })
  const other = await openTestDeployment({ brokerHooks: { judge, secrets: [] } })
  return { deployment: other, [Symbol.asyncDispose]: () => other.close() }
}

describe('mosquitto', () => {
  test('hears 200 of a client that may connect, and 403 with the reason of another', async () => {
    assert.deepEqual((await connectMosquitto(ownClientId)).json(), { ok: true, error: '' })
    const refused = await connectMosquitto('dashboard')
    assert.equal(refused.statusCode, 403)
    assert.match(refused.json<{ error: string }>().error, /must begin with the id of the organization.*not_own/)
    assert.equal((await connectMosquitto(ownClientId, 'Default')).statusCode, 403)
  })

  test('hears what a client may subscribe to, publish, receive and leave', async () => {
    for (const [topic, acc, status] of [
      [`${events()}/+`, 4, 200],
      [foreignEvents(), 4, 403],
      ['#', 4, 403],
      [`${events()}/up`, 1, 200],
      [foreignEvents().replaceAll('+', 'up'), 1, 403],
      [command(), 2, 200],
      [`${events()}/up`, 2, 403],
      [command(), 3, 403],
      ['#', 8, 200],
      [`${events()}/up`, 5, 403],
    ] as const) {
      assert.equal((await accessMosquitto(topic, acc)).statusCode, status, `${topic} ${acc}`)
    }
  })

  test('hears of no superuser', async () => {
    assert.equal((await ask('mosquitto/superuser', { username: token })).statusCode, 403)
  })

  test('of one organization refuses the clients of others, and takes any Client Identifier', async () => {
    const { organizationId, foreignOrganizationId } = deployment
    const body = { username: token, password: 'default', clientid: 'any' }
    assert.equal((await ask(`mosquitto/user?organizationId=${organizationId}`, body)).statusCode, 200)
    assert.equal((await ask(`mosquitto/user?organizationId=${foreignOrganizationId}`, body)).statusCode, 403)
  })
})

describe('EMQX', () => {
  test('hears the end of the token in seconds, and of no superuser', async () => {
    const body = { username: await newToken(60), password: 'default', clientid: ownClientId }
    const { result, is_superuser, expire_at } = (await ask('emqx/authn', body)).json<Record<string, unknown>>()
    assert.deepEqual([result, is_superuser], ['allow', false])
    assert.equal(expire_at, Math.floor(deployment.clock.now() / 1000) + 60)
  })

  test('hears deny with status 200, since it passes over any other status', async () => {
    const body = { username: 'nobody', password: 'default', clientid: ownClientId }
    const answer = await ask('emqx/authn', body)
    assert.equal(answer.statusCode, 200)
    assert.deepEqual(answer.json(), { result: 'deny', is_superuser: false })
    for (const [action, topic, result] of [
      ['subscribe', `${events()}/+`, 'allow'],
      ['subscribe', foreignEvents(), 'deny'],
      ['publish', command(), 'allow'],
      ['publish', `${events()}/up`, 'deny'],
    ] as const) {
      const { statusCode, body: text } = await ask('emqx/authz', { username: token, action, topic })
      assert.equal(statusCode, 200)
      assert.deepEqual(JSON.parse(text), { result }, topic)
    }
  })
})

describe('RabbitMQ', () => {
  test('hears of a log-in in a word, without tags', async () => {
    assert.equal(await askRabbit('user', { password: 'default', client_id: ownClientId }), 'allow')
    assert.equal(await askRabbit('user', { password: 'default' }), 'allow')
    assert.equal(await askRabbit('user', { password: 'default', client_id: 'dashboard' }), 'deny')
    assert.equal(await askRabbit('user', { password: 'guest' }), 'deny')
    assert.equal(await askRabbit('user', {}), 'deny')
  })

  test('hears that a client may use the virtual host of MQTT alone', async () => {
    assert.equal(await askRabbit('vhost', { ip: '127.0.0.1', tags: '' }), 'allow')
    assert.equal(await askRabbit('vhost', { vhost: 'billing' }), 'deny')
    assert.equal(await askRabbit('vhost?vhost=billing', { vhost: 'billing' }), 'allow')
  })

  test('hears that a queue belongs to the organization of its Client Identifier', async () => {
    for (const [resource, name, permission, word] of [
      ['queue', `mqtt-subscription-${ownClientId}qos1`, 'configure', 'allow'],
      ['queue', `mqtt-subscription-${ownClientId}qos0`, 'read', 'allow'],
      ['queue', `mqtt-will-${ownClientId}`, 'write', 'allow'],
      ['queue', 'mqtt-subscription-9-aqos1', 'read', 'deny'],
      ['queue', 'bills', 'read', 'deny'],
      ['exchange', 'amq.topic', 'write', 'allow'],
      ['exchange', 'amq.topic', 'read', 'allow'],
      ['exchange', 'amq.topic', 'configure', 'deny'],
      ['exchange', 'amq.default', 'write', 'deny'],
    ] as const) {
      assert.equal(await askRabbit('resource', { resource, name, permission }), word, `${resource} ${name}`)
    }
  })

  test('hears of topics in the form of AMQP', async () => {
    assert.equal(await askTopic('read', inAmqp(`${events()}/+`)), 'allow')
    assert.equal(await askTopic('read', inAmqp(foreignEvents())), 'deny')
    assert.equal(await askTopic('read', '#'), 'deny')
    assert.equal(await askTopic('write', inAmqp(command())), 'allow')
    assert.equal(await askTopic('write', inAmqp(`${events()}/up`)), 'deny')
  })

  test('lets nobody in by a key that no client of MQTT makes, by another exchange or virtual host', async () => {
    assert.equal(await askTopic('write', command()), 'deny')
    assert.equal(await askTopic('write', inAmqp(command()), { name: 'bills' }), 'deny')
    assert.equal(await askTopic('write', inAmqp(command()), { vhost: 'billing' }), 'deny')
  })
})

test('a revocation counts for the next question, and no token is in the log', async () => {
  const { registry, userIds, organizationId } = deployment
  const issued = must(
    await registry.tokens.issueBrokerAccess({ userId: userIds.member, organizationId, ttlSeconds: 60 }),
  )
  const body = { username: issued.jwt, clientid: ownClientId, topic: `${events()}/up`, acc: 1 }
  assert.equal((await ask('mosquitto/acl', body)).statusCode, 200)
  must(await registry.tokens.revokeBrokerAccess(issued.tokenId, { userId: null }))
  assert.equal((await ask('mosquitto/acl', body)).statusCode, 403)
  const log = deployment.logLines.join('\n')
  assert.match(log, /"code":"token_revoked".*"broker_hook.refused"/)
  assert.ok(!log.includes(issued.jwt) && !log.includes(HOOK_SECRET))
})
