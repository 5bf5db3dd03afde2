/**
 * TLS as clients see it: versions, and the certificate with its replacement while connections are
 * open, for MQTT and HTTPS.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { Authority } from '../support/authority.ts'
import { within } from '../support/bounded-wait.ts'
import { runProgram } from '../support/program.ts'
import { ADMIN_PASSWORD, makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

let folder: string
let authority: Authority
let service: RunningService
let ports: readonly { readonly name: string; readonly port: number }[]

before(async () => {
  folder = await makeFolder()
  authority = await Authority.create(folder)
  await authority.issue()
  const files = { FIELDGATE_TLS_CERT_FILE: authority.certFile, FIELDGATE_TLS_KEY_FILE: authority.keyFile }
  service = await startInProcess({ environment: files, caFile: authority.caFile })
  ports = [
    { name: 'MQTT', port: service.mqttsPort },
    { name: 'HTTPS', port: Number(new URL(service.https).port) },
  ]
})

after(async () => {
  await service.stop()
  await rm(folder, { recursive: true })
})

/** A verified handshake, or the error that ended it. */
async function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: service.ca, ...options })
  await within(once(socket, 'secureConnect'), 'a handshake')
  return socket
}

async function certificateName(port: number): Promise<string> {
  const socket = await handshake(port)
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

/**
 * Shakes hands again and again until the port shows this certificate: at once, or within a minute
 * on systems that do not report the change of a file.
 */
async function shows(port: number, name: string): Promise<void> {
  const until = Date.now() + 75_000
  while ((await certificateName(port)) !== name) assert.ok(Date.now() < until, `${port} never showed ${name}`)
}

describe('a handshake', () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`by ${version} is verified against the CA alone`, async () => {
      for (const { port } of ports) {
        const socket = await handshake(port, { minVersion: version, maxVersion: version })
        assert.equal(socket.getProtocol(), version)
        assert.equal(socket.authorized, true)
        socket.destroy()
      }
    })
  }

  it('by TLS 1.1 is refused', async () => {
    for (const { port } of ports) {
      // BoringSSL, the TLS of Bun, can be no client of TLS 1.1; OpenSSL can at its lowest level.
      const old = ['-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0']
      const { code, stderr } = await runProgram('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...old])
      assert.equal(code, 1)
      assert.match(stderr, /alert protocol version/)
    }
  })

  it('of a client that does not trust the CA fails on its side', async () => {
    for (const { port } of ports) {
      await assert.rejects(async () => {
        const socket = connect({ host: '127.0.0.1', port, servername: 'localhost' })
        await within(once(socket, 'secureConnect'), 'a handshake')
      }, /certificate|self.signed/i)
    }
    const { code, stderr } = await runProgram('curl', ['-sS', `${service.https}/api/internal/health`])
    assert.equal(code, 60, stderr)
  })

  it('is none when plain text comes: the connection is closed, and nothing is answered in the clear', async () => {
    const plain = [
      '\u0010\u000c\0\u0004MQTT\u0004\u0002\0\0\0\0',
      'GET /api/internal/health HTTP/1.1\r\nHost: localhost\r\n\r\n',
    ]
    for (const { port } of ports) {
      for (const text of plain) {
        const socket = connectTcp(port, '127.0.0.1')
        const chunks: Buffer[] = []
        socket.on('data', (chunk: Buffer) => chunks.push(chunk))
        socket.on('error', () => {})
        socket.write(text, 'latin1')
        await within(once(socket, 'close'), 'the end of a connection in plain text')
        const answer = Buffer.concat(chunks)
        // At most a TLS alert.
        assert.ok(answer.length === 0 || answer[0] === 0x15, answer.toString('latin1'))
      }
    }
  })
})

describe('a certificate that is replaced on disk', () => {
  it('is shown to new connections, while those that are open live on', async () => {
    const jwt = service.adminSession
    const open = await handshake(ports[1]?.port ?? 0)
    const first = open.getPeerCertificate().subject.CN
    assert.equal(await get(open, jwt), 200)
    const brokerClient = await openBroker()

    const second = await authority.issue()
    assert.notEqual(second, first)
    for (const { port } of ports) await shows(port, second)

    assert.equal(await get(open, jwt), 200)
    assert.equal(open.getPeerCertificate().subject.CN, first)
    assert.deepEqual(await brokerClient.ping(), [])
    assert.equal(brokerClient.socket.getPeerCertificate().subject.CN, first)
    for (const socket of [open, brokerClient]) socket.destroy()
  })

  it('is replaced again and again, and mosquitto and curl trust each', async () => {
    for (let turn = 0; turn < 2; turn += 1) {
      const name = await authority.issue()
      for (const { port } of ports) await shows(port, name)
      const body = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD })
      const asked = ['-sS', '--cacert', authority.caFile, '-H', 'Content-Type: application/json', '-d', body]
      const curl = await runProgram('curl', [...asked, `${service.https}/api/internal/login`])
      assert.match(curl.stdout, /"jwt":"ey/)
      const where = ['-h', 'localhost', '-p', String(service.mqttsPort), '--cafile', authority.caFile]
      const mosquitto = await runProgram('mosquitto_pub', [...where, '-t', 'a', '-m', 'b'])
      // The handshake succeeds; the refusal is about the missing credential.
      assert.match(mosquitto.stderr, /not authori[sz]ed|Connection Refused|bad user/i)
    }
  })

  it('stays as it is when the new file is no certificate', async () => {
    const name = await authority.issue()
    for (const { port } of ports) await shows(port, name)
    await rm(authority.certFile)
    for (const { port } of ports) assert.equal(await certificateName(port), name)
    const next = await authority.issue()
    for (const { port } of ports) await shows(port, next)
  })
})

/** Sends a request on this socket. Returns the status. */
async function get(socket: TLSSocket, jwt: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  let text = ''
  const listen = (chunk: Buffer): void => {
    text += chunk.toString()
    const [, status] = /^HTTP\/1\.1 (\d+) [^]*\r\n\r\n\{[^]*\}$/.exec(text) ?? []
    if (status !== undefined) resolve(Number(status))
  }
  socket.on('data', listen)
  const headers = `Host: localhost\r\nGrpc-Metadata-Authorization: Bearer ${jwt}\r\n`
  socket.write(`GET /api/organizations?limit=1 HTTP/1.1\r\n${headers}\r\n`)
  const status = await within(promise, 'an answer')
  socket.off('data', listen)
  return status
}

/** An MQTT connection that has got CONNACK. */
async function openBroker(): Promise<WireClient> {
  const token = service.adminSession
  const json = { organization: { name: `certificates-${Date.now()}` } }
  const { id } = await service.http.must('POST', '/api/organizations', { token, json })
  const access = await service.http.must('POST', '/api/mosquitto-auth/login', { token, json: { organizationId: id } })
  const client = await WireClient.open(service, 5)
  assert.equal(await client.connect({ username: String(access['jwtMqttAuth']), password: 'default' }), 0)
  return client
}
