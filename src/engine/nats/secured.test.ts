/** The connection to NATS over TLS, and by credentials: a real server in operator mode. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { nkeys } from '@nats-io/transport-node'
import { Authority } from '../../../test/support/authority.ts'
import { silentLogger } from '../../logger.ts'
import { natsServerProgram } from './nats-server-binary.testing.ts'
import { NatsServers } from './nats-servers.testing.ts'
import { connectorTo } from './open-nats.ts'

const found = natsServerProgram()
type KeyPair = ReturnType<typeof nkeys.createUser>

const UNLIMITED = -1
const text = new TextDecoder()

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** A JSON Web Token as NATS has them: signed with an nkey. */
function token(issuer: KeyPair, subject: KeyPair, nats: object): string {
  const claims = {
    jti: randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: 'fieldgate',
    nats,
  }
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`
}

function credentials(account: KeyPair): string {
  const user = nkeys.createUser()
  const limits = { subs: UNLIMITED, data: UNLIMITED, payload: UNLIMITED }
  const jwt = token(account, user, { pub: {}, sub: {}, ...limits, type: 'user', version: 2 })
  const seed = text.decode(user.getSeed())
  return `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`
}

/** Connects as the service does, with these settings. */
function connecting(trust: { readonly caFile?: string; readonly credentialsFile?: string }, scheme = 'tls') {
  return async (urls: readonly string[]) => {
    const connect = connectorTo({
      urls: urls.map((url) => url.replace('nats://127.0.0.1', `${scheme}://localhost`)),
      monitoringUrls: [],
      credentialsFile: trust.credentialsFile,
      caFile: trust.caFile,
      isDevelopment: true,
      node: 'a',
      logger: silentLogger,
    })
    return await connect()
  }
}

describe('a server of NATS that asks for credentials over TLS', () => {
  if ('missing' in found) {
    test('is tested with a server', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let folder: string
  let servers: NatsServers
  let caFile: string
  let strangerCaFile: string
  const file = (name: string): string => join(folder, name)

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-secured-'))
    const strangers = await mkdtemp(join(folder, 'stranger-'))
    const authority = await Authority.create(folder)
    await authority.issue()
    caFile = authority.caFile
    strangerCaFile = (await Authority.create(strangers)).caFile
    const [operator, account] = [nkeys.createOperator(), nkeys.createAccount()]
    const [other, system] = [nkeys.createAccount(), nkeys.createAccount()]
    const limits = { subs: UNLIMITED, data: UNLIMITED, payload: UNLIMITED, conn: UNLIMITED, leaf: UNLIMITED }
    const stores = { mem_storage: UNLIMITED, disk_storage: UNLIMITED, streams: UNLIMITED, consumer: UNLIMITED }
    const kind = { type: 'account', version: 2 }
    const withStreams = token(operator, account, { limits: { ...limits, ...stores }, ...kind })
    const ofSystem = token(operator, system, { limits, ...kind })
    await writeFile(file('right.creds'), credentials(account))
    await writeFile(file('wrong.creds'), credentials(other))
    servers = await NatsServers.start({
      program,
      count: 1,
      security: {
        config: [
          `operator: ${token(operator, operator, { type: 'operator', version: 2 })}`,
          `system_account: ${system.getPublicKey()}`,
          'resolver: MEMORY',
          `resolver_preload: { ${account.getPublicKey()}: ${withStreams}, ${system.getPublicKey()}: ${ofSystem} }`,
          `tls { cert_file: "${authority.certFile}", key_file: "${authority.keyFile}", timeout: 5 }`,
        ].join('\n'),
        connect: connecting({ caFile, credentialsFile: file('right.creds') }),
      },
    })
  })

  after(async () => {
    await servers[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('is served by the right ones', async () => {
    const connection = await connecting({ caFile, credentialsFile: file('right.creds') })(servers.urls)
    const manager = await jetstreamManager(connection)
    await manager.streams.add({ name: 'own', subjects: ['own'] })
    assert.equal((await manager.streams.info('own')).state.messages, 0)
    await connection.close()
  })

  test('refuses an account that it does not know, and a client without credentials', async () => {
    await assert.rejects(connecting({ caFile, credentialsFile: file('wrong.creds') })(servers.urls), /authorization/i)
    await assert.rejects(connecting({ caFile })(servers.urls), /authorization/i)
  })

  test('is refused when its certificate is of another authority', async () => {
    const credentialsFile = file('right.creds')
    await assert.rejects(connecting({ caFile: strangerCaFile, credentialsFile })(servers.urls))
    await assert.rejects(connecting({ credentialsFile })(servers.urls))
  })

  test('is not spoken to in clear text, where the address or an authority asks for TLS', async () => {
    await using plain = await NatsServers.start({ program, count: 1 })
    await assert.rejects(connecting({ caFile }, 'nats')(plain.urls))
    await assert.rejects(connecting({}, 'tls')(plain.urls))
    await (await connecting({}, 'nats')(plain.urls)).close()
  })
})
