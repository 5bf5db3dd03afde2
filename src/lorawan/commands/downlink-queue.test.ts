import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { downlinkIdOf } from './downlink-item.ts'
import { DOWNLINK_QUEUE_LIMITS } from './downlink-queue-limits.ts'
import { AWAY, DEVICE, MemoryState, openTestDownlinks, OTHER_DEVICE, TestNetworkServer } from './downlinks.testing.ts'
import type { TestDownlinks } from './downlinks.testing.ts'
import { readCommand } from './command.ts'
import type { CommandAnswer } from './commands.ts'

describe('a command in the queue', () => {
  it('is stored before it is accepted, and handed over after that', async () => {
    const downlinks = await openTestDownlinks()
    const release = downlinks.state.hold()
    const answer = send(downlinks, { id: 'a' })
    await downlinks.settle()
    assert.deepEqual([downlinks.server.offered.length, downlinks.state.entries.size], [0, 0])
    release()
    assert.deepEqual(await answer, { ok: true, id: 'a', state: 'queued', isRepeated: false })
    await downlinks.settle()
    assert.equal(downlinks.server.offered[0]?.id, downlinkIdOf(DEVICE, 'a'))
    assert.deepEqual(states(downlinks), ['a sent'])
  })

  it('is refused when it can not be stored, and leaves nothing behind', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.state.isFailing = true
    const answer = await send(downlinks, { id: 'a' })
    assert.ok(!answer.ok)
    assert.deepEqual([answer.code, answer.reasonCode], ['command_not_stored', 0x97])
    await downlinks.settle()
    assert.deepEqual([downlinks.server.offered.length, states(downlinks)], [0, []])
    downlinks.state.isFailing = false
    assert.ok((await send(downlinks, { id: 'a' })).ok)
  })

  it('waits for a network server that is away, and goes in order when it is ready', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b', 'c']) await send(downlinks, { id })
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['a queued', 'b queued', 'c queued'])
    downlinks.server.offered.length = 0
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(
      downlinks.server.offered.map(({ id }) => id),
      ['a', 'b', 'c'].map((id) => downlinkIdOf(DEVICE, id)),
    )
  })

  it('is offered again after a time without a call of the network server', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.tick()
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['a queued'])
    downlinks.clock.advance(10_000)
    downlinks.tick()
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['a sent'])
  })

  it('goes before others of a lower priority, and behind those of its own', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'low', priority: -1 })
    await send(downlinks, { id: 'first' })
    await send(downlinks, { id: 'high', priority: 5 })
    await send(downlinks, { id: 'second' })
    await downlinks.settle()
    assert.deepEqual(ids(downlinks), ['high', 'first', 'second', 'low'])
  })

  it('waits while the one before it is with the network server', async () => {
    const downlinks = await openTestDownlinks()
    const first = Promise.withResolvers<{ outcome: 'taken' }>()
    downlinks.server.answer = () => first.promise
    for (const id of ['a', 'b']) await send(downlinks, { id })
    await downlinks.settle()
    assert.equal(downlinks.server.offered.length, 1)
    // Another device does not wait.
    await send(downlinks, { id: 'x' }, OTHER_DEVICE)
    await downlinks.settle()
    assert.equal(downlinks.server.offered.length, 2)
    first.resolve({ outcome: 'taken' })
    await downlinks.settle()
    assert.equal(downlinks.server.offered.length, 3)
  })

  it('fails when the network server refuses it, and holds up no other', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = ({ id }) =>
      id === downlinkIdOf(DEVICE, 'a') ? { outcome: 'refused', reason: 'fPort 225 is reserved' } : { outcome: 'taken' }
    for (const id of ['a', 'b']) await send(downlinks, { id })
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['b sent', 'a failed'])
    assert.deepEqual(
      downlinks.told('/event/error').map(({ commandId, code, error }) => [commandId, code, error]),
      [['a', 'command_refused', 'fPort 225 is reserved']],
    )
  })

  it('waits while its device is disabled, and holds up no other device', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.devices.set(DEVICE, { applicationId: '5', organizationId: '1', isDisabled: true })
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.ready()
    await send(downlinks, { id: 'x' }, OTHER_DEVICE)
    await downlinks.settle()
    assert.deepEqual([states(downlinks), states(downlinks, OTHER_DEVICE)], [['a queued'], ['x sent']])
    downlinks.devices.set(DEVICE, { applicationId: '5', organizationId: '1', isDisabled: false })
    downlinks.clock.advance(10_000)
    downlinks.tick()
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['a sent'])
  })
})

describe('the same id', () => {
  it('with the same content is one command, also while the first is on its way to the disk', async () => {
    const downlinks = await openTestDownlinks()
    const release = downlinks.state.hold()
    const answers = [send(downlinks, { id: 'a' }), send(downlinks, { id: 'a' })]
    release()
    assert.deepEqual(
      (await Promise.all(answers)).map((answer) => answer.ok && answer.isRepeated),
      [false, true],
    )
    await downlinks.settle()
    const third = await send(downlinks, { id: 'a' })
    assert.deepEqual(third, { ok: true, id: 'a', state: 'sent', isRepeated: true })
    assert.equal(downlinks.server.offered.length, 1)
  })

  it('with another content is refused, so that neither command is silently lost', async () => {
    const downlinks = await openTestDownlinks()
    await send(downlinks, { id: 'a' })
    for (const other of [{ data: 'AQIE' }, { fPort: 11 }, { confirmed: true }]) {
      const answer = await send(downlinks, { id: 'a', ...other })
      assert.ok(!answer.ok)
      assert.deepEqual([answer.code, answer.member, answer.reasonCode], ['command_id_taken', 'id', 0x99])
    }
  })

  it('for another device, or without an id, is another command, however soon it comes', async () => {
    const downlinks = await openTestDownlinks()
    await Promise.all([send(downlinks, { id: 'a' }), send(downlinks, { id: 'a' }, OTHER_DEVICE)])
    await Promise.all([send(downlinks, {}), send(downlinks, {})])
    await downlinks.settle()
    assert.equal(downlinks.server.offered.length, 4)
  })

  it('becomes a UUID for network servers: always the same, and another one for each device', () => {
    const uuid = '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d'
    const id = downlinkIdOf(DEVICE, 'valve-7')
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(downlinkIdOf(DEVICE, uuid), downlinkIdOf(DEVICE, uuid.toUpperCase()))
    const all = ['valve-7', 'valve-8', uuid].flatMap((one) => [
      downlinkIdOf(DEVICE, one),
      downlinkIdOf(OTHER_DEVICE, one),
    ])
    assert.equal(new Set(all).size, 6)
  })
})

describe('a restart', () => {
  it('keeps the waiting commands in order, and offers no taken command again', async () => {
    const before = await openTestDownlinks()
    await send(before, { id: 'taken' })
    await before.settle()
    before.server.answer = AWAY
    await send(before, { id: 'a' })
    await send(before, { id: 'b', priority: 1 })
    await before.settle()
    before.close()
    const server = new TestNetworkServer()
    const after = await openTestDownlinks({ state: before.state, server })
    await after.settle()
    assert.deepEqual(
      server.offered.map(({ id }) => id),
      ['b', 'a'].map((id) => downlinkIdOf(DEVICE, id)),
    )
    assert.deepEqual(states(after), ['a sent', 'b sent', 'taken sent'])
    const again = await send(after, { id: 'taken' })
    assert.deepEqual(again, { ok: true, id: 'taken', state: 'sent', isRepeated: true })
  })

  it('at any moment loses no accepted command, and offers none again that is stored as taken', async () => {
    let offers = 0
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom('send', 'take', 'leave', 'restart', 'ready'), { minLength: 5, maxLength: 60 }),
      async (steps) => {
        const state = new MemoryState()
        const accepted: string[] = []
        const taken = new Set<string>()
        let downlinks = await openTestDownlinks({ state })
        downlinks.server.answer = AWAY
        for (const step of [...steps, 'take', 'ready'] as const) {
          const { server } = downlinks
          if (step === 'send') {
            const id = `c${accepted.length}`
            const answer = await send(downlinks, { id })
            if (answer.ok) accepted.push(id)
          } else if (step === 'take') {
            server.answer = ({ id }) => {
              assert.ok(!taken.has(id), `${id} was taken already`)
              offers += 1
              taken.add(id)
              return { outcome: 'taken' }
            }
          } else if (step === 'leave') server.answer = AWAY
          else if (step === 'ready') downlinks.ready()
          else {
            downlinks.close()
            const fresh = new TestNetworkServer()
            fresh.answer = AWAY
            downlinks = await openTestDownlinks({ state, server: fresh })
          }
          await downlinks.settle()
        }
        assert.deepEqual([...taken].toSorted(), accepted.map((id) => downlinkIdOf(DEVICE, id)).toSorted())
        // They are in order: the listing has the latest first.
        assert.deepEqual(ids(downlinks), accepted.toReversed())
      },
    )
    await fc.assert(property, { numRuns: 60 })
    assert.ok(offers > 100, `${offers} offers`)
  })

  it('skips an unreadable command, and leaves it in the store', async () => {
    const state = new MemoryState()
    state.entries.set('queue/0102030405060708/x', Buffer.from('{'))
    state.entries.set('queue/0102030405060708/y', Buffer.from('{"v":2}'))
    const downlinks = await openTestDownlinks({ state })
    assert.deepEqual(states(downlinks), [])
    assert.equal(state.entries.size, 2)
  })
})

describe('expiresAt', () => {
  it('ends a command that waits, also while the network server is away', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a', expiresAt: new Date(downlinks.clock.now() + 60_000).toISOString() })
    await send(downlinks, { id: 'b' })
    await downlinks.settle()
    downlinks.clock.advance(59_999)
    downlinks.tick()
    assert.deepEqual(states(downlinks), ['a queued', 'b queued'])
    downlinks.clock.advance(1)
    downlinks.tick()
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['b queued', 'a expired'])
    const [event] = downlinks.told('/event/error')
    assert.deepEqual([event?.['commandId'], event?.['code'], event?.['member']], ['a', 'command_expired', 'expiresAt'])
  })

  it('is checked before each offer', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a', expiresAt: new Date(downlinks.clock.now() + 60_000).toISOString() })
    await send(downlinks, { id: 'b' })
    await downlinks.settle()
    downlinks.server.offered.length = 0
    downlinks.clock.advance(60_000)
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['b sent', 'a expired'])
    assert.equal(downlinks.server.offered.length, 1)
  })
})

describe('cancelling', () => {
  it('ends a command that waits, and is reported', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b']) await send(downlinks, { id })
    await downlinks.settle()
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'a'), 'cancelled')
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'a'), 'cancelled')
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'nothing'), 'unknown')
    assert.equal(await downlinks.commands.cancel('2', DEVICE, 'b'), 'unknown')
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['b queued', 'a cancelled'])
    assert.deepEqual(
      downlinks.told('/event/error').map(({ code }) => code),
      ['command_cancelled'],
    )
  })

  it('comes too late for a command that a network server has, or is being offered', async () => {
    const downlinks = await openTestDownlinks()
    await send(downlinks, { id: 'taken' })
    await downlinks.settle()
    downlinks.server.answer = () => new Promise(() => {})
    await send(downlinks, { id: 'offered' })
    await downlinks.settle()
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'taken'), 'too late')
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'offered'), 'too late')
  })

  it('that can not be stored leaves the commands where they are', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b']) await send(downlinks, { id })
    await downlinks.settle()
    downlinks.state.isFailing = true
    assert.equal(await downlinks.commands.cancel('1', DEVICE, 'a'), 'not stored')
    assert.equal(await downlinks.commands.flush('1', { applicationId: '5', devEui: DEVICE }), undefined)
    assert.deepEqual(states(downlinks), ['a queued', 'b queued'])
  })

  it('all commands reaches the network server as well', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b']) await send(downlinks, { id })
    await downlinks.settle()
    const flushed = await downlinks.commands.flush('1', { applicationId: '5', devEui: DEVICE })
    assert.deepEqual(flushed, { cancelled: ['a', 'b'], sent: [] })
    assert.deepEqual(states(downlinks), ['b cancelled', 'a cancelled'])
    assert.deepEqual(downlinks.server.flushed, [DEVICE])
  })
})

describe('replace', () => {
  it('cancels the waiting commands, and goes when the network server has forgotten the rest', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b']) await send(downlinks, { id })
    await downlinks.settle()
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.server.offered.length = 0
    assert.ok((await send(downlinks, { id: 'c', replace: true })).ok)
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['c sent', 'b cancelled', 'a cancelled'])
    assert.deepEqual(downlinks.server.flushed, [DEVICE])
    assert.equal(downlinks.server.offered.length, 1)
    assert.deepEqual(
      downlinks.told('/event/error').map(({ commandId, code }) => `${String(commandId)} ${String(code)}`),
      ['a command_replaced', 'b command_replaced'],
    )
  })

  it('changes nothing when it can not be stored', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.state.isFailing = true
    assert.ok(!(await send(downlinks, { id: 'c', replace: true })).ok)
    assert.deepEqual(states(downlinks), ['a queued'])
  })
})

describe('the bounds of the queue', () => {
  it('refuse one more for a device, unless it replaces the others', async () => {
    const limits = { ...DOWNLINK_QUEUE_LIMITS, waitingPerDevice: 3 }
    const downlinks = await openTestDownlinks({ limits })
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b', 'c']) assert.ok((await send(downlinks, { id })).ok)
    await downlinks.settle()
    const refused = await send(downlinks, { id: 'd' })
    assert.ok(!refused.ok)
    assert.deepEqual(
      [refused.code, refused.reasonCode, refused.message],
      ['command_queue_full', 0x97, '3 commands wait for the device already'],
    )
    assert.ok((await send(downlinks, { id: 'e', replace: true })).ok)
    assert.ok((await send(downlinks, { id: 'x' }, OTHER_DEVICE)).ok)
  })

  it('keep an organization from taking the room of the others', async () => {
    const limits = { ...DOWNLINK_QUEUE_LIMITS, waitingInAll: 3, waitingAssured: 1 }
    const downlinks = await openTestDownlinks({ limits, maximumWaitingOf: () => 3 })
    downlinks.devices.set(OTHER_DEVICE, { applicationId: '6', organizationId: '2', isDisabled: false })
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b', 'c']) assert.ok((await send(downlinks, { id })).ok)
    await downlinks.settle()
    assert.ok(!(await send(downlinks, { id: 'd' })).ok)
    assert.ok(!(await send(downlinks, { id: 'd', replace: false })).ok)
    // All room is taken, and yet the other organization has its assured room.
    assert.ok((await send(downlinks, { id: 'x' }, OTHER_DEVICE, '6')).ok)
    const more = await send(downlinks, { id: 'y' }, OTHER_DEVICE, '6')
    assert.ok(!more.ok)
    assert.equal(more.message, 'the service has no room for more commands now')
  })

  it('hold for each organization by itself, and follow a change at once', async () => {
    const bounds = new Map([['1', 2]])
    const maximumWaitingOf = (organizationId: string): number => bounds.get(organizationId) ?? 1
    const downlinks = await openTestDownlinks({ maximumWaitingOf })
    downlinks.devices.set(OTHER_DEVICE, { applicationId: '6', organizationId: '2', isDisabled: false })
    downlinks.server.answer = AWAY
    for (const id of ['a', 'b']) assert.ok((await send(downlinks, { id })).ok)
    const refused = await send(downlinks, { id: 'c' })
    assert.ok(!refused.ok)
    assert.deepEqual(
      [refused.code, refused.message],
      ['command_queue_full', '2 commands wait for devices of the organization already (waitingCommands)'],
    )
    assert.ok((await send(downlinks, { id: 'x' }, OTHER_DEVICE, '6')).ok)
    bounds.set('1', 3)
    assert.ok((await send(downlinks, { id: 'c' })).ok)
    assert.deepEqual([...downlinks.organizations()], ['1', '2'])
    assert.deepEqual(downlinks.usageOf('1'), { waitingCommands: 3 })
    await downlinks.settle()
    await downlinks.commands.flush('1', { applicationId: '5', devEui: DEVICE })
    assert.deepEqual([...downlinks.organizations()], ['2'])
    assert.deepEqual(downlinks.usageOf('1'), { waitingCommands: 0 })
  })

  it('drop the earliest fates, in memory and in the durable state', async () => {
    const limits = { ...DOWNLINK_QUEUE_LIMITS, leftPerDevice: 2, leftPerOrganization: 3, leftInAll: 4 }
    const downlinks = await openTestDownlinks({ limits })
    for (const id of ['a', 'b', 'c']) await send(downlinks, { id })
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['c sent', 'b sent'])
    for (const id of ['x', 'y']) await send(downlinks, { id }, OTHER_DEVICE)
    await downlinks.settle()
    assert.deepEqual([states(downlinks), states(downlinks, OTHER_DEVICE)], [['c sent'], ['y sent', 'x sent']])
    assert.equal(downlinks.state.entries.size, 3)
  })

  it('drop a hundredth of an organization’s fates at a time', async () => {
    const limits = { ...DOWNLINK_QUEUE_LIMITS, leftPerDevice: 1_000, leftPerOrganization: 200 }
    const downlinks = await openTestDownlinks({ limits })
    const sendSome = async (from: number, to: number): Promise<void> => {
      for (let number = from; number <= to; number += 1) {
        await send(downlinks, { id: String(number) })
        await downlinks.settle()
      }
    }
    await sendSome(1, 200)
    assert.equal(downlinks.state.entries.size, 200)
    await sendSome(201, 201)
    // Three of 201 commands are gone: 1, 2 and 3.
    assert.deepEqual([states(downlinks).at(-1), downlinks.state.entries.size], ['4 sent', 198])
  })

  it('drop fates after a day', async () => {
    const downlinks = await openTestDownlinks()
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.clock.advance(DOWNLINK_QUEUE_LIMITS.leftMs)
    downlinks.tick()
    assert.deepEqual(states(downlinks), ['a unconfirmed'])
    downlinks.clock.advance(1)
    downlinks.tick()
    await downlinks.settle()
    assert.deepEqual([states(downlinks), downlinks.state.entries.size], [[], 0])
  })
})

describe('a device', () => {
  it('that is removed takes its commands with it', async () => {
    const downlinks = await openTestDownlinks()
    await send(downlinks, { id: 'sent' })
    await downlinks.settle()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.deviceRemoved(DEVICE)
    await downlinks.settle()
    assert.deepEqual([states(downlinks), downlinks.state.entries.size], [[], 0])
  })

  it('goes with its application', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.applicationRemoved('6')
    assert.deepEqual(states(downlinks), ['a queued'])
    downlinks.applicationRemoved('5')
    await downlinks.settle()
    assert.deepEqual([states(downlinks), downlinks.state.entries.size], [[], 0])
  })

  it('that has come to another organization never gets the commands of the former one', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.devices.set(DEVICE, { applicationId: '6', organizationId: '2', isDisabled: false })
    assert.deepEqual(downlinks.commands.list('2', DEVICE), [])
    assert.equal(await downlinks.commands.cancel('2', DEVICE, 'a'), 'unknown')
    downlinks.server.offered.length = 0
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.ready()
    await downlinks.settle()
    assert.deepEqual([downlinks.server.offered, downlinks.state.entries.size], [[], 0])
    // The new owner of the device may use the same id.
    assert.deepEqual(await send(downlinks, { id: 'a' }, DEVICE, '6'), {
      ok: true,
      id: 'a',
      state: 'queued',
      isRepeated: false,
    })
  })

  it('that has moved to another application of its organization gets them there', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await send(downlinks, { id: 'a' })
    await downlinks.settle()
    downlinks.devices.set(DEVICE, { applicationId: '6', organizationId: '1', isDisabled: false })
    downlinks.server.answer = { outcome: 'taken' }
    downlinks.ready()
    await downlinks.settle()
    assert.equal(downlinks.server.offered.at(-1)?.applicationId, '6')
  })
})

describe('a state that can not be written', () => {
  it('is written later, with its contents at that time', async () => {
    const downlinks = await openTestDownlinks()
    const release = downlinks.state.hold()
    const answer = send(downlinks, { id: 'a' })
    release()
    await answer
    downlinks.state.isFailing = true
    await downlinks.settle()
    assert.deepEqual(states(downlinks), ['a sent'])
    downlinks.state.isFailing = false
    downlinks.tick()
    await downlinks.settle()
    const after = await openTestDownlinks({ state: downlinks.state, server: new TestNetworkServer() })
    assert.deepEqual(states(after), ['a sent'])
  })
})

async function send(
  downlinks: TestDownlinks,
  members: Readonly<Record<string, unknown>>,
  devEui = DEVICE,
  applicationId = '5',
): Promise<CommandAnswer> {
  const command = readCommand({ confirmed: false, fPort: 10, data: 'AQID', ...members })
  return downlinks.commands.submit({ applicationId, devEui }, command)
}

function ids(downlinks: TestDownlinks): string[] {
  return downlinks.commands.list('1', DEVICE).map(({ content }) => content.id)
}

function states(downlinks: TestDownlinks, devEui = DEVICE): string[] {
  return downlinks.commands.list('1', devEui).map(({ content, state }) => `${content.id} ${state}`)
}
