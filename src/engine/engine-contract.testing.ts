/** The behaviour that every engine has: one suite, which each engine passes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Arrivals, Engine, StateRequest } from '../broker/ports/engine.ts'
import type { Message } from '../broker/ports/message.ts'
import type { TestClock } from '../clock.testing.ts'
import { append, changesOf, loadAll, messageOf, readAll, scanAll, texts, write } from './engine-client.testing.ts'

/** An open engine that keeps about `maximumBytes` of messages, even though no reader needs them. */
export interface EngineFixture {
  readonly engine: Engine
  /** The time that the log notes for its messages, ms since 1970. */
  readonly now: () => number
  /** Lets time go on, so that the next message is owned at a later time. */
  readonly tick: () => Promise<void>
  /** Runs the retention that is due. */
  readonly retain: () => Promise<void>
  /** Opens the data that the engine left when it was closed; undefined: it leaves none. */
  readonly reopen: (() => Promise<Engine>) | undefined
}

export interface EngineWishes {
  readonly retainedBytes: number
  readonly arrivals?: Arrivals
}

export type MakeEngine = (options: EngineWishes) => Promise<EngineFixture>

const AMPLE = 64 * 1_048_576

/** Resolves when all callbacks that are ready have run. */
function eventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function ascending(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((a, b) => a - b)
}

function isUp(topicName: string): boolean {
  return topicName.endsWith('/up')
}

const ENGINE_CONTRACT: readonly { readonly title: string; readonly run: (make: MakeEngine) => Promise<void> }[] = [
  {
    title: 'messages are owned in the order of the calls, each partition with offsets of its own',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const order: string[] = []
      const all = [1, 2, 1, 1, 2].map((partition, number) =>
        append(engine, partition, messageOf('a/b', `m${number}`)).then((offset) => {
          order.push(`m${number}`)
          return offset
        }),
      )
      assert.deepEqual(order, [], 'never within the call')
      const [m0, m1, m2, m3, m4] = (await Promise.all(all)) as [number, number, number, number, number]
      assert.deepEqual(order, ['m0', 'm1', 'm2', 'm3', 'm4'])
      const first = await readAll(engine, 1)
      assert.deepEqual(
        [texts(first.messages), first.offsets],
        [
          ['m0', 'm2', 'm3'],
          [m0, m2, m3],
        ],
      )
      assert.ok(m0 >= 0 && m0 < m2 && m2 < m3 && m1 < m4)
      assert.deepEqual([engine.tail(0), engine.tail(1), engine.tail(2)], [0, m3 + 1, m4 + 1])
      await engine.close()
    },
  },
  {
    title:
      'when a message is told to be owned, it knows its place, the tail is right behind it, and what comes after it is not there yet',
    run: async (make) => {
      const { engine, now } = await make({ retainedBytes: AMPLE })
      const seen: number[] = []
      const beganAtMs = now()
      const appended = (): Promise<void> =>
        new Promise((resolve) => {
          const message = messageOf('a', 'x')
          const committed = (offset: number): void => {
            assert.deepEqual([message.partition, message.offset, engine.tail(3)], [3, offset, offset + 1])
            assert.ok(message.ownedAtMs >= beganAtMs && message.ownedAtMs <= now())
            seen.push(offset)
            resolve()
          }
          engine.append(3, { message, committed, failed: () => assert.fail() })
        })
      await Promise.all([appended(), appended(), appended()])
      assert.deepEqual(seen, ascending(seen))
      await engine.close()
    },
  },
  {
    title:
      'each message arrives once, in the order of its partition, with its place known, before it is told to be owned',
    run: async (make) => {
      const arrived: string[] = []
      const arrivals: Arrivals = {
        arrived: (message) => {
          const { partition, offset, payload } = message
          assert.equal(tailOf(partition), offset + 1)
          arrived.push(`${partition} ${payload.toString()}`)
        },
      }
      const { engine } = await make({ retainedBytes: AMPLE, arrivals })
      const tailOf = (partition: number): number => engine.tail(partition)
      const all = Array.from({ length: 200 }, async (_, number) => {
        await append(engine, number % 2, messageOf('a/b', `${number}`))
        assert.ok(arrived.includes(`${number % 2} ${number}`))
      })
      await Promise.all(all)
      for (const partition of [0, 1]) {
        const { messages } = await readAll(engine, partition)
        const here = arrived.filter((text) => text.startsWith(`${partition} `))
        assert.deepEqual(
          texts(messages).map((text) => `${partition} ${text}`),
          here,
        )
        assert.equal(here.length, 100)
      }
      await engine.close()
    },
  },
  {
    title: 'messages and changes of one owner are owned in the order of the calls, whatever others have',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const owned = new Map<string, number[]>()
      const asked: Promise<void>[] = []
      for (let number = 0; number < 3_000; number += 1) {
        // One owner has much more than the others.
        const owner = number % 50 === 0 ? 'seldom' : number % 31 === 0 ? undefined : 'often'
        const name = owner ?? 'the service'
        const request = (resolve: () => void): Omit<StateRequest, 'changes'> => ({
          owner,
          committed: () => {
            owned.set(name, [...(owned.get(name) ?? []), number])
            resolve()
          },
          failed: () => assert.fail('it is owned'),
        })
        asked.push(
          new Promise((resolve) => {
            if (number % 3 === 0)
              engine.write({ ...request(resolve), changes: changesOf({ [`${name} ${number % 10}`]: `${number}` }) })
            else engine.append(number % 4, { ...request(resolve), message: messageOf('a/b', `${number}`) })
          }),
        )
        if (number % 400 === 0) await eventLoop()
      }
      await Promise.all(asked)
      for (const [name, numbers] of owned) assert.deepEqual(numbers, ascending(numbers), name)
      assert.equal([...owned.values()].flat().length, 3_000)
      const last = new Map(await loadAll(engine))
      assert.equal(last.get('often 9'), '2979')
      for (let partition = 0; partition < 4; partition += 1) {
        const { offsets, messages } = await readAll(engine, partition)
        assert.deepEqual(offsets, ascending(offsets))
        const often = texts(messages)
          .map(Number)
          .filter((number) => number % 50 !== 0 && number % 31 !== 0)
        assert.deepEqual(often, ascending(often))
      }
      await engine.close()
    },
  },
  {
    title: 'a message is read as it was appended',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const properties = {
        payloadFormatIndicator: 1,
        messageExpiryIntervalSeconds: 4_294_967_295,
        contentType: 'text/plain; charset=ütf-8',
        responseTopic: 'answers/日本',
        correlationData: Buffer.from([0, 255, 10]),
        userProperties: [
          ['b', '2'],
          ['a', ''],
          ['b', '1'],
          ['b', '1'],
        ],
      } as const
      const sent = [
        messageOf('/ä/', '', { qos: 2, retain: true, publisherKey: '' }),
        messageOf(
          't',
          'x'.repeat(300_000),
          { qos: 1, properties, publisherKey: 'org\u0000user\u0000client ☃' },
          1_900_000_000_123,
        ),
        messageOf('t'.repeat(1_024), 'y', { qos: 0 }),
      ]
      const places: number[] = []
      for (const message of sent) places.push(await append(engine, 0, message))
      const { messages, offsets } = await readAll(engine, 0)
      assert.deepEqual(offsets, places)
      for (const [
        index,
        { topicName, payload, qos, retain, publisherKey, expiresAtMs, ...rest },
      ] of messages.entries()) {
        const original = sent[index] as (typeof sent)[number]
        assert.equal(topicName, original.topicName)
        assert.ok(payload.equals(original.payload))
        assert.deepEqual([qos, retain, publisherKey], [original.qos, original.retain, original.publisherKey])
        assert.equal(expiresAtMs, original.expiresAtMs)
        assert.deepEqual(rest.properties, original.properties)
        assert.deepEqual([rest.partition, rest.offset, rest.ownedAtMs], [0, places[index], original.ownedAtMs])
      }
      await engine.close()
    },
  },
  {
    title:
      'a read gives at most the asked number of messages, tells where the next read goes on, and is empty at the tail',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const at = await Promise.all(
        Array.from({ length: 10 }, (_, number) => append(engine, 0, messageOf('a', `${number}`))),
      )
      const place = (number: number): number => at[number] as number
      const first = await engine.read(0, place(2), 3)
      assert.deepEqual([texts(first.messages), first.offsets, first.lost], [['2', '3', '4'], at.slice(2, 5), 0])
      assert.ok(first.next > place(4) && first.next <= place(5))
      const tail = engine.tail(0)
      const last = await engine.read(0, place(8), 100)
      assert.deepEqual([texts(last.messages), last.next], [['8', '9'], tail])
      const none = await engine.read(0, tail, 100)
      assert.deepEqual([none.messages, none.offsets, none.next, none.lost], [[], [], tail, 0])
      assert.deepEqual(await engine.read(1, 0, 100), { messages: [], offsets: [], next: 0, lost: 0 })
      await engine.close()
    },
  },
  {
    title: 'readers that follow the tail while messages come get each one, once and in order',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const total = 400
      const follow = async (turn: number): Promise<string[]> => {
        const seen: string[] = []
        for (let from = 0; seen.length < total;) {
          const { messages, next, lost } = await engine.read(0, from, turn)
          assert.equal(lost, 0)
          seen.push(...texts(messages))
          from = next
          await eventLoop()
        }
        return seen
      }
      const readers = [follow(1), follow(7), follow(1_000)]
      for (let number = 0; number < total; number += 1) {
        void append(engine, 0, messageOf('a', `${number}`))
        if (number % 10 === 0) await eventLoop()
      }
      const expected = Array.from({ length: total }, (_, number) => `${number}`)
      for (const seen of await Promise.all(readers)) assert.deepEqual(seen, expected)
      await engine.close()
    },
  },
  {
    title: 'a reader that retention overtook is told how many messages it lost, and no more than these',
    run: async (make) => {
      const { engine, retain } = await make({ retainedBytes: 40_000 })
      const total = 1_000
      const at: number[] = []
      for (let number = 0; number < total; number += 1) {
        at.push(await append(engine, 0, messageOf('a', `${number}`.padEnd(150))))
      }
      await retain()
      const { messages, offsets, lost, next } = await readAll(engine, 0)
      assert.ok(lost > 0, 'something is lost')
      assert.equal(lost + messages.length, total)
      assert.equal(offsets[0], at[lost])
      assert.equal(next, engine.tail(0))
      assert.equal(messages.at(-1)?.payload.toString().trim(), `${total - 1}`)
      const middle = await engine.read(0, at[lost - 2] as number, 10)
      assert.equal(middle.lost, 2)
      assert.equal((await engine.read(0, at[lost] as number, 10)).lost, 0)
      await engine.close()
    },
  },
  {
    title: 'the state has the last value of each key, by key and prefix, without forgotten keys',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      await write(engine, { 'b/2': 'two', 'b/1': 'one', a: '', c: 'see' })
      await Promise.all([write(engine, { 'b/1': 'uno' }), write(engine, { c: undefined, 'never there': undefined })])
      assert.deepEqual(await loadAll(engine), [
        ['a', ''],
        ['b/1', 'uno'],
        ['b/2', 'two'],
      ])
      assert.deepEqual(await loadAll(engine, 'b/'), [
        ['b/1', 'uno'],
        ['b/2', 'two'],
      ])
      assert.deepEqual(await loadAll(engine, 'x'), [])
      await engine.close()
    },
  },
  {
    title:
      'a key forgotten and written again in one group has its last value; a value that was read is the reader’s own',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      await write(engine, { k: '1' })
      const changes = [...changesOf({ k: undefined }), ...changesOf({ k: '2' })]
      await new Promise<void>((resolve) => {
        engine.write({ changes, committed: resolve, failed: () => assert.fail() })
      })
      for await (const { value } of engine.load('k')) value.fill(0)
      assert.deepEqual(await loadAll(engine), [['k', '2']])
      await engine.close()
    },
  },
  {
    title:
      'messages and state are owned in one order, and the changes of a message are there when it is told to be owned',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const order: string[] = []
      await Promise.all([
        write(engine, { k: '1' }).then(() => order.push('write 1')),
        append(engine, 0, messageOf('a', 'x'), changesOf({ k: '2', m: 'with it' })).then(() => order.push('append 2')),
        write(engine, { l: '3' }).then(() => order.push('write 3')),
        append(engine, 1, messageOf('a', 'x')).then(() => order.push('append 4')),
      ])
      assert.deepEqual(order, ['write 1', 'append 2', 'write 3', 'append 4'])
      assert.deepEqual(await loadAll(engine), [
        ['k', '2'],
        ['l', '3'],
        ['m', 'with it'],
      ])
      await engine.close()
    },
  },
  {
    title: 'a scan finds a branch of topics, oldest or newest first, in pages that neither skip nor repeat a message',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      for (let number = 0; number < 300; number += 1) {
        const topicName = `application/${number % 3}/device/d${number % 7}/event/${number % 2 === 0 ? 'up' : 'join'}`
        await append(engine, 0, messageOf(topicName, `${number}`))
      }
      const ofApplication = Array.from({ length: 100 }, (_, number) => `${3 * number + 1}`)
      const query = { partition: 0, topicPrefix: 'application/1/', direction: 'oldest first' } as const
      assert.deepEqual(texts(await scanAll(engine, query, 7)), ofApplication)
      assert.deepEqual(
        texts(await scanAll(engine, { ...query, direction: 'newest first' }, 7)),
        ofApplication.toReversed(),
      )
      const topicPrefix = 'application/2/device/d3/'
      const ofDevice = Array.from({ length: 300 }, (_, number) => number)
        .filter((number) => number % 3 === 2 && number % 7 === 3)
        .map(String)
      assert.deepEqual(texts(await scanAll(engine, { ...query, topicPrefix }, 2)), ofDevice)
      const ups = ofDevice.filter((number) => Number(number) % 2 === 0)
      assert.deepEqual(texts(await scanAll(engine, { ...query, topicPrefix, accepts: isUp }, 2)), ups)
      assert.deepEqual(texts(await scanAll(engine, { ...query, topicPrefix: '' }, 50)).length, 300)
      assert.deepEqual(
        await scanAll(engine, { ...query, topicPrefix: 'application/1/device/d' }, 200).then(texts),
        ofApplication,
      )
      assert.deepEqual(await scanAll(engine, { ...query, topicPrefix: 'application/9/' }, 10), [])
      await engine.close()
    },
  },
  {
    title: 'a scan tells whether a page is the last, and where to go on',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const at: number[] = []
      for (let number = 0; number < 5; number += 1) at.push(await append(engine, 0, messageOf('a/b', `${number}`)))
      const query = { partition: 0, topicPrefix: 'a/', maximumMessages: 4 } as const
      const first = await engine.scan({ ...query, direction: 'oldest first' })
      assert.deepEqual([texts(first.messages), first.more, first.nextAfterOffset], [['0', '1', '2', '3'], true, at[3]])
      const rest = await engine.scan({ ...query, direction: 'oldest first', afterOffset: at[3] })
      assert.deepEqual([texts(rest.messages), rest.more, rest.nextAfterOffset], [['4'], false, undefined])
      const newest = await engine.scan({ ...query, direction: 'newest first' })
      assert.deepEqual(
        [texts(newest.messages), newest.more, newest.nextAfterOffset],
        [['4', '3', '2', '1'], true, at[1]],
      )
      assert.deepEqual(newest.messages.map(({ partition, offset }) => [partition, offset])[0], [0, at[4]])
      await engine.close()
    },
  },
  {
    title: 'time is looked up and scanned by when the log took a message, beginning included, end not',
    run: async (make) => {
      const { engine, now, tick } = await make({ retainedBytes: AMPLE })
      const beginMs = now()
      const owned: Message[] = []
      for (let number = 0; number < 10; number += 1) {
        const message = messageOf('a/b', `${number}`)
        await append(engine, 0, message)
        owned.push(message)
        await tick()
      }
      const at = (number: number): number => owned[number]?.offset ?? -1
      const time = (number: number): number => owned[number]?.ownedAtMs ?? -1
      assert.ok((await engine.offsetAt(0, 0)) <= at(0))
      assert.equal(await engine.offsetAt(0, time(3)), at(3))
      assert.equal(await engine.offsetAt(0, time(3) + 1), at(4))
      assert.equal(await engine.offsetAt(0, time(9) + 60_000), engine.tail(0))
      assert.equal(await engine.offsetAt(1, beginMs), engine.tail(1))
      const query = { partition: 0, topicPrefix: 'a/', fromMs: time(3), toMs: time(6) } as const
      assert.deepEqual(texts(await scanAll(engine, { ...query, direction: 'oldest first' }, 2)), ['3', '4', '5'])
      assert.deepEqual(texts(await scanAll(engine, { ...query, direction: 'newest first' }, 2)), ['5', '4', '3'])
      await engine.close()
    },
  },
  {
    title: 'a healthy engine says so',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      assert.deepEqual(engine.health(), { canWrite: true, reason: '' })
      await engine.close()
    },
  },
  {
    title: 'the stored messages are counted, and the time of the first is known',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      assert.equal(engine.usage().messages, 0)
      assert.equal(engine.usage().oldestAtMs, undefined)
      const first = messageOf('a', 'x')
      await append(engine, 0, first)
      await append(engine, 1, messageOf('b', 'y'))
      await append(engine, 1, messageOf('b', 'z'))
      const { messages, bytes, oldestAtMs } = engine.usage()
      assert.equal(messages, 3)
      assert.ok(bytes > 0)
      assert.equal(oldestAtMs, first.ownedAtMs)
      await engine.close()
    },
  },
  {
    title: 'closing commits earlier requests',
    run: async (make) => {
      const { engine } = await make({ retainedBytes: AMPLE })
      const owned: string[] = []
      const all = [
        append(engine, 0, messageOf('a', 'x')).then(() => owned.push('message')),
        write(engine, { k: 'v' }).then(() => owned.push('state')),
      ]
      await engine.close()
      assert.deepEqual(owned, ['message', 'state'])
      await Promise.all(all)
    },
  },
  {
    title: 'owned messages and state are there again after reopening, and the offsets go on',
    run: async (make) => {
      const { engine, reopen } = await make({ retainedBytes: AMPLE })
      const at: number[] = []
      for (let number = 0; number < 5; number += 1) {
        const changes = changesOf({ [`k${number}`]: `${number}` })
        at.push(await append(engine, number % 2, messageOf('a/b', `${number}`), changes))
      }
      const tails = [0, 1, 2].map((partition) => engine.tail(partition))
      await write(engine, { k0: undefined, k1: 'one' })
      await engine.close()
      const again = await reopen?.()
      // An engine that leaves nothing behind has nothing to prove here.
      if (again === undefined) return assert.equal(engine.isDurable, false)
      assert.equal(engine.isDurable, true)
      assert.deepEqual(
        [0, 1, 2].map((partition) => again.tail(partition)),
        tails,
      )
      assert.deepEqual(await loadAll(again), [
        ['k1', 'one'],
        ['k2', '2'],
        ['k3', '3'],
        ['k4', '4'],
      ])
      assert.deepEqual(texts((await readAll(again, 0)).messages), ['0', '2', '4'])
      assert.ok((await append(again, 0, messageOf('a', '5'))) > (at[4] as number))
      assert.deepEqual(texts((await readAll(again, 0, at[4])).messages), ['4', '5'])
      await again.close()
    },
  },
]

/** The members of a fixture whose engine has a clock of the test's. */
export function timeOf(clock: TestClock): Pick<EngineFixture, 'now' | 'tick'> {
  const tick = async (): Promise<void> => clock.advance(1_000)
  return { now: () => clock.now(), tick }
}

/** Runs the suite against an engine. */
export function describeEngine(name: string, make: MakeEngine): void {
  describe(`${name} as an engine`, () => {
    for (const { title, run } of ENGINE_CONTRACT) test(title, () => run(make))
  })
}
