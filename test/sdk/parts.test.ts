/** The parts of the SDK that need no service. */
import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { generate, parser } from 'mqtt-packet'
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { eventTypes } from '../../sdk/typescript/generate-types.mjs'
import { connect, FieldgateError, FilePositionStore, MemoryPositionStore } from '../../sdk/typescript/src/index.ts'
import type { Position } from '../../sdk/typescript/src/index.ts'
import { Backoff } from '../../sdk/typescript/src/backoff.ts'
import { EventStream } from '../../sdk/typescript/src/event-stream.ts'
import type { Link } from '../../sdk/typescript/src/link.ts'
import { encodePuback, encodeReauthentication } from '../../sdk/typescript/src/packets.ts'
import { Track } from '../../sdk/typescript/src/track.ts'
import type { Entry } from '../../sdk/typescript/src/track.ts'
import { WebPositionStore } from '../../sdk/typescript/src/web-position-store.ts'
import { fCntOf, nextOf, startSdkWorld } from './sdk-world.ts'
import type { SdkWorld } from './sdk-world.ts'

const POSITION: Position = {
  topicFilter: 'application/1/device/+/event/+',
  since: '2026-01-01T00:00:00.000Z',
  after: '37-10',
  done: ['37-12'],
  qos0: 'unseen',
}

/** An event of the track that waits. */
function entry(track: Track, id: string): Entry {
  const made: Entry = { track, id, event: undefined, owed: [], isHandled: false }
  track.add(made)
  return made
}

/** The code with which `connect` is refused. */
async function refusal(options: Parameters<typeof connect>[0]): Promise<string> {
  const error: unknown = await connect(options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof FieldgateError, String(error))
  return error.code
}

describe('the packets that MQTT.js does not send', () => {
  it('are those of mqtt-packet', () => {
    assert.deepEqual(encodePuback(0x1234), Uint8Array.from(generate({ cmd: 'puback', messageId: 0x1234 })))
    const token = 'x'.repeat(500)
    const packets: Packet[] = []
    const reader = parser({ protocolVersion: 5 })
    reader.on('packet', (packet: Packet) => void packets.push(packet))
    reader.parse(Buffer.from(encodeReauthentication('JWT', token)))
    const [auth] = packets
    assert.ok(auth?.cmd === 'auth')
    assert.equal(auth.reasonCode, 0x19)
    assert.equal(auth.properties?.authenticationMethod, 'JWT')
    assert.equal(auth.properties?.authenticationData?.toString(), token)
  })
})

describe('the types of events', () => {
  it('are generated from the present schemas: node sdk/typescript/generate-types.mjs', async () => {
    const file = new URL('../../sdk/typescript/src/generated/events.ts', import.meta.url)
    assert.equal(await readFile(file, 'utf8'), eventTypes())
  })
})

describe('a track', () => {
  it('drops what was handled, by the last run too, and knows what still waits', () => {
    const track = new Track('1', POSITION)
    assert.equal(track.came('37-9'), 'handled')
    assert.equal(track.came('37-10'), 'handled')
    assert.equal(track.came('37-11'), 'new')
    const eleven = entry(track, '37-11')
    assert.equal(track.came('37-12'), 'new')
    assert.equal(entry(track, '37-12').isHandled, true)
    assert.equal(track.came('37-11'), eleven)
    assert.equal(track.came('38-1'), 'new')
  })

  it('moves its position behind everything that is handled, and no further', () => {
    const track = new Track('1', { ...POSITION, done: [] })
    const [one, two, three] = ['37-11', '37-14', '37-20'].map((id) => (track.came(id), entry(track, id)))
    assert.ok(one !== undefined && two !== undefined && three !== undefined)
    two.isHandled = true
    track.advance()
    assert.deepEqual([track.position.after, track.position.done], ['37-10', ['37-14']])
    one.isHandled = true
    track.advance()
    assert.deepEqual([track.position.after, track.position.done], ['37-14', []])
    three.isHandled = true
    track.advance()
    assert.equal(track.replayFrom, '37-20')
  })

  it('asks for a replay unless the network server is known to publish at QoS 1', () => {
    const track = new Track('1', { ...POSITION, qos0: 'unknown' })
    assert.equal(track.needsReplay, true)
    track.noteQoS(1, 'error')
    assert.equal(track.needsReplay, true)
    track.noteQoS(1, 'up')
    assert.equal(track.needsReplay, false)
    track.noteQoS(0, 'up')
    track.noteQoS(1, 'up')
    assert.equal(track.needsReplay, true)
    assert.equal(new Track('1', { ...POSITION, after: undefined }).replayFrom, POSITION.since)
  })
})

/** A connection that records nothing, and grants everything. */
function fakeLink(): {
  readonly link: Link
  readonly identifier: () => number | undefined
  readonly acknowledged: number[]
} {
  let identifier: number | undefined
  const acknowledged: number[] = []
  const link = {
    isSessionPresent: true,
    isClosed: false,
    unsubscribe: () => Promise.resolve(),
    subscribe: (_topicFilters: readonly string[], options: { readonly subscriptionIdentifier?: number } = {}) => {
      identifier = options.subscriptionIdentifier ?? identifier
      return Promise.resolve()
    },
    acknowledge: (packetId: number) => void acknowledged.push(packetId),
  }
  return { link: link as unknown as Link, identifier: () => identifier, acknowledged }
}

const publish = (place: number, subscriptionIdentifier: number | undefined, messageId = 0): IPublishPacket => ({
  cmd: 'publish',
  topic: 'application/1/device/0102030405060708/event/up',
  payload: Buffer.from(`{"fCnt":${place}}`),
  qos: messageId === 0 ? 0 : 1,
  dup: false,
  retain: false,
  messageId,
  properties: {
    userProperties: { 'event-id': `37-${place}` },
    ...(subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier }),
  },
})

const newStream = (): EventStream =>
  new EventStream({
    api: { applicationIds: () => Promise.resolve(['1']), newestEventId: () => Promise.resolve(undefined) },
    store: new MemoryPositionStore(),
    choice: { applicationId: '1', devEui: undefined, kinds: undefined },
    since: () => Promise.resolve('2026-01-01T00:00:00Z'),
    prefetch: 64,
    log: () => {},
    onMissed: () => {},
    end: () => {},
  })

describe('a stream of events', () => {
  it('takes the events of its connection, whatever the one before it still brings', async () => {
    const stream = newStream()
    const [one, two] = [fakeLink(), fakeLink()]
    await stream.prepare()
    await stream.connected(one.link)
    void stream.took(publish(1, one.identifier()), one.link)
    await stream.connected(two.link)
    void stream.took(publish(2, one.identifier(), 7), one.link)
    void stream.took(publish(2, two.identifier(), 8), two.link)
    void stream.took(publish(3, two.identifier(), 9), two.link)
    const counters = [await nextOf(stream), await nextOf(stream), await nextOf(stream)].map(fCntOf)
    assert.deepEqual(counters, [1, 2, 3])
    // The event that came on both connections is acknowledged on both.
    assert.deepEqual([one.acknowledged, two.acknowledged], [[7], [8]])
    await stream.return()
  })

  it('drops what an earlier subscription brings before the replay', async () => {
    const stream = newStream()
    const { link, identifier, acknowledged } = fakeLink()
    await stream.prepare()
    void stream.took(publish(5, undefined, 1), link)
    await stream.connected(link)
    void stream.took(publish(4, identifier(), 2), link)
    void stream.took(publish(5, identifier(), 3), link)
    assert.deepEqual([await nextOf(stream), await nextOf(stream)].map(fCntOf), [4, 5])
    assert.deepEqual(acknowledged, [1, 2])
    await stream.return()
  })

  it('reads nothing more of QoS 0 while many events wait, and goes on when they are handled', async () => {
    const stream = newStream()
    const { link, identifier } = fakeLink()
    await stream.prepare()
    await stream.connected(link)
    let held: Promise<void> | undefined
    let count = 0
    while (held === undefined) held = stream.took(publish((count += 1), identifier()), link)
    assert.equal(count, 128)
    let isReleased = false
    const released = held.then(() => (isReleased = true))
    for (let handled = 0; handled < 65; handled += 1) await nextOf(stream)
    assert.equal(isReleased, false)
    await nextOf(stream)
    await released
    await stream.return()
  })
})

describe('a store in a file', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-sdk-store-'))
  })

  after(() => rm(folder, { recursive: true, force: true }))

  it('has the last positions after a kill, whatever the last line looks like', async () => {
    const path = join(folder, 'deep', 'positions')
    const store = new FilePositionStore(path, { sync: true })
    assert.deepEqual(await store.load(), [])
    const other = { ...POSITION, topicFilter: 'application/2/device/+/event/up' }
    for (const id of ['37-1', '37-2', '37-10']) await store.save({ ...POSITION, after: id })
    await store.save(other)
    await appendFile(path, '{"topicFilter":"application/1/dev')
    const again = new FilePositionStore(path)
    assert.deepEqual(await again.load(), [POSITION, other])
    await again.remove(other.topicFilter)
    await Promise.all([store.close(), again.close()])
    const third = new FilePositionStore(path)
    assert.deepEqual(await third.load(), [POSITION])
    await third.close()
  })

  it('stays small', async () => {
    const path = join(folder, 'many')
    const store = new FilePositionStore(path)
    await store.load()
    for (let place = 0; place < 12_000; place += 1) await store.save({ ...POSITION, after: `37-${place}` })
    await store.close()
    const text = await readFile(path, 'utf8')
    assert.ok(text.length < 1_100_000, `${text.length} bytes`)
    const again = new FilePositionStore(path)
    assert.equal((await again.load())[0]?.after, '37-11999')
    await again.close()
  })
})

describe('a store in a browser', () => {
  it('survives a page, and a page without storage', async () => {
    const items = new Map<string, string>()
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
    }
    await new WebPositionStore('dashboard', storage).save(POSITION)
    assert.deepEqual(await new WebPositionStore('dashboard', storage).load(), [POSITION])
    assert.deepEqual(await new WebPositionStore('another', storage).load(), [])
    items.set('fieldgate-sdk:dashboard', '{')
    assert.deepEqual(await new WebPositionStore('dashboard', storage).load(), [])
    const none = new WebPositionStore('dashboard', undefined)
    await none.save(POSITION)
    assert.deepEqual(await none.load(), [POSITION])
  })
})

describe('the waits between attempts', () => {
  it('grow, are bounded, differ, and obey the service', () => {
    const backoff = new Backoff({ firstMs: 100, maximumMs: 1_000 })
    const waits = Array.from({ length: 10 }, () => backoff.next())
    assert.ok(waits.every((ms) => ms >= 20 && ms <= 1_000))
    assert.ok((waits[0] as number) <= 100)
    assert.ok(new Set(waits).size > 5)
    assert.equal(backoff.next(60_000), 60_000)
    backoff.reset()
    assert.ok(backoff.next() <= 100)
  })
})

describe('connect', () => {
  let world: SdkWorld

  before(async () => {
    world = await startSdkWorld()
  })

  after(() => world[Symbol.asyncDispose]())

  it('is refused with a code where another try would not help', async () => {
    const { options } = world
    assert.equal(await refusal({ ...options, password: 'wrong' }), 'login_failed')
    assert.equal(await refusal({ url: options.url, ca: world.service.ca }), 'credential_missing')
    assert.equal(await refusal({ ...options, organization: '4711' }), 'object_not_found')
    assert.equal(await refusal({ ...options, url: 'fieldgate' }), 'url_invalid')
    const { ca: _ca, ...withoutAuthority } = options
    assert.equal(await refusal(withoutAuthority), 'certificate_refused')
  })

  it('asks for the organization where the user has several', async () => {
    const other = await world.administration.organization()
    const person = await world.administration.person([
      { organizationId: world.organizationId },
      { organizationId: other },
    ])
    assert.equal(await refusal({ ...world.options, username: person.userName }), 'organization_ambiguous')
    await using fieldgate = await connect({ ...world.options, username: person.userName, organization: other })
    assert.equal(fieldgate.organizationId, other)
  })

  it('waits for a service that is away, until its signal is aborted', async () => {
    const stopping = new AbortController()
    const attempts = Promise.withResolvers<void>()
    let count = 0
    const waiting = connect({
      ...world.options,
      url: 'https://localhost:1',
      signal: stopping.signal,
      log: () => {
        count += 1
        if (count === 3) attempts.resolve()
      },
    })
    const ended = assert.rejects(waiting, /enough/)
    await attempts.promise
    stopping.abort(new Error('enough'))
    await ended
  })

  it('goes through a proxy by CONNECT, with HTTP and with MQTT', async () => {
    const targets: string[] = []
    const proxy = createServer()
    proxy.on('connect', (request, socket) => {
      targets.push(`${request.headers['proxy-authorization']} ${request.url}`)
      const [host = '', port = ''] = String(request.url).split(':')
      const far = connectTcp(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        far.pipe(socket).pipe(far)
      })
      far.on('error', () => socket.destroy())
      socket.on('error', () => far.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port } = proxy.address() as { readonly port: number }
    const place = await world.place()
    {
      await using fieldgate = await connect({ ...world.options, proxy: `http://me:se%20cret@127.0.0.1:${port}` })
      const stream = fieldgate.events({ application: place.application })
      const next = nextOf(stream)
      await place.uplink(1)
      assert.equal((await next).kind, 'up')
    }
    const login = `Basic ${Buffer.from('me:se cret').toString('base64')}`
    assert.ok(targets.includes(`${login} localhost:${new URL(world.service.https).port}`), targets.join())
    assert.ok(targets.includes(`${login} localhost:${world.service.mqttsPort}`), targets.join())
    proxy.close()
    proxy.closeAllConnections()
  })

  it('uses the function for HTTP that it is given', async () => {
    const paths: string[] = []
    const { http } = world.service
    await using fieldgate = await connect({
      ...world.options,
      fetch: async (url, { method, headers, body }) => {
        const path = url.slice(world.service.https.length)
        paths.push(path)
        const answer = await http.ask(method, path, { headers, ...(body === undefined ? {} : { bytes: body }) })
        return {
          status: answer.status,
          headers: { get: () => null },
          text: () => Promise.resolve(answer.text),
        }
      },
    })
    assert.equal(fieldgate.organizationId, world.organizationId)
    assert.ok(paths.includes('/api/mosquitto-auth/login'), paths.join())
  })

  it('logs no secret', () => {
    const text = JSON.stringify(world.logged)
    assert.doesNotMatch(text, /correct horse|eyJ/)
  })
})
