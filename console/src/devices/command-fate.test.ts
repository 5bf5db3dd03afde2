import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvent, type LiveEvent } from '../broker/live-event.ts'
import { fatesOf, type SentCommand } from './command-fate.ts'

const command = (id: string, sentAtMs: number, isConfirmed = false, reasonCode = 0): SentCommand => ({
  id,
  sentAtMs,
  isConfirmed,
  answer: { reasonCode, reasonString: reasonCode < 0x80 ? undefined : 'fPort: 0 is below 1' },
  shown: id,
})
const event = (kind: string, atMs: number, members: object): LiveEvent =>
  readEvent(atMs, `application/1/device/0101010101010101/event/${kind}`, Buffer.from(JSON.stringify(members)), atMs)

/** What the page shows, by command. */
function stories(commands: readonly SentCommand[], events: readonly LiveEvent[]): Record<string, string> {
  return Object.fromEntries(
    fatesOf(commands, events).map(({ command: { id }, steps, isOpen }) => [
      id,
      `${steps.map(({ text }) => text).join(' ')}${isOpen ? ' …' : ''}`,
    ]),
  )
}

test('a refusal is told in the broker’s own words, and nothing more is waited for', () => {
  assert.deepEqual(stories([command('a', 1, false, 0x99)], [event('txack', 2, { fCnt: 1 })]), {
    a: 'Refused (0x99): fPort: 0 is below 1',
  })
})

test('without ids a device’s next downlink is its oldest command', () => {
  const sent = [command('a', 1), command('b', 2)]
  assert.deepEqual(stories(sent, [event('txack', 3, { fCnt: 1 })]), {
    a: 'The broker accepted it. A gateway sent it to the device.',
    b: 'The broker accepted it. …',
  })
})

test('an event from before the command is not its answer', () => {
  assert.deepEqual(stories([command('a', 5)], [event('txack', 3, { fCnt: 1 })]), { a: 'The broker accepted it. …' })
})

test('an acknowledgement belongs to the downlink with its frame counter', () => {
  const sent = [command('a', 1, true), command('b', 2, true)]
  const events = [
    event('txack', 3, { fCnt: 7 }),
    event('txack', 4, { fCnt: 8 }),
    event('ack', 5, { fCnt: 8, acknowledged: false }),
  ]
  assert.deepEqual(stories(sent, events), {
    a: 'The broker accepted it. A gateway sent it to the device. …',
    b: 'The broker accepted it. A gateway sent it to the device. The device did not acknowledge it.',
  })
})

test('an id in an event outweighs the order, and one of somebody else’s command answers none of ours', () => {
  const sent = [command('a', 1), command('b', 2)]
  const events = [event('txack', 3, { queueItemId: 'b' }), event('txack', 4, { queueItemId: 'other' })]
  assert.deepEqual(stories(sent, events), {
    a: 'The broker accepted it. …',
    b: 'The broker accepted it. A gateway sent it to the device.',
  })
})
