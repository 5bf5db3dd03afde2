import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from './client-network.ts'

test('an IPv4 address is a network of its own, in each of its spellings', () => {
  for (const spelling of [
    '192.0.2.1',
    '::ffff:192.0.2.1',
    '::FFFF:192.0.2.1',
    '::ffff:c000:201',
    '0:0:0:0:0:ffff:c000:0201',
  ]) {
    assert.equal(networkOf(spelling), '192.0.2.1', spelling)
  }
  assert.notEqual(networkOf('192.0.2.2'), networkOf('192.0.2.1'))
})

test('IPv6 addresses with the same 64 bits in front are one network', () => {
  const network = '2001:db8:0:1/64'
  const spellings = [
    '2001:db8:0:1::',
    '2001:db8:0:1::1',
    '2001:DB8::1:ffff:ffff:ffff:ffff',
    '2001:0db8:0000:0001:0:0:0:2',
    '2001:db8:0:1::192.0.2.1',
    '2001:db8:0:1::1%eth0',
  ]
  for (const spelling of spellings) assert.equal(networkOf(spelling), network, spelling)
  assert.equal(networkOf('2001:db8:0:2::1'), '2001:db8:0:2/64')
  assert.equal(networkOf('::1'), '0:0:0:0/64')
  assert.equal(networkOf('::ffff:0:192.0.2.1'), '0:0:0:0/64', 'no mapped address: its ffff is the fifth group')
})

test('a text that is no address is kept, as far as it is short', () => {
  assert.equal(networkOf(''), '')
  assert.equal(networkOf('a proxy'), 'a proxy')
  assert.equal(networkOf('x'.repeat(1000)).length, 64)
})
