/** Tokens with a scope at the HTTP interface: how they are made, and what they open. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TestEvents } from '../devices/stored-events.testing.ts'
import { must, newApplication, newDevice, openTestDeployment } from './deployment.testing.ts'
import type { Person, TestDeployment } from './deployment.testing.ts'

const SECOND = '0505050505050505'
const THIRD = '0606060606060606'
const history = new TestEvents()
let deployment: TestDeployment
let otherApplicationId: string

before(async () => {
  deployment = await openTestDeployment({ history })
  const { registry, organizationId, applicationId, devEui } = deployment
  otherApplicationId = await newApplication(registry, organizationId, 'valves')
  await newDevice(registry, applicationId, SECOND)
  await newDevice(registry, otherApplicationId, THIRD)
  must(await registry.devices.update(SECOND, { tags: { site: 'north' } }, { userId: null }))
  for (const [owner, kind] of [
    [devEui, 'up'],
    [devEui, 'join'],
    [SECOND, 'up'],
    [SECOND, 'status'],
  ] as const) {
    history.add({ applicationId, devEui: owner, kind })
  }
})

after(async () => {
  await deployment.close()
})

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

async function login(body: object, person: Person = 'member'): Promise<Answer> {
  const answer = await deployment.ask(await deployment.session(person), {
    method: 'POST',
    url: '/api/mosquitto-auth/login',
    payload: { organizationId: deployment.organizationId, ttlInSeconds: '3600', ...body },
  })
  return { status: answer.statusCode, body: answer.json() }
}

async function tokenWith(body: object, person?: Person): Promise<string> {
  const { status, body: answer } = await login(body, person)
  assert.equal(status, 200, JSON.stringify(answer))
  assert.deepEqual(Object.keys(answer), ['jwtMqttAuth'])
  return String(answer['jwtMqttAuth'])
}

async function get(token: string, url: string): Promise<Answer> {
  const answer = await deployment.ask(token, { method: 'GET', url })
  return { status: answer.statusCode, body: answer.json() }
}

function reasonOf({ body }: Answer): unknown {
  return (body['details'] as readonly { reason: string }[] | undefined)?.[0]?.reason
}

const ofApplication = (id: string) =>
  `/api/mosquitto-auth/subscribe-application-events?applicationId=${id}&organizationId=${deployment.organizationId}`
const ofDevice = (devEui: string) =>
  `/api/mosquitto-auth/subscribe-device-events?devEui=${devEui}&organizationId=${deployment.organizationId}`
const ofCommands = (devEui: string) =>
  `/api/mosquitto-auth/send-command?devEui=${devEui}&organizationId=${deployment.organizationId}`

/** The topics in the quotes at the ends of the sentences. */
function topicsOf({ body }: Answer): readonly string[] {
  return [body['topic'] as string | string[]].flat().map((sentence) => /'([^']+)'$/.exec(sentence)?.[1] ?? sentence)
}

test('an application or a device of another organization is answered like one that does not exist', async () => {
  const { foreignApplicationId, foreignDevEui } = deployment
  for (const [foreign, unknown] of [
    [{ applicationIds: [foreignApplicationId] }, { applicationIds: ['987654'] }],
    [{ devEuis: [foreignDevEui] }, { devEuis: ['fedcba9876543210'] }],
    [{ devEuis: [deployment.devEui, foreignDevEui] }, { devEuis: [deployment.devEui, 'fedcba9876543210'] }],
  ]) {
    const answers = [await login(foreign ?? {}), await login(unknown ?? {})]
    assert.equal(answers[0]?.status, 404)
    assert.deepEqual(answers[0], answers[1])
  }
})

test('a wrong scope is refused with the member’s name, and nothing is issued', async () => {
  for (const [body, message] of [
    [{ applicationIds: [] }, /^applicationIds: must be a list of 1 to 100/],
    [{ devEuis: ['zz'] }, /^devEuis.*must be 16 hexadecimal digits/],
    [{ eventKinds: ['down'] }, /^eventKinds.*must be one of up, /],
    [{ tags: {} }, /^tags: must be an object of 1 to 8 texts/],
    [{ tags: { site: 1 } }, /^tags/],
    [{ isReadOnly: 'yes' }, /^isReadOnly: must be true or false/],
    [{ applicationIds: null }, /^applicationIds/],
  ] as const) {
    const answer = await login(body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.match(String(answer.body['message']), message)
  }
})

test('the list of tokens shows the limits of each, and null for none', async () => {
  const { devEui, applicationId } = deployment
  await tokenWith({ devEuis: [devEui.toUpperCase()], applicationIds: [Number(applicationId)], isReadOnly: true })
  deployment.clock.advance(2000)
  await tokenWith({})
  const { body } = await get(await deployment.session('member'), '/api/broker-tokens?limit=2')
  assert.deepEqual(
    (body['result'] as readonly { scope: unknown }[]).map(({ scope }) => scope),
    [null, { applicationIds: [applicationId], devEuis: [devEui], isReadOnly: true }],
  )
})

test('the topic endpoints answer a narrow token only what it may read', async () => {
  const { applicationId, devEui } = deployment
  const token = await tokenWith({ devEuis: [devEui], eventKinds: ['join', 'up'] })
  assert.deepEqual(topicsOf(await get(token, ofDevice(devEui))), [
    `application/${applicationId}/device/${devEui}/event/up`,
    `application/${applicationId}/device/${devEui}/event/join`,
    `application/${applicationId}/device/${devEui}/event/+`,
  ])
  assert.deepEqual(await get(token, ofDevice(SECOND)), await get(token, ofDevice('fedcba9876543210')))
  assert.deepEqual(await get(token, ofCommands(SECOND)), await get(token, ofCommands('fedcba9876543210')))
  assert.equal((await get(token, ofCommands(devEui))).status, 200)
  const ofOneKind = await tokenWith({ applicationIds: [applicationId], eventKinds: ['up'] })
  assert.deepEqual(topicsOf(await get(ofOneKind, ofApplication(applicationId))), [
    `application/${applicationId}/device/+/event/up`,
  ])
  assert.deepEqual(
    await get(ofOneKind, ofApplication(otherApplicationId)),
    await get(ofOneKind, ofApplication('98765')),
  )
  const tagged = await tokenWith({ tags: { site: 'north' } })
  assert.equal((await get(tagged, ofDevice(SECOND))).status, 200)
  assert.equal((await get(tagged, ofDevice(devEui))).status, 404)
})

test('a read-only token gets no command topic, and neither does a read-only member', async () => {
  const { devEui } = deployment
  const token = await tokenWith({ isReadOnly: true })
  assert.equal((await get(token, ofDevice(devEui))).status, 200)
  const refused = await get(token, ofCommands(devEui))
  assert.deepEqual([refused.status, reasonOf(refused)], [403, 'token_read_only'])
  const ofReader = await get(await tokenWith({}, 'reader'), ofCommands(devEui))
  assert.deepEqual([ofReader.status, reasonOf(ofReader)], [403, 'token_read_only'])
  const bySession = await get(await deployment.session('reader'), ofCommands(devEui))
  assert.deepEqual([bySession.status, reasonOf(bySession)], [403, 'role_too_small'])
  assert.match(String(bySession.body['message']), /who is not read-only$/)
})

test('stored events are those within the scope, as it is at each moment', async () => {
  const { applicationId, devEui, registry } = deployment
  const url = `/api/applications/${applicationId}/events?order=oldest`
  const read = async (token: string, query = '') => {
    const { status, body } = await get(token, `${url}${query}`)
    assert.equal(status, 200, JSON.stringify(body))
    return (body['result'] as readonly { devEUI: string; kind: string }[]).map((one) => `${one.devEUI} ${one.kind}`)
  }
  assert.deepEqual(await read(await tokenWith({ devEuis: [devEui] })), [`${devEui} up`, `${devEui} join`])
  assert.deepEqual(await read(await tokenWith({ eventKinds: ['up'] })), [`${devEui} up`, `${SECOND} up`])
  assert.deepEqual(await read(await tokenWith({ eventKinds: ['up', 'join'] }), '&kind=join,status'), [`${devEui} join`])
  const tagged = await tokenWith({ tags: { site: 'north' } })
  assert.deepEqual(await read(tagged), [`${SECOND} up`, `${SECOND} status`])
  must(await registry.devices.update(SECOND, { tags: {} }, { userId: null }))
  assert.deepEqual(await read(tagged), [])
  must(await registry.devices.update(SECOND, { tags: { site: 'north' } }, { userId: null }))
  const refused = await get(await tokenWith({ eventKinds: ['up'] }), `${url}&kind=join`)
  assert.deepEqual([refused.status, reasonOf(refused)], [403, 'token_outside_scope'])
  const elsewhere = await tokenWith({ applicationIds: [otherApplicationId] })
  assert.deepEqual(await get(elsewhere, url), await get(elsewhere, '/api/applications/98765/events?order=oldest'))
})

test('a device that is moved to another application leaves the token of the first one at once', async () => {
  const { applicationId, registry } = deployment
  const token = await tokenWith({ applicationIds: [applicationId] })
  assert.equal((await get(token, ofDevice(SECOND))).status, 200)
  must(await registry.devices.update(SECOND, { applicationId: otherApplicationId }, { userId: null }))
  assert.equal((await get(token, ofDevice(SECOND))).status, 404)
  must(await registry.devices.update(SECOND, { applicationId }, { userId: null }))
})
