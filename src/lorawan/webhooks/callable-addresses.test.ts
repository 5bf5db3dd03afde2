import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CallableAddresses } from './callable-addresses.ts'

test('public addresses may be called', () => {
  const addresses = new CallableAddresses([])
  for (const address of ['1.1.1.1', '8.8.8.8', '198.20.0.1', '2606:4700:4700::1111', '::ffff:1.1.1.1']) {
    assert.equal(addresses.has(address), true, address)
  }
})

test('loopback, private, link-local, shared, multicast and metadata addresses may not, in any spelling', () => {
  const addresses = new CallableAddresses([])
  for (const address of [
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '168.63.129.16',
    '192.0.0.192',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:169.254.169.254',
    '::127.0.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    'ff02::1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '',
  ]) {
    assert.equal(addresses.has(address), false, address)
  }
})

test('the operator allows single addresses and ranges, and nothing beside them', () => {
  const addresses = new CallableAddresses(['10.1.0.0/16', '127.0.0.1', 'fd00:1::/32'])
  assert.equal(addresses.has('10.1.2.3'), true)
  assert.equal(addresses.has('::ffff:10.1.2.3'), true)
  assert.equal(addresses.has('10.2.0.1'), false)
  assert.equal(addresses.has('127.0.0.1'), true)
  assert.equal(addresses.has('127.0.0.2'), false)
  assert.equal(addresses.has('fd00:1::5'), true)
  assert.equal(addresses.has('fd00:2::5'), false)
})
