import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock, SteadyMs } from '../../clock.ts'
import { SLICE_MS, TurnShare, TurnShares } from './turn-shares.ts'

/** A clock on which time passes by work alone, and whose turns end when the test says so. */
class WorkClock implements Clock {
  workedMs = 0
  #turns: (() => void)[] = []

  now(): number {
    return this.workedMs
  }

  steady(): SteadyMs {
    return this.workedMs as SteadyMs
  }

  afterTurn(run: () => void): void {
    this.#turns.push(run)
  }

  after(): () => void {
    return assert.fail()
  }

  cpu(): number {
    return 0
  }

  rest(): void {
    assert.fail()
  }

  /** False: no turn was planned. */
  endTurn(): boolean {
    const turns = this.#turns.splice(0)
    for (const run of turns) run()
    return turns.length > 0
  }
}

/** An account with work: each job takes a time, and notes its name when it is done. */
class Worker {
  readonly share = new TurnShare()
  readonly #scene: Scene
  readonly #name: string

  constructor(scene: Scene, name: string) {
    this.#scene = scene
    this.#name = name
  }

  /** As a connection does it: works at once where its account has time, and waits otherwise. */
  work(ms: number): void {
    const { shares } = this.#scene
    const { share } = this
    const goOn = (): void => {
      if (share.hasTime) this.#do(ms)
      else shares.wait(share, { goOn })
    }
    if (share.waiting.size > 0) shares.wait(share, { goOn })
    else goOn()
  }

  #do(ms: number): void {
    const { clock, shares, done } = this.#scene
    clock.workedMs += ms
    shares.spend(this.share, ms)
    done.push(this.#name)
  }
}

interface Scene {
  readonly clock: WorkClock
  readonly shares: TurnShares
  readonly done: string[]
}

function start(): Scene & { readonly worker: (name: string) => Worker; readonly turn: () => string } {
  const clock = new WorkClock()
  const scene: Scene = { clock, shares: new TurnShares(clock), done: [] }
  const turn = (): string => {
    clock.endTurn()
    return scene.done.splice(0).join('')
  }
  return { ...scene, worker: (name) => new Worker(scene, name), turn }
}

describe('the shares of a turn', () => {
  it('let an account work for a slice in each turn, in its order', () => {
    const { worker, done, turn, clock } = start()
    const a = worker('a')
    for (let count = 0; count < 5; count += 1) a.work(1)
    assert.equal(done.splice(0).join(''), 'aa')
    assert.equal(turn(), 'aa')
    assert.equal(turn(), 'a')
    assert.equal(turn(), '')
    assert.equal(clock.endTurn(), false, 'an idle broker plans no turn')
  })

  it('let an account work at once while others wait', () => {
    const { worker, done, turn } = start()
    const [a, b] = [worker('a'), worker('b')]
    for (let count = 0; count < 8; count += 1) a.work(1)
    b.work(1)
    assert.equal(done.splice(0).join(''), 'aab')
    assert.equal(turn(), 'aa')
    b.work(1)
    assert.equal(turn(), 'baa')
  })

  it('make an account that took longer than its slice wait for as many turns', () => {
    const { worker, done, turn } = start()
    const a = worker('a')
    a.work(4 * SLICE_MS)
    a.work(1)
    assert.deepEqual([done.splice(0).join(''), turn(), turn(), turn(), turn()], ['a', '', '', '', 'a'])
  })

  it('make such an account wait no longer than until the others had as much time', () => {
    const { worker, done, turn, clock } = start()
    const a = worker('a')
    a.work(4 * SLICE_MS)
    a.work(1)
    assert.deepEqual([done.splice(0).join(''), turn()], ['a', ''])
    clock.workedMs += 3 * SLICE_MS
    assert.equal(turn(), 'a')
  })

  it('make an account wait for eight turns at most, because the process may have been stopped meanwhile', () => {
    const { worker, done, turn } = start()
    const a = worker('a')
    a.work(1_000)
    a.work(1)
    for (let turns = 1; turns < 8; turns += 1) assert.equal(turn(), turns === 1 ? 'a' : '')
    assert.equal(turn(), 'a')
    assert.deepEqual(done, [])
  })

  it('take two slices for all that wait, however many accounts there are, and each comes in its turn', () => {
    const { worker, done, turn } = start()
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) {
      const one = worker(name)
      for (let count = 0; count < 3; count += 1) one.work(SLICE_MS)
    }
    assert.equal(done.splice(0).join(''), 'abcde')
    assert.deepEqual([turn(), turn(), turn(), turn(), turn()], ['ab', 'cd', 'ea', 'bc', 'de'])
  })

  it('end a turn though a job waits again without having worked', () => {
    const { shares, clock } = start()
    const share = new TurnShare()
    let goes = 0
    const job = {
      goOn: (): void => {
        goes += 1
        shares.wait(share, job)
      },
    }
    shares.wait(share, job)
    clock.endTurn()
    assert.equal(goes, 1)
  })

  it('hold a parked account until it is unparked, and forget the jobs of connections that ended', () => {
    const { shares, worker, turn, clock, done } = start()
    const a = worker('a')
    shares.park(a.share)
    a.work(1)
    assert.deepEqual([turn(), clock.endTurn()], ['', false])
    shares.unpark(a.share)
    assert.equal(turn(), 'a')
    const job = { goOn: (): void => void done.push('forgotten') }
    shares.wait(a.share, job)
    shares.forget(a.share, job)
    assert.equal(turn(), '')
  })
})
