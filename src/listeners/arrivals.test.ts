import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { Arrivals } from './arrivals.ts'
import { TestClock } from './clock.testing.ts'
import { HandshakeTurns } from './handshake-turns.ts'

/** The shortest bytes that are a whole ClientHello by their lengths. */
const HELLO = Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])

function createArrivals() {
  const clock = new TestClock()
  let refused = 0
  const arrivals = new Arrivals({ turns: new HandshakeTurns(clock), clock, refused: () => (refused += 1) })
  const begun: Socket[] = []
  const enter = (bytes?: Buffer): Socket => {
    const socket = new Socket()
    if (bytes !== undefined) socket.push(bytes)
    arrivals.enter(socket, '192.0.2.1', () => begun.push(socket))
    return socket
  }
  return { clock, arrivals, begun, enter, refused: () => refused }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const destroyedOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length

test('TLS begins when the whole ClientHello has come, and gets all bytes', async () => {
  const { clock, begun, enter } = createArrivals()
  const socket = enter(HELLO.subarray(0, 6))
  await settled()
  await clock.turn()
  assert.deepEqual(begun, [])
  socket.push(HELLO.subarray(6))
  await settled()
  await clock.turn()
  assert.deepEqual(begun, [socket])
  assert.deepEqual(socket.read(), HELLO)
  assert.equal(clock.timers, 0, 'nobody waits any more')
})

test('a client that closes, or sends more than a ClientHello while it waits, is cut', async () => {
  const { clock, begun, enter } = createArrivals()
  const ended = enter(HELLO)
  ended.push(null)
  const flood = enter(HELLO)
  flood.push(Buffer.alloc(20_000))
  await settled()
  await settled()
  await clock.turn()
  assert.deepEqual([ended.destroyed, flood.destroyed, begun.length], [true, true, 0])
})

test('connections that say nothing are cut at their deadline, 16 in a turn of the event loop', async () => {
  const { clock, enter } = createArrivals()
  const sockets = Array.from({ length: 40 }, () => enter())
  clock.pass(5_000)
  const youngest = enter()
  clock.pass(4_999)
  assert.equal(destroyedOf(sockets), 0)
  clock.pass(1)
  assert.equal(destroyedOf(sockets), 16)
  await clock.turn()
  assert.equal(destroyedOf(sockets), 32)
  await clock.turn()
  assert.equal(destroyedOf(sockets), 40)
  assert.ok(!youngest.destroyed)
  clock.pass(5_000)
  assert.ok(youngest.destroyed)
  assert.equal(clock.timers, 0)
})

test('a crowd without a ClientHello costs its own oldest: the newest always has room', async () => {
  const { begun, clock, enter, refused } = createArrivals()
  const crowd = Array.from({ length: 8_000 }, () => enter())
  assert.equal(destroyedOf(crowd), 0)
  const newest = enter(HELLO)
  assert.deepEqual([destroyedOf(crowd), crowd[0]?.destroyed, refused()], [1, true, 1])
  await settled()
  await clock.turn()
  assert.deepEqual(begun, [newest])
  for (const socket of crowd) socket.destroy()
})

test('a crowd that stops after its ClientHello costs its own oldest, and never an established connection', async () => {
  const { arrivals, begun, clock, enter, refused } = createArrivals()
  const beginOne = async (): Promise<Socket> => {
    const socket = enter(HELLO)
    await settled()
    await clock.turn()
    assert.equal(begun.at(-1), socket)
    return socket
  }
  const established = await beginOne()
  arrivals.secured(established)
  const unreported = await beginOne()
  clock.pass(10_000)
  const crowd: Socket[] = []
  for (let count = 0; count < 2_000; count += 1) crowd.push(await beginOne())
  assert.equal(refused(), 0)
  await beginOne()
  assert.deepEqual([destroyedOf(crowd), crowd[0]?.destroyed, refused()], [1, true, 1])
  assert.deepEqual([established.destroyed, unreported.destroyed], [false, false])
})
