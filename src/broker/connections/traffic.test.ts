import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Traffic } from './traffic.ts'

/** Carries this number of messages of ten bytes in. */
function carry(traffic: Traffic, second: number, messages: number): void {
  traffic.turn(second)
  traffic.messagesIn += messages
  traffic.bytesIn += messages * 10
}

test('a steady stream has its own rate from its first second on', () => {
  const traffic = new Traffic(0)
  for (let second = 0; second < 60; second += 1) {
    carry(traffic, second, 20)
    const { messagesInPerSecond, bytesInPerSecond, messagesOutPerSecond } = traffic.rates(second + 1)
    assert.equal(messagesInPerSecond, 20, `after second ${second}`)
    assert.equal(bytesInPerSecond, 200)
    assert.equal(messagesOutPerSecond, 0)
  }
})

test('what was carried is forgotten by the rates after ten seconds, and kept by the sums', () => {
  const traffic = new Traffic(0)
  carry(traffic, 1, 100)
  assert.equal(traffic.rates(2).messagesInPerSecond, 50)
  assert.ok(traffic.rates(7).messagesInPerSecond > 0)
  assert.equal(traffic.rates(12).messagesInPerSecond, 0)
  assert.equal(traffic.messagesIn, 100)
})

test('a burst after a long silence is not spread over the silence', () => {
  const traffic = new Traffic(0)
  carry(traffic, 0, 5)
  carry(traffic, 3600, 40)
  assert.equal(traffic.rates(3600).messagesInPerSecond, 40)
  assert.equal(traffic.rates(3602).messagesInPerSecond, 20)
})
