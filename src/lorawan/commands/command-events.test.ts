import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCommand } from './command.ts'
import { downlinkIdOf } from './downlink-item.ts'
import { AWAY, DEVICE, openTestDownlinks } from './downlinks.testing.ts'
import type { TestDownlinks } from './downlinks.testing.ts'

const A = { applicationID: '5', applicationName: 'meters', deviceName: 'meter 1', devEUI: DEVICE, tags: {} }
const B = {
  deduplicationId: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d',
  deviceInfo: { applicationId: '5', devEui: DEVICE },
}

describe('an event about a command', () => {
  it('of family B is matched by its queueItemId, and gets the sender’s id', async () => {
    const downlinks = await sentAtOnce(['first', 'second'])
    const queueItemId = downlinkIdOf(DEVICE, 'second')
    tell(downlinks, 'txack', { ...B, queueItemId, fCntDown: 41 })
    tell(downlinks, 'ack', { ...B, queueItemId: queueItemId.toUpperCase(), acknowledged: true, fCntDown: 41 })
    assert.deepEqual(downlinks.told('/event/txack'), [{ commandId: 'second', ...B, queueItemId, fCntDown: 41 }])
    assert.equal(downlinks.told('/event/ack')[0]?.['commandId'], 'second')
    assert.deepEqual(standing(downlinks), ['second acknowledged 41', 'first sent'])
  })

  it('of family A is about the only command without an event so far, and later is matched by frame counter', async () => {
    const downlinks = await sent(['first', 'second', 'third'])
    assert.deepEqual(standing(downlinks), ['second queued', 'third queued', 'first sent'])
    await hear(downlinks, 'txack', { ...A, fCnt: 7 })
    await hear(downlinks, 'ack', { ...A, acknowledged: false, fCnt: 7 })
    await hear(downlinks, 'txack', { ...A, fCnt: 8 })
    await hear(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 8 })
    assert.deepEqual(standing(downlinks), ['third sent', 'second acknowledged 8', 'first not_acknowledged 7'])
    await hear(downlinks, 'txack', { ...A, fCnt: 9 })
    // The event comes twice, because its acknowledgement got lost.
    await hear(downlinks, 'txack', { ...A, fCnt: 9 })
    assert.deepEqual(
      downlinks.published.map(({ payload }) => commandIdIn(payload)),
      ['first', 'first', 'second', 'second', 'third', 'third'],
    )
  })

  it('of family A is matched after a join, when counters begin again', async () => {
    const downlinks = await sent(['first', 'second'])
    await hear(downlinks, 'txack', { ...A, fCnt: 0 })
    await hear(downlinks, 'join', { ...A, devAddr: '01020304' })
    await hear(downlinks, 'txack', { ...A, fCnt: 0 })
    await hear(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 0 })
    assert.deepEqual(standing(downlinks), ['second acknowledged 0', 'first unconfirmed 0'])
    assert.deepEqual(
      downlinks.told('/event/txack').map(({ commandId }) => commandId),
      ['first', 'second'],
    )
    const [told] = downlinks.told('/event/error')
    assert.deepEqual([told?.['commandId'], told?.['code']], ['first', 'command_unconfirmed'])
  })

  it('of family A that could be about several commands is about none', async () => {
    const downlinks = await sentAtOnce(['first', 'second', 'third'])
    for (const fCnt of [10, 12, 13]) assert.equal(tell(downlinks, 'txack', { ...A, fCnt }), false)
    assert.equal(tell(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 10 }), false)
    assert.equal(tell(downlinks, 'error', { ...A, type: 'DOWNLINK_PAYLOAD_SIZE', error: 'too long', fCnt: 12 }), false)
    assert.deepEqual(standing(downlinks), ['third sent', 'second sent', 'first sent'])
  })

  it('of family A with a counter that was used twice could be about either command, and is about none', async () => {
    const downlinks = await sent(['first', 'second', 'third'])
    await hear(downlinks, 'txack', { ...A, fCnt: 4 })
    await hear(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 4 })
    assert.equal(tell(downlinks, 'txack', { ...A, fCnt: 4 }), false)
    assert.equal(tell(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 4 }), false)
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['third queued', 'second sent', 'first acknowledged 4'])
  })

  it('of family A that acknowledges may come before the txack, or without it', async () => {
    const downlinks = await sent(['first', 'second', 'third'])
    await hear(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 9 })
    await hear(downlinks, 'txack', { ...A, fCnt: 9 })
    await hear(downlinks, 'ack', { ...A, acknowledged: false, fCnt: 11 })
    assert.deepEqual(standing(downlinks), ['third sent', 'second not_acknowledged 11', 'first acknowledged 9'])
    const transmitted = downlinks.commands.list('1', DEVICE).filter(({ transmittedAtMs }) => transmittedAtMs > 0)
    assert.deepEqual(
      transmitted.map(({ content }) => content.id),
      ['first'],
    )
  })

  it('of family A acknowledges no unconfirmed command, whatever the counters say', async () => {
    const downlinks = await sentAtOnce(['first', 'second'], false)
    await send(downlinks, 'third', true)
    await downlinks.settle()
    tell(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 2 })
    // The command was sent after the others, so their counters are lower.
    assert.equal(tell(downlinks, 'txack', { ...A, fCnt: 3 }), false)
    assert.equal(tell(downlinks, 'ack', { ...A, acknowledged: true, fCnt: 1 }), false)
    assert.deepEqual(standing(downlinks), ['third acknowledged 2', 'second sent', 'first sent'])
  })

  it('of family A that a gateway could not send changes nothing: the network server keeps the command', async () => {
    const downlinks = await sent(['first', 'second'], false)
    const tooLate = { ...A, type: 'DOWNLINK_GATEWAY', error: 'TOO_LATE', fCnt: 4 }
    assert.equal(tell(downlinks, 'error', tooLate), false)
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['second queued', 'first sent'])
    await hear(downlinks, 'txack', { ...A, fCnt: 5 })
    assert.deepEqual(standing(downlinks), ['second sent', 'first sent 5'])
    assert.equal(downlinks.numbers()['failed'], 0)
  })

  it('of family A that discards a command is about the only command that the network server has, whatever its counter', async () => {
    const downlinks = await sent(['first', 'second', 'third'], false)
    await hear(downlinks, 'txack', { ...A, fCnt: 10 })
    await hear(downlinks, 'error', { ...A, type: 'DOWNLINK_CODEC', error: 'no such member', fCnt: 0 })
    await hear(downlinks, 'txack', { ...A, fCnt: 13 })
    assert.deepEqual(standing(downlinks), ['third sent 13', 'second failed 0', 'first sent 10'])
  })

  it('that says that the command was discarded fails it, and no second event reports that', async () => {
    const downlinks = await sent(['first', 'second', 'third'])
    await hear(downlinks, 'error', { ...A, type: 'DOWNLINK_PAYLOAD_SIZE', error: 'too\nlong\u202e', fCnt: 7 })
    const context = { queue_item_id: downlinkIdOf(DEVICE, 'second') }
    tell(downlinks, 'log', { ...B, level: 'ERROR', code: 'EXPIRED', description: 'has expired', context })
    const third = { queue_item_id: downlinkIdOf(DEVICE, 'third') }
    tell(downlinks, 'log', { ...B, level: 'ERROR', code: 'F_CNT_DOWN', context: third })
    await downlinks.settle()
    assert.deepEqual(
      downlinks.commands.list('1', DEVICE).map(({ state, failure }) => [state, failure?.code, failure?.reason]),
      [
        ['failed', 'command_discarded', 'the network server has discarded it'],
        ['expired', 'command_discarded', 'the network server has discarded it: has expired'],
        ['failed', 'command_discarded', 'the network server has discarded it: too long '],
      ],
    )
    assert.deepEqual(
      downlinks.published.map(({ payload }) => commandIdIn(payload)),
      ['first', 'second', 'third'],
    )
  })

  it('of kind log ends the command that it names at level ERROR, and at other levels proves that the network server has it', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    for (const id of ['first', 'second']) await send(downlinks, id, true)
    await downlinks.settle()
    const [first, second] = ['first', 'second'].map((id) => ({ queue_item_id: downlinkIdOf(DEVICE, id) }))
    tell(downlinks, 'log', { ...B, level: 'INFO', code: 'UNKNOWN', context: first })
    assert.deepEqual(standing(downlinks), ['second queued', 'first sent'])
    tell(downlinks, 'log', { ...B, level: 'ERROR', code: 'UNKNOWN', description: 'no path', context: first })
    tell(downlinks, 'log', { ...B, level: 'ERROR', code: 'UNKNOWN', context: second })
    assert.deepEqual(standing(downlinks), ['second failed', 'first failed'])
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['second failed', 'first failed'])
    assert.equal(downlinks.numbers()['sent'], 1)
  })

  it('that says that the device has acknowledged outweighs a failure', async () => {
    const downlinks = await sent(['first'])
    const queueItemId = downlinkIdOf(DEVICE, 'first')
    const context = { queue_item_id: queueItemId }
    tell(downlinks, 'log', { ...B, level: 'ERROR', code: 'DOWNLINK_GATEWAY', context })
    tell(downlinks, 'ack', { ...B, queueItemId, acknowledged: true })
    tell(downlinks, 'ack', { ...B, queueItemId, acknowledged: false })
    assert.deepEqual(standing(downlinks), ['first acknowledged'])
  })

  it('may come before the network server has acknowledged the command', async () => {
    const downlinks = await openTestDownlinks()
    const answer = Promise.withResolvers<{ outcome: 'taken' }>()
    downlinks.server.answer = () => answer.promise
    await send(downlinks, 'first', true)
    await downlinks.settle()
    tell(downlinks, 'txack', { ...B, queueItemId: downlinkIdOf(DEVICE, 'first'), fCntDown: 1 })
    assert.deepEqual(standing(downlinks), ['first sent 1'])
    answer.resolve({ outcome: 'taken' })
    await downlinks.settle()
    assert.deepEqual([standing(downlinks), downlinks.numbers()['sent']], [['first sent 1'], 1])
  })

  it('keeps its other members as they are, to the byte', async () => {
    const downlinks = await sent(['a"b\\'])
    const text = ' {\n "devEUI": "0102030405060708", "fCnt": 7, "big": 12345678901234567890, "x": 1.50 }'
    tell(downlinks, 'txack', text)
    const expected =
      '{"commandId":"a\\"b\\\\","devEUI": "0102030405060708", "fCnt": 7, "big": 12345678901234567890, "x": 1.50 }'
    assert.equal(downlinks.published[0]?.payload.toString(), expected)
  })
})

describe('every other event', () => {
  it('passes unchanged: of a device without commands, about an unknown command, or unreadable', async () => {
    const downlinks = await sent(['first'], false)
    const other = '1112131415161718'
    const cases: readonly [string, string | object, string?][] = [
      ['txack', { ...A, fCnt: 1 }, other],
      ['txack', { ...B, queueItemId: downlinkIdOf(DEVICE, 'nothing') }],
      ['txack', { ...B, queueItemId: 5 }],
      ['txack', A],
      ['ack', { ...A, acknowledged: true }],
      ['txack', '['],
      ['txack', '[]'],
      ['txack', 'null'],
      ['txack', Buffer.alloc(70_000, ' ').toString()],
      ['ack', { ...A, acknowledged: true, fCnt: 1 }],
      ['error', { ...A, type: 'UPLINK_CODEC', error: 'no', fCnt: 1 }],
      ['log', { ...B, code: 'OTAA', context: null }],
    ]
    for (const [kind, event, devEui] of cases) {
      assert.equal(tell(downlinks, kind, event, devEui), false, `${kind} ${JSON.stringify(event)}`)
    }
    assert.deepEqual([downlinks.published, standing(downlinks)], [[], ['first sent']])
  })

  it('that has a commandId already keeps it', async () => {
    const downlinks = await sent(['first'])
    assert.equal(tell(downlinks, 'txack', { ...A, commandId: 'own', fCnt: 1 }), false)
    assert.deepEqual(standing(downlinks), ['first sent 1'])
  })

  it('of another kind is not read', async () => {
    const downlinks = await openTestDownlinks()
    for (const kind of ['up', 'status', 'location', 'integration']) {
      assert.equal(downlinks.events.wants(topicOf(kind)), false, kind)
    }
  })

  it('changes nothing of a command that waits here', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, 'first', true)
    await downlinks.settle()
    assert.equal(tell(downlinks, 'txack', { ...A, fCnt: 1 }), false)
    assert.deepEqual(standing(downlinks), ['first queued'])
  })
})

/** Commands at a network server that names no commands in its events. */
async function sent(ids: readonly string[], confirmed = true): Promise<TestDownlinks> {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = { outcome: 'taken', holdsNext: true }
  for (const id of ids) await send(downlinks, id, confirmed)
  await downlinks.settle()
  return downlinks
}

/** Commands at a network server that names commands, and takes one after the other. */
async function sentAtOnce(ids: readonly string[], confirmed = true): Promise<TestDownlinks> {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = { outcome: 'taken' }
  for (const id of ids) await send(downlinks, id, confirmed)
  await downlinks.settle()
  return downlinks
}

async function send(downlinks: TestDownlinks, id: string, confirmed: boolean): Promise<void> {
  const target = { applicationId: '5', devEui: DEVICE }
  const answer = await downlinks.commands.submit(target, readCommand({ confirmed, fPort: 10, data: 'AQID', id }))
  assert.ok(answer.ok)
}

/** Lets an event pass, and everything that follows from it. */
async function hear(downlinks: TestDownlinks, kind: string, event: object): Promise<void> {
  tell(downlinks, kind, event)
  await downlinks.settle()
}

/** Lets an event pass; false when it goes on unchanged. */
function tell(downlinks: TestDownlinks, kind: string, event: string | object, devEui = DEVICE): boolean {
  assert.ok(downlinks.events.wants(topicOf(kind)))
  const payload = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event))
  const told = downlinks.events.apply({ devEui, kind, payload })
  if (told === payload) return false
  downlinks.published.push({ topicName: topicOf(kind), payload: told, qos: 1 })
  return true
}

function topicOf(kind: string): string {
  return `application/5/device/${DEVICE}/event/${kind}`
}

function commandIdIn(payload: Buffer): unknown {
  return (JSON.parse(payload.toString()) as { commandId?: unknown }).commandId
}

function standing(downlinks: TestDownlinks): string[] {
  const items = downlinks.commands.list('1', DEVICE)
  return items.map(({ content, state, fCnt }) =>
    [content.id, state, fCnt].filter((part) => part !== undefined).join(' '),
  )
}
