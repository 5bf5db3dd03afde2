/**
 * The running broker, as administrators and owners of tokens see it: the connections, and the
 * refusals with their reasons.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { recordedForms } from '../recordings/recordings.ts'
import { Administration, SHORT_TTL_SECONDS } from '../support/administration.ts'
import { assertEnded, LiveConnections, publish, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

type Item = Readonly<Record<string, unknown>>

let service: RunningService
let administration: Administration
let live: LiveConnections
let organizationId: string

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
})

after(async () => {
  live.closeAll()
  await service.stop()
})

async function list(path: string, token: string): Promise<readonly Item[]> {
  const { result } = await service.http.must('GET', path, { token })
  assert.ok(Array.isArray(result))
  return result as readonly Item[]
}

/** The Reason Code with which a token is refused. */
async function refused(jwt: string, clientId: string): Promise<number | 'closed'> {
  const client = await WireClient.open(service, 5)
  const code = await client.connect({ username: jwt, password: 'default' }, { clientId })
  assert.deepEqual(await client.rest(), [])
  return code
}

test('an admin of the organization sees its clients with their traffic, and ends one', async () => {
  const admin = await administration.person([{ organizationId, isAdmin: true }])
  const jwt = await administration.brokerToken(admin.session, organizationId)
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  const reader = await live.integrator(5, jwt, { clientId: 'dashboard', keepalive: 45 })
  assert.equal(await reader.subscribe(`application/${applicationId}/device/+/event/+`, 1), 1)
  const networkServer = await live.networkServer(await administration.serviceCredential(organizationId))
  await publish(networkServer, `application/${applicationId}/device/${devEui}/event/up`, '{}')
  assert.equal((await reader.next())?.cmd, 'publish')
  const path = `/api/connections?organizationID=${organizationId}`
  const [server, client, ...more] = await list(path, admin.session)
  assert.deepEqual(more, [])
  assert.deepEqual(
    [client?.['clientID'], client?.['userName'], client?.['keepAliveSeconds'], client?.['protocolVersion']],
    ['dashboard', admin.userName, 45, '5.0'],
  )
  assert.deepEqual(client?.['topicFilters'], [`application/${applicationId}/device/+/event/+`])
  assert.deepEqual([client?.['messagesOut'], client?.['messagesIn']], ['1', '0'])
  assert.equal(server?.['messagesIn'], '1')
  assert.match(String(server?.['serviceCredentialName']), /^network-server/)
  assert.equal(server?.['listener'], 'tls')
  // The token shows the refusal, too.
  const [token] = await list(`/api/broker-tokens?organizationID=${organizationId}`, admin.session)
  assert.equal(token?.['id'], client?.['tokenID'])
  assert.equal(token?.['connections'], 1)
  const status = await service.http.must('GET', `/api/broker-tokens/${String(token?.['id'])}/status`, {
    token: admin.session,
  })
  assert.equal((status['connections'] as Item[])[0]?.['clientID'], 'dashboard')

  const stranger = await administration.person([{ organizationId: await administration.organization(), isAdmin: true }])
  const ending = `/api/connections/${String(client?.['id'])}`
  assert.equal((await service.http.ask('DELETE', ending, { token: stranger.session })).status, 404)
  assert.equal((await service.http.ask('GET', path, { token: stranger.session })).status, 404)
  await service.http.must('DELETE', ending, { token: admin.session })
  await assertEnded(reader, 0x98, /an administrator has ended the connection/)
  assert.equal((await list(path, admin.session)).length, 1)
})

test('a subscription that matches no event is granted, reported in SUBACK and marked, until its device is registered', async () => {
  const admin = await administration.person([{ organizationId, isAdmin: true }])
  const jwt = await administration.brokerToken(admin.session, organizationId)
  const applicationId = await administration.application(organizationId)
  const stranger = await administration.organization()
  const foreign = await administration.device(await administration.application(stranger))
  const later = '00005eef10000099'
  const topic = (tail: string): string => `application/${applicationId}/device/${tail}`
  const reasons = new Map<string, unknown>()
  const modern = await live.integrator(5, jwt, { clientId: 'modern' })
  const old = await live.integrator(4, jwt, { clientId: 'old' })
  for (const tail of [
    '+/event/uplink',
    '00005EEF1000000B/event/up',
    `${foreign}/event/up`,
    `${later}/event/up`,
    '+/event/up',
  ]) {
    for (const client of [modern, old]) {
      const suback = await client.suback(topic(tail), 1)
      assert.deepEqual(suback.granted, [1], tail)
      reasons.set(`${client.version} ${tail}`, suback.properties?.reasonString)
    }
  }
  assert.match(String(reasons.get('5 +/event/uplink')), /nothing matches .*: no event is of the kind "uplink"/)
  assert.match(String(reasons.get('5 00005EEF1000000B/event/up')), /write 00005eef1000000b$/)
  const unknown = /: no such device is registered in the application$/
  assert.match(String(reasons.get(`5 ${foreign}/event/up`)), unknown)
  assert.match(String(reasons.get(`5 ${later}/event/up`)), unknown)
  assert.equal(reasons.get('5 +/event/up'), undefined)
  assert.deepEqual(
    [...reasons].filter(([key, reason]) => key.startsWith('4') && reason !== undefined),
    [],
  )
  const marks = async (clientId: string): Promise<unknown> => {
    const items = await list(`/api/connections?organizationID=${organizationId}&search=${clientId}`, admin.session)
    const marked = items[0]?.['unmatchedTopicFilters'] as readonly Readonly<Record<string, string>>[]
    return marked.map(({ topicFilter, code }) => [topicFilter, code])
  }
  const atFirst = [
    [topic('+/event/uplink'), 'event_kind_unknown'],
    [topic('00005EEF1000000B/event/up'), 'dev_eui_malformed'],
    [topic(`${foreign}/event/up`), 'device_unknown'],
    [topic(`${later}/event/up`), 'device_unknown'],
  ]
  assert.deepEqual(await marks('modern'), atFirst)
  assert.deepEqual(await marks('old'), atFirst)
  await administration.must('POST', '/api/devices', {
    device: { devEUI: later, name: 'Meter that came later', applicationID: applicationId },
  })
  assert.deepEqual(await marks('old'), atFirst.slice(0, 3))
  const networkServer = await live.networkServer(await administration.serviceCredential(organizationId))
  await publish(networkServer, topic(`${later}/event/up`), '{}')
  assert.equal((await received(modern)).topic, topic(`${later}/event/up`))
})

test('events in an unreadable form are delivered, and the admin of their network server is told which setting to change', async () => {
  const admin = await administration.person([{ organizationId, isAdmin: true }])
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  const topic = `application/${applicationId}/device/${devEui}/event/up`
  const jwt = await administration.brokerToken(admin.session, organizationId)
  const reader = await live.integrator(5, jwt)
  await reader.subscribe(topic, 1)
  const credential = await administration.serviceCredential(organizationId)
  const networkServer = await live.networkServer(credential)
  const form = recordedForms('v4').find(({ kind }) => kind === 'up')
  const payload = Buffer.from(form?.hex ?? '', 'hex')
  assert.equal(await publish(networkServer, topic, payload), 0)
  const event = await reader.next()
  assert.ok(event?.cmd === 'publish')
  assert.ok(payload.equals(event.payload as Buffer))
  const path = `/api/refusals?organizationID=${organizationId}&search=event_unreadable`
  const [notice, ...more] = await list(path, admin.session)
  assert.deepEqual(more, [])
  assert.deepEqual(
    [notice?.['kind'], notice?.['code'], notice?.['serviceCredentialID'], notice?.['topic']],
    ['notice', 'event_unreadable_binary', credential.id, `application/${applicationId}/device/+/event/up`],
  )
  assert.match(String(notice?.['message']), /json=true/)
})

test('the owner of a token learns why clients with it are refused: it expired, was revoked, or its access ended', async () => {
  const owner = await administration.person([{ organizationId }])
  const other = await administration.person([{ organizationId }])
  const expiring = await administration.brokerToken(owner.session, organizationId, String(SHORT_TTL_SECONDS))
  const live5 = await live.integrator(5, expiring)
  await live5.rest()
  assert.equal(await refused(expiring, 'too-late'), 0x86)
  const current = await administration.brokerToken(owner.session, organizationId)
  const client = await WireClient.open(service, 4)
  assert.equal(await client.connect({ username: current, password: 'DEFAULT' }, { clientId: 'mistyped' }), 4)
  const revoked = await administration.brokerToken(owner.session, organizationId)
  await administration.revokeToken(revoked)
  assert.equal(await refused(revoked, 'revoked'), 0x86)
  const orphaned = await administration.brokerToken(owner.session, organizationId)
  await administration.must('DELETE', `/api/organizations/${organizationId}/users/${owner.id}`)
  assert.equal(await refused(orphaned, 'left'), 0x87)

  const told = (await list('/api/refusals', owner.session)).map(({ clientID, code, userID }) => [
    clientID,
    code,
    userID,
  ])
  assert.deepEqual(told, [
    ['left', 'not_a_member', owner.id],
    ['revoked', 'token_revoked', owner.id],
    ['mistyped', 'password_invalid', owner.id],
    ['too-late', 'token_expired', owner.id],
  ])
  assert.deepEqual(await list('/api/refusals', other.session), [])
  assert.deepEqual(await list(`/api/refusals?organizationID=${organizationId}`, other.session), [])
})

test('a forged token belongs to nobody: only global admins see its refusal', async () => {
  const victim = await administration.person([{ organizationId, isAdmin: true }])
  const jwt = await administration.brokerToken(victim.session, organizationId)
  const [head, claims] = jwt.split('.')
  const signature = Buffer.alloc(64, 1).toString('base64url')
  assert.equal(await refused(`${head}.${claims}.${signature}`, 'forger'), 0x86)
  const search = 'search=forger'
  assert.deepEqual(await list(`/api/refusals?organizationID=${organizationId}&${search}`, victim.session), [])
  const [refusal] = await list(`/api/refusals?${search}`, service.adminSession)
  assert.deepEqual(
    [refusal?.['code'], refusal?.['organizationID'], refusal?.['tokenID']],
    ['token_signature_invalid', '', ''],
  )
})

test('the status reports the stored messages and the health of the parts', async () => {
  const status = await service.http.must('GET', '/api/status', { token: service.adminSession })
  assert.equal(status['isWell'], true)
  const numbers = status['numbers'] as Item
  assert.ok(Number(numbers['storedMessages']) >= 1)
  assert.ok(Number(numbers['storedBytes']) > 0)
  assert.match(String(numbers['oldestStoredAt']), /^20/)
  assert.ok(Number(numbers['diskFreeBytes']) > 0)
  const person = await administration.person([{ organizationId }])
  assert.equal((await service.http.must('GET', '/api/status', { token: person.session }))['numbers'], null)
})
