import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCommand } from './command.ts'
import { downlinkIdOf } from './downlink-item.ts'
import { DEVICE, MemoryState, openTestDownlinks, OTHER_DEVICE, WORD_WAIT_MS } from './downlinks.testing.ts'
import type { TestDownlinks } from './downlinks.testing.ts'

/** The answer of a network server that names commands in its events. */
const TAKEN = { outcome: 'taken' } as const
/** The answer of a network server that names no commands in its events. */
const TAKEN_ALONE = { outcome: 'taken', holdsNext: true } as const

describe('a command of which the network server says nothing', () => {
  it('is unconfirmed after a time, and its sender is told once', async () => {
    const downlinks = await sent(['a'])
    await pass(downlinks, WORD_WAIT_MS - 1)
    assert.deepEqual(standing(downlinks), ['a sent'])
    await pass(downlinks, 1)
    await pass(downlinks, WORD_WAIT_MS)
    assert.deepEqual(standing(downlinks), ['a unconfirmed'])
    assert.deepEqual(
      downlinks.told('/event/error').map(({ commandId, code, error }) => [commandId, code, error]),
      [['a', 'command_unconfirmed', 'the network server has said nothing of the command for 3600 s']],
    )
    assert.equal(downlinks.numbers()['unconfirmed'], 1)
  })

  it('is what the network server says of it later', async () => {
    const downlinks = await sent(['a', 'b', 'c'], { confirmed: true })
    await pass(downlinks, WORD_WAIT_MS)
    tell(downlinks, 'txack', { queueItemId: downlinkIdOf(DEVICE, 'a'), fCntDown: 3 })
    tell(downlinks, 'ack', { queueItemId: downlinkIdOf(DEVICE, 'b'), acknowledged: true, fCntDown: 4 })
    tell(downlinks, 'log', { level: 'ERROR', code: 'EXPIRED', context: { queue_item_id: downlinkIdOf(DEVICE, 'c') } })
    assert.deepEqual(standing(downlinks), ['c expired', 'b acknowledged', 'a sent'])
    assert.deepEqual(downlinks.commands.list('1', DEVICE).at(-1)?.failure, undefined)
    // A gateway has sent the first command; from then on its acknowledgement is awaited.
    await pass(downlinks, WORD_WAIT_MS)
    assert.deepEqual(standing(downlinks), ['c expired', 'b acknowledged', 'a unconfirmed'])
    assert.match(
      String(downlinks.told('/event/error').at(-1)?.['description']),
      /has sent the command, and has not said/,
    )
  })

  it('stays as it is where a gateway has sent it, and no acknowledgement is asked for', async () => {
    const downlinks = await sent(['a'])
    tell(downlinks, 'txack', { queueItemId: downlinkIdOf(DEVICE, 'a'), fCntDown: 3 })
    await pass(downlinks, 2 * WORD_WAIT_MS)
    assert.deepEqual(standing(downlinks), ['a sent'])
  })

  it('is unconfirmed when its device has sent two uplinks, and nothing was said of any of its commands after them', async () => {
    const downlinks = await sent(['a', 'b'])
    await uplink(downlinks)
    // The first command goes out with an uplink; the second may have waited behind it.
    tell(downlinks, 'txack', { queueItemId: downlinkIdOf(DEVICE, 'a'), fCntDown: 3 })
    await pass(downlinks, 30_000)
    await uplink(downlinks)
    await pass(downlinks, 30_000)
    assert.deepEqual(standing(downlinks), ['b sent', 'a sent'])
    await uplink(downlinks)
    await pass(downlinks, 9_000)
    assert.deepEqual(standing(downlinks), ['b sent', 'a sent'])
    await pass(downlinks, 1_000)
    assert.deepEqual(standing(downlinks), ['b unconfirmed', 'a sent'])
    assert.match(String(downlinks.told('/event/error')[0]?.['description']), /though the device has sent 2 uplinks/)
  })

  it('may wait behind one that the device has not acknowledged yet', async () => {
    const downlinks = await sent(['a', 'b'], { confirmed: true })
    tell(downlinks, 'txack', { queueItemId: downlinkIdOf(DEVICE, 'a'), fCntDown: 3 })
    for (let uplinks = 0; uplinks < 4; uplinks += 1) {
      await uplink(downlinks)
      await pass(downlinks, 30_000)
    }
    assert.deepEqual(standing(downlinks), ['b sent', 'a sent'])
  })

  it('is no uplink’s that came before it', async () => {
    const downlinks = await sent(['a'])
    await uplink(downlinks)
    await pass(downlinks, 30_000)
    await send(downlinks, 'b')
    await uplink(downlinks)
    await pass(downlinks, 30_000)
    assert.deepEqual(standing(downlinks), ['b sent', 'a unconfirmed'])
  })

  it('is awaited over a restart as well', async () => {
    const state = new MemoryState()
    const before = await openTestDownlinks({ state })
    before.server.answer = TAKEN
    await send(before, 'a')
    const downlinks = await openTestDownlinks({ state })
    downlinks.clock.advance(WORD_WAIT_MS)
    downlinks.tick()
    assert.deepEqual(standing(downlinks), ['a unconfirmed'])
    const again = await openTestDownlinks({ state })
    assert.deepEqual(standing(again), ['a unconfirmed'])
  })

  it('is one of at most 200 that are told of in one tick', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = TAKEN
    for (const devEui of devices(downlinks, 201)) await send(downlinks, 'a', { devEui })
    await pass(downlinks, WORD_WAIT_MS)
    assert.equal(downlinks.numbers()['unconfirmed'], 200)
    await pass(downlinks, 1_000)
    assert.equal(downlinks.numbers()['unconfirmed'], 201)
  })
})

describe('the next command, where the network server names none in its events', () => {
  it('waits for the word on the one before it, and can be cancelled meanwhile', async () => {
    const downlinks = await sent(['a', 'b', 'c'], { answer: TAKEN_ALONE })
    assert.deepEqual(standing(downlinks), ['b queued', 'c queued', 'a sent'])
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'b'), 'cancelled')
    tell(downlinks, 'txack', { fCnt: 7 })
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['c sent', 'b cancelled', 'a sent'])
    assert.deepEqual(
      downlinks.server.offered.map(({ id }) => id),
      ['a', 'c'].map((id) => downlinkIdOf(DEVICE, id)),
    )
  })

  it('is cancelled by a flush, which tells what the network server has', async () => {
    const downlinks = await sent(['a', 'b'], { answer: TAKEN_ALONE })
    const target = { applicationId: '5', devEui: DEVICE }
    assert.deepEqual(await downlinks.commands.flush('1', target), { cancelled: ['b'], sent: ['a'] })
    await pass(downlinks, WORD_WAIT_MS)
    assert.deepEqual(await downlinks.commands.flush('1', target), { cancelled: [], sent: ['a'] })
  })

  it('goes when nothing was said of the one before it for too long', async () => {
    const downlinks = await sent(['a', 'b'], { answer: TAKEN_ALONE })
    await pass(downlinks, WORD_WAIT_MS)
    assert.deepEqual(standing(downlinks), ['b sent', 'a unconfirmed'])
  })

  it('goes after 5 s where the network server was never seen to tell of a command, and those behind it at once', async () => {
    const downlinks = await sent(['a', 'b', 'c'], { answer: TAKEN_ALONE })
    await pass(downlinks, 4_999)
    assert.deepEqual(standing(downlinks), ['b queued', 'c queued', 'a sent'])
    for (const id of ['x', 'y']) await send(downlinks, id, { devEui: OTHER_DEVICE })
    await pass(downlinks, 1)
    assert.deepEqual(standing(downlinks), ['c sent', 'b sent', 'a sent'])
    await pass(downlinks, 5_000)
    assert.equal(downlinks.server.offered.length, 5)
    // The first event could be about either command.
    assert.equal(tell(downlinks, 'txack', { fCnt: 7 }), false)
  })

  it('is known to be told of after a restart, too', async () => {
    const state = new MemoryState()
    const before = await openTestDownlinks({ state })
    before.server.answer = TAKEN_ALONE
    for (const id of ['one', 'two', 'b', 'c']) await send(before, id)
    await tellOfTwo(before)
    before.close()
    const downlinks = await openTestDownlinks({ state })
    await pass(downlinks, 10_000)
    assert.deepEqual(standing(downlinks), ['c queued', 'b sent', 'two sent', 'one sent'])
  })

  it('goes when the network server has discarded the one before it', async () => {
    const downlinks = await sent(['a', 'b'], { answer: TAKEN_ALONE })
    tell(downlinks, 'error', { type: 'DOWNLINK_PAYLOAD_SIZE', error: 'too long', fCnt: 7 })
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b sent', 'a failed'])
  })

  it('waits over a restart as well', async () => {
    const state = new MemoryState()
    const before = await openTestDownlinks({ state })
    before.server.answer = TAKEN_ALONE
    for (const id of ['a', 'b']) await send(before, id)
    before.close()
    const downlinks = await openTestDownlinks({ state })
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b queued', 'a sent'])
    tell(downlinks, 'txack', { fCnt: 7 })
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b sent', 'a sent'])
  })

  it('is never told what became of one that nothing was said of, and the one after it is told its own again', async () => {
    const downlinks = await sent(['one', 'two', 'lost', 'b', 'c'], { answer: TAKEN_ALONE })
    await tellOfTwo(downlinks)
    for (let uplinks = 0; uplinks < 2; uplinks += 1) {
      await uplink(downlinks)
      await pass(downlinks, 30_000)
    }
    assert.deepEqual(standing(downlinks), ['c queued', 'b sent', 'lost unconfirmed', 'two sent', 'one sent'])
    // The event could be about either command.
    tell(downlinks, 'txack', { fCnt: 7 })
    assert.deepEqual(downlinks.told('/event/txack').at(-1), { fCnt: 7 })
    for (let uplinks = 0; uplinks < 2; uplinks += 1) {
      await uplink(downlinks)
      await pass(downlinks, 30_000)
    }
    assert.deepEqual(standing(downlinks), ['c sent', 'b unconfirmed', 'lost unconfirmed', 'two sent', 'one sent'])
    tell(downlinks, 'txack', { fCnt: 8 })
    assert.deepEqual(downlinks.told('/event/txack').at(-1), { commandId: 'c', fCnt: 8 })
  })

  it('is not told what became of one before it after a day either', async () => {
    const downlinks = await sent(['lost', 'b'], { answer: TAKEN_ALONE })
    for (let days = 0; days < 3; days += 1) await pass(downlinks, 24 * 3_600_000)
    assert.equal(tell(downlinks, 'txack', { fCnt: 7 }), false)
  })

  it('does not count as on offer: what waits for words holds up no other device', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = TAKEN_ALONE
    for (const devEui of devices(downlinks, 2_001)) await send(downlinks, 'a', { devEui })
    await downlinks.settle()
    assert.equal(downlinks.server.offered.length, 2_001)
  })
})

describe('the next command, where the network server handles commands side by side', () => {
  it('follows after the time that it asks for, and holds up no other device', async () => {
    const downlinks = await sent(['a', 'b'], { answer: { outcome: 'taken', nextAfterMs: 250 } })
    await send(downlinks, 'x', { devEui: OTHER_DEVICE })
    assert.deepEqual([standing(downlinks), downlinks.server.offered.length], [['b queued', 'a sent'], 2])
    downlinks.clock.advance(249)
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b queued', 'a sent'])
    downlinks.clock.advance(1)
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b sent', 'a sent'])
  })

  it('is not handed over when the service closes meanwhile', async () => {
    const downlinks = await sent(['a', 'b'], { answer: { outcome: 'taken', nextAfterMs: 250 } })
    downlinks.close()
    downlinks.clock.advance(250)
    await downlinks.settle()
    assert.equal(downlinks.server.offered.length, 1)
  })
})

async function sent(
  ids: readonly string[],
  { answer = TAKEN, confirmed = false }: { answer?: TestDownlinks['server']['answer']; confirmed?: boolean } = {},
): Promise<TestDownlinks> {
  const downlinks = await openTestDownlinks()
  downlinks.server.answer = answer
  for (const id of ids) await send(downlinks, id, { confirmed })
  await downlinks.settle()
  return downlinks
}

async function send(downlinks: TestDownlinks, id: string, { confirmed = false, devEui = DEVICE } = {}): Promise<void> {
  const read = readCommand({ confirmed, fPort: 10, data: 'AQID', id })
  const answer = await downlinks.commands.submit({ applicationId: '5', devEui }, read)
  assert.ok(answer.ok)
  await downlinks.settle()
}

/** The DevEUIs of this many devices of the organization. */
function devices(downlinks: TestDownlinks, count: number): string[] {
  const devEuis = Array.from({ length: count }, (_, index) => index.toString(16).padStart(16, '0'))
  for (const devEui of devEuis) {
    downlinks.devices.set(devEui, { applicationId: '5', organizationId: '1', isDisabled: false })
  }
  return devEuis
}

/** The device is heard of, some time after everything before. */
async function uplink(downlinks: TestDownlinks): Promise<void> {
  downlinks.clock.advance(5_000)
  downlinks.heard.set(DEVICE, downlinks.clock.now())
  downlinks.tick()
  await downlinks.settle()
}

async function pass(downlinks: TestDownlinks, ms: number): Promise<void> {
  downlinks.clock.advance(ms)
  downlinks.tick()
  await downlinks.settle()
}

/** Lets an event pass; false when it goes on unchanged. */
function tell(downlinks: TestDownlinks, kind: string, event: object): boolean {
  const payload = Buffer.from(JSON.stringify(event))
  const told = downlinks.events.apply({ devEui: DEVICE, kind, payload })
  downlinks.published.push({ topicName: `application/5/device/${DEVICE}/event/${kind}`, payload: told, qos: 1 })
  return told !== payload
}

/** Lets two events about commands pass: then the network server is known to report on commands. */
async function tellOfTwo(downlinks: TestDownlinks): Promise<void> {
  for (const fCnt of [1, 2]) {
    tell(downlinks, 'txack', { fCnt })
    await downlinks.settle()
  }
}

function standing(downlinks: TestDownlinks): string[] {
  return downlinks.commands.list('1', DEVICE).map(({ content, state }) => `${content.id} ${state}`)
}
