import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TrustedProxies } from './trusted-proxies.ts'

const proxies = TrustedProxies.of(['10.0.0.0/8', '192.0.2.7', '2001:db8:1::/48'])
assert.ok(proxies !== undefined)

test('addresses and ranges of the settings are trusted, also as IPv4 addresses within IPv6 (RFC 4291 §2.5.5.2)', () => {
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', '2001:db8:1:2::3']) {
    assert.ok(proxies.has(address), address)
  }
  for (const address of ['11.0.0.1', '192.0.2.8', '::ffff:192.0.2.8', '2001:db8:2::1', 'unknown', '']) {
    assert.ok(!proxies.has(address), address)
  }
  assert.equal(TrustedProxies.of([]), undefined)
})

for (const [peer, forwardedFor, client] of [
  ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['10.0.0.1', undefined, '10.0.0.1'],
  ['10.0.0.1', '', '10.0.0.1'],
  ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['10.0.0.1', '127.0.0.1, 198.51.100.1', '198.51.100.1'],
  ['10.0.0.1', '198.51.100.1, 10.0.0.9, 192.0.2.7', '198.51.100.1'],
  ['10.0.0.1', '10.0.0.9', '10.0.0.9'],
  ['10.0.0.1', ['198.51.100.1', '198.51.100.2'], '198.51.100.2'],
] as const) {
  test(`the peer ${peer} with X-Forwarded-For ${JSON.stringify(forwardedFor)} speaks for ${client}`, () => {
    assert.equal(proxies.clientOf(peer, forwardedFor), client)
  })
}
