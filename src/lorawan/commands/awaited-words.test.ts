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

describe('a command about which the network server says nothing', () => {
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

  it('takes the state that the network server reports later', async () => {
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

  it('stays sent when a gateway has sent it and it asks for no acknowledgement', async () => {
    const downlinks = await sent(['a'])
    tell(downlinks, 'txack', { queueItemId: downlinkIdOf(DEVICE, 'a'), fCntDown: 3 })
    await pass(downlinks, 2 * WORD_WAIT_MS)
    assert.deepEqual(standing(downlinks), ['a sent'])
  })

  it('is unconfirmed after two uplinks of its device without an event about any of its commands', async () => {
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

  it('is not unconfirmed while it waits behind a command that the device has not acknowledged', async () => {
    const downlinks = await sent(['a', 'b'], { confirmed: true })
    tell(downlinks, 'txack', { queueItemId: downlinkIdOf(DEVICE, 'a'), fCntDown: 3 })
    for (let uplinks = 0; uplinks < 4; uplinks += 1) {
      await uplink(downlinks)
      await pass(downlinks, 30_000)
    }
    assert.deepEqual(standing(downlinks), ['b sent', 'a sent'])
  })

  it('is not unconfirmed by uplinks that came before it', async () => {
    const downlinks = await sent(['a'])
    await uplink(downlinks)
    await pass(downlinks, 30_000)
    await send(downlinks, 'b')
    await uplink(downlinks)
    await pass(downlinks, 30_000)
    assert.deepEqual(standing(downlinks), ['b sent', 'a unconfirmed'])
  })

  it('is still awaited after a restart', async () => {
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

  it('becomes unconfirmed with at most 199 others in one tick', async () => {
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
  it('waits for the event about the one before it, and can be cancelled meanwhile', async () => {
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

  it('is cancelled by a flush, which lists the commands that the network server has', async () => {
    const downlinks = await sent(['a', 'b'], { answer: TAKEN_ALONE })
    const target = { applicationId: '5', devEui: DEVICE }
    assert.deepEqual(await downlinks.commands.flush('1', target), { cancelled: ['b'], sent: ['a'] })
    await pass(downlinks, WORD_WAIT_MS)
    assert.deepEqual(await downlinks.commands.flush('1', target), { cancelled: [], sent: ['a'] })
  })

  it('is handed over when there was no event about the one before it for too long', async () => {
    const downlinks = await sent(['a', 'b'], { answer: TAKEN_ALONE })
    await pass(downlinks, WORD_WAIT_MS)
    assert.deepEqual(standing(downlinks), ['b sent', 'a unconfirmed'])
  })

  it('is handed over after 5 s if the network server never reported on a command, and the later ones at once', async () => {
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

  it('still waits after a restart if the network server is known to report on commands', async () => {
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

  it('is handed over when the network server has discarded the one before it', async () => {
    const downlinks = await sent(['a', 'b'], { answer: TAKEN_ALONE })
    tell(downlinks, 'error', { type: 'DOWNLINK_PAYLOAD_SIZE', error: 'too long', fCnt: 7 })
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b sent', 'a failed'])
  })

  it('still waits after a restart', async () => {
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

  it('never gets an event about an earlier silent command, and the command after it gets its own events again', async () => {
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

  it('does not get an event about an earlier command after a day either', async () => {
    const downlinks = await sent(['lost', 'b'], { answer: TAKEN_ALONE })
    for (let days = 0; days < 3; days += 1) await pass(downlinks, 24 * 3_600_000)
    assert.equal(tell(downlinks, 'txack', { fCnt: 7 }), false)
  })

  it('does not count as on offer while it waits, and holds up no other device', async () => {
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
