/**
 * A real RabbitMQ with its MQTT plugin asks Fieldgate about its clients. The configuration is that
 * of docs/how-to/rabbitmq.md. It starts for some 15 s, so `npm run broker-hooks` runs this file,
 * and `npm test` does not.
 */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { within } from '../support/bounded-wait.ts'
import { freePort } from '../support/free-port.ts'
import { Program, runProgram } from '../support/program.ts'
import { documentedBlock } from '../support/documented.ts'
import {
  absence,
  connectMember,
  connectNetworkServer,
  connectTo,
  HOOK_SECRET,
  HookWorld,
  Inbox,
  refusalOf,
  subscribe,
  topicOf,
} from './hook-world.ts'

const PROGRAM = '/usr/lib/rabbitmq/bin/rabbitmq-server'
const missing = await absence(PROGRAM, 'install Debian’s package rabbitmq-server')

describe('RabbitMQ with Fieldgate’s hooks', { skip: missing ?? false }, () => {
  let folder: string
  let world: HookWorld
  let rabbit: RabbitMq

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-rabbitmq-'))
    world = await HookWorld.start()
    const port = await freePort()
    const documented = await documentedBlock('rabbitmq.md', 'rabbitmq', {
      SECRET: HOOK_SECRET,
      'fieldgate.example.org': 'localhost',
      '8443': world.httpsPort,
    })
    const advanced = await documentedBlock('rabbitmq.md', 'advanced', {
      '/etc/rabbitmq/fieldgate-ca.pem': world.service.caFile,
      'fieldgate.example.org': 'localhost',
    })
    await writeFile(join(folder, 'advanced.config'), advanced)
    rabbit = await RabbitMq.start(folder, port, documented)
  })

  after(async () => {
    await rabbit?.stop()
    await world?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('a member gets the events of its organization, and nothing of another', async () => {
    const { ann, bob } = world
    const member = await connectMember(rabbit.port, ann, await world.token(ann))
    const inbox = new Inbox(member)
    assert.deepEqual(await subscribe(member, `application/${ann.applicationId}/device/+/event/+`), [1])
    for (const tenant of [bob, ann]) {
      const server = await connectNetworkServer(rabbit.port, tenant)
      await server.publishAsync(topicOf(tenant, 'event/up'), '{}', { qos: 1 })
      await server.endAsync()
    }
    await inbox.has(topicOf(ann, 'event/up'))
    assert.deepEqual(await inbox.settled(), [topicOf(ann, 'event/up')])
    await member.endAsync()
  })

  test('no subscription reaches beyond the right', async () => {
    const { ann, bob } = world
    for (const [index, topicFilter] of [
      `application/${bob.applicationId}/device/+/event/+`,
      'application/+/device/+/event/+',
      `application/${ann.applicationId}/#`,
      '#',
    ].entries()) {
      const clientId = `${ann.organizationId}-${index}`
      const member = await connectMember(rabbit.port, ann, await world.token(ann), { clientId })
      assert.deepEqual(await subscribe(member, topicFilter), [128], topicFilter)
      await member.endAsync(true)
    }
    const server = await connectNetworkServer(rabbit.port, ann)
    assert.deepEqual(await subscribe(server, 'application/+/device/+/command/down'), [128])
    await server.endAsync(true)
  })

  test('a command reaches the network server of the deployment; what a member may not publish reaches nobody', async () => {
    const { ann, bob } = world
    const whole = { ...ann, networkServer: await world.administration.serviceCredential('') }
    const server = await connectNetworkServer(rabbit.port, whole)
    const inbox = new Inbox(server)
    assert.deepEqual(await subscribe(server, 'application/+/device/+/command/down'), [1])
    const token = await world.token(ann)
    for (const topic of [topicOf(bob, 'command/down'), topicOf(ann, 'event/up')]) {
      const attacker = await connectMember(rabbit.port, ann, token, { clientId: `${ann.organizationId}-attacker` })
      await refusedPublish(attacker, topic)
      await attacker.endAsync(true)
    }
    const member = await connectMember(rabbit.port, ann, token)
    await member.publishAsync(topicOf(ann, 'command/down'), '{}', { qos: 1 })
    await inbox.has(topicOf(ann, 'command/down'))
    assert.deepEqual(await inbox.settled(), [topicOf(ann, 'command/down')])
    await Promise.all([member.endAsync(), server.endAsync()])
  })

  test('a Session keeps events at QoS 1 while its client is away, and a new token takes it up', async () => {
    const { ann } = world
    const options = { clean: false, clientId: `${ann.organizationId}-session` }
    const first = await connectMember(rabbit.port, ann, await world.token(ann), options)
    assert.deepEqual(await subscribe(first, `application/${ann.applicationId}/device/+/event/up`), [1])
    await first.endAsync()
    const server = await connectNetworkServer(rabbit.port, ann)
    await server.publishAsync(topicOf(ann, 'event/up'), '{}', { qos: 1 })
    await server.endAsync()
    const second = await connectMember(rabbit.port, ann, await world.token(ann), options)
    const inbox = new Inbox(second)
    await inbox.has(topicOf(ann, 'event/up'))
    await second.endAsync()
  })

  test('nobody takes the Session of another organization', async () => {
    const { ann, bob } = world
    const clientId = `${ann.organizationId}-session`
    const token = await world.token(bob)
    const thief = await connectTo(rabbit.port, token, { clean: false, clientId }).catch(() => undefined)
    // A RabbitMQ that does not tell the Client Identifier refuses when the queue is used.
    if (thief !== undefined) {
      const inbox = new Inbox(thief)
      assert.deepEqual(await subscribe(thief, `application/${bob.applicationId}/device/+/event/up`), [128])
      assert.deepEqual(inbox.topics, [])
      await thief.endAsync(true)
    }
  })

  test('nobody connects with a bad token, a wrong password, or while Fieldgate is away', async () => {
    const { ann } = world
    const token = await world.token(ann)
    const clientId = `${ann.organizationId}-a`
    for (const attempt of [
      () => connectTo(rabbit.port, `${token.slice(0, -4)}AAAA`, { clientId }),
      () => connectTo(rabbit.port, token, { clientId, password: 'guest' }),
      () => connectTo(rabbit.port, 'guest', { clientId, password: 'guest' }),
    ]) {
      assert.notEqual(await refusalOf(attempt()), undefined)
    }
    const revoked = await world.token(ann)
    await world.administration.revokeToken(revoked)
    assert.notEqual(await refusalOf(connectTo(rabbit.port, revoked, { clientId })), undefined)
    await world.service.stop()
    assert.notEqual(await refusalOf(connectTo(rabbit.port, token, { clientId })), undefined)
  })
})

/** Publishes what the broker must refuse; RabbitMQ ends the connection, with MQTT 3.1.1. */
async function refusedPublish(client: MqttClient, topicName: string): Promise<void> {
  const gone = Promise.withResolvers<void>()
  client.once('close', () => gone.resolve())
  client.publish(topicName, '{}', { qos: 1 }, () => gone.resolve())
  await within(gone.promise, 'the answer to a PUBLISH')
}

/** RabbitMQ in a folder of its own, with its own port mapper. */
class RabbitMq {
  readonly port: number
  readonly #program: Program
  readonly #mapperPort: number

  static async start(folder: string, port: number, documented: string): Promise<RabbitMq> {
    const mapperPort = await freePort()
    const own = ['listeners.tcp = none', `mqtt.listeners.tcp.1 = 127.0.0.1:${port}`, 'log.console.level = info']
    const file = join(folder, 'rabbitmq.conf')
    await writeFile(file, [...own, documented, ''].join('\n'))
    await writeFile(join(folder, 'plugins'), '[rabbitmq_mqtt,rabbitmq_auth_backend_http].')
    await mkdir(join(folder, 'home'))
    const environment = {
      HOME: join(folder, 'home'),
      RABBITMQ_NODENAME: `fieldgate-test-${port}@localhost`,
      RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_LOGS: '-',
      RABBITMQ_CONFIG_FILE: file,
      RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
      ERL_CRASH_DUMP_SECONDS: '0',
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
      RABBITMQ_PID_FILE: join(folder, 'pid'),
      RABBITMQ_DIST_PORT: String(await freePort()),
      ERL_EPMD_PORT: String(mapperPort),
      ERL_EPMD_ADDRESS: '127.0.0.1',
    }
    const program = new Program(PROGRAM, [], { environment })
    const rabbit = new RabbitMq(port, program, mapperPort)
    try {
      await program.output(/Server startup complete/, 90_000)
    } catch (error) {
      await rabbit.stop()
      throw error
    }
    return rabbit
  }

  private constructor(port: number, program: Program, mapperPort: number) {
    this.port = port
    this.#program = program
    this.#mapperPort = mapperPort
  }

  async stop(): Promise<void> {
    await this.#program[Symbol.asyncDispose]()
    // The port mapper of Erlang stays behind otherwise.
    await runProgram('epmd', ['-port', String(this.#mapperPort), '-kill'])
  }
}
