/** `fieldgate drain`: the clients of a node go elsewhere, and then the process ends. */
import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { Administration } from '../support/administration.ts'
import { runProgram } from '../support/program.ts'
import type { ProgramEnd } from '../support/program.ts'
import { FIELDGATE, makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'
import { startTestServer } from '../postgresql/test-server.ts'

const SHUTTING_DOWN = 0x8b
const UNAVAILABLE = 0x88
const CLIENTS = 8

function drain(dataDirectory: string, environment: Readonly<Record<string, string>>): Promise<ProgramEnd> {
  return runProgram(process.execPath, [FIELDGATE, 'drain', '--seconds', '3'], {
    environment: { FIELDGATE_DATA_DIR: dataDirectory, ...environment },
    ms: 60_000,
  })
}

async function credentialOf(service: RunningService): Promise<Login> {
  const { userName, password } = await new Administration(service).serviceCredential('')
  return { username: userName, password }
}

/** Opens a client whose Session goes on after its connection. */
async function connect(
  service: RunningService,
  login: Login,
  clientId: string,
  version: Version = 4,
): Promise<{ readonly client: WireClient; readonly isSessionPresent: boolean }> {
  const client = await WireClient.open(service, version)
  const properties = version === 5 ? { properties: { sessionExpiryInterval: 3_600 } } : {}
  client.send(client.connectPacket(login, { clientId, clean: false, ...properties }))
  const connack = await client.next()
  assert.ok(connack?.cmd === 'connack')
  assert.equal(connack.returnCode ?? connack.reasonCode ?? 0, 0)
  return { client, isSessionPresent: connack.sessionPresent }
}

test('a node that drains sends its clients away one after the other, and ends', { timeout: 120_000 }, async () => {
  const folder = await makeFolder()
  try {
    await using service = await startAsProcess(folder)
    const login = await credentialOf(service)
    const clients: WireClient[] = []
    for (let number = 0; number < CLIENTS; number += 1) {
      clients.push((await connect(service, login, `client-${number}`, number % 2 === 0 ? 5 : 4)).client)
    }
    const [first, , , , , , last] = clients
    assert.ok(first !== undefined && last !== undefined)
    const draining = drain(folder, {})
    const told = await first.next()
    assert.equal(told?.cmd === 'disconnect' && told.reasonCode, SHUTTING_DOWN)
    using late = await WireClient.open(service, 5)
    assert.equal(await late.connect(login, { clientId: 'late' }), UNAVAILABLE)
    const { status, text } = await service.http.ask('GET', '/api/internal/health')
    assert.equal(status, 503)
    assert.match(text, /not ready: draining/)
    last.send(last.publishPacket('application/1/device/0101010101010101/event/up', '{}', 0), { cmd: 'pingreq' })
    assert.equal((await last.next())?.cmd, 'pingresp', 'a client that is not told yet is served')
    for (const client of clients.slice(1)) {
      const packet = await client.next()
      if (client.version === 4) assert.equal(packet, undefined)
      else assert.equal(packet?.cmd === 'disconnect' && packet.reasonCode, SHUTTING_DOWN)
    }
    const { code, stdout, stderr } = await draining
    assert.deepEqual([code, stdout], [0, 'The service has ended.\n'], stderr)
    assert.match(stderr, /^8 clients left\n/)
    assert.equal((await service.program.ended()).code, 0)
    const again = await drain(folder, {})
    assert.equal(again.code, 1)
    assert.match(again.stderr, /No service runs on/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

const TITLE = 'the other node of a deployment goes on with the Sessions of a node that drains'
const found = natsServerProgram()

if ('missing' in found) {
  test(TITLE, { skip: found.missing }, () => {})
} else {
  const database = await startTestServer(TITLE)
  if (database !== undefined) {
    test(TITLE, { timeout: 180_000 }, async () => {
      const folder = await makeFolder()
      const servers = await NatsServers.start({ program: found.program, count: 3 })
      try {
        const databaseUrl = database.newDatabase()
        const start = async (name: string) => {
          const own = join(folder, name)
          await mkdir(own)
          return startAsProcess(own, {
            FIELDGATE_ENGINE: 'nats',
            FIELDGATE_NATS_URL: servers.urls.join(),
            FIELDGATE_NATS_MONITORING_URL: servers.monitors.join(),
            FIELDGATE_NODE_NAME: name,
            FIELDGATE_RETENTION_BYTES: '1073741824',
            FIELDGATE_DATABASE_URL: databaseUrl,
          })
        }
        await using a = await start('a')
        await using b = await start('b')
        const login = await credentialOf(a)
        const { client: away } = await connect(a, login, 'away')
        away.destroy()
        const { client } = await connect(a, login, 'here', 5)
        const draining = drain(a.dataDirectory, { FIELDGATE_DATABASE_URL: databaseUrl })
        const told = await client.next()
        assert.equal(told?.cmd === 'disconnect' && told.reasonCode, SHUTTING_DOWN)
        const moved = await connect(b, login, 'here', 5)
        assert.equal(moved.isSessionPresent, true)
        const { code, stderr } = await draining
        assert.equal(code, 0, stderr)
        assert.equal((await a.program.ended()).code, 0)
        const inherited = await connect(b, login, 'away')
        assert.equal(inherited.isSessionPresent, true)
        assert.match(b.logText(), /inheritance\.begun/)
        moved.client.destroy()
        inherited.client.destroy()
      } finally {
        await servers[Symbol.asyncDispose]()
        await database.close()
        await rm(folder, { recursive: true, force: true })
      }
    })
  }
}
