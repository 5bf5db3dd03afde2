import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { History } from '../../broker/delivery/history.ts'
import { Message } from '../../broker/ports/message.ts'
import { MemoryEngine } from '../../engine/memory/memory.ts'
import { EventHistory, STORED_EVENT_KINDS } from './event-history.ts'
import type { EventQuery, StoredEvent } from './event-history.ts'
import { commandTopic, eventTopic } from '../topics.ts'

const DEVICE = '0102030405060708'
const OTHER_DEVICE = '0a0a0a0a0a0a0a0a'
const APPLICATION = '5'
const START_MS = Date.UTC(2026, 0, 1)

/** One partition, so that everything lies among everything else. */
async function createStore() {
  let nowMs = START_MS
  const engine = new MemoryEngine({ partitions: 1, retainedMessages: 100_000, clock: { now: () => nowMs } })
  await engine.open({ lowestNeeded: () => Infinity })
  const store = (topicName: string, payload: string | Buffer = '{}'): Promise<Message> => {
    nowMs += 1000
    const rest = { qos: 1, retain: false, properties: undefined, publisherKey: '' } as const
    const message = new Message({ topicName, payload: Buffer.from(payload), ...rest }, Infinity)
    return new Promise((resolve, reject) => {
      engine.append(0, {
        message,
        committed: () => resolve(message),
        failed: ({ reason }) => reject(new Error(reason)),
      })
    })
  }
  return { history: new EventHistory(new History(engine)), store }
}

function query(more: Partial<EventQuery> = {}): EventQuery {
  return {
    applicationId: APPLICATION,
    devEui: undefined,
    kinds: undefined,
    fromMs: 0,
    toMs: Infinity,
    after: undefined,
    order: 'oldest',
    maximumEvents: Infinity,
    ...more,
  }
}

async function read(
  history: EventHistory,
  asked: EventQuery,
): Promise<{ events: StoredEvent[]; nextAfter?: string | undefined }> {
  const events: StoredEvent[] = []
  let nextAfter: string | undefined
  for await (const page of history.pages(asked)) {
    events.push(...page.events)
    nextAfter = page.nextAfter
  }
  return { events, nextAfter }
}

test('an event is told by what its topic says, with its payload, its id and when the log took it', async () => {
  const { history, store } = await createStore()
  const message = await store(eventTopic(APPLICATION, DEVICE, 'join'), '{"devAddr":"01020304"}')
  assert.deepEqual(await read(history, query()), {
    events: [
      {
        id: message.id,
        timeMs: START_MS + 1000,
        applicationId: APPLICATION,
        devEui: DEVICE,
        kind: 'join',
        qos: 1,
        payload: Buffer.from('{"devAddr":"01020304"}'),
      },
    ],
    nextAfter: undefined,
  })
})

test('nothing but events of the application, or of the device, is told', async () => {
  const { history, store } = await createStore()
  const own = await store(eventTopic(APPLICATION, DEVICE, 'up'))
  const other = await store(eventTopic(APPLICATION, OTHER_DEVICE, 'up'))
  await store(commandTopic(APPLICATION, DEVICE))
  await store(eventTopic('50', DEVICE, 'up'))
  await store(eventTopic('4', DEVICE, 'up'))
  await store(`application/${APPLICATION}/device/${DEVICE}/event/up/more`)
  await store(`application/${APPLICATION}/device/${DEVICE}0/event/up`)
  const ids = async (devEui: string | undefined) => (await read(history, query({ devEui }))).events.map(({ id }) => id)
  assert.deepEqual(await ids(undefined), [own.id, other.id])
  assert.deepEqual(await ids(DEVICE), [own.id])
  assert.deepEqual(await ids('ffffffffffffffff'), [])
})

test('whatever is asked, in pages of whatever limit, it is what was stored and matches, in order, once', async () => {
  const { history, store } = await createStore()
  const all: Message[] = []
  for (let index = 0; index < 300; index += 1) {
    const kind = STORED_EVENT_KINDS[(index * 7) % STORED_EVENT_KINDS.length] ?? 'up'
    const application = index % 5 === 0 ? '6' : APPLICATION
    all.push(
      await store(eventTopic(application, index % 3 === 0 ? OTHER_DEVICE : DEVICE, kind), 'x'.repeat(index * 40)),
    )
  }
  const timeMs = fc.integer({ min: -5, max: 305 }).map((second) => START_MS + second * 1000)
  const asked = fc.record({
    devEui: fc.constantFrom(undefined, DEVICE, OTHER_DEVICE),
    kinds: fc.option(
      fc.uniqueArray(fc.constantFrom(...STORED_EVENT_KINDS)).map((kinds) => new Set(kinds)),
      {
        nil: undefined,
      },
    ),
    fromMs: timeMs,
    toMs: fc.oneof(timeMs, fc.constant(Infinity)),
    after: fc.option(
      fc.nat(299).map((index) => all[index]?.id ?? ''),
      { nil: undefined },
    ),
    order: fc.constantFrom('oldest', 'newest'),
  })
  await fc.assert(
    fc.asyncProperty(asked, fc.integer({ min: 1, max: 80 }), async (fields, maximumEvents) => {
      const expected = all.filter(({ topicName, ownedAtMs }) => {
        const [, application, , device = '', , kind] = topicName.split('/')
        return (
          application === APPLICATION &&
          (fields.devEui === undefined || fields.devEui === device) &&
          (fields.kinds === undefined || fields.kinds.has(kind as StoredEvent['kind'])) &&
          ownedAtMs >= fields.fromMs &&
          ownedAtMs < fields.toMs
        )
      })
      const isForward = fields.order === 'oldest'
      const place = fields.after === undefined ? undefined : Number(fields.after.split('-')[1])
      const ids = (isForward ? expected : expected.toReversed())
        .filter(({ offset }) => place === undefined || (isForward ? offset > place : offset < place))
        .map(({ id }) => id)
      const seen: string[] = []
      let { after } = fields
      do {
        const { events, nextAfter } = await read(history, query({ ...fields, after, maximumEvents }))
        assert.ok(events.length <= maximumEvents)
        seen.push(...events.map(({ id }) => id))
        after = nextAfter
      } while (after !== undefined)
      assert.deepEqual(seen, ids)
    }),
  )
})

test('what is stored while it is read is not read, so that a reading ends', async () => {
  const { history, store } = await createStore()
  for (let index = 0; index < 40; index += 1) await store(eventTopic(APPLICATION, DEVICE, 'up'))
  let count = 0
  for await (const { events } of history.pages(query())) {
    count += events.length
    for (let index = 0; index < 100; index += 1) await store(eventTopic(APPLICATION, DEVICE, 'up'))
  }
  assert.equal(count, 40)
})

test('a page holds some 256 KiB of payloads, or one event', async () => {
  const { history, store } = await createStore()
  for (let index = 0; index < 60; index += 1) await store(eventTopic(APPLICATION, DEVICE, 'up'), 'x'.repeat(100_000))
  const sizes: number[] = []
  for await (const { events } of history.pages(query())) sizes.push(events.length)
  // Before the first page nobody knows how large its events are.
  assert.deepEqual(sizes, [16, ...Array.from({ length: 22 }, () => 2)])
})

test('an id counts for the application in whose partition it is', async () => {
  const engine = new MemoryEngine({ partitions: 64 })
  const history = new EventHistory(new History(engine))
  const own = Array.from({ length: 64 }, (_, partition) => partition).filter((partition) =>
    history.isOfApplication(APPLICATION, `${partition}-1`),
  )
  assert.equal(own.length, 1)
  for (const text of ['', 'x', '1', '-1', `${own[0]}-`, `${own[0]}-1 `]) {
    assert.equal(history.isOfApplication(APPLICATION, text), false, text)
  }
})
