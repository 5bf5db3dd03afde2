import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { FairQueue } from './fair-queue.ts'

const limits = {
  total: 100,
  perOrganization: 100,
  perApplication: 10,
  assuredPerOrganization: 0,
  runningPerOrganization: 1,
}

/** Lets one worker do all jobs. Returns their names in order. */
function order(queue: FairQueue<{ name: string; ms: number }>): string[] {
  const names: string[] = []
  for (let taken = queue.next(); taken !== undefined; taken = queue.next()) {
    names.push(taken.job.name)
    queue.finished(taken, taken.job.ms)
  }
  return names
}

describe('the queue of scripts', () => {
  it('keeps the order of one application', () => {
    const queue = new FairQueue<{ name: string; ms: number }>(limits)
    for (const name of ['1', '2', '3']) queue.push('o', 'a', { name, ms: 5 }, 1)
    assert.deepEqual(order(queue), ['1', '2', '3'])
  })

  it('gives an organization with slow scripts one turn for many of another', () => {
    const queue = new FairQueue<{ name: string; ms: number }>(limits)
    for (let n = 0; n < 3; n += 1) queue.push('slow', 's', { name: 'slow', ms: 100 }, 1)
    for (let n = 0; n < 10; n += 1) queue.push('quick', 'q', { name: 'quick', ms: 1 }, 1)
    assert.deepEqual(order(queue), ['slow', ...Array<string>(10).fill('quick'), 'slow', 'slow'])
  })

  it('gives an organization with a hundred applications no more than one with one', () => {
    const queue = new FairQueue<{ name: string; ms: number }>(limits)
    for (let n = 0; n < 90; n += 1) queue.push('many', `m${n}`, { name: 'many', ms: 1 }, 1)
    for (let n = 0; n < 5; n += 1) queue.push('one', 'o', { name: 'one', ms: 1 }, 1)
    const first = order(queue).slice(0, 10)
    assert.equal(first.filter((name) => name === 'one').length, 5)
  })

  it('gives no credit for the time that somebody was away, and takes no debt off by being away', () => {
    const queue = new FairQueue<{ name: string; ms: number }>(limits)
    const serve = (): string => {
      const taken = queue.next()
      assert.ok(taken !== undefined)
      queue.finished(taken, taken.job.ms)
      return taken.job.name
    }
    for (let n = 0; n < 10; n += 1) queue.push('busy', 'b', { name: 'busy', ms: 10 }, 1)
    queue.push('hostile', 'h', { name: 'hostile', ms: 100 }, 1)
    assert.deepEqual([serve(), serve()], ['busy', 'hostile'])
    // The organization has no waiting job for a moment, and comes again.
    queue.push('hostile', 'h', { name: 'hostile', ms: 100 }, 1)
    queue.push('new', 'n', { name: 'new', ms: 10 }, 1)
    assert.deepEqual([serve(), serve(), serve()].toSorted(), ['busy', 'busy', 'new'])
  })

  it('runs one job of an application, and of an organization as many as it may, at a time', () => {
    const queue = new FairQueue<string>({ ...limits, runningPerOrganization: 2 })
    for (const application of ['a', 'b', 'c'])
      for (const n of [1, 2]) queue.push('o', application, `${application}${n}`, 1)
    const [first, second] = [queue.next(), queue.next()]
    assert.deepEqual([first?.job, second?.job], ['a1', 'b1'])
    assert.equal(queue.next(), undefined)
    assert.ok(first !== undefined)
    queue.finished(first, 1)
    assert.equal(queue.next()?.job, 'c1')
  })

  it('refuses what is beyond its bounds, and takes again when there is room', () => {
    const queue = new FairQueue<number>({ ...limits, perOrganization: 15, total: 18 })
    const taken = (organizationId: string, application: string, size: number): number =>
      Array.from({ length: 20 }, (_, n) => queue.push(organizationId, application, n, size)).filter(Boolean).length
    assert.equal(taken('o', 'a', 2), 5, 'of one application')
    assert.equal(taken('o', 'b', 1), 5, 'of one organization')
    assert.equal(taken('p', 'c', 1), 3, 'in all')
    const first = queue.next()
    assert.ok(first !== undefined)
    queue.finished(first, 1)
    assert.equal(taken('o', 'a', 1), 2)
    assert.equal(queue.drain().length, 14)
    assert.deepEqual([queue.size, queue.next(), taken('o', 'a', 1)], [0, undefined, 10])
  })

  it('keeps room for an organization, however much the others have', () => {
    const queue = new FairQueue<number>({ ...limits, total: 10, assuredPerOrganization: 3 })
    const taken = (organizationId: string): number =>
      Array.from({ length: 20 }, (_, n) => queue.push(organizationId, organizationId, n, 1)).filter(Boolean).length
    assert.deepEqual([taken('hostile'), taken('one'), taken('other')], [10, 3, 3])
  })

  it('lets slow organizations run together no more jobs than they may, and the others at any time', () => {
    const queue = new FairQueue<string>(limits, (organizationId) => organizationId.startsWith('slow'))
    for (const name of ['slow 1', 'slow 2', 'quick']) queue.push(name, name, name, 1)
    const first = queue.next(1)
    assert.ok(first !== undefined)
    assert.equal(first.job, 'slow 1')
    assert.equal(queue.next(1)?.job, 'quick')
    assert.deepEqual([queue.hasNext(1), queue.hasNext(2)], [false, true])
    queue.finished(first, 100)
    assert.equal(queue.next(1)?.job, 'slow 2')
  })

  it('loses and repeats nothing, whatever comes and goes', () => {
    const step = fc.oneof(
      fc.record({ push: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2 })) }),
      fc.record({ finish: fc.integer({ min: 0, max: 200 }) }),
      fc.record({ next: fc.integer({ min: 0, max: 4 }) }),
      fc.constant({ putBack: true }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<number>({
          total: 20,
          perOrganization: 12,
          perApplication: 5,
          assuredPerOrganization: 0,
          runningPerOrganization: 2,
        })
        const running: NonNullable<ReturnType<typeof queue.next>>[] = []
        const expected = new Set<number>()
        for (const [index, one] of steps.entries()) {
          if ('push' in one && queue.push(`o${one.push[0]}`, `a${one.push[1]}`, index, 1)) expected.add(index)
          if ('next' in one) {
            const taken = queue.next()
            if (taken === undefined) continue
            const others = queue.nextOfOthers(taken, one.next, (_organizationId, job) => job % 7 !== 0)
            assert.ok(
              others.length <= one.next &&
                others.every(({ organizationId, job }) => {
                  return organizationId !== taken.organizationId && job % 7 !== 0
                }),
            )
            for (const each of [taken, ...others]) assert.ok(expected.delete(each.job))
            running.push(taken, ...others)
            // Jobs of an application run in one batch, and an organization has two batches at most.
            const batches = new Map<string, Set<unknown>>()
            for (const { organizationId, applicationKey, batch } of running) {
              for (const key of [organizationId, `${organizationId} ${applicationKey}`]) {
                batches.set(key, (batches.get(key) ?? new Set()).add(batch))
              }
            }
            for (const [key, { size }] of batches) assert.ok(size <= (key.includes(' ') ? 1 : 2))
          }
          const last = running.at(-1)
          if ('putBack' in one && last !== undefined) {
            queue.putBack(last)
            expected.add(last.job)
            running.pop()
          }
          const first = running[0]
          if (!('finish' in one) || first === undefined) continue
          queue.finished(first, one.finish)
          running.shift()
        }
        for (const taken of running) queue.finished(taken, 1)
        for (let taken = queue.next(); taken !== undefined; taken = queue.next()) {
          assert.ok(expected.delete(taken.job))
          queue.finished(taken, 1)
        }
        assert.equal(expected.size, 0)
        assert.equal(queue.size, 0)
      }),
    )
  })

  it('takes jobs of other organizations behind one: those that may join, where nothing of theirs runs', () => {
    const queue = new FairQueue<string>(limits)
    for (const name of ['running', 'first', 'refused', 'joins', 'late']) {
      for (const n of [1, 2]) queue.push(name, name, `${name} ${n}`, 1)
    }
    const running = queue.next()
    const first = queue.next()
    assert.ok(running !== undefined && first !== undefined)
    assert.deepEqual([running.job, first.job], ['running 1', 'first 1'])
    const asked: string[] = []
    const others = queue.nextOfOthers(first, 3, (organizationId, job) => {
      asked.push(job)
      return organizationId !== 'refused'
    })
    assert.deepEqual(
      others.map(({ job }) => job),
      ['joins 1', 'joins 2', 'late 1'],
    )
    assert.equal(asked.includes('running 2') || asked.includes('first 2'), false)
    assert.equal(queue.size, 5)
    assert.deepEqual(
      queue.nextOfOthers(first, 0, () => true),
      [],
    )
  })

  it('lets an organization run nothing else until the last of its jobs that were taken together is over', () => {
    const queue = new FairQueue<string>(limits)
    queue.push('first', 'a', 'first', 1)
    for (const n of [1, 2, 3, 4]) queue.push('o', `b${n}`, `o ${n}`, 1)
    const first = queue.next()
    assert.ok(first !== undefined)
    const [one, two, three] = queue.nextOfOthers(first, 3, () => true)
    assert.ok(one !== undefined && two !== undefined && three !== undefined)
    queue.finished(first, 1)
    queue.finished(one, 1)
    assert.equal(queue.hasNext(), false)
    queue.putBack(three)
    assert.equal(queue.hasNext(), false)
    queue.finished(two, 1)
    assert.equal(queue.next()?.job.startsWith('o '), true)
    assert.equal(queue.hasNext(), false)
  })
})
