import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { v1Header, v2Header } from './proxy-header.testing.ts'
import { readProxyHeader } from './proxy-header.ts'

const HELLO = Buffer.from('1603010200', 'hex')
const LONGEST_V1 = `PROXY TCP6 ${'ffff:'.repeat(7)}ffff ${'ffff:'.repeat(7)}ffff 65535 65535\r\n`
const IPV4 = Buffer.from('c6336401cb007107c00122b3', 'hex')
const IPV6 = Buffer.from('20010db800000000000000000000000520010db8000000000000000000000001c00122b3', 'hex')

describe('a header of the PROXY protocol', () => {
  for (const [title, header, client] of [
    ['version 1, IPv4', v1Header('198.51.100.1', 49_153), { address: '198.51.100.1', port: 49_153 }],
    [
      'version 1, IPv6',
      Buffer.from('PROXY TCP6 2001:DB8:0::5 2001:db8::1 49153 8883\r\n'),
      { address: '2001:db8::5', port: 49_153 },
    ],
    [
      'version 1, the longest of IPv6',
      Buffer.from(LONGEST_V1),
      { address: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', port: 65_535 },
    ],
    ['version 1, of an unknown client', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
    ['version 1, of an unknown client with more words', Buffer.from('PROXY UNKNOWN ff:1 ? 1\r\n'), undefined],
    ['version 2, IPv4', v2Header(0x21, 0x11, IPV4), { address: '198.51.100.1', port: 49_153 }],
    ['version 2, IPv6', v2Header(0x21, 0x21, IPV6), { address: '2001:db8::5', port: 49_153 }],
    [
      'version 2, with 520 bytes of addresses and further members',
      v2Header(0x21, 0x11, Buffer.concat([IPV4, Buffer.alloc(508)])),
      { address: '198.51.100.1', port: 49_153 },
    ],
    ['version 2, of the proxy itself', v2Header(0x20, 0x11, IPV4), undefined],
    ['version 2, of the proxy itself, without addresses', v2Header(0x20, 0x00, Buffer.alloc(0)), undefined],
    ['version 2, of no family', v2Header(0x21, 0x00, Buffer.alloc(3)), undefined],
    ['version 2, of a Unix socket', v2Header(0x21, 0x31, Buffer.alloc(216)), undefined],
  ] as const) {
    test(`is read whole, and byte by byte: ${title}`, () => {
      const expected = { kind: 'header', length: header.length, ...(client === undefined ? {} : { client }) }
      assert.deepEqual(readProxyHeader(header), expected)
      assert.deepEqual(readProxyHeader(Buffer.concat([header, HELLO])), expected)
      for (let length = 0; length < header.length; length += 1) {
        assert.deepEqual(readProxyHeader(header.subarray(0, length)), { kind: 'incomplete' }, String(length))
      }
    })
  }

  for (const [spelling, address] of [
    ['0:0:0:0:0:0:0:0', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:0DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['::FFFF:198.51.100.1', '::ffff:198.51.100.1'],
    ['0:0:0:0:0:ffff:c633:0401', '::ffff:198.51.4.1'],
    ['64:ff9b::198.51.100.1', '64:ff9b::c633:6401'],
  ] as const) {
    test(`names an IPv6 client in the one shortest form: ${spelling}`, () => {
      const header = readProxyHeader(Buffer.from(`PROXY TCP6 ${spelling} 2001:db8::1 49153 8883\r\n`))
      assert.equal(header.kind === 'header' && header.client?.address, address)
    })
  }

  for (const [title, header] of [
    ['version 1 without an end within 107 bytes', `PROXY UNKNOWN ${'x'.repeat(100)}\r\n`],
    ['version 1 of another protocol', 'PROXY UDP4 198.51.100.1 203.0.113.7 1 2\r\n'],
    ['version 1 with an address of the other family', 'PROXY TCP4 2001:db8::5 203.0.113.7 1 2\r\n'],
    ['version 1 with a name', 'PROXY TCP4 client.example 203.0.113.7 1 2\r\n'],
    ['version 1 with a port that is too large', 'PROXY TCP4 198.51.100.1 203.0.113.7 65536 2\r\n'],
    ['version 1 with a missing port', 'PROXY TCP4 198.51.100.1 203.0.113.7 1\r\n'],
    ['version 1 with a blank too many', 'PROXY  TCP4 198.51.100.1 203.0.113.7 1 2\r\n'],
    ['version 1 with a zone', 'PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n'],
    ['version 2 that is longer than 536 bytes', v2Header(0x21, 0x11, Buffer.alloc(521))],
    ['version 3', v2Header(0x31, 0x11, IPV4)],
    ['version 2 with another command', v2Header(0x22, 0x11, IPV4)],
    ['version 2 of datagrams', v2Header(0x21, 0x12, IPV4)],
    ['version 2 with too few bytes for IPv4', v2Header(0x21, 0x11, IPV4.subarray(1))],
    ['version 2 with too few bytes for IPv6', v2Header(0x21, 0x21, IPV6.subarray(1))],
  ] as const) {
    test(`is malformed: ${title}`, () => {
      assert.deepEqual(readProxyHeader(Buffer.from(header)), { kind: 'malformed' })
    })
  }

  test('is absent where the bytes are those of TLS, of HTTP or of another word', () => {
    for (const bytes of [HELLO, 'GET / HTTP/1.1\r\n', 'PROXYING', 'P1', '\r\n\r\nx']) {
      assert.deepEqual(readProxyHeader(Buffer.from(bytes)), { kind: 'none' }, String(bytes))
    }
  })

  test('is never incomplete with 536 bytes', () => {
    for (const start of [Buffer.from('PROXY '), v2Header(0x21, 0x11, Buffer.alloc(520)).subarray(0, 16)]) {
      assert.notEqual(readProxyHeader(Buffer.concat([start, Buffer.alloc(536)])).kind, 'incomplete')
    }
  })
})
