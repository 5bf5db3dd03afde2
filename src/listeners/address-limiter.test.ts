import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SteadyMs } from '../clock.ts'
import { AddressLimiter } from './address-limiter.ts'

const NONE = { attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 }
const at = (ms: number): SteadyMs => ms as SteadyMs

describe('one address', () => {
  it('may use the attempts of ten seconds at once, and then its rate; other addresses have their own', () => {
    const limiter = new AddressLimiter({ ...NONE, attemptsPerSecond: 2 })
    const admitted = (nowMs: number, address = 'a'): number =>
      Array.from({ length: 30 }, (_, port) => limiter.admit(address, port, at(nowMs))).filter(Boolean).length
    assert.equal(admitted(0), 20)
    assert.equal(admitted(0), 0)
    assert.equal(admitted(3_000), 6)
    assert.equal(admitted(3_000, 'b'), 20)
  })

  it('has a bound of connections, and of silent ones; a connection that speaks or closes makes room', () => {
    const limiter = new AddressLimiter({ ...NONE, openPerAddress: 3, pendingPerAddress: 2 })
    const admit = (port: number): boolean => limiter.admit('a', port, at(0))
    assert.deepEqual([1, 2, 3].map(admit), [true, true, false])
    limiter.settled('a', 1)
    assert.deepEqual([3, 4].map(admit), [true, false])
    limiter.settled('a', 2)
    limiter.settled('a', 3)
    assert.equal(admit(4), false, 'three are open')
    limiter.closed('a', 2)
    assert.equal(admit(4), true)
    limiter.closed('a', 4)
    assert.equal(admit(5), true, 'a silent one that is closed is not silent any more')
  })

  it('has many spellings and interfaces: the first 64 bits of IPv6 count, and IPv4 within IPv6 is IPv4', () => {
    const limiter = new AddressLimiter({ ...NONE, openPerAddress: 2, pendingPerAddress: 2 })
    const admit = (address: string, port: number): boolean => limiter.admit(address, port, at(0))
    assert.deepEqual([admit('2001:db8::1', 1), admit('2001:db8::2', 1), admit('2001:db8::3', 1)], [true, true, false])
    assert.equal(admit('2001:db8:0:1::1', 1), true)
    limiter.settled('2001:db8::1', 1)
    limiter.closed('2001:db8::1', 1)
    assert.equal(admit('2001:db8::4', 1), true, 'the other address with this port is still pending')
    assert.equal(admit('2001:db8::5', 1), false)
    assert.deepEqual(
      [admit('192.0.2.1', 1), admit('::ffff:192.0.2.1', 2), admit('::ffff:c000:201', 3)],
      [true, true, false],
    )
    assert.equal(admit('::ffff:192.0.2.2', 1), true)
  })
})
