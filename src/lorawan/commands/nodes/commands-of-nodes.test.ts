import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { AWAY, DEVICE, OTHER_DEVICE, TestNetworkServer } from '../downlinks.testing.ts'
import type { HandOverAnswer } from '../network-server.ts'
import { openNodesWithCommands, settle } from './nodes-with-commands.testing.ts'
import type { NodesWithCommands, NodeWithCommands } from './nodes-with-commands.testing.ts'

let server: TestNetworkServer
let all: NodesWithCommands
let a: NodeWithCommands
let b: NodeWithCommands
let c: NodeWithCommands

beforeEach(async () => {
  server = new TestNetworkServer()
  all = openNodesWithCommands(() => ({ serverOf: () => server }))
  a = await all.join('a')
  b = await all.join('b')
  c = await all.join('c')
})

describe('commands at several nodes', () => {
  it('are kept at the node that needed the queue first', async () => {
    server.answer = AWAY
    for (const [node, id] of [
      [b, 'one'],
      [a, 'two'],
      [c, 'three'],
    ] as const) {
      assert.deepEqual(await node.send(id), { ok: true, id, state: 'queued', isRepeated: false })
    }
    assert.deepEqual(
      [a, b, c].map(({ state }) => [...state.entries.keys()].filter((key) => key.startsWith('queue/')).length),
      [0, 3, 0],
    )
    assert.equal(all.deployment.homes.get('commands/5')?.node, b.node)
  })

  it('keep the order of each sender, and are handed over once', async () => {
    const senders = { a, b, c }
    const ids = Array.from({ length: 20 }, (_, index) => index)
    await Promise.all(
      Object.entries(senders).flatMap(([name, node]) => ids.map((index) => node.send(`${name}-${index}`))),
    )
    await settle()
    const standing = (await a.standing()).toReversed()
    assert.equal(server.offered.length, 60)
    for (const name of Object.keys(senders)) {
      const own = standing.filter((one) => one.startsWith(name))
      assert.deepEqual(
        own,
        ids.map((index) => `${name}-${index} sent`),
      )
    }
  })

  it('are refused at any node in the words of their home', async () => {
    await a.send('x')
    const taken = await b.send('x', { fPort: 11 })
    const unread = await b.send('y', { fPort: 300 })
    const unknown = await b.send('z', {}, 'ffffffffffffffff')
    assert.deepEqual(
      [taken, unread, unknown].map((answer) => !answer.ok && answer.code),
      ['command_id_taken', 'command_out_of_range', 'command_device_unknown'],
    )
    assert.deepEqual(await b.send('x'), { ok: true, id: 'x', state: 'sent', isRepeated: true })
  })

  it('are answered after the verdict of a network server that judges', async () => {
    await a.send('first')
    const verdict = Promise.withResolvers<HandOverAnswer>()
    Object.assign(server, { judges: true })
    server.answer = () => verdict.promise
    const judged = b.send('judged')
    const next = b.send('next')
    await settle()
    // The next command of the device is stored before the verdict.
    assert.deepEqual(await c.standing(), ['judged queued', 'next queued', 'first sent'])
    verdict.resolve({ outcome: 'refused', reason: 'no' })
    const answer = await judged
    assert.equal(!answer.ok && answer.code, 'command_refused')
    assert.equal(!answer.ok && answer.message, 'no')
    assert.deepEqual(await next, { ok: true, id: 'next', state: 'queued', isRepeated: false })
  })

  it('are listed, cancelled and flushed at any node', async () => {
    server.answer = AWAY
    for (const id of ['one', 'two', 'three']) await a.send(id)
    const target = { applicationId: '5', devEui: DEVICE }
    const listed = await b.ways.commands.list('1', target)
    assert.ok(listed !== 'away')
    const { content, wait } = listed[0] ?? {}
    assert.deepEqual([content?.id, content?.data, wait?.code], ['one', Buffer.from([1, 2, 3]), 'network_server_away'])
    assert.equal(await b.ways.commands.cancel('1', target, 'two'), 'cancelled')
    assert.equal(await b.ways.commands.cancel('1', target, 'four'), 'unknown')
    assert.deepEqual(await c.ways.commands.flush('1', target), { cancelled: ['one', 'three'], sent: [] })
    assert.deepEqual((await c.standing()).toSorted(), ['one cancelled', 'three cancelled', 'two cancelled'])
  })

  it('fill more than one answer of the home where they are long', async () => {
    server.takesObjects = true
    server.answer = AWAY
    const object = { text: 'x'.repeat(60_000) }
    for (let index = 0; index < 25; index += 1) await a.send(`long-${index}`, { data: undefined, object })
    assert.equal((await b.standing()).length, 25)
  })

  it('of an application without a home are none', async () => {
    const target = { applicationId: '5', devEui: DEVICE }
    assert.deepEqual(await b.standing(), [])
    assert.equal(await b.ways.commands.cancel('1', target, 'one'), 'unknown')
    assert.deepEqual(await b.ways.commands.flush('1', target), { cancelled: [], sent: [] })
    assert.equal(all.deployment.homes.size, 0)
  })

  it('leave no home behind when their application is gone', async () => {
    await a.send('one')
    for (const { downlinks, ways } of [b, a]) {
      downlinks.applicationRemoved('5')
      ways.homes.release('5')
    }
    await settle()
    assert.equal(all.deployment.homes.get('commands/5')?.node, undefined)
  })
})

describe('the loss of a home', () => {
  it('before its answer is nothing to the sender: the heir has the command, once', async () => {
    await a.send('before')
    all.deployment.delivery = ({ type, from }) => (type === 'answer' && from === a.node.bus.self ? 'drop' : undefined)
    const answers = [b.send('named'), b.send(undefined), b.send('last')]
    await settle()
    await all.kill(a, c)
    await all.pass(1_000)
    const [named, unnamed, last] = await Promise.all(answers)
    // Its sender gave the command an id, and may have sent it before.
    assert.deepEqual(named, { ok: true, id: 'named', state: 'sent', isRepeated: true })
    assert.equal(unnamed?.ok && unnamed.isRepeated, false)
    assert.ok(last?.ok)
    assert.equal((await b.standing()).length, 4)
    assert.equal(new Set(server.offered.map(({ id }) => id)).size, 4)
    assert.equal(all.deployment.homes.get('commands/5')?.node, c.node)
  })

  it('before it took the command is nothing to the sender either', async () => {
    await a.send('before')
    all.deployment.silence(a.node)
    const answer = b.send('during')
    await all.pass(3_000)
    await all.kill(a, b)
    await all.pass(1_000)
    assert.deepEqual(await answer, { ok: true, id: 'during', state: 'queued', isRepeated: false })
    await settle()
    assert.deepEqual(await b.standing(), ['during sent', 'before sent'])
  })

  it('in order refuses no command: the heir has those that the home could take no more', async () => {
    await a.send('before')
    const go = a.state.hold()
    const answers = [b.send('under-way')]
    await settle()
    a.ways.homes.end()
    a.state.isFailing = true
    go()
    answers.push(b.send('late', {}, OTHER_DEVICE))
    await all.pass(1_000)
    await all.kill(a, c)
    await all.pass(1_000)
    assert.deepEqual(
      (await Promise.all(answers)).map((answer) => (answer.ok ? answer.id : answer.code)),
      ['under-way', 'late'],
    )
    assert.equal(all.deployment.homes.get('commands/5')?.node, c.node)
    assert.equal(server.offered.length, 3)
    assert.equal(new Set(server.offered.map(({ id }) => id)).size, 3)
  })

  it('without an heir is a refusal after 15 s', async () => {
    await a.send('before')
    all.deployment.silence(a.node)
    all.deployment.declareGone(a.node)
    const asked = [b.send('during'), b.standing(), b.ways.commands.flush('1', { applicationId: '5', devEui: DEVICE })]
    await all.pass(15_200)
    const [answer, ...others] = await Promise.all(asked)
    assert.equal(typeof answer === 'object' && 'code' in answer && answer.code, 'command_queue_away')
    assert.deepEqual(others, [['away'], 'away'])
    assert.equal(b.downlinks.commands.refusals.get('command:command_queue_away'), 1)
  })

  it('with commands on offer puts them in doubt, and those that were taken stay taken', async () => {
    await a.send('taken')
    await settle()
    server.answer = () => new Promise(() => {})
    await a.send('offered')
    await a.send('waits')
    await settle()
    server.answer = { outcome: 'taken' }
    await all.kill(a, b)
    await settle()
    assert.deepEqual(await c.standing(), ['waits sent', 'offered sent', 'taken sent'])
    const [taken, before, again, waits] = server.offered
    assert.equal(before?.id, again?.id)
    assert.deepEqual(
      [taken, before, again].map((one) => one?.doubt?.forMs),
      [undefined, undefined, 0],
    )
    assert.equal(server.offered.length, 4)
    assert.notEqual(waits?.id, taken?.id)
  })
})

describe('an event about a command', () => {
  it('is matched by the home at whatever node it comes in', async () => {
    await a.send('one')
    await settle()
    const { downlinkId: queueItemId = '' } = a.downlinks.commands.list('1', DEVICE)[0] ?? {}
    assert.deepEqual(await b.event('txack', { queueItemId }), { commandId: 'one', queueItemId })
    assert.deepEqual(await b.event('txack', { queueItemId: 'other' }), { queueItemId: 'other' })
    assert.deepEqual(await a.event('ack', { queueItemId, acknowledged: true }), {
      commandId: 'one',
      queueItemId,
      acknowledged: true,
    })
    assert.deepEqual(await c.standing(), ['one acknowledged'])
    await settle()
    assert.deepEqual(
      [a, b, c].map(({ downlinks }) => downlinks.naming.names('5')),
      [true, true, true],
    )
  })

  it('goes on at once where no node has commands, and is matched as soon as one has', async () => {
    assert.deepEqual(await b.event('txack', { queueItemId: 'x' }), { queueItemId: 'x' })
    const payload = Buffer.from('{}')
    assert.equal(b.ways.events.told({ applicationId: '5', devEui: DEVICE, kind: 'txack', payload }), payload)
    await a.send('one')
    await settle()
    const { downlinkId: queueItemId = '' } = a.downlinks.commands.list('1', DEVICE)[0] ?? {}
    assert.equal((await b.event('txack', { queueItemId }))['commandId'], 'one')
  })

  it('goes on after 300 ms when the home is silent, and its heir learns of it', async () => {
    await a.send('one')
    await settle()
    const { downlinkId: queueItemId = '' } = a.downlinks.commands.list('1', DEVICE)[0] ?? {}
    await b.standing()
    all.deployment.silence(a.node)
    let passed: Record<string, unknown> | undefined
    void b.event('ack', { queueItemId, acknowledged: true }).then((told) => (passed = told))
    await all.pass(200)
    assert.equal(passed, undefined)
    await all.pass(100)
    assert.deepEqual(passed, { queueItemId, acknowledged: true })
    assert.equal(b.ways.events.unanswered, 1)
    await all.kill(a, c)
    await all.pass(1_000)
    assert.deepEqual(await b.standing(), ['one acknowledged'])
  })
})
