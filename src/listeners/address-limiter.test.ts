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
})
