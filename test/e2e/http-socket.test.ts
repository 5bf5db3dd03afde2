/** Bytes on the socket of the HTTP interface that are no request, or no whole request. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { connect } from 'node:tls'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let service: RunningService

before(async () => {
  service = await startInProcess()
})

after(async () => {
  await service.stop()
})

describe('on the socket', () => {
  const requests: readonly (readonly [string, string, RegExp])[] = [
    ['what is not HTTP', 'HELLO\r\n\r\n', /^HTTP\/1\.1 400 [^]*"error"/],
    ['MQTT', '\u0010\u000c\0\u0004MQTT\u0004\u0002\0\0\0\0', /^HTTP\/1\.1 400 [^]*"error"/],
    [
      'a header block without end',
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431 [^]*"error"/,
    ],
    ['no Host', 'GET /api/organizations HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
    [
      'two lengths of one body',
      'POST /api/internal/login HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 [^]*"error"/,
    ],
    [
      'a negative length',
      'POST /api/internal/login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      /^HTTP\/1\.1 400 [^]*"error"/,
    ],
    [
      'a chunk of a length that is no number',
      'POST /api/internal/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
      /^HTTP\/1\.1 400 [^]*"error"/,
    ],
  ]
  for (const [title, text, pattern] of requests) {
    it(`${title} is answered in the error body, and the connection is closed`, async () => {
      assert.match(await rawAnswer(text), pattern)
    })
  }

  it('a body that breaks off leaves nothing written', async () => {
    const body = JSON.stringify({ organization: { name: 'broken-off' } })
    const head = `POST /api/organizations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length + 1}`
    const socket = connect({ host: 'localhost', port: Number(new URL(service.https).port), ca: service.ca })
    await once(socket, 'secureConnect')
    socket.end(`${head}\r\nGrpc-Metadata-Authorization: Bearer ${service.adminSession}\r\n\r\n${body}`)
    socket.resume()
    await within(once(socket, 'close'), 'the end of the connection')
    const list = await new Administration(service).must('GET', '/api/organizations?limit=0')
    assert.equal(list['totalCount'], '0')
  })
})

/** All bytes of the answer to these bytes, up to the end of the connection. */
async function rawAnswer(text: string): Promise<string> {
  const socket = connect({ host: 'localhost', port: Number(new URL(service.https).port), ca: service.ca })
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.write(text, 'latin1')
  await within(once(socket, 'close'), 'the end of the connection')
  return Buffer.concat(chunks).toString()
}
