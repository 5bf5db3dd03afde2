import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, it } from 'node:test'
import { connect } from 'node:tls'
import { MAXIMUM_HELLO_BYTES, stateOfHello } from './client-hello.ts'

const RECORD_HEADER_BYTES = 5
const hello = await helloOfNode()

/** The first bytes of Node's own TLS client. */
async function helloOfNode(): Promise<Buffer> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return bytes
}

/** The same ClientHello in records of so many bytes (RFC 8446 §5.1). */
function inRecordsOf(fragmentBytes: number): Buffer {
  const message = hello.subarray(RECORD_HEADER_BYTES)
  const records: Buffer[] = []
  for (let offset = 0; offset < message.length; offset += fragmentBytes) {
    const fragment = message.subarray(offset, offset + fragmentBytes)
    records.push(Buffer.from([22, 3, 1, fragment.length >> 8, fragment.length & 0xff]), fragment)
  }
  return Buffer.concat(records)
}

describe('a ClientHello', () => {
  it('is incomplete until its last byte has come', () => {
    for (let length = 0; length < hello.length; length += 1) {
      assert.equal(stateOfHello(hello.subarray(0, length)), 'incomplete', `${length} of ${hello.length} bytes`)
    }
    assert.equal(stateOfHello(hello), 'whole')
  })

  it('may be split into 16 records', () => {
    const split = inRecordsOf(Math.ceil((hello.length - RECORD_HEADER_BYTES) / 16))
    assert.equal(stateOfHello(split), 'whole')
    assert.equal(stateOfHello(split.subarray(0, -1)), 'incomplete')
  })

  it('is refused in more records: they would be read again with each byte that comes', () => {
    assert.equal(stateOfHello(inRecordsOf(3)), 'refused')
  })

  it('is refused when it is longer than any client’s', () => {
    const record = Buffer.alloc(MAXIMUM_HELLO_BYTES + 1)
    record.set([22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff])
    assert.equal(stateOfHello(record.subarray(0, MAXIMUM_HELLO_BYTES)), 'incomplete')
    assert.equal(stateOfHello(record), 'refused')
  })

  for (const [title, bytes] of [
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['a record without content', Buffer.from([22, 3, 1, 0, 0])],
    ['a record that is too long', Buffer.from([22, 3, 1, 0xff, 0xff])],
    ['another handshake message', Buffer.from([22, 3, 1, 0, 4, 2])],
  ] as const) {
    it(`is not waited for behind ${title}: TLS refuses it at once`, () => {
      assert.equal(stateOfHello(bytes), 'whole')
    })
  }
})
