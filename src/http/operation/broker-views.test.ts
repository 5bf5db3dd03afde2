import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { TEST_NODES, testStatus } from './broker-views.testing.ts'
import type { ServerStatus } from './server-status.ts'
import type { TestBrokerViews } from './broker-views.testing.ts'
import { must, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment
let views: TestBrokerViews

before(async () => {
  deployment = await openTestDeployment()
  views = deployment.brokerViews
})

after(async () => {
  await deployment.close()
})

beforeEach(() => {
  views.disconnectAll()
  views.missing = []
})

type Item = Readonly<Record<string, unknown>>

async function ask(person: Person, url: string, method: 'GET' | 'DELETE' = 'GET') {
  const { statusCode, body } = await deployment.ask(await deployment.session(person), { method, url })
  return { statusCode, body: JSON.parse(body) as Item }
}

async function list(person: Person, url: string): Promise<readonly Item[]> {
  const { statusCode, body } = await ask(person, url)
  assert.equal(statusCode, 200, JSON.stringify(body))
  const items = body['result'] as readonly Item[]
  assert.equal(body['totalCount'], String(items.length))
  return items
}

/** The tokens of the refusals that a person is told. */
async function tokens(person: Person, query: string): Promise<unknown[]> {
  return (await list(person, `/api/refusals?${query}`)).map(({ tokenID }) => tokenID)
}

async function tokenOf(person: Person): Promise<string> {
  const { userIds, organizationId, registry } = deployment
  const grant = { userId: userIds[person], organizationId, ttlSeconds: 3600 }
  return must(await registry.tokens.issueBrokerAccess(grant)).tokenId
}

test('a connection is listed with whose it is, and its numbers as texts', async () => {
  const { userIds, organizationId } = deployment
  views.connect(
    { organizationId, userId: userIds.member, tokenId: 't-1' },
    { clientId: 'meter-reader', protocolVersion: 4 },
  )
  const [item] = await list('organizationAdmin', `/api/connections?organizationID=${organizationId}`)
  assert.deepEqual(item, {
    id: item?.['id'],
    clientID: 'meter-reader',
    organizationID: organizationId,
    organizationName: 'Acme Metering',
    userID: userIds.member,
    userName: 'member@example.org',
    serviceCredentialID: '',
    serviceCredentialName: '',
    apiKeyID: '',
    apiKeyName: '',
    tokenID: 't-1',
    address: '198.51.100.7',
    listener: 'tls',
    protocolVersion: '3.1.1',
    openedAt: '2026-01-15T12:00:00.000Z',
    keepAliveSeconds: 60,
    topicFilters: ['application/1/device/+/event/+'],
    topicFilterCount: 1,
    unmatchedTopicFilters: [],
    messagesIn: '1',
    messagesOut: '2',
    bytesIn: '30',
    bytesOut: '40',
    messagesInPerSecond: 0.5,
    messagesOutPerSecond: 1,
    bytesInPerSecond: 15,
    bytesOutPerSecond: 20,
  })
})

test('an organization’s admin sees its connections alone; a network server of the deployment is for global admins', async () => {
  const { userIds, organizationId, foreignOrganizationId } = deployment
  views.connect({ organizationId, userId: userIds.member })
  views.connect({ organizationId: foreignOrganizationId, userId: userIds.stranger })
  views.connect({ serviceCredentialId: 'gone' })
  assert.equal((await list('organizationAdmin', `/api/connections?organizationID=${organizationId}`)).length, 1)
  assert.equal((await list('stranger', `/api/connections?organizationID=${foreignOrganizationId}`)).length, 1)
  const all = await list('globalAdmin', '/api/connections')
  assert.deepEqual(
    all.map(({ clientID, organizationID }) => [clientID === '', organizationID]),
    [
      [false, ''],
      [false, foreignOrganizationId],
      [false, organizationId],
    ],
  )
})

test('a search finds connections by client, address, topic, user and credential, and by nothing of other organizations', async () => {
  const { userIds, organizationId, registry } = deployment
  const made = await registry.serviceCredentials.create({ name: 'ChirpStack north', organizationId }, { userId: null })
  const { id: serviceCredentialId } = must(made)
  views.connect({ organizationId, userId: userIds.member }, { clientId: 'Alpha' })
  views.connect(
    { organizationId, userId: userIds.deviceAdmin },
    { peer: { address: '2001:db8::5', listener: 'websocket' } },
  )
  views.connect({ organizationId, serviceCredentialId }, { topicFilters: ['application/+/device/+/command/down'] })
  const found = async (search: string) =>
    (
      await list(
        'organizationAdmin',
        `/api/connections?organizationID=${organizationId}&search=${encodeURIComponent(search)}`,
      )
    ).length
  assert.equal(await found('alpha'), 1)
  assert.equal(await found('2001:db8'), 1)
  assert.equal(await found('COMMAND/down'), 1)
  assert.equal(await found('device-admin@'), 1)
  assert.equal(await found('chirpstack'), 1)
  assert.equal(await found('stranger'), 0)
  assert.equal(await found('%'), 0)
})

test('a list names the nodes that did not answer', async () => {
  views.missing = ['node-2']
  for (const name of ['connections', 'refusals', 'broker-tokens']) {
    const { statusCode, body } = await ask('globalAdmin', `/api/${name}`)
    assert.deepEqual([statusCode, body['missingNodes']], [200, ['node-2']])
  }
})

test('a page of connections has its bounds and the whole count', async () => {
  const { userIds, organizationId } = deployment
  for (let index = 0; index < 5; index += 1)
    views.connect({ organizationId, userId: userIds.member }, { clientId: `n${index}` })
  const { body } = await ask('globalAdmin', '/api/connections?limit=2&offset=1')
  assert.equal(body['totalCount'], '5')
  assert.deepEqual(
    (body['result'] as Item[]).map(({ clientID }) => clientID),
    ['n3', 'n2'],
  )
})

test('ending a connection is in the audit log; another organization’s reads like one that is gone', async () => {
  const { userIds, organizationId, registry } = deployment
  const { id } = views.connect({ organizationId, userId: userIds.member }, { clientId: 'runaway' })
  const foreign = await ask('stranger', `/api/connections/${id}`, 'DELETE')
  const gone = await ask('stranger', '/api/connections/nothing', 'DELETE')
  assert.deepEqual(foreign, gone)
  assert.equal(foreign.statusCode, 404)
  assert.equal((await ask('organizationAdmin', `/api/connections/${id}`, 'DELETE')).statusCode, 200)
  assert.equal((await ask('organizationAdmin', `/api/connections/${id}`, 'DELETE')).statusCode, 404)
  const { items } = await registry.audit.list({ userId: userIds.globalAdmin, isAdmin: true }, { limit: 1, offset: 0 })
  assert.equal(items[0]?.action, 'connection.ended')
  assert.equal(items[0]?.subject, 'runaway')
  assert.equal(items[0]?.organizationId, organizationId)
})

test('refusals are for the token’s owner, the organization’s admins and global admins', async () => {
  const { userIds, organizationId, foreignOrganizationId } = deployment
  views.refuse({ organizationId, userId: userIds.member, tokenId: 'of-member' })
  views.refuse({ organizationId, userId: userIds.deviceAdmin, tokenId: 'of-device-admin' }, { kind: 'subscribe' })
  views.refuse({ organizationId: foreignOrganizationId, userId: userIds.stranger, tokenId: 'of-stranger' })
  views.refuse({}, { code: 'password_invalid' })
  const inOrganization = `organizationID=${organizationId}`
  assert.deepEqual(await tokens('member', inOrganization), ['of-member'])
  assert.deepEqual(await tokens('member', ''), ['of-member'])
  assert.deepEqual(await tokens('organizationAdmin', inOrganization), ['of-device-admin', 'of-member'])
  assert.deepEqual(await tokens('organizationAdmin', ''), [])
  assert.deepEqual(await tokens('globalAdmin', ''), ['', 'of-stranger', 'of-device-admin', 'of-member'])
  assert.deepEqual(await tokens('organizationAdmin', `${inOrganization}&tokenID=of-member`), ['of-member'])
  assert.deepEqual(await tokens('member', `${inOrganization}&tokenID=of-device-admin`), [])
  assert.deepEqual(await tokens('organizationAdmin', `${inOrganization}&search=device-admin@`), ['of-device-admin'])
  assert.deepEqual(await tokens('member', `${inOrganization}&search=device-admin@`), [])
  assert.deepEqual(await tokens('member', `${inOrganization}&search=EXPIRED`), ['of-member'])
})

test('a token tells of its clients, and of what was refused to one', async () => {
  const { userIds, organizationId } = deployment
  const tokenId = await tokenOf('member')
  const other = await tokenOf('member')
  const status = async () => (await ask('member', `/api/broker-tokens/${tokenId}/status`)).body
  assert.deepEqual(await status(), { connections: [], connectionCount: 0, lastRefusal: null })
  const holder = { organizationId, userId: userIds.member, tokenId }
  const { id } = views.connect(holder, { clientId: 'dashboard' })
  views.connect({ ...holder, tokenId: other })
  views.refuse(holder, { kind: 'publish', code: 'publish_not_granted', reason: 'not yours', topic: 'a/b', count: 3 })
  const told = await status()
  assert.equal(told['connectionCount'], 1)
  assert.deepEqual(told['connections'], [
    { id, clientID: 'dashboard', address: '198.51.100.7', listener: 'tls', openedAt: '2026-01-15T12:00:00.000Z' },
  ])
  const refusal = {
    kind: 'publish',
    code: 'publish_not_granted',
    message: 'not yours',
    clientID: 'client',
    address: '198.51.100.7',
    topic: 'a/b',
    at: '2026-01-15T13:00:00.000Z',
    firstAt: '2026-01-15T12:00:00.000Z',
    count: 3,
  }
  assert.deepEqual(told['lastRefusal'], refusal)
  const listed = await list('member', '/api/broker-tokens')
  const item = listed.find(({ id: listedId }) => listedId === tokenId)
  assert.equal(item?.['connections'], 1)
  assert.deepEqual(item?.['lastRefusal'], refusal)
})

test('everybody hears whether the service is well, and global admins the numbers', async () => {
  const { body } = await ask('member', '/api/status')
  assert.equal(body['isWell'], false)
  assert.deepEqual([body['version'], body['runtime']], ['1.2.3', 'Bun 1.4.5'])
  assert.equal(body['numbers'], null)
  const { body: whole } = await ask('globalAdmin', '/api/status')
  const numbers = whole['numbers'] as Item
  assert.equal(numbers['storedBytes'], '5000000000')
  assert.equal(numbers['retentionDays'], 7)
  assert.deepEqual(numbers['nearBounds'], [
    {
      organizationID: '1',
      organizationName: 'Acme Metering',
      bound: 'sessions',
      unit: 'count',
      used: 9_000,
      maximum: 10_000,
    },
  ])
  assert.equal((numbers['load'] as Item[])[0]?.['eventLoopDelayMs'], 0.25)
  assert.deepEqual((numbers['parts'] as Item[])[1], {
    name: 'disk',
    isWell: false,
    reason: 'the data directory has 3 MiB free, which is little',
  })
})

test('the status has the nodes of a deployment of several, and is not well while one does not answer', async () => {
  const several = await openTestDeployment({
    status: { ...testStatus(deployment.clock), health: async () => [], nodes: async () => TEST_NODES },
  })
  try {
    const session = await several.session('globalAdmin')
    const answer = await several.ask(session, { method: 'GET', url: '/api/status' })
    const { isWell, numbers } = answer.json<{ isWell: boolean; numbers: { nodes: readonly Item[] } }>()
    assert.deepEqual([answer.statusCode, isWell], [200, false])
    const [first, second] = numbers.nodes
    assert.deepEqual(first, {
      name: 'node-1',
      version: '1.2.3',
      isReady: true,
      startedAt: '2026-01-15T12:00:00.000Z',
      silentMs: 0,
      hasAnswered: true,
      parts: [{ name: 'messages', isWell: true, reason: '' }],
      connections: 1,
      sessions: 2,
    })
    assert.deepEqual(
      [second?.['isReady'], second?.['silentMs'], second?.['hasAnswered'], second?.['parts'], second?.['connections']],
      [false, 1_200, false, [], null],
    )
  } finally {
    await several.close()
  }
})

test('the status has the servers and the lost nodes, and is not well for a day after a loss', async () => {
  const { clock } = deployment
  const lost = [
    { name: 'node-3', endedAtMs: clock.now() - 3_600_000, isOrderly: true, heir: 'node-1' },
    { name: 'node-4', endedAtMs: clock.now() - 8 * 86_400_000, isOrderly: false, heir: undefined },
  ]
  const server = { kind: 'nats', name: 'n1', isWell: true, role: 'leads 1 of 4 streams', lag: '', reason: '' } as const
  let servers = [server as ServerStatus]
  const several = await openTestDeployment({
    status: {
      ...testStatus(clock),
      health: async () => [],
      servers: async () => servers,
      lostNodes: () => lost,
    },
  })
  try {
    const session = await several.session('globalAdmin')
    const look = async () => {
      const { isWell, numbers } = (await several.ask(session, { method: 'GET', url: '/api/status' })).json<{
        isWell: boolean
        numbers: { servers: readonly Item[]; lostNodes: readonly Item[] }
      }>()
      return { isWell, ...numbers }
    }
    const first = await look()
    assert.deepEqual([first.isWell, first.servers], [true, [server]])
    const endedAt = new Date(clock.now() - 3_600_000).toISOString()
    assert.deepEqual(first.lostNodes, [{ name: 'node-3', endedAt, isOrderly: true, heir: 'node-1' }])
    servers = [{ ...server, isWell: false, reason: 'the other servers do not reach it' }]
    assert.equal((await look()).isWell, false)
    servers = []
    lost.push({ name: 'node-5', endedAtMs: clock.now() - 1_000, isOrderly: false, heir: undefined })
    const third = await look()
    assert.deepEqual([third.isWell, third.lostNodes[1]?.['heir']], [false, null])
    lost.pop()
    lost.push({ name: 'node-5', endedAtMs: clock.now() - 2 * 86_400_000, isOrderly: false, heir: 'node-1' })
    assert.equal((await look()).isWell, true)
  } finally {
    await several.close()
  }
})
