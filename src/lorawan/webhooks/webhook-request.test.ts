import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createServer as createTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { systemClock } from '../../clock.ts'
import { TestClock } from '../../clock.testing.ts'
import { CallableAddresses } from './callable-addresses.ts'
import { WebhookClient } from './webhook-request.ts'
import type { LookUp, WebhookRequest } from './webhook-request.ts'

const LOOPBACK = new CallableAddresses(['127.0.0.0/8', '::1'])

/** A client that may call this machine, and whose look-ups answer with it. */
function createClient(
  options: { lookUp?: LookUp; addresses?: CallableAddresses; clock?: TestClock } = {},
): WebhookClient {
  const { lookUp = async () => ['127.0.0.1'], addresses = LOOPBACK, clock = systemClock } = options
  return new WebhookClient({ addresses, clock, userAgent: 'Fieldgate', lookUp })
}

function requestTo(url: string, fields: Partial<WebhookRequest> = {}): WebhookRequest {
  return { url, headers: { 'x-key': 'a' }, body: '{"°":1}', ca: undefined, timeoutMs: 20_000, ...fields }
}

/** A receiver on this machine, for one test. */
async function receiver(answer: RequestListener): Promise<{ url: string; server: Server } & AsyncDisposable> {
  const server = createHttp(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://hook.example:${port}/path?a=b`, server, [Symbol.asyncDispose]: close }
}

const directory = mkdtempSync(join(tmpdir(), 'fieldgate-webhook-'))
let key = ''
let cert = ''

before(() => {
  const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')]
  const name = ['-subj', '/CN=hook.example', '-addext', 'subjectAltName=DNS:hook.example']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...curve, ...files, ...name], { stdio: 'ignore' })
  key = readFileSync(join(directory, 'key.pem'), 'utf8')
  cert = readFileSync(join(directory, 'cert.pem'), 'utf8')
})

after(() => rmSync(directory, { recursive: true }))

test('a request carries its body, its own headers and the name of the host', async () => {
  const seen: unknown[] = []
  await using hook = await receiver((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      seen.push([
        method,
        url,
        headers.host,
        headers['x-key'],
        headers['content-type'],
        Buffer.concat(chunks).toString(),
      ])
      response.writeHead(200, { 'content-type': 'application/json', 'retry-after': '7' }).end('{"ok":true}')
    })
  })
  const client = createClient()
  const outcome = await client.send(requestTo(hook.url))
  client.close()
  assert.deepEqual(seen, [['POST', '/path?a=b', new URL(hook.url).host, 'a', 'application/json', '{"°":1}']])
  assert.deepEqual(outcome, {
    kind: 'answered',
    status: 200,
    contentType: 'application/json',
    body: Buffer.from('{"ok":true}'),
    isCut: false,
    retryAfterMs: 7_000,
  })
})

test('an address that is not public is not called, whether it is written or looked up', async () => {
  let calls = 0
  await using hook = await receiver((_request, response) => {
    calls += 1
    response.end()
  })
  const { port } = new URL(hook.url)
  const addresses = new CallableAddresses([])
  const client = createClient({ addresses, lookUp: async () => ['127.0.0.1', '::1', '169.254.169.254'] })
  for (const host of ['hook.example', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '127.1']) {
    const outcome = await client.send(requestTo(`http://${host}:${port}/`))
    assert.equal(outcome.kind === 'failed' && outcome.code, 'webhook_address_forbidden', host)
  }
  client.close()
  assert.equal(calls, 0)
})

test('a name that leads outside first and inside later is never called inside', async () => {
  let calls = 0
  await using hook = await receiver((_request, response) => {
    calls += 1
    response.end()
  })
  const answers = [['127.0.0.2'], ['127.0.0.1'], ['127.0.0.1']]
  let asked = 0
  const lookUp: LookUp = async () => answers[asked++] ?? ['127.0.0.1']
  // 127.0.0.2 stands for the public address: nothing listens there.
  const client = createClient({ addresses: new CallableAddresses(['127.0.0.2']), lookUp })
  const outcomes = [await client.send(requestTo(hook.url)), await client.send(requestTo(hook.url))]
  client.close()
  assert.deepEqual(
    outcomes.map((outcome) => outcome.kind === 'failed' && outcome.code),
    ['webhook_unreachable', 'webhook_address_forbidden'],
  )
  // One look-up for each request: the connection does not ask again.
  assert.equal(asked, 2)
  assert.equal(calls, 0)
})

test('a redirect is not followed', async () => {
  let calls = 0
  await using hook = await receiver((_request, response) => {
    calls += 1
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  const client = createClient()
  const outcome = await client.send(requestTo(hook.url))
  client.close()
  assert.equal(outcome.kind === 'answered' && outcome.status, 307)
  assert.equal(calls, 1)
})

test('an endless answer is cut at 16 KiB, and its connection ends', async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  await using hook = await receiver((_request, response) => {
    const chunk = Buffer.alloc(65_536, 'x')
    const write = (): void => {
      while (response.writable && response.write(chunk)) continue
    }
    response.writeHead(200).on('drain', write).on('close', resolve)
    write()
  })
  const client = createClient()
  const outcome = await client.send(requestTo(hook.url))
  await ended
  client.close()
  assert.ok(outcome.kind === 'answered' && outcome.isCut)
  assert.equal(outcome.body.length, 16_384)
})

test('an answer that comes byte by byte, or never, ends with the time of the request', async () => {
  for (const drips of [true, false]) {
    const { promise: began, resolve: begin } = Promise.withResolvers<void>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    await using hook = await receiver((_request, response) => {
      response.on('close', end)
      if (drips) response.writeHead(200).write('x')
      begin()
    })
    const clock = new TestClock()
    const client = createClient({ clock })
    const sending = client.send(requestTo(hook.url, { timeoutMs: 10_000 }))
    await began
    clock.advance(9_999)
    assert.equal(clock.pending, 1)
    clock.advance(1)
    const outcome = await sending
    await ended
    client.close()
    assert.equal(outcome.kind === 'failed' && outcome.code, 'webhook_timeout')
  }
})

test('a look-up that hangs ends with the time of the request as well', async () => {
  const clock = new TestClock()
  const client = createClient({ clock, lookUp: () => new Promise(() => {}) })
  const sending = client.send(requestTo('http://hook.example/'))
  clock.advance(20_000)
  const outcome = await sending
  assert.equal(outcome.kind === 'failed' && outcome.code, 'webhook_timeout')
})

test('an answer that is no HTTP, and one that breaks off, are failures', async () => {
  for (const text of ['SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc']) {
    const server = createTcp((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(text))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = createClient()
    const outcome = await client.send(requestTo(`http://hook.example:${port}/`))
    client.close()
    server.close()
    assert.equal(outcome.kind === 'failed' && outcome.code, 'webhook_unreachable', text)
  }
})

test('a few interim answers come before the answer, and an endless row of them is a failure', async () => {
  for (const interim of ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n']) {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    let isEndless = false
    const server = createTcp((socket) => {
      const write = (): void => {
        while (socket.writable && socket.write(interim.repeat(100))) continue
      }
      socket.on('error', () => {}).on('close', () => isEndless && resolve())
      socket.once('data', () => {
        if (isEndless) write()
        else socket.end(`${interim.repeat(2)}HTTP/1.1 204 No Content\r\n\r\n`)
      })
      socket.on('drain', write)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    // The time of the request does not pass: the client ends the connection by itself.
    const client = createClient({ clock: new TestClock() })
    const usual = await client.send(requestTo(`http://hook.example:${port}/`))
    assert.equal(usual.kind === 'answered' && usual.status, 204, interim)
    isEndless = true
    const endless = await client.send(requestTo(`http://hook.example:${port}/`))
    await ended
    client.close()
    server.close()
    assert.equal(endless.kind === 'failed' && endless.code, 'webhook_unreachable', interim)
  }
})

test('a connection that its receiver has closed meanwhile costs no failure', async () => {
  let requests = 0
  const server = createTcp((socket) => {
    socket.on('error', () => {})
    let ofSocket = 0
    socket.on('data', () => {
      ofSocket += 1
      requests += 1
      if (ofSocket > 1) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createClient()
  const statuses: unknown[] = []
  for (let count = 0; count < 3; count += 1) {
    const outcome = await client.send(requestTo(`http://hook.example:${port}/`, { body: '{}' }))
    statuses.push(outcome.kind === 'answered' && outcome.status)
  }
  client.close()
  server.close()
  assert.deepEqual(statuses, [204, 204, 204])
  assert.ok(requests >= 3)
})

test('HTTPS checks the certificate against the name, and trusts an authority that is given', async () => {
  const server = createHttps({ key, cert }, (_request, response) => response.end('ok')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createClient()
  const codeOf = async (host: string, ca: string | undefined): Promise<string> => {
    const outcome = await client.send(requestTo(`https://${host}:${port}/`, { ca }))
    return outcome.kind === 'failed' ? outcome.code : String(outcome.status)
  }
  assert.equal(await codeOf('hook.example', cert), '200')
  assert.equal(await codeOf('other.example', cert), 'webhook_tls_failed')
  assert.equal(await codeOf('hook.example', undefined), 'webhook_tls_failed')
  client.close()
  server.closeAllConnections()
  server.close()
})

test('a proxy of the environment is not used', async () => {
  const { HTTP_PROXY, http_proxy } = process.env
  process.env['HTTP_PROXY'] = process.env['http_proxy'] = 'http://127.0.0.1:9'
  try {
    await using hook = await receiver((_request, response) => response.end('direct'))
    const client = createClient()
    const outcome = await client.send(requestTo(hook.url))
    client.close()
    assert.equal(outcome.kind === 'answered' && outcome.body.toString(), 'direct')
  } finally {
    for (const [name, value] of Object.entries({ HTTP_PROXY, http_proxy })) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
})
