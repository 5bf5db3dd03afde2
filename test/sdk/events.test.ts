import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { FieldgateError, FilePositionStore, MemoryPositionStore } from '../../sdk/typescript/src/index.ts'
import type { EventOptions, FieldgateEvent } from '../../sdk/typescript/src/index.ts'
import { CutProxy } from '../network-servers/cut-proxy.ts'
import { within } from '../support/bounded-wait.ts'
import { Program } from '../support/program.ts'
import { PASSWORD } from '../support/administration.ts'
import { fCntOf, nextOf, startSdkWorld } from './sdk-world.ts'
import type { Place, SdkWorld } from './sdk-world.ts'

let world: SdkWorld
let serial = 0

before(async () => {
  world = await startSdkWorld()
})

after(() => world[Symbol.asyncDispose]())

/** A device in an application of its own, and a session whose store outlives its streams. */
async function newSession(): Promise<Place & { readonly session: Named }> {
  serial += 1
  const name = `session-${serial}`
  const place = await world.place()
  const store = new FilePositionStore(join(world.folder, name))
  return { ...place, session: { application: place.application, session: name, store } }
}

type Named = Required<Pick<EventOptions, 'application' | 'session' | 'store'>>

async function code(promise: Promise<unknown>): Promise<string> {
  const error = await within(
    promise.then(
      () => undefined,
      (reason: unknown) => reason,
    ),
    'an error',
  )
  assert.ok(error instanceof FieldgateError, String(error))
  return error.code
}

describe('events', () => {
  it('come in order, typed by their kind, with their id and their device', async () => {
    const { application, device, uplink, publish } = await world.place()
    await using fieldgate = await world.connect()
    const stream = fieldgate.events({ application })
    const first = stream.next()
    await uplink(1)
    const { value: event } = await within(first, 'the first event')
    assert.ok(event?.kind === 'up' && event.family === 'a')
    assert.match(String(event.id), /^\d+-\d+$/)
    assert.equal(event.devEui, device)
    assert.equal(event.applicationId, application)
    assert.equal(event.deviceName, `meter ${device}`)
    assert.deepEqual(event.tags, { site: 'north' })
    assert.deepEqual(event.data, Uint8Array.of(1, 2))
    assert.equal(event.body.txInfo.frequency, 868_100_000)
    await publish('status', { deviceInfo: { devEui: device }, margin: 7, batteryLevel: 50 })
    const status = await nextOf(stream)
    assert.ok(status.kind === 'status' && status.family === 'b')
    assert.equal(status.body.margin, 7)
  })

  it('are narrowed to a device and to kinds', async () => {
    const { application, device, uplink } = await world.place()
    const other = await world.administration.device(application)
    await using fieldgate = await world.connect()
    await using ofDevice = fieldgate.events({ application, device: other.toUpperCase() })
    await using ofKinds = fieldgate.events({ application, kinds: ['join', 'status'] })
    await using ofKind = fieldgate.events({ application, kinds: ['join'] })
    const wanted = [ofDevice.next(), ofKinds.next(), ofKind.next()]
    await uplink(2)
    const topicName = `application/${application}/device/${other}/event/join`
    world.networkServer.send(world.networkServer.publishPacket(topicName, '{"devAddr":"01020304"}', 1))
    await world.networkServer.next()
    for (const next of wanted) {
      const { value } = await within(next, 'an event')
      assert.equal(value?.kind, 'join')
      assert.notEqual(value.devEui, device)
    }
  })

  it('of all applications come by one stream, new applications included', async () => {
    const one = await world.place()
    await using fieldgate = await world.connect()
    await using stream = fieldgate.events({ refreshSeconds: 0.05 })
    const from = async (application: string): Promise<void> => {
      while ((await nextOf(stream)).applicationId !== application) continue
    }
    await one.uplink(3)
    await from(one.application)
    const added = await world.place()
    await added.uplink(4)
    await from(added.application)
  })

  it('whose payload is no JSON come as unreadable, and stop nothing', async () => {
    const { application, topicPrefix } = await world.place()
    await using fieldgate = await world.connect()
    await using stream = fieldgate.events({ application })
    const first = stream.next()
    world.networkServer.send(world.networkServer.publishPacket(`${topicPrefix}/location`, Buffer.of(0xff, 1), 1))
    await world.networkServer.next()
    const { value } = await within(first, 'the event')
    assert.ok(value?.kind === 'unreadable')
    assert.equal(value.publishedKind, 'location')
    assert.deepEqual(value.payload, Uint8Array.of(0xff, 1))
  })
})

describe('an event is acknowledged', () => {
  it('when the next one is asked for: a stream that ended before gets it again', async () => {
    const { session, uplink } = await newSession()
    await using fieldgate = await world.connect()
    const first = fieldgate.events(session)
    const waiting = first.next()
    for (const fCnt of [10, 11, 12]) await uplink(fCnt)
    await within(waiting, 'the first event')
    assert.equal(fCntOf(await nextOf(first)), 11)
    await first.return()
    const second = fieldgate.events(session)
    assert.deepEqual([fCntOf(await nextOf(second)), fCntOf(await nextOf(second))], [11, 12])
    await second.return()
  })

  it('not where the body throws or breaks', async () => {
    const { session, uplink } = await newSession()
    await using fieldgate = await world.connect()
    const seen: (number | string)[] = []
    const readOne = async (how: 'break' | 'throw'): Promise<void> => {
      for await (const event of fieldgate.events(session)) {
        seen.push(fCntOf(event))
        if (how === 'throw') throw new Error('the database is away')
        break
      }
    }
    await uplink(20)
    await assert.rejects(within(readOne('throw'), 'the throw'), /the database is away/)
    await within(readOne('break'), 'the break')
    assert.deepEqual(seen, [20, 20])
  })

  it('not where the process is killed in the body', async () => {
    const { session, uplink } = await newSession()
    const environment = {
      HOME: world.folder,
      FIELDGATE_URL: world.service.https,
      FIELDGATE_CA: world.service.caFile,
      FIELDGATE_USER: world.member.userName,
      FIELDGATE_PASSWORD: PASSWORD,
      FIELDGATE_APPLICATION: session.application,
      FIELDGATE_SESSION: session.session,
      FIELDGATE_STORE: join(world.folder, session.session),
    }
    const script = fileURLToPath(new URL('programs/stuck.ts', import.meta.url))
    const run = (): Program => new Program(process.execPath, [script], { environment })
    for (const fCnt of [29, 30]) await uplink(fCnt)
    await using killed = run()
    const [, id] = await killed.output(/handling 30 (\S+)/)
    killed.signal('SIGKILL')
    await killed.ended()
    await using again = run()
    const [, sameId] = await again.output(/handling 30 (\S+)/)
    assert.equal(sameId, id)
    assert.doesNotMatch(again.stdout, /29/)
  })

  it('when its handler resolves, in order for each device, with other devices beside it', async () => {
    const { session, application, device, topicPrefix, uplink } = await newSession()
    const other = await world.administration.device(application)
    await using fieldgate = await world.connect()
    const started: string[] = []
    const gate = Promise.withResolvers<void>()
    const both = Promise.withResolvers<void>()
    const stopping = new AbortController()
    const running = fieldgate.handle({ ...session, concurrency: 4, signal: stopping.signal }, async (event) => {
      started.push(`${event.devEui === device ? 'one' : 'two'} ${fCntOf(event)}`)
      if (started.length === 2) both.resolve()
      if (fCntOf(event) === 40) await gate.promise
      if (fCntOf(event) === 42) stopping.abort(new Error('enough'))
    })
    const ended = assert.rejects(within(running, 'the end'), /enough/)
    await uplink(40)
    await uplink(41)
    world.networkServer.send(
      world.networkServer.publishPacket(`${topicPrefix.replace(device, other)}/up`, '{"fCnt":7}', 1),
    )
    await world.networkServer.next()
    await within(both.promise, 'the other device')
    assert.deepEqual(started, ['one 40', 'two 7'])
    gate.resolve()
    await uplink(42)
    await ended
    assert.deepEqual(started, ['one 40', 'two 7', 'one 41', 'one 42'])
  })
})

describe('a stream goes on', () => {
  it('behind its position in a new Session, after the service has forgotten the old one', async () => {
    const { session, uplink } = await newSession()
    await using fieldgate = await world.connect()
    const first = fieldgate.events({ ...session, sessionSeconds: 0 })
    await uplink(50)
    await nextOf(first)
    const next = first.next()
    await uplink(51)
    await next
    await first.return()
    for (const fCnt of [52, 53]) await uplink(fCnt)
    const second = fieldgate.events({ ...session, sessionSeconds: 0 })
    const again = [await nextOf(second), await nextOf(second), await nextOf(second)]
    assert.deepEqual(again.map(fCntOf), [51, 52, 53])
    await second.return()
  })

  it('with each event once where the network is cut, also where the events have QoS 0', async () => {
    const { session, topicPrefix } = await newSession()
    const way = await CutProxy.open(world.service.mqttsPort)
    await using fieldgate = await world.connect({ broker: `mqtts://localhost:${way.port}` })
    const events: FieldgateEvent[] = []
    const reading = (async (): Promise<void> => {
      for await (const event of fieldgate.events(session)) {
        events.push(event)
        if (events.length % 50 === 0 && events.length < 300) {
          way.cut()
          way.mend()
        }
        if (fCntOf(event) === 499) break
      }
    })()
    const { networkServer } = world
    for (let fCnt = 0; fCnt < 500; fCnt += 1) {
      networkServer.send(networkServer.publishPacket(`${topicPrefix}/up`, JSON.stringify({ fCnt }), 0))
    }
    await within(reading, 'all events')
    assert.deepEqual(
      events.map(fCntOf),
      Array.from({ length: 500 }, (_, index) => index),
    )
    assert.equal(new Set(events.map(({ id }) => id)).size, 500)
    await way.close()
  })

  it('over the ends of tokens, on one connection', async () => {
    const { session, uplink } = await newSession()
    const from = world.logged.length
    await using fieldgate = await world.connect({ tokenSeconds: 4 })
    const stream = fieldgate.events(session)
    const steps = (message: string): number =>
      world.logged.slice(from).filter((entry) => entry.message === message).length
    // Two renewals take longer than the first token lives.
    for (let fCnt = 60; steps('token.renewed') < 2; fCnt += 1) {
      await uplink(fCnt)
      assert.equal(fCntOf(await nextOf(stream)), fCnt)
    }
    assert.equal(steps('connection.ready'), 1)
    assert.equal(steps('connection.lost'), 0)
  })

  it('after its tokens are revoked', async () => {
    const { session, uplink } = await newSession()
    await using fieldgate = await world.connect()
    const stream = fieldgate.events(session)
    await uplink(70)
    await nextOf(stream)
    const path = `/api/broker-tokens?limit=100&organizationID=${world.organizationId}`
    const { result } = await world.administration.must('GET', path)
    for (const { id } of result as readonly { readonly id: string }[])
      await world.service.http.ask('DELETE', `/api/broker-tokens/${id}`, { token: world.service.adminSession })
    await uplink(71)
    assert.equal(fCntOf(await nextOf(stream)), 71)
  })

  it('with a second stream on the same file, as a program that starts anew', async () => {
    const { session, uplink } = await newSession()
    await using fieldgate = await world.connect()
    const stream = fieldgate.events(session)
    for (const fCnt of [75, 76]) await uplink(fCnt)
    await nextOf(stream)
    await nextOf(stream)
    const next = stream.next()
    await uplink(77)
    await next
    await stream.return()
    const store = new FilePositionStore(join(world.folder, session.session))
    assert.equal(fCntOf(await nextOf(fieldgate.events({ ...session, store }))), 77)
  })
})

describe('a stream ends with a typed error', () => {
  it('where its user may not log in any more', async () => {
    const { session, uplink } = await newSession()
    const person = await world.administration.person([{ organizationId: world.organizationId }])
    await using fieldgate = await world.connect({ username: person.userName })
    const stream = fieldgate.events(session)
    await uplink(80)
    await nextOf(stream)
    const ending = code(stream.next())
    await world.administration.must('PUT', `/api/users/${person.id}`, {
      user: { email: person.userName, isActive: false },
    })
    assert.equal(await ending, 'login_failed')
  })

  it('where another program takes its session', async () => {
    const { session, uplink } = await newSession()
    await using one = await world.connect()
    await using two = await world.connect()
    const first = one.events(session)
    await uplink(81)
    await nextOf(first)
    const ending = code(first.next())
    const second = two.events({ ...session, store: new MemoryPositionStore() })
    second.next().catch(() => {})
    assert.equal(await ending, 'session_taken_over')
  })

  it('where the application is unknown, like the one of another organization', async () => {
    const elsewhere = await world.administration.application(await world.administration.organization())
    await using fieldgate = await world.connect()
    const [unknown, foreign] = [
      code(fieldgate.events({ application: '4711' }).next()),
      code(fieldgate.events({ application: elsewhere }).next()),
    ]
    assert.equal(await unknown, 'subscribe_refused')
    assert.equal(await foreign, 'subscribe_refused')
  })

  it('where the store fails, and the event comes again', async () => {
    const { session, uplink } = await newSession()
    await using fieldgate = await world.connect()
    let isBroken = false
    const inner = new MemoryPositionStore()
    const store = {
      load: () => inner.load(),
      remove: (topicFilter: string) => inner.remove(topicFilter),
      save: (position: Parameters<typeof inner.save>[0]) =>
        isBroken ? Promise.reject(new Error('disk full')) : inner.save(position),
    }
    const stream = fieldgate.events({ ...session, store })
    await uplink(82)
    const event = await nextOf(stream)
    isBroken = true
    assert.equal(await code(stream.next()), 'store_failed')
    isBroken = false
    const again = fieldgate.events({ ...session, store })
    assert.equal((await nextOf(again)).id, event.id)
  })

  it('where its signal is aborted, or the client is closed', async () => {
    const { application } = await world.place()
    const stopping = new AbortController()
    const fieldgate = await world.connect()
    const aborted = fieldgate.events({ application, signal: stopping.signal }).next()
    const closed = fieldgate.events({ application }).next()
    const rejected = assert.rejects(within(aborted, 'the abort'), /shutting down/)
    stopping.abort(new Error('shutting down'))
    await rejected
    await fieldgate.close()
    assert.deepEqual(await within(closed, 'the end'), { done: true, value: undefined })
  })
})
