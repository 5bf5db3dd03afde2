/**
 * A real mosquitto with the plugin mosquitto-go-auth asks Fieldgate about its clients. The
 * configuration is that of docs/how-to/mosquitto.md. No registry has the built plugin:
 * `FIELDGATE_TEST_GO_AUTH` names it.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Mosquitto } from '../support/mosquitto.ts'
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

const plugin = process.env['FIELDGATE_TEST_GO_AUTH']
const missing = await absence(plugin, 'set FIELDGATE_TEST_GO_AUTH to the path of go-auth.so')

/** Connect Return Codes of MQTT 3.1.1. */
const REFUSED = new Set<number | undefined>([4, 5])

describe('mosquitto with Fieldgate’s hooks', () => {
  if (missing !== undefined) {
    test('is tested with the plugin', { skip: missing }, () => {})
    return
  }
  let folder: string
  let world: HookWorld
  let mosquitto: Mosquitto

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-mosquitto-'))
    world = await HookWorld.start()
    const lines = await documentedBlock('mosquitto.md', 'mosquitto', {
      '/usr/lib/mosquitto/go-auth.so': plugin ?? '',
      SECRET: HOOK_SECRET,
      'fieldgate.example.org': 'localhost',
      '8443': world.httpsPort,
    })
    const own = lines.split('\n').filter((line) => line !== '' && !/^(listener|certfile|keyfile)\b/.test(line))
    // The plugin's HTTP client trusts the authorities of this file.
    mosquitto = await Mosquitto.start(folder, own, { SSL_CERT_FILE: world.service.caFile })
  })

  after(async () => {
    await mosquitto?.stop()
    await world?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('a member gets the events of its organization, and nothing of another', async () => {
    const { ann, bob } = world
    const member = await connectMember(mosquitto.port, ann, await world.token(ann))
    const inbox = new Inbox(member)
    const filters = [`application/${ann.applicationId}/device/+/event/+`, `application/${bob.applicationId}/#`, '#']
    assert.deepEqual(await subscribe(member, ...filters), [1, 128, 128])
    for (const tenant of [bob, ann]) {
      const server = await connectNetworkServer(mosquitto.port, tenant)
      await server.publishAsync(topicOf(tenant, 'event/up'), '{}', { qos: 1 })
      await server.endAsync()
    }
    await inbox.has(topicOf(ann, 'event/up'))
    assert.deepEqual(await inbox.settled(), [topicOf(ann, 'event/up')])
    await member.endAsync()
  })

  test('a command reaches the network server of its organization alone', async () => {
    const { ann, bob } = world
    const servers = await Promise.all([ann, bob].map((one) => connectNetworkServer(mosquitto.port, one)))
    const inboxes = servers.map((server) => new Inbox(server))
    for (const server of servers) assert.deepEqual(await subscribe(server, 'application/+/device/+/command/down'), [1])
    for (const tenant of [ann, bob]) {
      const member = await connectMember(mosquitto.port, tenant, await world.token(tenant))
      await member.publishAsync(topicOf(tenant, 'command/down'), '{}', { qos: 1 })
      await member.endAsync()
    }
    for (const [index, tenant] of [ann, bob].entries()) {
      await inboxes[index]?.has(topicOf(tenant, 'command/down'))
      assert.deepEqual(await inboxes[index]?.settled(), [topicOf(tenant, 'command/down')])
    }
    await Promise.all(servers.map((server) => server.endAsync()))
  })

  test('what a member may not publish reaches nobody', async () => {
    const { ann, bob } = world
    const reader = await connectMember(mosquitto.port, bob, await world.token(bob))
    const inbox = new Inbox(reader)
    assert.deepEqual(await subscribe(reader, `application/${bob.applicationId}/device/+/event/+`), [1])
    const attacker = await connectMember(mosquitto.port, ann, await world.token(ann), {
      clientId: `${ann.organizationId}-attacker`,
    })
    for (const topic of [topicOf(bob, 'event/up'), topicOf(bob, 'command/down'), topicOf(ann, 'event/up')]) {
      await attacker.publishAsync(topic, '{}', { qos: 1 })
    }
    await attacker.endAsync()
    assert.deepEqual(await inbox.settled(), [])
    await reader.endAsync()
  })

  test('nobody connects with a bad token, a wrong password, or a Client Identifier of another organization', async () => {
    const { ann, bob } = world
    const token = await world.token(ann)
    const clientId = `${ann.organizationId}-a`
    const attempts = [
      connectTo(mosquitto.port, `${token.slice(0, -4)}AAAA`, { clientId }),
      connectTo(mosquitto.port, token, { clientId, password: 'guest' }),
      connectTo(mosquitto.port, token, { clientId: `${bob.organizationId}-dashboard` }),
      connectTo(mosquitto.port, 'guest', { clientId }),
    ]
    for (const attempt of attempts) assert.ok(REFUSED.has(await refusalOf(attempt)))
    assert.equal(await refusalOf(connectTo(mosquitto.port, token, { clientId: '' })), undefined)
  })

  test('a revoked token gets no further event, and publishes no further command', async () => {
    const { ann } = world
    const token = await world.token(ann)
    const member = await connectMember(mosquitto.port, ann, token)
    const inbox = new Inbox(member)
    await subscribe(member, `application/${ann.applicationId}/device/+/event/+`)
    await world.administration.revokeToken(token)
    const server = await connectNetworkServer(mosquitto.port, ann)
    const commands = new Inbox(server)
    await subscribe(server, 'application/+/device/+/command/down')
    await server.publishAsync(topicOf(ann, 'event/up'), '{}', { qos: 1 })
    await member.publishAsync(topicOf(ann, 'command/down'), '{}', { qos: 1 })
    assert.deepEqual(await inbox.settled(), [])
    assert.deepEqual(await commands.settled(), [])
    await Promise.all([member.endAsync(), server.endAsync()])
  })

  test('nobody connects while Fieldgate is away', async () => {
    const { ann } = world
    const token = await world.token(ann)
    await world.service.stop()
    assert.notEqual(await refusalOf(connectMember(mosquitto.port, ann, token)), undefined)
  })
})
