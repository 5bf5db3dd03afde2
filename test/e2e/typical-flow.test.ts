/**
 * The specification's typical flow (§1.5), from login to events and commands, with other people's
 * clients.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connectAsync } from 'mqtt'
import type { IClientOptions, MqttClient } from 'mqtt'
import { Administration, PASSWORD, quotedTopic } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { outputOf, Program, runProgram } from '../support/program.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

/** The kinds of event of specification §6. */
const KINDS = ['up', 'join', 'ack', 'error', 'status', 'location', 'txack'] as const
const COMMAND = { confirmed: true, fPort: 8, data: 'AQID' }

let service: RunningService
let networkServer: ServiceCredential
let userName: string
let applicationName: string
let devEui: string

before(async () => {
  service = await startInProcess()
  const administration = new Administration(service)
  const organizationId = await administration.organization('alpine-valley-water')
  applicationName = 'water-network'
  const applicationId = await administration.application(organizationId, { name: applicationName })
  devEui = await administration.device(applicationId)
  userName = (await administration.person([{ organizationId }])).userName
  networkServer = await administration.serviceCredential('')
})

after(async () => {
  await service.stop()
})

/** The answers of the HTTP endpoints to a client; only `curl` asks. */
interface Given {
  readonly jwtMqttAuth: string
  readonly applicationTopic: string
  readonly deviceTopics: readonly string[]
  readonly commandTopic: string
}

/** One request of curl, which trusts only our CA and must succeed. */
async function curl(path: string, jwt?: string, body?: object): Promise<Record<string, unknown>> {
  const args = ['-sS', '--fail-with-body', '--cacert', service.caFile, '-H', 'Accept: application/json']
  if (jwt !== undefined) args.push('-H', `Grpc-Metadata-Authorization: Bearer ${jwt}`)
  if (body !== undefined) args.push('-H', 'Content-Type: application/json', '-d', JSON.stringify(body))
  const answer: unknown = JSON.parse(await outputOf('curl', [...args, `${service.https}${path}`]))
  assert.ok(typeof answer === 'object' && answer !== null)
  return { ...answer }
}

/** Steps 1 to 5 of the flow; `credential` decides which token goes to the topic endpoints. */
async function askByCurl(credential: 'session' | 'broker-access'): Promise<Given> {
  const login = await curl('/api/internal/login', undefined, { username: userName, password: PASSWORD })
  assert.equal(login['is2faRequired'], false)
  const session = String(login['jwt'])

  const organizations = await curl('/api/organizations?limit=999&offset=0', session)
  assert.equal(organizations['totalCount'], '1')
  const [organization] = organizations['result'] as Record<string, string>[]
  assert.equal(organization?.['name'], 'alpine-valley-water')
  assert.match(String(organization?.['createdAt']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/)
  const organizationId = String(organization?.['id'])

  const applications = await curl(`/api/applications?limit=999&offset=0&organizationID=${organizationId}`, session)
  assert.equal(applications['totalCount'], '1')
  const [application] = applications['result'] as Record<string, string>[]
  assert.equal(application?.['name'], applicationName)
  const applicationId = String(application?.['id'])

  const access = await curl('/api/mosquitto-auth/login', session, { organizationId, ttlInSeconds: '3600' })
  const jwtMqttAuth = String(access['jwtMqttAuth'])

  const bearer = credential === 'session' ? session : jwtMqttAuth
  const path = '/api/mosquitto-auth'
  const events = `${path}/subscribe-application-events?applicationId=${applicationId}&organizationId=${organizationId}`
  const ofDevice = `devEui=${devEui.toUpperCase()}&organizationId=${organizationId}`
  const deviceEvents = await curl(`${path}/subscribe-device-events?${ofDevice}`, bearer)
  assert.ok(Array.isArray(deviceEvents['topic']))
  const given = {
    jwtMqttAuth,
    applicationTopic: quotedTopic((await curl(events, bearer))['topic']),
    deviceTopics: deviceEvents['topic'].map(quotedTopic),
    commandTopic: quotedTopic((await curl(`${path}/send-command?${ofDevice}`, bearer))['topic']),
  }
  assert.equal(given.applicationTopic, `application/${applicationId}/device/+/event/+`)
  const device = `application/${applicationId}/device/${devEui}`
  assert.deepEqual(
    given.deviceTopics,
    [...KINDS, '+'].map((kind) => `${device}/event/${kind}`),
  )
  assert.equal(given.commandTopic, `${device}/command/down`)
  return given
}

function mqttOptions(login: { readonly userName: string; readonly password: string }, version: 4 | 5): IClientOptions {
  return {
    host: 'localhost',
    port: service.mqttsPort,
    protocol: 'mqtts',
    ca: service.ca,
    rejectUnauthorized: true,
    protocolVersion: version,
    username: login.userName,
    password: login.password,
    reconnectPeriod: 0,
  }
}

/** Arguments of mosquitto_sub and mosquitto_pub. */
function mosquitto(version: 4 | 5, given: Given, topic: string): string[] {
  const protocol = version === 4 ? 'mqttv311' : 'mqttv5'
  const trust = `-V ${protocol} -h localhost -p ${service.mqttsPort} --cafile ${service.caFile}`
  return [...trust.split(' '), '-u', given.jwtMqttAuth, '-P', 'default', '-q', '1', '-t', topic]
}

/** A network server from a foreign library: MQTT.js with only the credential. */
function connectNetworkServer(): Promise<MqttClient> {
  return within(connectAsync(mqttOptions(networkServer, 5)), 'CONNACK')
}

/** Resolves with the messages by topic when `count` messages have come. */
function collect(client: MqttClient, count: number): Promise<Map<string, string>> {
  const { promise, resolve } = Promise.withResolvers<Map<string, string>>()
  const messages = new Map<string, string>()
  client.on('message', (topic, payload) => {
    messages.set(topic, payload.toString())
    if (messages.size === count) resolve(messages)
  })
  return within(promise, `${count} messages`)
}

/**
 * Publishes one event of each of the seven kinds as the network server. Resolves when the broker
 * has acknowledged all.
 */
async function publishAllKinds(client: MqttClient, device: string, qos: 0 | 1 | 2): Promise<Map<string, string>> {
  const events = new Map(KINDS.map((kind) => [`${device}/event/${kind}`, JSON.stringify({ kind, devEUI: devEui })]))
  await Promise.all([...events].map(([topic, payload]) => client.publishAsync(topic, payload, { qos })))
  return events
}

/**
 * Checks that the network server gets the command with the additional members that newer network
 * servers need.
 */
function assertHandedOver(payload = ''): void {
  const { id, ...command } = JSON.parse(payload) as { readonly id: string }
  assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.deepEqual(command, { ...COMMAND, devEui })
}

for (const version of [4, 5] as const) {
  const name = version === 4 ? '3.1.1' : '5'
  const credential = version === 4 ? 'session' : 'broker-access'
  describe(`an integrator with MQTT.js in MQTT ${name}, its topics asked with the ${credential} JWT`, () => {
    let given: Given
    let integrator: MqttClient
    let server: MqttClient

    before(async () => {
      given = await askByCurl(credential)
      const login = { userName: given.jwtMqttAuth, password: 'default' }
      integrator = await within(connectAsync(mqttOptions(login, version)), 'CONNACK')
      server = await connectNetworkServer()
    })

    after(async () => {
      await integrator.endAsync(true)
      await server.endAsync(true)
    })

    for (const qos of [0, 1, 2] as const) {
      it(`gets the events of all seven kinds by the application's topic at QoS ${qos}`, async () => {
        const [grant] = await integrator.subscribeAsync(given.applicationTopic, { qos })
        assert.equal(grant?.qos, qos)
        const received = collect(integrator, KINDS.length)
        const sent = await publishAllKinds(server, given.commandTopic.replace('/command/down', ''), qos)
        assert.deepEqual(await received, sent)
        await integrator.unsubscribeAsync(given.applicationTopic)
      })
    }

    it('gets each kind of event by its own topic, and all by the eighth', async () => {
      for (const topic of given.deviceTopics) {
        const isAll = topic.endsWith('+')
        await integrator.subscribeAsync(topic, { qos: 1 })
        const received = collect(integrator, isAll ? KINDS.length : 1)
        await publishAllKinds(server, given.commandTopic.replace('/command/down', ''), 1)
        const topics = [...(await received).keys()]
        if (!isAll) assert.deepEqual(topics, [topic])
        await integrator.unsubscribeAsync(topic)
        integrator.removeAllListeners('message')
      }
    })

    it('sends commands that reach the network server', async () => {
      await server.subscribeAsync('application/+/device/+/command/down', { qos: 2 })
      for (const qos of [0, 1, 2] as const) {
        const received = collect(server, 1)
        await integrator.publishAsync(given.commandTopic, JSON.stringify(COMMAND), { qos })
        const [[topic, payload] = []] = await received
        assert.equal(topic, given.commandTopic)
        assertHandedOver(payload)
        server.removeAllListeners('message')
      }
      await server.unsubscribeAsync('application/+/device/+/command/down')
    })
  })

  describe(`an integrator with mosquitto's programs in MQTT ${name}`, () => {
    it('gets the events of all seven kinds by mosquitto_sub', async () => {
      const given = await askByCurl(credential)
      const args = [
        ...mosquitto(version, given, given.applicationTopic),
        '-d',
        '-C',
        String(KINDS.length),
        '-F',
        'got %t %p',
      ]
      await using subscriber = new Program('stdbuf', ['-oL', 'mosquitto_sub', ...args])
      await subscriber.output(/Subscribed \(mid: \d+\): 1/)
      const server = await connectNetworkServer()
      const sent = await publishAllKinds(server, given.commandTopic.replace('/command/down', ''), 1)
      const { code, stdout } = await subscriber.ended()
      assert.equal(code, 0)
      const got = [...stdout.matchAll(/^got (\S+) (.*)$/gm)]
      assert.equal(got.length, KINDS.length)
      assert.deepEqual(new Map(got.map(([, topic = '', payload = '']) => [topic, payload])), sent)
      await server.endAsync(true)
    })

    it('sends a command by mosquitto_pub that reaches the network server', async () => {
      const given = await askByCurl(credential)
      const server = await connectNetworkServer()
      await server.subscribeAsync('application/+/device/+/command/down', { qos: 1 })
      const received = collect(server, 1)
      await outputOf('mosquitto_pub', [...mosquitto(version, given, given.commandTopic), '-m', JSON.stringify(COMMAND)])
      const [[topic, payload] = []] = await received
      assert.equal(topic, given.commandTopic)
      assertHandedOver(payload)
      await server.endAsync(true)
    })

    it('is told by mosquitto_sub that a topic of nobody is refused', async () => {
      const given = await askByCurl(credential)
      const args = [...mosquitto(version, given, 'application/999999/device/+/event/+'), '-d', '-W', '10']
      const { stdout, stderr } = await runProgram('mosquitto_sub', args)
      assert.match(stdout + stderr, /rejected|refused|Subscribed \(mid: 1\): 1(28|35)/)
    })
  })
}

it('nothing of a token, a password or a payload stands in the log', () => {
  const text = service.logText()
  assert.match(text, /connection\.accepted/)
  assert.doesNotMatch(text, /eyJ/)
  for (const secret of [PASSWORD, networkServer.password, COMMAND.data]) assert.ok(!text.includes(secret))
})
