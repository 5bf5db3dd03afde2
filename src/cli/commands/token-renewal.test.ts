import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { after, before, beforeEach, describe, test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { ApiRefusal } from '../api/api-client.ts'
import { renewTokens, replaceFile } from './token-renewal.ts'

/** A token that lives for so many seconds. */
const tokenOf = (seconds: number, serial = 0): string =>
  `e30.${Buffer.from(JSON.stringify({ iat: 1_000, exp: 1_000 + seconds, serial })).toString('base64url')}.s`

let clock: TestClock
let stop: AbortController
let delivered: string[]
let told: string[]

beforeEach(() => {
  clock = new TestClock()
  stop = new AbortController()
  delivered = []
  told = []
})

/** Renews with these answers, one after the other. */
function start(answers: readonly (string | Error)[]): Promise<void> {
  let index = 0
  return renewTokens({
    issue: async () => {
      const answer = answers[Math.min(index, answers.length - 1)] ?? ''
      index += 1
      if (answer instanceof Error) throw answer
      return answer
    },
    deliver: async (token) => void delivered.push(token),
    tell: (sentence) => void told.push(sentence),
    clock,
    signal: stop.signal,
  })
}

async function settle(): Promise<void> {
  for (let index = 0; index < 10; index += 1) await turn()
}

describe('a renewal', () => {
  test('replaces each token when two thirds of its life are over', async () => {
    const running = start([tokenOf(90, 1), tokenOf(90, 2)])
    await settle()
    clock.advance(59_000)
    await settle()
    assert.equal(delivered.length, 1)
    clock.advance(1_000)
    await settle()
    assert.deepEqual(delivered, [tokenOf(90, 1), tokenOf(90, 2)])
    stop.abort()
    await running
  })

  test('tries again with growing waits while the service is away', async () => {
    const away = new Error('away.')
    const running = start([tokenOf(3), away, away, tokenOf(3, 1)])
    await settle()
    for (const ms of [2_000, 1_000, 2_000]) {
      assert.equal(delivered.length, 1)
      clock.advance(ms)
      await settle()
    }
    assert.equal(delivered.length, 2)
    assert.deepEqual(told.slice(1, 3), ['away. Trying again in 1 s.', 'away. Trying again in 2 s.'])
    stop.abort()
    await running
  })

  test('ends with a refusal at its start, and goes on after a refusal later', async () => {
    const refused = new ApiRefusal('the user name or password is wrong', 401, 16)
    await assert.rejects(start([refused]), refused)
    const running = start([tokenOf(3), refused, tokenOf(3, 1)])
    await settle()
    clock.advance(2_000)
    await settle()
    clock.advance(1_000)
    await settle()
    assert.equal(delivered.length, 2)
    stop.abort()
    await running
  })
})

describe('the file of a token', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-renewal-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  test('is replaced as a whole, may be read by its owner alone, and leaves nothing behind', async () => {
    const file = join(folder, 'token')
    await replaceFile(file, 'one')
    await replaceFile(file, 'two')
    assert.equal(await readFile(file, 'utf8'), 'two')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    await assert.rejects(replaceFile(join(folder, 'none', 'token'), 'x'), /can’t be written/)
    assert.deepEqual(await readdir(folder), ['token'])
  })
})
