import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { after, before, test } from 'node:test'
import { AddressLimiter } from '../listeners/address-limiter.ts'
import { createNewcomers } from '../listeners/newcomers.ts'
import { FIRST_CERTIFICATE, SECOND_CERTIFICATE } from './certificates.testing.ts'
import { openTestDeployment } from './broker-access/deployment.testing.ts'
import type { TestDeployment } from './broker-access/deployment.testing.ts'

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
  await deployment.app.listen({ host: '127.0.0.1', port: 0 })
})

after(async () => {
  await deployment.close()
})

function portOf({ app }: TestDeployment): number {
  return (app.server.address() as AddressInfo).port
}

async function metricsFor(remoteAddress: string, headers: Record<string, string> = {}): Promise<number> {
  return (await deployment.app.inject({ method: 'GET', url: '/metrics', remoteAddress, headers })).statusCode
}

/** Sends bytes as they are and gives everything that comes back until the server closes. */
async function talk(bytes: string | Buffer): Promise<string> {
  const socket: Socket = connect({ host: '127.0.0.1', port: portOf(deployment) })
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(pieces).toString()
}

test('what is not HTTP is answered with the one error body and closed', async () => {
  const answer = await talk('\x16\x03\x01hello\r\n\r\n')
  assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
  assert.deepEqual(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''), {
    error: 'this is not an HTTP/1.1 request',
    code: 3,
    message: 'this is not an HTTP/1.1 request',
    details: [{ reason: 'unreadable_request' }],
  })
})

test('headers beyond 16 KiB are refused', async () => {
  const answer = await talk(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`)
  assert.match(answer, /^HTTP\/1\.1 431 /)
  assert.match(answer, /"reason":"header_too_large"/)
})

test('a body that is announced as too large is refused before it is sent', async () => {
  const answer = await talk(
    'POST /api/internal/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${2 * 1024 * 1024}\r\n\r\n`,
  )
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.match(answer, /"code":8/)
  assert.match(answer, /"reason":"body_too_large"/)
})

test('two lengths of one body are refused (RFC 9112 §6.3)', async () => {
  const head = 'POST /api/internal/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  for (const lengths of [
    'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n',
    'Content-Length: 2\r\nContent-Length: 3\r\n',
  ]) {
    assert.match(await talk(`${head}${lengths}\r\n{}`), /^HTTP\/1\.1 400 /)
  }
})

test('every answer carries the security headers', async () => {
  for (const url of ['/api/internal/health', '/nowhere', '/api/organizations']) {
    const { headers } = await deployment.ask(undefined, { method: 'GET', url })
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    )
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['strict-transport-security'], undefined)
    assert.equal(headers['access-control-allow-origin'], undefined)
  }
})

test('a wrong method is a 405 that names the right ones', async () => {
  const { statusCode, headers, body } = await deployment.ask(undefined, { method: 'PUT', url: '/api/organizations' })
  assert.equal(statusCode, 405)
  assert.equal(headers.allow, 'GET, HEAD, POST')
  assert.equal((JSON.parse(body) as { code: number }).code, 12)
})

test('an exception inside is a 500 that tells nothing outside, and an error in the log', async () => {
  const failing = await openTestDeployment()
  const session = await failing.session('member')
  await failing.registry.close()
  const { statusCode, body } = await failing.ask(session, { method: 'GET', url: '/api/organizations' })
  assert.equal(statusCode, 500)
  assert.deepEqual(JSON.parse(body), {
    error: 'internal error',
    code: 13,
    message: 'internal error',
    details: [{ reason: 'internal' }],
  })
  assert.ok(failing.logLines.some((line) => line.includes('"request.failed"')))
  await failing.app.close()
})

test('one line per request is logged, with the route and not the URL', async () => {
  deployment.logLines.length = 0
  await deployment.ask(undefined, { method: 'GET', url: '/api/users/123?secret=hunter2' })
  const lines = deployment.logLines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.equal(lines.length, 1)
  const { method, route, status, msg, durationMs } = lines[0] ?? {}
  assert.deepEqual(
    { method, route, status, msg },
    { method: 'GET', route: '/api/users/:id', status: 401, msg: 'request.completed' },
  )
  assert.equal(typeof durationMs, 'number')
})

test('a metrics token reads the metrics and nothing else, until it is revoked', async () => {
  const session = await deployment.session('globalAdmin')
  const ask = async (method: 'GET' | 'POST' | 'DELETE', url: string, token: string, payload?: object) =>
    deployment.ask(token, { method, url, ...(payload === undefined ? {} : { payload }) })
  const created = await ask('POST', '/api/metrics-tokens', session, { metricsToken: { name: 'prometheus' } })
  const { id, token } = created.json<{ readonly id: string; readonly token: string }>()
  const prometheus = { method: 'GET', url: '/metrics', headers: { authorization: `Bearer ${token}` } } as const
  const read = await deployment.app.inject({ ...prometheus, remoteAddress: '192.0.2.1' })
  assert.deepEqual([read.statusCode, read.headers['content-type']?.toString().split(';', 1)[0]], [200, 'text/plain'])
  assert.equal((await ask('GET', '/metrics', session)).statusCode, 200)
  for (const url of ['/api/users', '/api/metrics-tokens', '/api/internal/profile']) {
    assert.equal((await ask('GET', url, token)).statusCode, 401)
  }
  const listed = await ask('GET', '/api/metrics-tokens', session)
  assert.equal(listed.body.includes(token), false)
  const [item] = listed.json<{ readonly result: readonly { readonly lastUsedAt: string | null }[] }>().result
  assert.notEqual(item?.lastUsedAt, null)
  assert.equal((await ask('DELETE', `/api/metrics-tokens/${id}`, session)).statusCode, 200)
  assert.equal((await deployment.app.inject({ ...prometheus, remoteAddress: '127.0.0.1' })).statusCode, 401)
  const refused = await ask('GET', '/metrics', token)
  assert.deepEqual(
    [refused.statusCode, refused.json<{ details: unknown }>().details],
    [401, [{ reason: 'metrics_token_wrong' }]],
  )
})

test('metrics are for global admins, and for peers on the loopback interface that no proxy speaks for', async () => {
  assert.equal(await metricsFor('127.0.0.1'), 200)
  assert.equal(await metricsFor('::1'), 200)
  assert.equal(await metricsFor('::ffff:127.0.0.1'), 200)
  assert.equal(await metricsFor('192.0.2.1'), 401)
  assert.equal(await metricsFor('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }), 401)
  assert.equal(await metricsFor('127.0.0.1', { forwarded: 'for=192.0.2.1' }), 401)
})

test('readiness follows the broker, liveness does not', async () => {
  const health = { ready: false, reason: 'the disk is full' }
  const sick = await openTestDeployment({ broker: { health: () => health } })
  const ready = await sick.ask(undefined, { method: 'GET', url: '/api/internal/health' })
  assert.equal(ready.statusCode, 503)
  assert.equal(ready.json<{ message: string }>().message, 'not ready: the disk is full')
  assert.equal((await sick.ask(undefined, { method: 'GET', url: '/api/internal/health/live' })).statusCode, 200)
  await sick.close()
})

test('origins that are named may call, others may not', async () => {
  const settings = {
    baseUrl: 'https://localhost',
    brokerTokenDefaultTtlSeconds: 60,
    brokerTokenMaximumTtlSeconds: 60,
    allowedOrigins: ['https://console.example.org'],
    strictTransportSecurity: true,
  }
  const open = await openTestDeployment({ settings })
  const preflight = { 'access-control-request-method': 'POST' }
  const ask = async (origin: string, method: 'GET' | 'OPTIONS', headers = {}) =>
    open.ask(undefined, { method, url: '/api/organizations', headers: { origin, ...headers } })
  const allowed = await ask('https://console.example.org', 'OPTIONS', preflight)
  assert.equal(allowed.statusCode, 204)
  assert.equal(allowed.headers['access-control-allow-origin'], 'https://console.example.org')
  assert.match(String(allowed.headers['access-control-allow-headers']), /Grpc-Metadata-Authorization/)
  assert.equal((await ask('https://evil.example.org', 'OPTIONS', preflight)).statusCode, 405)
  const refused = await ask('https://evil.example.org', 'GET')
  assert.equal(refused.headers['access-control-allow-origin'], undefined)
  assert.equal(refused.headers['strict-transport-security'], 'max-age=31536000')
  await open.close()
})

test('closing lets requests under way finish, and refuses later ones on their connections', async () => {
  const closing = await openTestDeployment()
  const { organizations } = closing.registry
  const list = organizations.list.bind(organizations)
  const arrived = Promise.withResolvers<undefined>()
  const finished = Promise.withResolvers<undefined>()
  organizations.list = async (...parameters) => {
    arrived.resolve(undefined)
    await finished.promise
    return list(...parameters)
  }
  await closing.app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect({ host: '127.0.0.1', port: portOf(closing) })
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  const head = `Host: x\r\nAuthorization: Bearer ${await closing.session('member')}\r\n\r\n`
  socket.write(`GET /api/organizations HTTP/1.1\r\n${head}`)
  await arrived.promise
  const closed = closing.app.close()
  const requested = once(closing.app.server, 'request')
  socket.write(`GET /api/internal/health HTTP/1.1\r\n${head}`)
  await requested
  finished.resolve(undefined)
  await once(socket, 'close')
  await closed
  const answers = Buffer.concat(pieces).toString()
  assert.match(answers, /^HTTP\/1\.1 200 OK/)
  assert.match(answers, /HTTP\/1\.1 503 .*"reason":"shutting_down"/s)
  await closing.registry.close()
})

test('HTTPS takes TLS 1.2 and 1.3, and another certificate while connections stay open', async () => {
  const limiter = new AddressLimiter({ attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 })
  // An HTTPS server of Bun keeps its first certificate: the newcomers do the TLS there.
  const newcomers = createNewcomers(limiter, () => {})
  const secure = await openTestDeployment({ https: FIRST_CERTIFICATE, newcomers })
  await secure.app.listen({ host: '127.0.0.1', port: 0 })
  const open = await connectedTo(portOf(secure))
  assert.equal(nameOf(open), 'first.example.org')
  secure.app.setSecureContext(SECOND_CERTIFICATE)
  const next = await connectedTo(portOf(secure), 'TLSv1.2')
  assert.equal(nameOf(next), 'second.example.org')
  assert.equal(next.getProtocol(), 'TLSv1.2')
  open.write('GET /api/internal/health/live HTTP/1.1\r\nHost: x\r\n\r\n')
  const [answer] = (await once(open, 'data')) as [Buffer]
  assert.match(answer.toString(), /^HTTP\/1\.1 200 OK/)
  for (const socket of [open, next]) socket.destroy()
  await secure.close()
})

async function connectedTo(port: number, maxVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3'): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, maxVersion, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

function nameOf(socket: TLSSocket): string | string[] | undefined {
  const certificate: DetailedPeerCertificate = socket.getPeerCertificate(true)
  return certificate.subject.CN
}
