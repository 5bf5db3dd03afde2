import assert from 'node:assert/strict'
import { test } from 'node:test'
import { later } from '../clock.ts'
import type { SteadyMs } from '../clock.ts'
import { HandshakeTurns } from './handshake-turns.ts'

/** Turns under a clock that stands, except for the time that handshakes and other work take. */
function createTurns({ handshakeMs }: { readonly handshakeMs: number }) {
  let now = 1_000 as SteadyMs
  const planned: (() => void)[] = []
  const turns = new HandshakeTurns({ steady: () => now, afterTurn: (run) => void planned.push(run) })
  const begun: string[] = []
  const wait = (address: string, count: number, isOver = false): void => {
    for (let index = 0; index < count; index += 1) {
      const begin = (): void => {
        begun.push(address)
        // As TLS does.
        process.nextTick(() => (now = later(now, handshakeMs)))
      }
      turns.wait(address, { isOver, begin })
    }
  }
  /** Other work takes the time; then handshakes have a turn. Returns the addresses that had one. */
  const turn = async (otherWorkMs = 0): Promise<readonly string[]> => {
    now = later(now, otherWorkMs)
    for (const run of planned.splice(0)) run()
    await new Promise((resolve) => setImmediate(resolve))
    return begun.splice(0)
  }
  return { wait, turn }
}

test('one handshake begins in a turn of the event loop, so that all others wait for one at most', async () => {
  const { wait, turn } = createTurns({ handshakeMs: 2 })
  wait('a', 3)
  assert.deepEqual([await turn(), await turn(), await turn(), await turn()], [['a'], ['a'], ['a'], []])
  wait('a', 1)
  assert.deepEqual(await turn(), ['a'], 'later handshakes are not forgotten')
})

test('beside other work, handshakes take a quarter of the time, and 5 ms at most', async () => {
  const { wait, turn } = createTurns({ handshakeMs: 1 })
  wait('a', 100)
  await turn()
  assert.equal((await turn(9)).length, 3)
  assert.equal((await turn(90)).length, 5)
})

test('addresses take turns, however many handshakes one address has', async () => {
  const { wait, turn } = createTurns({ handshakeMs: 1 })
  wait('a', 1_000)
  await turn()
  wait('b', 2)
  wait('c', 1)
  const begun: string[] = []
  for (let count = 0; count < 6; count += 1) begun.push(...(await turn()))
  assert.deepEqual(begun, ['a', 'b', 'c', 'a', 'b', 'a'])
})

test('connections that ended while they waited take no turn', async () => {
  const { wait, turn } = createTurns({ handshakeMs: 1 })
  wait('a', 1_000, true)
  wait('b', 1)
  assert.deepEqual(await turn(), ['b'])
})
