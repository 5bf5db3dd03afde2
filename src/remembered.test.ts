import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { array, assert as assertProperty, asyncProperty, constant, constantFrom, nat, oneof, record } from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { Remembered } from './remembered.ts'
import type { RememberedOptions } from './remembered.ts'

interface Fact {
  readonly version: number
  readonly group: string
}

/** A look-up that the test ends itself. */
interface Pending {
  readonly id: string
  readonly resolve: (fact: Fact | undefined) => void
  readonly reject: (error: Error) => void
}

function open(options: Partial<RememberedOptions<Fact | undefined, void>> = {}) {
  const pending: Pending[] = []
  const memory = new Remembered<Fact | undefined>({
    look: (id) => {
      const { promise, resolve, reject } = Promise.withResolvers<Fact | undefined>()
      pending.push({ id, resolve, reject })
      return promise
    },
    maximum: 100,
    ...options,
  })
  /** Ends the oldest look-up. */
  const answer = async (fact: Fact | undefined): Promise<void> => {
    pending.shift()?.resolve(fact)
    await turn()
  }
  /** Asks, and ends the look-up that the question begins. */
  const learn = async (id: string, fact: Fact | undefined): Promise<void> => {
    const asked = memory.of(id)
    await answer(fact)
    assert.equal(await asked, fact)
  }
  return { memory, pending, answer, learn }
}

const groupOf = ({ group }: Fact): string => group

const fact = (version: number, group = 'g'): Fact => ({ version, group })

describe('a memory', () => {
  it('answers from memory at once, without a Promise, once it has looked the value up', async () => {
    const { memory, learn } = open()
    assert.equal(memory.get('a'), undefined)
    await learn('a', fact(1))
    assert.deepEqual(memory.of('a'), fact(1))
    assert.deepEqual(memory.get('a'), fact(1))
  })

  it('takes an answer that its source gives at once, and remembers it without a Promise', () => {
    let looks = 0
    const { memory } = open({
      look: (id) => {
        looks += 1
        return id === 'none' ? undefined : fact(looks)
      },
      maximumAbsent: 1,
    })
    assert.deepEqual(memory.of('a'), fact(1))
    assert.deepEqual(memory.of('a'), fact(1))
    assert.equal(memory.of('none'), undefined)
    assert.equal(memory.of('none'), undefined)
    assert.equal(looks, 2)
    memory.forget('a')
    assert.deepEqual(memory.of('a'), fact(3))
  })

  it('gives a value that its caller has read, until a change', () => {
    const { memory, pending } = open()
    memory.note('a', fact(1))
    assert.deepEqual(memory.of('a'), fact(1))
    assert.equal(pending.length, 0)
    memory.forget('a')
    assert.equal(memory.get('a'), undefined)
  })

  it('asks no source that answers at once while an earlier look-up gathers changes', async () => {
    let isBusy = true
    const asked = Promise.withResolvers<Fact | undefined>()
    const { memory } = open({ look: () => (isBusy ? asked.promise : fact(9)) })
    const first = memory.of('a')
    isBusy = false
    const second = memory.of('a')
    const versions: number[] = []
    memory.amend('a', ({ version }) => versions.push(version))
    asked.resolve(fact(1))
    assert.deepEqual(await Promise.all([first, second]), [fact(1), fact(1)])
    assert.deepEqual(versions, [1])
  })

  it('looks a value up once for all who ask at the same time', async () => {
    const { memory, pending, answer } = open()
    const asked = [memory.of('a'), memory.of('a'), memory.of('b')]
    assert.deepEqual(
      pending.map(({ id }) => id),
      ['a', 'b'],
    )
    await answer(fact(1))
    await answer(fact(2))
    for (const [index, version] of [1, 1, 2].entries()) assert.deepEqual(await asked[index], fact(version))
  })

  it('hands on what the look-up needs beside the id', async () => {
    const memory = new Remembered<string, number>({ look: async (id, asked) => `${id} ${asked}`, maximum: 10 })
    assert.equal(await memory.of('a', 7), 'a 7')
    assert.equal(memory.of('a', 7), 'a 7')
  })

  it('looks again after a change that came while a look-up was under way', async () => {
    const { memory, pending, answer } = open()
    const asked = memory.of('a')
    memory.forget('a')
    await answer(fact(1))
    assert.equal(memory.get('a'), undefined, 'the answer may be older than the change')
    assert.equal(pending.length, 1)
    await answer(fact(2))
    assert.deepEqual(await asked, fact(2))
    assert.deepEqual(memory.of('a'), fact(2))
  })

  it('does not look again after a change of another id', async () => {
    const { memory, pending, answer } = open()
    const asked = memory.of('a')
    memory.forget('b')
    await answer(fact(1))
    assert.deepEqual(await asked, fact(1))
    assert.deepEqual([memory.get('a'), pending.length], [fact(1), 0])
  })

  it('shares no look-up that began before a change with those who ask after the change', async () => {
    const { memory, pending, answer } = open()
    const before = memory.of('a')
    memory.forget('a')
    const after = memory.of('a')
    assert.equal(pending.length, 2)
    pending.reverse()
    await answer(fact(2))
    assert.deepEqual(await after, fact(2))
    await answer(fact(1))
    assert.equal(pending.length, 0, 'the overtaken question finds the answer of the other')
    assert.deepEqual(await before, fact(2))
    assert.deepEqual(memory.get('a'), fact(2))
  })

  it('gives the last answer, and does not remember it, when a change comes during each look-up', async () => {
    const { memory, pending, answer } = open()
    const asked = memory.of('a')
    let looks = 0
    while (pending.length > 0) {
      looks += 1
      memory.forget('a')
      await answer(fact(looks))
    }
    assert.equal(looks, 5)
    assert.deepEqual(await asked, fact(5))
    assert.equal(memory.get('a'), undefined)
  })

  it('tells all who wait of a look-up that fails, and looks again for the next', async () => {
    const { memory, pending, learn } = open()
    const asked = Promise.allSettled([memory.of('a'), memory.of('a')])
    pending.shift()?.reject(new Error('the disk is gone'))
    assert.deepEqual(
      (await asked).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    await learn('a', fact(1))
    assert.deepEqual(memory.of('a'), fact(1))
  })

  it('is not stuck with a look-up that fails at once, or that fails after a change', async () => {
    let isBroken = true
    const { memory, pending, answer } = open({
      look: () => {
        if (isBroken) throw new Error('the disk is gone')
        return Promise.resolve(fact(1))
      },
    })
    await assert.rejects(async () => memory.of('a'))
    isBroken = false
    assert.deepEqual(await memory.of('a'), fact(1))

    const other = open()
    const before = Promise.allSettled([other.memory.of('a')])
    other.memory.forget('a')
    const after = other.memory.of('a')
    other.pending.shift()?.reject(new Error('the disk is gone'))
    await before
    const shared = other.memory.of('a')
    assert.equal(other.pending.length, 1, 'the failure of the overtaken look-up ends no other')
    await other.answer(fact(2))
    assert.deepEqual([await after, await shared], [fact(2), fact(2)])
    assert.deepEqual([pending.length, await answer(undefined)], [0, undefined])
  })

  it('forgets everything, what is being looked up included', async () => {
    const { memory, pending, learn, answer } = open({ maximumAbsent: 10 })
    await learn('a', fact(1))
    await learn('nobody', undefined)
    const asked = memory.of('b')
    memory.forgetAll()
    assert.equal(memory.get('a'), undefined)
    await answer(fact(1))
    assert.equal(pending.length, 1)
    await answer(fact(2))
    assert.deepEqual(await asked, fact(2))
    assert.ok(memory.of('nobody') instanceof Promise)
  })
})

describe('an id without a value', () => {
  it('is looked up each time, unless such ids are remembered', async () => {
    const { memory, learn } = open()
    await learn('a', undefined)
    assert.ok(memory.of('a') instanceof Promise)
    const other = open({ maximumAbsent: 10 })
    await other.learn('a', undefined)
    assert.equal(other.memory.of('a'), undefined)
    other.memory.forget('a')
    await other.learn('a', fact(1))
    assert.deepEqual(other.memory.of('a'), fact(1))
  })

  it('pushes no value out', async () => {
    const { memory, learn } = open({ maximumAbsent: 10 })
    await learn('a', fact(1))
    for (let number = 0; number < 1_000; number += 1) await learn(`nobody ${number}`, undefined)
    assert.deepEqual(memory.of('a'), fact(1))
    assert.ok(memory.of('nobody 0') instanceof Promise)
    assert.equal(memory.of('nobody 999'), undefined)
  })
})

describe('the bound of a memory', () => {
  it('drops the values that nobody asked for lately', async () => {
    const { memory, learn } = open()
    await learn('busy', fact(0))
    for (let number = 0; number < 500; number += 1) {
      await learn(`k${number}`, fact(number))
      assert.deepEqual(memory.of('busy'), fact(0))
    }
    assert.equal(memory.get('k0'), undefined)
    await learn('k0', fact(0))
  })

  it('may be on the size of the values', async () => {
    const { memory, learn } = open({ size: { maximum: 100, sizeOf: ({ version }) => version } })
    for (let number = 0; number < 20; number += 1) await learn(`k${number}`, fact(20))
    const kept = Array.from({ length: 20 }, (_, number) => memory.get(`k${number}`)).filter((one) => one !== undefined)
    assert.ok(kept.length >= 2 && kept.length <= 5, String(kept.length))
  })
})

describe('a group of values', () => {
  it('is forgotten at once, and no other', async () => {
    const { memory, learn } = open({ groupOf })
    await learn('a', fact(1, 'g'))
    await learn('b', fact(1, 'h'))
    memory.forgetGroup('g')
    assert.deepEqual([memory.get('a'), memory.get('b')], [undefined, fact(1, 'h')])
    await learn('a', fact(2, 'h'))
    assert.deepEqual(memory.of('a'), fact(2, 'h'))
  })

  it('is forgotten of what is being looked up, too', async () => {
    const { memory, pending, answer } = open({ groupOf })
    const asked = memory.of('a')
    memory.forgetGroup('g')
    await answer(fact(1, 'g'))
    assert.equal(pending.length, 1)
    await answer(undefined)
    assert.equal(await asked, undefined)
  })

  it('that was made anew has its new values, and none of its earlier ones', async () => {
    const { memory, learn } = open({ groupOf })
    await learn('a', fact(1, 'g'))
    await learn('b', fact(1, 'g'))
    memory.forgetGroup('g')
    await learn('c', fact(2, 'g'))
    assert.deepEqual([memory.get('a'), memory.get('b'), memory.get('c')], [undefined, undefined, fact(2, 'g')])
    await learn('a', fact(2, 'g'))
    assert.deepEqual(memory.get('a'), fact(2, 'g'))
  })

  it('does not come back when more groups are forgotten than are counted', async () => {
    const { memory, learn } = open({ groupOf })
    await learn('a', fact(1, 'g'))
    await learn('b', fact(1, 'h'))
    memory.forgetGroup('g')
    for (let number = 0; number < 10_001; number += 1) {
      memory.forgetGroup(`other ${number}`)
      assert.equal(memory.get('a'), undefined)
    }
    assert.ok(memory.of('b') instanceof Promise, 'at the bound, all values are forgotten')
  })
})

const openSets = () => {
  const pending: ((set: Set<string>) => void)[] = []
  const look = () => new Promise<Set<string>>((resolve) => pending.push(resolve))
  return { sets: new Remembered<Set<string>>({ look, maximum: Infinity }), pending }
}

describe('a change of a value in place', () => {
  it('reaches the callers that keep the value', async () => {
    const { sets, pending } = openSets()
    const asked = sets.of('a')
    pending.shift()?.(new Set(['1']))
    const kept = await asked
    sets.amend('a', (set) => set.add('2'))
    assert.deepEqual(kept, new Set(['1', '2']))
    assert.equal(sets.of('a'), kept)
  })

  it('reaches a value that is being looked up, whether the look-up saw the change or not', async () => {
    for (const seen of [new Set(['1']), new Set(['2'])]) {
      const { sets, pending } = openSets()
      const asked = sets.of('a')
      sets.amend('a', (set) => set.delete('1'))
      sets.amend('a', (set) => set.add('2'))
      pending.shift()?.(seen)
      assert.deepEqual(await asked, new Set(['2']))
      assert.equal(pending.length, 0)
    }
  })

  it('reaches nothing where nobody asked', async () => {
    const { sets, pending } = openSets()
    sets.amend('a', () => assert.fail())
    const asked = sets.of('a')
    pending.shift()?.(new Set(['1']))
    assert.deepEqual(await asked, new Set(['1']))
  })
})

describe('in any order of questions, changes and look-ups', () => {
  const IDS = ['a', 'b', 'c']
  const GROUPS = ['g', 'h']
  const id = constantFrom(...IDS)
  const group = constantFrom(...GROUPS)
  const index = nat(5)
  const command = oneof(
    { weight: 4, arbitrary: record({ kind: constant('ask' as const), id }) },
    { weight: 3, arbitrary: record({ kind: constant('change' as const), id, group }) },
    { weight: 1, arbitrary: record({ kind: constant('remove' as const), id }) },
    { weight: 2, arbitrary: record({ kind: constant('removeGroup' as const), group }) },
    { weight: 1, arbitrary: record({ kind: constant('import' as const), group }) },
    { weight: 3, arbitrary: record({ kind: constant('read' as const), index }) },
    { weight: 4, arbitrary: record({ kind: constant('deliver' as const), index }) },
  )

  it('what is at hand is true now, and an answer was true at some moment since the question', async () => {
    const run = async (commands: readonly (typeof command extends Arbitrary<infer One> ? One : never)[]) => {
      const source = new Map<string, Fact>()
      const pending: { readonly id: string; read?: () => Fact | undefined; deliver: () => void }[] = []
      const memory = new Remembered<Fact | undefined>({
        look: (one) =>
          new Promise((resolve) => {
            const look: (typeof pending)[number] = {
              id: one,
              deliver: () => resolve(look.read === undefined ? source.get(one) : look.read()),
            }
            pending.push(look)
          }),
        maximum: 100,
        maximumAbsent: 100,
        groupOf: (value) => value.group,
      })
      let version = 0
      /** For each question, all values that were true since the question. */
      const questions: { readonly id: string; readonly truths: Set<Fact | undefined>; isAnswered: boolean }[] = []
      const set = (one: string, value: Fact | undefined): void => {
        if (value === undefined) source.delete(one)
        else source.set(one, value)
        for (const question of questions) {
          if (question.id === one && !question.isAnswered) question.truths.add(value)
        }
      }
      const make = (ofGroup: string): Fact => ({ version: (version += 1), group: ofGroup })
      const checkAtHand = (): void => {
        for (const one of IDS) {
          const known = memory.get(one)
          if (known !== undefined) assert.equal(known, source.get(one))
        }
      }
      for (const next of commands) {
        if (next.kind === 'ask') {
          const question = { id: next.id, truths: new Set([source.get(next.id)]), isAnswered: false }
          questions.push(question)
          const answer = memory.of(next.id)
          if (!(answer instanceof Promise)) {
            question.isAnswered = true
            assert.equal(answer, source.get(next.id))
          } else {
            void answer.then((found) => {
              question.isAnswered = true
              assert.ok(question.truths.has(found))
            })
          }
        } else if (next.kind === 'change') {
          set(next.id, make(next.group))
          memory.forget(next.id)
        } else if (next.kind === 'remove') {
          set(next.id, undefined)
          memory.forget(next.id)
        } else if (next.kind === 'removeGroup') {
          for (const [one, value] of source) if (value.group === next.group) set(one, undefined)
          memory.forgetGroup(next.group)
        } else if (next.kind === 'import') {
          for (const one of IDS) if (!source.has(one)) set(one, make(next.group))
          memory.forgetAll()
        } else {
          const look = pending[next.index]
          if (look === undefined) continue
          if (next.kind === 'read') {
            const read = source.get(look.id)
            look.read ??= () => read
          } else {
            pending.splice(next.index, 1)
            look.deliver()
            await turn()
          }
        }
        checkAtHand()
      }
      while (pending.length > 0) {
        pending.shift()?.deliver()
        await turn()
        checkAtHand()
      }
      assert.ok(questions.every(({ isAnswered }) => isAnswered))
    }
    await assertProperty(asyncProperty(array(command, { maxLength: 60 }), run), { numRuns: 300 })
  })
})

it('the version is another one after each change that was told, and the same otherwise', async () => {
  const memory = new Remembered<string>({ look: async (id) => id, maximum: 10 })
  const versions = [memory.version]
  await memory.of('a')
  assert.equal(memory.version, versions[0])
  for (const change of [() => memory.forget('a'), () => memory.forgetAll(), () => memory.forgetGroup('a')]) {
    change()
    versions.push(memory.version)
  }
  assert.equal(new Set(versions).size, 4)
})

it('a look-up that throws rejects, and is not remembered', async () => {
  let isAway = true
  const memory = new Remembered<string>({
    look(id) {
      if (isAway) throw new Error('the registry is away')
      return id
    },
    maximum: 10,
  })
  await assert.rejects(async () => memory.of('a'), /the registry is away/)
  const failed = memory.of('a')
  assert.ok(failed instanceof Promise)
  await assert.rejects(failed, /the registry is away/)
  isAway = false
  assert.equal(memory.of('a'), 'a')
})
