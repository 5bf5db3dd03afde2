/** The nodes for tests keep the contract of the port. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TestClock } from './clock.testing.ts'
import { NoAnswerError, RequestRefusedError } from './nodes.ts'
import type { NodeId } from './nodes.ts'
import { LocalDeployment } from './nodes.testing.ts'

const HELLO = Buffer.from('hello')

describe('nodes within one process', () => {
  test('answer requests, refuse them, and hear casts in order', async () => {
    const deployment = new LocalDeployment()
    const [a, b] = [deployment.join('a'), deployment.join('b')]
    b.bus.serve('echo', (body, from) => Buffer.from(`${from.name} ${body.toString()}`))
    assert.equal((await a.bus.request(b.bus.self, 'echo', HELLO, 1_000)).toString(), 'a hello')
    await assert.rejects(a.bus.request(b.bus.self, 'other', HELLO, 1_000), RequestRefusedError)
    const heard: string[] = []
    b.bus.hear('word', (body, from) => void heard.push(`${from.name} ${body.toString()}`))
    a.bus.cast('word', Buffer.from('1'))
    a.bus.cast('word', Buffer.from('2'))
    await a.bus.request(b.bus.self, 'echo', HELLO, 1_000)
    assert.deepEqual(heard, ['a 1', 'a 2'])
  })

  test('do not answer while they are silent, nor when they are gone', async () => {
    const clock = new TestClock()
    const deployment = new LocalDeployment(clock)
    const [a, b, c] = [deployment.join('a'), deployment.join('b'), deployment.join('c')]
    c.bus.serve('echo', (body) => body)
    const gone: NodeId[] = []
    a.onGone((node) => gone.push(node))
    deployment.silence(b)
    const gathered = a.bus.gather('echo', HELLO, 1_000)
    const asked = a.bus.request(b.bus.self, 'echo', HELLO, 1_000)
    // The node c answers before the time is over.
    await new Promise(setImmediate)
    clock.advance(1_000)
    await assert.rejects(asked, NoAnswerError)
    assert.deepEqual((await gathered).missing, [b.bus.self])
    assert.deepEqual(
      a.living().map(({ name, silentMs }) => [name, silentMs]),
      [
        ['a', 0],
        ['b', 1_000],
        ['c', 0],
      ],
    )
    deployment.declareGone(b)
    assert.deepEqual(gone, [b.bus.self])
    await assert.rejects(a.bus.request(b.bus.self, 'echo', HELLO, 1_000), NoAnswerError)
  })

  test('have homes that one node takes, and that an heir inherits', async () => {
    const deployment = new LocalDeployment()
    const [a, b] = [deployment.join('a'), deployment.join('b')]
    const found = await a.homes.find('x', 1_000)
    assert.equal(found.node, undefined)
    assert.deepEqual(await Promise.all([a.homes.take('x', found), b.homes.take('x', found)]), [true, false])
    assert.deepEqual([...(await a.homes.areHere(['x', 'y']))], ['x'])
    assert.equal((await b.homes.find('x', 1_000)).node, a.bus.self)
    const loaded: string[] = []
    b.onInherited(async (inheritance) => {
      for await (const { key } of inheritance.load('session/')) loaded.push(`${inheritance.from.name} ${key}`)
    })
    deployment.declareGone(a)
    const waiting = b.homes.find('x', 1_000)
    const entries = ['session/2', 'session/1', 'other'].map((key) => ({ key, value: HELLO }))
    await deployment.kill(a, { heir: b, entries })
    assert.equal((await waiting).node, b.bus.self)
    assert.deepEqual(loaded, ['a session/1', 'a session/2'])
    b.homes.release('x')
    assert.equal((await b.homes.find('x', 1_000)).node, undefined)
  })

  test('get messages late, or never, as the test decides', async () => {
    const deployment = new LocalDeployment()
    const [a, b] = [deployment.join('a'), deployment.join('b')]
    const heard: string[] = []
    b.bus.serve('say', (body) => {
      heard.push(body.toString())
      return body
    })
    const { promise: held, resolve: deliver } = Promise.withResolvers<void>()
    deployment.delivery = () => held
    const first = a.bus.request(b.bus.self, 'say', Buffer.from('1'), 1_000)
    await new Promise(setImmediate)
    assert.deepEqual(heard, [])
    deployment.delivery = () => undefined
    deliver()
    await first
    deployment.delivery = ({ type }) => (type === 'answer' ? 'drop' : undefined)
    await assert.rejects(a.bus.request(b.bus.self, 'say', Buffer.from('2'), 1), NoAnswerError)
    assert.deepEqual(heard, ['1', '2'])
  })
})
