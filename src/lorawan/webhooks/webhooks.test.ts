import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { MemoryEngine } from '../../engine/memory/memory.ts'
import { MemoryState } from '../commands/downlinks.testing.ts'
import { answerOf, AWAY, devEui, TEST_WEBHOOK, TestWebhooks } from './webhooks.testing.ts'

const ID = TEST_WEBHOOK.id

test('an event goes out signed, with its id, and with the payload as it was published', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({})
  const id = await hooks.publish('10', devEui(1), 'up', { fCnt: 1 })
  await hooks.rest()
  const [request] = hooks.requests
  assert.equal(request?.headers['webhook-id'], id)
  assert.match(request?.headers['webhook-signature'] ?? '', /^v1,[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(JSON.parse(request?.body ?? ''), {
    type: 'up',
    id,
    timestamp: new Date(hooks.clock.now()).toISOString(),
    organizationId: '1',
    applicationId: '10',
    devEui: devEui(1),
    data: { fCnt: 1 },
  })
  assert.equal(hooks.webhooks.view(ID)?.deliveries[0]?.outcome, 'delivered')
})

test('a webhook gets the applications, devices, kinds and tags that it chose, and nothing of others', async () => {
  const hooks = new TestWebhooks()
  hooks.tags.set(devEui(1), { site: 'north', floor: '2' })
  hooks.tags.set(devEui(2), { site: 'south' })
  await hooks.open({
    applicationIds: ['10', '20'],
    eventKinds: ['up', 'join'],
    devEuis: [devEui(1), devEui(2)],
    tags: { site: 'north' },
  })
  const wanted = [await hooks.publish('10', devEui(1), 'up'), await hooks.publish('10', devEui(1), 'join')]
  await hooks.publish('11', devEui(1), 'up')
  await hooks.publish('20', devEui(1), 'up')
  await hooks.publish('10', devEui(2), 'up')
  await hooks.publish('10', devEui(3), 'up')
  await hooks.publish('10', devEui(1), 'status')
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), wanted)
})

test('the events of a device go out one after the other, and other devices do not wait for it', async () => {
  const hooks = new TestWebhooks()
  const slow = Promise.withResolvers<void>()
  hooks.answer = async ({ body }) => {
    if (body.includes(devEui(1))) await slow.promise
    return answerOf(204)
  }
  await hooks.open({})
  const first = await hooks.publish('10', devEui(1))
  const second = await hooks.publish('10', devEui(1))
  const others = [await hooks.publish('10', devEui(2)), await hooks.publish('11', devEui(3))]
  await hooks.rest()
  assert.deepEqual(new Set(hooks.takeIds()), new Set([first, ...others]))
  slow.resolve()
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [second])
})

test('a webhook sends no more requests at the same time than its concurrency', async () => {
  const hooks = new TestWebhooks()
  const slow = Promise.withResolvers<void>()
  hooks.answer = async () => {
    await slow.promise
    return answerOf(200)
  }
  await hooks.open({ concurrency: 2 })
  for (let number = 1; number <= 5; number += 1) await hooks.publish('10', devEui(number))
  await hooks.rest()
  assert.equal(hooks.requests.length, 2)
  slow.resolve()
  await hooks.rest()
  assert.equal(hooks.requests.length, 5)
})

test('a failed event is sent again with the same id, after waits that grow, and holds its device alone', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = ({ body }) => answerOf(body.includes(devEui(1)) ? 500 : 200)
  await hooks.open({})
  const failing = await hooks.publish('10', devEui(1))
  await hooks.publish('10', devEui(1))
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [failing])
  const other = await hooks.publish('10', devEui(2))
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [other])
  for (const waitMs of [1_000, 2_000, 4_000]) {
    await hooks.advance(waitMs - 1)
    assert.deepEqual(hooks.takeIds(), [])
    await hooks.publish('10', devEui(2))
    await hooks.rest()
    hooks.takeIds()
    await hooks.advance(1)
    assert.deepEqual(hooks.takeIds(), [failing])
  }
})

test('a receiver that is away gets one request at a time, and everything when it is back', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = () => AWAY
  await hooks.open({})
  await hooks.publish('10', devEui(1))
  await hooks.rest()
  hooks.takeIds()
  const ids = [await hooks.publish('10', devEui(2)), await hooks.publish('10', devEui(3))]
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [])
  assert.equal(hooks.webhooks.view(ID)?.standing.state, 'failing')
  await hooks.advance(1_000)
  assert.equal(hooks.takeIds().length, 1)
  hooks.answer = () => answerOf(200)
  await hooks.advance(300_000)
  assert.ok(ids.every((id) => hooks.requests.some(({ headers }) => headers['webhook-id'] === id)))
  assert.equal(hooks.webhooks.view(ID)?.standing.state, 'running')
  assert.equal(hooks.webhooks.view(ID)?.standing.waitingEvents, 0)
})

test('a receiver that asks for time by Retry-After gets it', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = () => answerOf(429, { retryAfterMs: 120_000 })
  await hooks.open({})
  const id = await hooks.publish('10', devEui(1))
  await hooks.rest()
  hooks.takeIds()
  await hooks.advance(119_999)
  assert.deepEqual(hooks.takeIds(), [])
  await hooks.advance(1)
  assert.deepEqual(hooks.takeIds(), [id])
})

test('a webhook that can deliver nothing for its time is paused, and loses nothing by that', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = () => AWAY
  await hooks.open({ giveUpSeconds: 60 })
  const ids = [await hooks.publish('10', devEui(1)), await hooks.publish('10', devEui(1))]
  await hooks.rest()
  for (let second = 0; second < 130; second += 1) await hooks.advance(1_000)
  assert.equal(hooks.registered.get(ID)?.pause?.code, 'webhook_failing')
  assert.equal(hooks.webhooks.view(ID)?.standing.state, 'paused')
  assert.equal(hooks.webhooks.counters.pauses, 1)
  hooks.takeIds()
  await hooks.restart()
  ids.push(await hooks.publish('10', devEui(1)))
  await hooks.advance(3_600_000)
  assert.deepEqual(hooks.takeIds(), [])
  hooks.answer = () => answerOf(200)
  await hooks.change({ pause: undefined })
  assert.deepEqual(hooks.takeIds(), ids)
})

test('the time in which the service does not run is no time in which the receiver fails', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = () => AWAY
  await hooks.open({ giveUpSeconds: 60 })
  const id = await hooks.publish('10', devEui(1))
  await hooks.rest()
  await hooks.webhooks.close()
  hooks.clock.advance(86_400_000)
  await hooks.reopen()
  assert.equal(hooks.registered.get(ID)?.pause, undefined)
  hooks.takeIds()
  hooks.answer = () => answerOf(200)
  await hooks.advance(10_000)
  assert.deepEqual(hooks.takeIds(), [id])
})

test('a receiver that answers 410 is asked no more', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = () => answerOf(410)
  await hooks.open({})
  await hooks.publish('10', devEui(1))
  await hooks.rest()
  assert.equal(hooks.registered.get(ID)?.pause?.code, 'webhook_gone')
})

test('an event that is refused time and again pauses the webhook, or is skipped by its setting', async () => {
  for (const onRefused of ['pause', 'skip'] as const) {
    const hooks = new TestWebhooks()
    hooks.answer = ({ body }) => answerOf(body.includes('"bad"') ? 422 : 200)
    await hooks.open({ onRefused })
    await hooks.publish('10', devEui(1), 'up', { bad: true })
    const next = await hooks.publish('10', devEui(1))
    await hooks.rest()
    for (let second = 0; second < 200; second += 1) await hooks.advance(1_000)
    const tries = hooks.requests.filter(({ body }) => body.includes('"bad"')).length
    assert.equal(tries, 8)
    const isNextSent = hooks.takeIds().includes(next)
    assert.equal(isNextSent, onRefused === 'skip')
    assert.equal(hooks.registered.get(ID)?.pause?.code, onRefused === 'skip' ? undefined : 'webhook_event_refused')
    assert.equal(hooks.webhooks.counters.eventsSkipped, onRefused === 'skip' ? 1 : 0)
  }
})

test('a restart goes on behind what was delivered, and a kill sends some events again, never fewer', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({})
  for (let number = 0; number < 10; number += 1) await hooks.publish('10', devEui(1))
  await hooks.rest()
  assert.equal(hooks.takeIds().length, 10)
  await hooks.restart()
  assert.deepEqual(hooks.takeIds(), [])
  hooks.answer = () => AWAY
  const ids = [await hooks.publish('10', devEui(1)), await hooks.publish('11', devEui(2))]
  await hooks.rest()
  hooks.webhooks.tick()
  hooks.takeIds()
  hooks.answer = () => answerOf(200)
  // The process before never closed.
  await hooks.reopen()
  assert.deepEqual(new Set(hooks.takeIds()), new Set(ids))
})

test('events that come in the time between two processes go out after it', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({})
  await hooks.webhooks.close()
  const ids: string[] = []
  for (let number = 0; number < 600; number += 1) ids.push(await hooks.publish('10', devEui(number % 7)))
  await hooks.reopen()
  for (let turn = 0; turn < 100 && hooks.requests.length < 600; turn += 1) await hooks.rest()
  const sent = hooks.requests.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual(new Set(sent), new Set(ids))
  assert.equal(sent.length, 600)
  for (let device = 0; device < 7; device += 1) {
    const own = hooks.requests.filter(({ body }) => body.includes(devEui(device)))
    const offsets = own.map(({ headers }) => Number(headers['webhook-id']?.split('-')[1]))
    assert.deepEqual(
      offsets,
      offsets.toSorted((one, other) => one - other),
    )
  }
})

test('a replay sends again what the log took from its time on', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({})
  await hooks.publish('10', devEui(1))
  await hooks.advance(60_000)
  const startMs = hooks.clock.now()
  const ids = [await hooks.publish('10', devEui(1)), await hooks.publish('11', devEui(1))]
  await hooks.rest()
  hooks.takeIds()
  await hooks.change({ generation: 1, startMs, reachMs: startMs })
  assert.deepEqual(new Set(hooks.takeIds()), new Set(ids))
  await hooks.restart()
  assert.deepEqual(hooks.takeIds(), [])
})

test('a batch goes out when it is full, or when its first event has waited long enough', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({ batch: { maximumEvents: 3, maximumBytes: 65_536, waitMs: 5_000 } })
  const ids: string[] = []
  for (let number = 0; number < 4; number += 1) ids.push(await hooks.publish('10', devEui(number)))
  await hooks.rest()
  const bodies = (): readonly string[][] =>
    hooks.requests.map(({ body }) => (JSON.parse(body) as { id: string }[]).map(({ id }) => id))
  assert.deepEqual(bodies(), [ids.slice(0, 3)])
  assert.match(hooks.requests[0]?.headers['webhook-id'] ?? '', /^batch-[0-9a-f]{32}$/)
  await hooks.advance(4_999)
  assert.equal(hooks.requests.length, 1)
  await hooks.advance(1)
  assert.deepEqual(bodies(), [ids.slice(0, 3), ids.slice(3)])
})

test('a batch is sent again whole with one id, and taken apart when its receiver refuses it', async () => {
  const hooks = new TestWebhooks()
  hooks.answer = ({ body }) => answerOf(body.includes('"bad"') ? 400 : 200)
  await hooks.open({ onRefused: 'skip', batch: { maximumEvents: 3, maximumBytes: 65_536, waitMs: 0 } })
  await Promise.all([
    hooks.publish('10', devEui(1)),
    hooks.publish('10', devEui(2), 'up', { bad: true }),
    hooks.publish('10', devEui(2)),
  ])
  await hooks.rest()
  await hooks.advance(1_000)
  const tries = hooks.takeIds()
  assert.equal(tries.length, 2)
  assert.equal(new Set(tries).size, 1)
  for (let second = 0; second < 400; second += 1) await hooks.advance(1_000)
  const { standing } = hooks.webhooks.view(ID) ?? {}
  assert.deepEqual([standing?.eventsDelivered, standing?.eventsSkipped, standing?.waitingEvents], [2, 1, 0])
})

test('a webhook whose receiver hangs costs no other webhook a request', async () => {
  const hooks = new TestWebhooks()
  const other = 'aaaaaaaa-0000-4000-8000-000000000002'
  hooks.answer = ({ url }) => (url.includes('hangs') ? new Promise(() => {}) : answerOf(200))
  await hooks.open({ url: 'https://hangs.example.org/' }, { id: other })
  for (let number = 0; number < 600; number += 1) await hooks.publish('10', devEui(number % 50))
  for (let turn = 0; turn < 50; turn += 1) await hooks.rest()
  assert.equal(hooks.webhooks.view(other)?.standing.eventsDelivered, 600)
  const { standing } = hooks.webhooks.view(ID) ?? {}
  assert.equal(standing?.requestsUnderWay, 4)
  // It holds a bounded part of the events in memory.
  assert.equal(standing?.waitingEvents, 256)
})

test('an answer may bring a command for the event’s device, once, and only by the setting', async () => {
  const body = Buffer.from('{"confirmed":true,"fPort":10,"data":"AQID"}')
  for (const acceptsCommands of [false, true]) {
    const hooks = new TestWebhooks()
    hooks.answer = () => answerOf(200, { contentType: 'application/json; charset=utf-8', body })
    await hooks.open({ acceptsCommands })
    const id = await hooks.publish('10', devEui(1))
    await hooks.rest()
    const expected = { target: { applicationId: '10', devEui: devEui(1) }, id: `aaaaaaaa-${id}` }
    assert.deepEqual(hooks.commands, acceptsCommands ? [expected] : [])
    const [delivery] = hooks.webhooks.view(ID)?.deliveries ?? []
    assert.equal(delivery?.command?.outcome, acceptsCommands ? 'queued' : undefined)
    await hooks.change({ generation: 1 })
    assert.equal(hooks.commands.length, acceptsCommands ? 1 : 0)
  }
})

test('a command for a device that has another owner now is not queued, and a bad one is told', async () => {
  const hooks = new TestWebhooks()
  const body = Buffer.from('{"confirmed":true,"fPort":10,"data":"AQID"}')
  hooks.answer = ({ body: sent }) =>
    answerOf(200, {
      contentType: 'application/json',
      body: sent.includes(devEui(1)) ? Buffer.from('{"ok":true}') : body,
    })
  await hooks.open({ acceptsCommands: true })
  await hooks.publish('10', devEui(0xf))
  await hooks.publish('10', devEui(1))
  await hooks.rest()
  assert.deepEqual(hooks.commands, [])
  const outcomes = hooks.webhooks.view(ID)?.deliveries.map(({ command }) => command?.outcome)
  assert.deepEqual(outcomes?.toSorted(), ['command_device_unknown', 'member_missing'])
})

test('events that the log has lost meanwhile are counted and told, and the others go out', async () => {
  const clock = new TestClock()
  const engine = new MemoryEngine({ retainedMessages: 500, clock, maximumBytes: 65_536 })
  const hooks = new TestWebhooks({ engine, clock })
  await hooks.open({})
  await hooks.publish('10', devEui(1))
  await hooks.rest()
  hooks.takeIds()
  await hooks.webhooks.close()
  const ids: string[] = []
  for (let number = 0; number < 600; number += 1) {
    ids.push(await hooks.publish('10', devEui(1), 'up', { text: 'x'.repeat(400) }))
  }
  await hooks.reopen()
  for (let turn = 0; turn < 300 && hooks.webhooks.view(ID)?.standing.isAtTail !== true; turn += 1) await hooks.rest()
  for (let turn = 0; turn < 300 && hooks.webhooks.view(ID)?.standing.waitingEvents !== 0; turn += 1) await hooks.rest()
  const sent = hooks.takeIds()
  const { standing, deliveries = [] } = hooks.webhooks.view(ID) ?? {}
  assert.ok(sent.length > 0 && sent.length < 600, String(sent.length))
  assert.deepEqual(sent, ids.slice(-sent.length))
  assert.ok((standing?.missedAtMost ?? 0) >= 600 - sent.length)
  assert.equal(hooks.webhooks.counters.eventsMissed, standing?.missedAtMost)
  const told = deliveries.some(({ code }) => code === 'webhook_events_missed')
  // The log of deliveries has the newest 100.
  assert.ok(told || sent.length >= 100)
})

test('places that can’t be written are written later, and events go out meanwhile', async () => {
  const state = new MemoryState()
  const hooks = new TestWebhooks({ state })
  await hooks.open({})
  state.isFailing = true
  const id = await hooks.publish('10', devEui(1))
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [id])
  hooks.webhooks.tick()
  await hooks.rest()
  state.isFailing = false
  hooks.webhooks.tick()
  await hooks.rest()
  await hooks.reopen()
  assert.deepEqual(hooks.takeIds(), [])
})

test('a registry that is away for a while loses nothing, and sends nothing twice', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({})
  const ids = [await hooks.publish('10', devEui(1))]
  await hooks.rest()
  await hooks.webhooks.close()
  hooks.isRegistryAway = true
  await hooks.reopen()
  ids.push(await hooks.publish('10', devEui(1)))
  await hooks.rest()
  hooks.webhooks.tick()
  await hooks.rest()
  hooks.isRegistryAway = false
  await hooks.advance(5_000)
  assert.deepEqual(hooks.takeIds(), ids)
})

test('a webhook that is removed ends, and a new application is followed at once', async () => {
  const hooks = new TestWebhooks()
  await hooks.open({})
  hooks.applications.get('1')?.add('12')
  const id = await hooks.publish('12', devEui(1))
  await hooks.webhooks.applicationsChanged('1')
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [id])
  hooks.registered.delete(ID)
  await hooks.webhooks.changed(ID)
  await hooks.rest()
  await hooks.publish('12', devEui(1))
  await hooks.rest()
  assert.deepEqual(hooks.takeIds(), [])
  const left: string[] = []
  for await (const { key } of hooks.engine.load('webhook/')) left.push(key)
  assert.deepEqual(left, [])
})
