import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { TestClock } from './clock.testing.ts'
import { HttpConnections } from './http-connections.ts'

const TIMES = { timeout: 60_000, headersTimeout: 15_000, requestTimeout: 600_000, keepAliveTimeout: 30_000 }
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

/** The server's end of a connection; the test is its client. */
class Stream extends Duplex {
  bytesRead = 0
  bytesWritten = 0
  readonly #said = Promise.withResolvers<void>()

  /** Resolves when the server has written something. */
  get answered(): Promise<void> {
    return this.#said.promise
  }

  send(text: string): void {
    this.bytesRead += text.length
    this.push(text)
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.bytesWritten += bytes.length
    this.#said.resolve()
    done()
  }
}

function serve(answer: RequestListener = (_request, response) => void response.end('ok')) {
  const clock = new TestClock()
  const server = createServer(answer)
  const late: string[] = []
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    late.push(error.code ?? '')
    socket.destroy()
  })
  const connections = new HttpConnections(server, TIMES, clock)
  const open = (): Stream => {
    const stream = new Stream()
    connections.add(stream)
    return stream
  }
  return { clock, connections, late, open }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a connection without a whole request is told so after the time for its head', async () => {
  const { clock, late, open } = serve()
  const stream = open()
  stream.send('GET / HTTP/1.1\r\n')
  await turn()
  clock.pass(10_000)
  stream.send('X: y\r\n')
  await turn()
  assert.ok(!stream.destroyed)
  clock.pass(5_000)
  assert.deepEqual([late, stream.destroyed], [['ERR_HTTP_REQUEST_TIMEOUT'], true])
})

test('a connection that is kept alive without a request is closed without a word', async () => {
  const { clock, late, open } = serve()
  const stream = open()
  stream.send(REQUEST)
  await stream.answered
  await turn()
  clock.pass(25_000)
  assert.ok(!stream.destroyed)
  clock.pass(5_000)
  assert.deepEqual([late, stream.destroyed], [[], true])
})

test('a second head that drips is told so, though its bytes move', async () => {
  const { clock, late, open } = serve()
  const stream = open()
  stream.send(REQUEST)
  await stream.answered
  await turn()
  for (const bytes of ['G', 'E', 'T']) {
    stream.send(bytes)
    await turn()
    clock.pass(5_000)
  }
  assert.deepEqual([late, stream.destroyed], [['ERR_HTTP_REQUEST_TIMEOUT'], true])
})

test('an answer may take its time as long as something moves', async () => {
  const { clock, open } = serve(() => {})
  const stream = open()
  stream.send(REQUEST)
  await turn()
  clock.pass(55_000)
  assert.ok(!stream.destroyed)
  stream.bytesWritten += 1
  clock.pass(5_000)
  clock.pass(55_000)
  assert.ok(!stream.destroyed)
  clock.pass(5_000)
  assert.ok(stream.destroyed)
})

test('a body that drips is told so after the time for a request', async () => {
  const { clock, late, open } = serve(() => {})
  const stream = open()
  stream.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
  await turn()
  for (let passed = 0; passed < 600_000; passed += 5_000) {
    assert.deepEqual(late, [])
    stream.send('x')
    clock.pass(5_000)
  }
  assert.deepEqual([late, stream.destroyed], [['ERR_HTTP_REQUEST_TIMEOUT'], true])
})

test('closing ends the idle connections alone; nobody watches when there are none', async () => {
  const { clock, connections, open } = serve(() => {})
  const idle = open()
  const busy = open()
  busy.send(REQUEST)
  await turn()
  connections.closeIdle()
  assert.deepEqual([idle.destroyed, busy.destroyed], [true, false])
  connections.closeAll()
  await turn()
  assert.deepEqual([busy.destroyed, clock.timers], [true, 0])
})
