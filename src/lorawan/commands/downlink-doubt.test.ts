/** Network servers that give downlinks ids of their own, and whose answers may get lost. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { readCommand } from './command.ts'
import { AWAY, DEVICE, MemoryState, openTestDownlinks, OTHER_DEVICE, TestNetworkServer } from './downlinks.testing.ts'
import type { TestDownlinks } from './downlinks.testing.ts'
import type { HandOverAnswer } from './network-server.ts'

const LOST: HandOverAnswer = { outcome: 'away', reason: 'no answer', isInDoubt: true }
const ONE = '11111111-0000-4000-8000-000000000001'
const TWO = '22222222-0000-4000-8000-000000000002'

let state: MemoryState
let server: TestNetworkServer
let downlinks: TestDownlinks

beforeEach(async () => {
  state = new MemoryState()
  server = new TestNetworkServer()
  server.givesIds = true
  downlinks = await openTestDownlinks({ state, server })
})

describe('a command to which its network server gives an id', () => {
  it('is known by that id, also after a restart', async () => {
    server.answer = taken(ONE)
    await send('a')
    await downlinks.settle()
    const again = await openTestDownlinks({ state, server })
    for (const opened of [downlinks, again]) {
      assert.equal(tell(opened, 'txack', { queueItemId: ONE.toUpperCase(), fCntDown: 7 }), 'a')
      assert.equal(tell(opened, 'ack', { queueItemId: ONE, acknowledged: true, fCntDown: 7 }), 'a')
      assert.deepEqual(standing(opened), ['a acknowledged'])
      assert.equal(tell(opened, 'txack', { queueItemId: TWO, fCntDown: 8 }), undefined)
    }
  })

  it('is found for an event that comes before the answer: the event waits for the answer', async () => {
    const answer = Promise.withResolvers<HandOverAnswer>()
    server.answer = () => answer.promise
    await send('a')
    await downlinks.settle()
    const naming = downlinks.events.named(eventOf('txack', { queueItemId: ONE, fCntDown: 7 }))
    assert.ok(naming !== undefined)
    // No command of another device is on offer, and an event that names no downlink needs no id.
    assert.equal(downlinks.events.named({ ...eventOf('txack', { queueItemId: ONE }), devEui: OTHER_DEVICE }), undefined)
    assert.equal(downlinks.events.named(eventOf('ack', { fCnt: 7 })), undefined)
    answer.resolve(taken(ONE))
    await naming
    assert.equal(tell(downlinks, 'txack', { queueItemId: ONE, fCntDown: 7 }), 'a')
    assert.equal(downlinks.clock.pending, 0)
  })

  it('gets the events that came while its answer took too long', async () => {
    const answer = Promise.withResolvers<HandOverAnswer>()
    server.answer = () => answer.promise
    await send('a')
    await downlinks.settle()
    const naming = downlinks.events.named(eventOf('txack', { queueItemId: ONE }))
    downlinks.clock.advance(2_000)
    await naming
    assert.equal(tell(downlinks, 'txack', { queueItemId: ONE, fCntDown: 7 }), undefined)
    assert.equal(tell(downlinks, 'ack', { queueItemId: ONE, acknowledged: true, fCntDown: 7 }), undefined)
    answer.resolve(taken(ONE))
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['a acknowledged'])
    assert.equal(list()[0]?.fCnt, 7)
    assert.notEqual(list()[0]?.transmittedAtMs, 0)
  })
})

describe('a command whose offer got no answer', () => {
  it('is offered in doubt the next time, with the ids of other commands and those that events have named', async () => {
    server.answer = taken(ONE)
    await send('a')
    await downlinks.settle()
    server.answer = LOST
    await send('b')
    await downlinks.settle()
    tell(downlinks, 'log', { level: 'ERROR', code: 'DOWNLINK_PAYLOAD_SIZE', context: { queue_item_id: TWO } })
    downlinks.clock.advance(5_000)
    server.answer = taken(TWO)
    downlinks.ready()
    await downlinks.settle()
    await downlinks.settle()
    const [first, second, third] = server.offered
    assert.deepEqual([first?.doubt, second?.doubt], [undefined, undefined])
    assert.deepEqual(third?.doubt, { forMs: 5_000, otherIds: new Set([ONE]), unclaimedIds: [TWO] })
    assert.deepEqual(standing(downlinks), ['b failed', 'a sent'])
    assert.equal(downlinks.told('/event/error')[0]?.['commandId'], 'b')
  })

  it('is in doubt after it was read from disk, because it may have been on offer', async () => {
    server.answer = AWAY
    await send('a')
    await downlinks.settle()
    const again = await openTestDownlinks({ state, server })
    await again.settle()
    assert.deepEqual(
      server.offered.map(({ doubt }) => doubt?.forMs),
      [undefined, 0],
    )
  })

  it('leaves nothing behind when it is refused after all', async () => {
    server.answer = LOST
    await send('a')
    await downlinks.settle()
    tell(downlinks, 'txack', { queueItemId: TWO, fCntDown: 1 })
    server.answer = { outcome: 'refused', reason: 'no' }
    downlinks.ready()
    await downlinks.settle()
    server.answer = LOST
    await send('b')
    await downlinks.settle()
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(server.offered.at(-1)?.doubt?.unclaimedIds, [])
  })

  it('does not get events about a downlink before it', async () => {
    assert.equal(tell(downlinks, 'txack', { queueItemId: TWO, fCntDown: 1 }), undefined)
    server.answer = LOST
    await send('a')
    await downlinks.settle()
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(server.offered.at(-1)?.doubt?.unclaimedIds, [])
  })
})

describe('a network server that is away', () => {
  it('is offered each device’s command once until it calls', async () => {
    server.answer = AWAY
    await send('a')
    await send('b')
    for (let turns = 0; turns < 5; turns += 1) await downlinks.settle()
    assert.equal(server.offered.length, 1)
    downlinks.ready()
    await downlinks.settle()
    assert.equal(server.offered.length, 2)
  })

  it('for some devices only is offered the commands of the others', async () => {
    const devEuis = Array.from({ length: 20 }, (_, index) => index.toString(16).padStart(16, '0'))
    for (const devEui of devEuis) {
      downlinks.devices.set(devEui, { applicationId: '5', organizationId: '1', isDisabled: false })
    }
    server.answer = { outcome: 'away', reason: 'not this one', isOfDevice: true }
    for (const devEui of devEuis) await send('a', {}, devEui)
    await downlinks.settle()
    assert.equal(server.offered.length, 20)
    server.answer = taken(ONE)
    await send('b')
    await downlinks.settle()
    assert.deepEqual(standing(downlinks), ['b sent'])
  })
})

describe('the queue of a device that is emptied', () => {
  it('cancels the commands that the network server has forgotten, and lists those that it could not recall', async () => {
    const answers = [taken(ONE), taken(TWO)]
    server.answer = () => answers.shift() ?? AWAY
    for (const id of ['a', 'b', 'c']) await send(id)
    await downlinks.settle()
    server.recalled = [TWO, 'of somebody else']
    const target = { applicationId: '5', devEui: DEVICE }
    assert.deepEqual(await downlinks.commands.flush('1', target), { cancelled: ['b', 'c'], sent: ['a'] })
    assert.deepEqual(standing(downlinks), ['c cancelled', 'b cancelled', 'a sent'])
    assert.deepEqual(
      downlinks.told('/event/error').map(({ commandId, code }) => [commandId, code]),
      [
        ['c', 'command_cancelled'],
        ['b', 'command_cancelled'],
      ],
    )
  })

  it('does not hide the fate of a command that had been sent just before', async () => {
    server.answer = taken(ONE)
    await send('a')
    await downlinks.settle()
    server.recalled = [ONE]
    await downlinks.commands.flush('1', { applicationId: '5', devEui: DEVICE })
    assert.deepEqual(standing(downlinks), ['a cancelled'])
    assert.equal(tell(downlinks, 'txack', { queueItemId: ONE, fCntDown: 3 }), 'a')
    assert.deepEqual(standing(downlinks), ['a sent'])
  })

  it('by a command that replaces: the commands that the network server has forgotten are replaced', async () => {
    server.answer = taken(ONE)
    await send('a')
    await downlinks.settle()
    server.answer = { outcome: 'taken', networkServerItemId: TWO, recalledIds: [ONE] }
    await send('b', { replace: true })
    await downlinks.settle()
    assert.deepEqual([server.offered.at(-1)?.replaces, server.flushed], [true, []])
    assert.deepEqual(standing(downlinks), ['b sent', 'a cancelled'])
    assert.deepEqual(
      downlinks.told('/event/error').map(({ commandId, code }) => [commandId, code]),
      [['a', 'command_replaced']],
    )
  })
})

describe('a command of an object', () => {
  it('goes unchanged to a network server with codecs when the application has none', async () => {
    server.takesObjects = true
    const object = { valve: 'open', nested: [1, { two: null }] }
    await send('a', { data: undefined, object })
    // If a command has both, its bytes go: without a codec here the sender means them.
    await send('b', { object })
    await downlinks.settle()
    assert.deepEqual(
      server.offered.map((downlink) => [downlink.data?.toString('hex'), downlink.object]),
      [
        [undefined, object],
        ['010203', undefined],
      ],
    )
    const again = await openTestDownlinks({ state, server: new TestNetworkServer() })
    assert.deepEqual(again.commands.list('1', DEVICE).at(-1)?.content.object, object)
    // The same object again is a repetition, another object is not.
    assert.equal((await send('a', { data: undefined, object })).ok, true)
    assert.equal((await send('a', { data: undefined, object: { valve: 'shut' } })).ok, false)
  })

  it('goes to any network server when the application passes objects on, and has no codec', async () => {
    const object = { valve: 'open' }
    downlinks.codecs.set('5', { codec: '', encoderScript: '', passesObjects: true })
    assert.equal((await send('a', { data: undefined, object })).ok, true)
    await downlinks.settle()
    assert.deepEqual(
      server.offered.map((downlink) => [downlink.data, downlink.object]),
      [[undefined, object]],
    )
  })

  it('is refused in plain words when nobody has a codec', async () => {
    const answer = await send('a', { data: undefined, object: { valve: { 1: 1 } } })
    assert.ok(!answer.ok)
    assert.deepEqual(
      [answer.code, answer.message],
      [
        'command_codec_missing',
        'object: neither the application nor its network server has a codec for it; send data, or set objectCommands of the application if its network server has a codec',
      ],
    )
  })
})

function taken(networkServerItemId: string): HandOverAnswer {
  return { outcome: 'taken', networkServerItemId }
}

async function send(id: string, members: Readonly<Record<string, unknown>> = {}, devEui = DEVICE) {
  const { data = 'AQID', ...others } = { ...members }
  const bytes = 'data' in members && members['data'] === undefined ? {} : { data }
  const command = readCommand({ id, confirmed: true, fPort: 10, ...bytes, ...others })
  return downlinks.commands.submit({ applicationId: '5', devEui }, command)
}

function eventOf(kind: string, members: Readonly<Record<string, unknown>>) {
  return { devEui: DEVICE, kind, payload: Buffer.from(JSON.stringify({ deviceInfo: { devEui: DEVICE }, ...members })) }
}

/** Lets an event pass; returns the command's id in it. */
function tell(opened: TestDownlinks, kind: string, members: Readonly<Record<string, unknown>>): unknown {
  const payload = opened.events.apply(eventOf(kind, members))
  return (JSON.parse(payload.toString()) as { readonly commandId?: string }).commandId
}

function list() {
  return downlinks.commands.list('1', DEVICE)
}

function standing(opened: TestDownlinks): string[] {
  return opened.commands.list('1', DEVICE).map(({ content, state: where }) => `${content.id} ${where}`)
}
