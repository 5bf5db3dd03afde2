import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HashTurns } from './hash-turns.ts'

/** Waits by names like `a1`: the network a, the account 1. Notes the turns and the refusals. */
function waiters(maximum: number) {
  const turns = new HashTurns(maximum)
  const noted: string[] = []
  const wait = (...names: readonly string[]): void => {
    for (const name of names) {
      const [network = '', account = ''] = name
      void turns.wait({ network, account }).then((isTurn) => noted.push(isTurn ? name : `${name} refused`))
    }
  }
  /** Turns until none waits; returns all that was noted. */
  const finish = async (): Promise<readonly string[]> => {
    for (;;) {
      const isTurn = turns.next()
      await new Promise((resolve) => setImmediate(resolve))
      if (!isTurn) return noted
    }
  }
  return { wait, finish }
}

test('networks take turns, and within a network its accounts', async () => {
  const { wait, finish } = waiters(64)
  wait('a1', 'a1', 'a1', 'a2', 'b1', 'b1', 'c1')
  assert.deepEqual(await finish(), ['a1', 'b1', 'c1', 'a2', 'b1', 'a1', 'a1'])
})

test('a network that comes again and again waits behind those that are there', async () => {
  const { wait, finish } = waiters(64)
  wait('a1', 'b1')
  const finished = finish()
  wait('a1', 'c1')
  assert.deepEqual(await finished, ['a1', 'b1', 'a1', 'c1'])
})

test('beyond the bound the network and the account with the most hashes lose a place', async () => {
  const { wait, finish } = waiters(4)
  wait('a1', 'a1', 'a1', 'a1', 'a1', 'b1', 'a2')
  const noted = await finish()
  assert.deepEqual(noted, ['a1 refused', 'a1 refused', 'a1 refused', 'a1', 'b1', 'a2', 'a1'])
})

test('with the places shared out equally, the newcomer is refused', async () => {
  const { wait, finish } = waiters(3)
  wait('a1', 'b1', 'c1', 'd1', 'a1')
  assert.deepEqual(await finish(), ['d1 refused', 'a1 refused', 'a1', 'b1', 'c1'])
})
