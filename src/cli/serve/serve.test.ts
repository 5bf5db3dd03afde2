import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { endAfterEach } from './child-processes.testing.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-serve-'))
const children = endAfterEach()
after(() => rm(scratch, { recursive: true }))
const main = fileURLToPath(new URL('../../main.ts', import.meta.url))

/** A process whose output can be waited for. */
function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'], ...environment } })
  children.add(child)
  const output = { out: '', error: '' }
  const waiting: { pattern: RegExp; resolve: () => void }[] = []
  const look = () => {
    for (const { pattern, resolve } of waiting) if (pattern.test(output.out + output.error)) resolve()
  }
  child.stdout.on('data', (chunk: Buffer) => {
    output.out += chunk.toString()
    look()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.error += chunk.toString()
    look()
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code: code as unknown, signal: signal as unknown }))
  const seen = async (pattern: RegExp) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push({ pattern, resolve })
    look()
    await Promise.race([
      promise,
      ended.then(() => assert.match(output.out + output.error, pattern, 'it ended before it said that')),
    ])
  }
  return { child, output, seen, ended }
}

function serve(directory: string, environment: Readonly<Record<string, string>> = {}) {
  return start([main, 'serve'], {
    FIELDGATE_DATA_DIR: join(scratch, directory),
    FIELDGATE_HOST: '127.0.0.1',
    FIELDGATE_HTTPS_PORT: '0',
    FIELDGATE_MQTTS_PORT: '0',
    ...environment,
  })
}

/** The password that a first start has shown; empty when it has shown none. */
function firstPasswordIn(out: string): string {
  return /^First start: log in as admin with the password (\S+)$/m.exec(out)?.[1] ?? ''
}

/** Logs in as `admin` to the service that said `out`, and answers the HTTP status. */
async function logIn(out: string, directory: string, password: string): Promise<number | undefined> {
  const port = /API reference +https:\/\/\S+:(\d+)\//.exec(out)?.[1]
  const ca = await readFile(join(scratch, directory, 'tls', 'ca.pem'))
  const options = {
    method: 'POST',
    port,
    path: '/api/internal/login',
    ca,
    headers: { 'content-type': 'application/json' },
  }
  const login = request({ ...options, host: '127.0.0.1' }).end(JSON.stringify({ username: 'admin', password }))
  const [response] = (await once(login, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

describe('fieldgate serve', () => {
  it('starts, says where it is, and ends in order on SIGTERM', async () => {
    const { child, output, seen, ended } = serve('one')
    await seen(/ {2}data +\S+\n/)
    assert.match(output.out, /^Fieldgate \S+ is ready\.$/m)
    assert.match(output.out, /^First start: log in as admin with the password \S{10,}$/m)
    assert.match(output.out, /^ {2}API reference +https:\/\/\S+:\d+\/api\/docs$/m)
    assert.match(output.out, /^ {2}MQTT over TLS +\S+:\d+\n {2}or WebSocket +wss:\/\/\S+:\d+\/mqtt$/m)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 0, signal: null })
    assert.ok(!(await readdir(join(scratch, 'one'))).includes('instance.json'))
  })

  it('logs JSON lines to standard error alone, and no password', async () => {
    const { child, output, seen, ended } = serve('one', { FIELDGATE_ADMIN_PASSWORD: 'never to be shown' })
    await seen(/ {2}data +\S+\n/)
    child.kill('SIGINT')
    assert.deepEqual(await ended, { code: 0, signal: null })
    const messages = output.error
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: string }).message)
    assert.ok(messages.includes('service.started') && messages.includes('service.stopped'), messages.join())
    assert.doesNotMatch(output.out + output.error, /never to be shown/)
    assert.doesNotMatch(output.out, /First start/)
  })

  it('logs addresses as they are to be opened: https, by the public host', async () => {
    const { child, output, seen, ended } = serve('one', {
      FIELDGATE_HOST: '0.0.0.0',
      FIELDGATE_PUBLIC_HOST: 'fg.example.org',
    })
    await seen(/service\.started/)
    child.kill('SIGTERM')
    await ended
    const lines = output.error
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const started = lines.find(({ message }) => message === 'service.started')
    assert.equal(started?.['console'], `https://fg.example.org:${String(started?.['httpsPort'])}`)
    assert.ok(
      lines.some(({ message }) => message === `listening at https://127.0.0.1:${String(started?.['httpsPort'])}`),
    )
    assert.doesNotMatch(output.error + output.out, /http:\/\//)
  })

  it('keeps what it writes to its user', async () => {
    for (const name of await readdir(join(scratch, 'one'))) {
      const { mode } = await stat(join(scratch, 'one', name))
      if (name !== 'tls') assert.equal(mode & 0o077, 0, name)
    }
  })

  it('runs beside another on other ports and another directory, and refuses the same directory', async () => {
    const first = serve('one')
    const second = serve('two')
    await Promise.all([first.seen(/is ready/), second.seen(/is ready/)])
    const third = serve('two')
    assert.equal((await third.ended).code, 1)
    assert.match(
      third.output.error,
      new RegExp(`in use by process ${second.child.pid} .*answers at https://127\\.0\\.0\\.1:\\d+`),
    )
    first.child.kill('SIGTERM')
    second.child.kill('SIGTERM')
    assert.deepEqual([(await first.ended).code, (await second.ended).code], [0, 0])
  })

  for (const setting of ['FIELDGATE_HTTPS_PORT', 'FIELDGATE_MQTTS_PORT']) {
    it(`names ${setting} when its port is in use, and leaves nothing behind`, async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      const { output, ended } = serve('one', { [setting]: String(port), FIELDGATE_LOG_LEVEL: 'error' })
      assert.equal((await ended).code, 1)
      assert.match(output.error, new RegExp(`^fieldgate: Port ${port} .*in use.*${setting}\\.?\\n$`))
      assert.equal(output.out, '')
      assert.ok(!(await readdir(join(scratch, 'one'))).includes('instance.json'))
      other.close()
    })
  }

  for (const setting of ['FIELDGATE_HTTPS_PORT', 'FIELDGATE_MQTTS_PORT']) {
    it(`shows the first password by the start that first listens, after one that did not get ${setting}`, async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      const lost = { [setting]: String(port), FIELDGATE_ADMIN_PASSWORD: 'lost with that start' }
      const failed = serve(setting, lost)
      assert.equal((await failed.ended).code, 1)
      other.close()
      const { output, seen } = serve(setting)
      await seen(/ {2}data +\S+\n/)
      assert.equal(await logIn(output.out, setting, firstPasswordIn(output.out)), 200)
      assert.equal(await logIn(output.out, setting, lost.FIELDGATE_ADMIN_PASSWORD), 401)
    })
  }

  it('leaves a password that logs in when it is killed as soon as it has shown one', async () => {
    const first = serve('killed')
    await first.seen(/First start: .*\n/)
    first.child.kill('SIGKILL')
    await first.ended
    const second = serve('killed')
    await second.seen(/ {2}data +\S+\n/)
    const shownLast = firstPasswordIn(second.output.out) || firstPasswordIn(first.output.out)
    assert.equal(await logIn(second.output.out, 'killed', shownLast), 200)
  })

  it('reports all wrong settings and exits with 2', async () => {
    const { output, ended } = serve('one', { FIELDGATE_HTTPS_PORT: 'x', FIELDGATE_HOST: 'a b' })
    assert.equal((await ended).code, 2)
    assert.match(output.error, /FIELDGATE_HOST="a b".*\n.*FIELDGATE_HTTPS_PORT="x"/)
  })

  it('names the certificate file that can’t be used', async () => {
    const files = { FIELDGATE_TLS_CERT_FILE: '/nowhere/a.pem', FIELDGATE_TLS_KEY_FILE: '/nowhere/b.pem' }
    const { output, ended } = serve('one', files)
    assert.equal((await ended).code, 1)
    assert.match(output.error, /^fieldgate: The TLS file \/nowhere\/a\.pem can’t be read: ENOENT/m)
  })
})

/** A process that does nothing but listen for its end, and this. */
function startListening(body: string) {
  const script = `
    import { createPinoLogger } from ${JSON.stringify(new URL('../../pino-logger.ts', import.meta.url).href)}
    import { listenForStop } from ${JSON.stringify(new URL('stop-signal.ts', import.meta.url).href)}
    let steadyMs = 0
    const stop = listenForStop(createPinoLogger({ level: 'info', format: 'json' }), () => steadyMs)
    setInterval(() => {}, 1000)
    ${body}`
  return start(['--input-type=module', '--eval', script])
}

describe('a process that listens for its end', () => {
  it('ends at once on a second signal', async () => {
    const { child, seen, ended } = startListening(
      `stop.received.then(() => { steadyMs = 1_000; console.log('first') }); console.log('ready')`,
    )
    await seen(/ready/)
    child.kill('SIGINT')
    await seen(/first/)
    child.kill('SIGINT')
    assert.deepEqual(await ended, { code: 130, signal: null })
  })

  it('takes a signal within a second of the first as the same one, which npm and the terminal both send', async () => {
    const { child, output, seen, ended } = startListening(
      `process.on('SIGINT', () => { console.log('heard'); steadyMs += 999 }); console.log('ready')`,
    )
    await seen(/ready/)
    child.kill('SIGINT')
    await seen(/heard/)
    child.kill('SIGINT')
    await seen(/heard\nheard/)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 143, signal: null })
    assert.equal(output.error.match(/"stop\.asked"/g)?.length, 1)
  })

  it('logs what nobody caught as fatal, and exits with 1', async () => {
    const { output, ended } = startListening(`Promise.reject(new Error('lost'))`)
    assert.equal((await ended).code, 1)
    const { level, message, error } = JSON.parse(output.error) as {
      level: string
      message: string
      error: { message: string }
    }
    assert.deepEqual([level, message, error.message], ['fatal', 'process.failed', 'lost'])
  })
})
