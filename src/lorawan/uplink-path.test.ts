import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { OwnMessage } from '../broker/consumer.ts'
import { silentLog } from '../broker/log.ts'
import type { CodecFault, DecodeRequest, Decoded } from './codecs/codecs.ts'
import { eventTopic } from './topics.ts'
import type { PublishedEventKind } from './topics.ts'
import { MAXIMUM_IN_ALL, MAXIMUM_OF_APPLICATION, MAXIMUM_OF_ORGANIZATION } from './uplink-path-bounds.ts'
import type { RegisteredCodec } from './uplink-path-registry.ts'
import { UplinkPath } from './uplink-path.ts'

const ONE = '0101010101010101'
const TWO = '0202020202020202'
const UPLINK = '{"devEUI":"01","fPort":2,"fCnt":7,"data":"AQ=="}'
const WITH_OBJECT = '{"devEUI":"01","fPort":2,"fCnt":7,"data":"AQ==","object":{"a":1}}'
const HAS_OBJECT = '{"fPort":2,"data":"AQ==","object":{"of":"the network server"}}'
const FAMILY_B = '{"deviceInfo":{},"fPort":2,"data":"AQ=="}'

const SCRIPTED: RegisteredCodec = { organizationId: '1', codec: 'CUSTOM_JS', decoderScript: 'the script' }
const NONE: RegisteredCodec = { organizationId: '1', codec: '', decoderScript: '' }

interface Decoding {
  readonly request: DecodeRequest
  readonly succeed: () => void
  readonly fail: () => void
}

let path: UplinkPath
/** What has gone on and what was published by the path itself, in this order. */
let seen: string[]
let decodings: Decoding[]
let codecs: Map<string, RegisteredCodec>
let looks: string[]
let logged: string[]
let publish: (message: OwnMessage) => Promise<void>

beforeEach(() => {
  seen = []
  decodings = []
  looks = []
  logged = []
  codecs = new Map([['5', SCRIPTED]])
  publish = async ({ topicName, payload, qos }) =>
    void seen.push(`${topicName.split('/').at(-1)} ${qos} ${payload.toString()}`)
  const note = (_fields: object, message: string): void => void logged.push(message)
  path = new UplinkPath({
    registry: {
      codecOf: async (applicationId) => {
        looks.push(applicationId)
        return codecs.get(applicationId)
      },
      variablesOf: async (devEui) => {
        looks.push(devEui)
        return { of: devEui }
      },
    },
    codecs: { decodeUplink },
    commandEvents: {
      wants: (topicName) => topicName.endsWith('/event/txack'),
      told: ({ devEui, kind, payload }) => Buffer.from(`${devEui} ${kind} ${payload.toString()}`),
    },
    publisher: { publish: (message) => publish(message) },
    clock: { now: () => 1_700_000_000_000 },
    log: { ...silentLog, warn: note, error: note },
  })
})

function decodeUplink(request: DecodeRequest): Promise<Decoded | CodecFault> {
  const { promise, resolve } = Promise.withResolvers<Decoded | CodecFault>()
  const run = { console: [], durationMs: 0 }
  const fault = { ok: false, code: 'UPLINK_CODEC', reason: 'script_exception', line: 3 } as const
  decodings.push({
    request,
    succeed: () => resolve({ ok: true, json: '{"a":1}', warnings: [], ...run }),
    fail: () => resolve({ ...fault, message: 'it threw', ...run }),
  })
  return promise
}

interface Sent {
  readonly devEui?: string
  readonly kind?: PublishedEventKind
  readonly applicationId?: string
  readonly room?: number
  /** What it is called in `seen`. */
  readonly name?: string
}

/** An event comes in, as by the broker. */
function send(payload: string, { devEui = ONE, kind = 'up', applicationId = '5', room = Infinity, name }: Sent = {}) {
  const topicName = eventTopic(applicationId, devEui, kind)
  const goOn = (completed: Buffer): void => void seen.push(name ?? completed.toString())
  if (path.holds(topicName)) path.transform({ topicName, payload: Buffer.from(payload), room }, goOn)
  else goOn(Buffer.from(payload))
}

/** The codec is known from here on, and nothing has been seen. */
async function known(applicationId = '5'): Promise<void> {
  send('not an event', { applicationId, devEui: 'f'.repeat(16) })
  await turn()
  seen = []
  looks = []
}

function ticks(count: number): void {
  for (let index = 0; index < count; index += 1) path.tick()
}

const errorOf = (sentence: string): string =>
  `error 1 {"applicationID":"","applicationName":"","deviceName":"","devEUI":"01","tags":{},"type":"UPLINK_CODEC","error":"${sentence}","fCnt":7}`

const LATE = errorOf('decoding took too long')
const OFTEN_LATE = errorOf(
  'decoding took too long before; for a while, or until the script is changed, uplinks do not wait for it',
)
const BUSY = errorOf('too many uplinks of the application or its organization wait to be decoded')

describe('an uplink', () => {
  it('goes on with its object, decoded by the application’s script with the device’s variables', async () => {
    send(UPLINK)
    await turn()
    assert.deepEqual(seen, [])
    const [decoding] = decodings
    assert.ok(decoding)
    const { applicationId, codec, script, fPort, bytes, recvTimeMs, variables } = decoding.request
    assert.deepEqual(
      { applicationId, codec, script, fPort, bytes, recvTimeMs, variables },
      {
        applicationId: '5',
        codec: 'CUSTOM_JS',
        script: 'the script',
        fPort: 2,
        bytes: Buffer.of(1),
        recvTimeMs: 1_700_000_000_000,
        variables: { of: ONE },
      },
    )
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, [WITH_OBJECT])
    assert.deepEqual(path.numbers(), {
      held: 0,
      decoded: 1,
      failed: 0,
      late: 0,
      refused: 0,
      errorsWithheld: 0,
      errorsLost: 0,
    })
  })

  it('goes on as it came where it can’t be decoded, and then comes the error event of its family', async () => {
    for (const payload of [UPLINK, FAMILY_B]) send(payload, { devEui: payload === UPLINK ? ONE : TWO })
    await turn()
    for (const { fail } of decodings) fail()
    await turn()
    assert.deepEqual(seen, [
      UPLINK,
      errorOf('it threw (line 3)'),
      FAMILY_B,
      'log 1 {"time":null,"deviceInfo":{},"level":"ERROR","code":"UPLINK_CODEC","description":"it threw (line 3)","context":{"deduplication_id":""}}',
    ])
    assert.equal(path.numbers().failed, 2)
  })

  it('goes on at once where its application has no codec, which is looked up once', async () => {
    codecs.set('5', NONE)
    send(UPLINK, { name: 'first' })
    send(UPLINK, { name: 'second', devEui: TWO })
    assert.deepEqual(seen, [])
    await turn()
    send(UPLINK, { name: 'third' })
    assert.deepEqual(seen, ['first', 'second', 'third'])
    assert.deepEqual(looks, ['5'])
    assert.equal(decodings.length, 0)
  })

  it('of an application that does not exist goes on', async () => {
    codecs.clear()
    send(UPLINK)
    await turn()
    assert.deepEqual(seen, [UPLINK])
  })

  it('goes on where the registry fails, which is not remembered', async () => {
    codecs.get = () => {
      throw new Error('the registry fails')
    }
    send(UPLINK)
    await turn()
    assert.deepEqual(seen, [UPLINK, errorOf('the codec of the application could not be looked up')])
    assert.deepEqual(logged, ['uplink.look_failed'])
    codecs = new Map([['5', SCRIPTED]])
    send(UPLINK)
    await turn()
    assert.equal(decodings.length, 1)
  })

  it('is decoded as the registry says now: by the new script, with the new variables', async () => {
    await known()
    send(UPLINK)
    await turn()
    codecs.set('5', { ...SCRIPTED, decoderScript: 'the new script' })
    path.applicationChanged('5')
    path.deviceChanged(ONE)
    send(UPLINK)
    await turn()
    assert.deepEqual(
      decodings.map(({ request }) => request.script),
      ['the script', 'the new script'],
    )
    assert.deepEqual(looks, [ONE, '5', ONE])
    path.devicesChanged()
    send(UPLINK)
    await turn()
    assert.deepEqual(looks, [ONE, '5', ONE, ONE])
  })

  it('whose application changes while it is looked up is not the last to look', async () => {
    send(UPLINK)
    path.applicationChanged('5')
    await turn()
    send(UPLINK, { devEui: TWO })
    await turn()
    assert.deepEqual(looks.filter((key) => key === '5').length, 2)
  })

  it('of another way than by the broker is completed alike, and its promise is that of the publisher', async () => {
    const topicName = eventTopic('5', ONE, 'up')
    const message = { topicName, payload: Buffer.from(UPLINK), qos: 1 } as const
    const published = path.publish(message)
    await turn()
    decodings[0]?.succeed()
    await published
    assert.deepEqual(seen, [`up 1 ${WITH_OBJECT}`])
    publish = () => Promise.reject(new Error('the disk is full'))
    const refused = path.publish(message)
    await turn()
    decodings[1]?.succeed()
    await assert.rejects(refused, /the disk is full/)
    await assert.rejects(path.publish({ ...message, topicName: eventTopic('5', ONE, 'join') }), /the disk is full/)
  })
})

describe('the order of events', () => {
  it('is that in which they came for one device, of every kind; other devices’ pass', async () => {
    await known()
    send(UPLINK, { name: 'up 1' })
    send('{}', { kind: 'status', name: 'status' })
    send(UPLINK, { name: 'up 2' })
    send('{}', { kind: 'join', name: 'join' })
    send('{}', { kind: 'join', devEui: TWO, name: 'join of another' })
    await turn()
    assert.deepEqual(seen, ['join of another'])
    decodings[1]?.succeed()
    await turn()
    assert.deepEqual(seen, ['join of another'])
    assert.equal(path.numbers().held, 4)
    decodings[0]?.fail()
    await turn()
    assert.deepEqual(seen, ['join of another', 'up 1', errorOf('it threw (line 3)'), 'status', 'up 2', 'join'])
    assert.equal(path.holds(eventTopic('5', ONE, 'join')), false)
  })

  it('stays though one of them fails on its way', async () => {
    await known()
    const topicName = eventTopic('5', ONE, 'up')
    path.transform({ topicName, payload: Buffer.from(UPLINK), room: Infinity }, () => {
      throw new Error('the router fails')
    })
    send('{}', { kind: 'join', name: 'join' })
    await turn()
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, ['join'])
    assert.deepEqual(logged, ['uplink.route_failed'])
  })
})

describe('an event about a command', () => {
  it('goes on with what is told of the command, at once, or behind what came before it of its device', async () => {
    await known()
    send('{}', { kind: 'txack' })
    assert.deepEqual(seen, [`${ONE} txack {}`])
    send(UPLINK, { name: 'up' })
    send('{"n":2}', { kind: 'txack' })
    await turn()
    assert.deepEqual(seen, [`${ONE} txack {}`])
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, [`${ONE} txack {}`, 'up', `${ONE} txack {"n":2}`])
    const topicName = 'the/event/txack'
    path.transform({ topicName, payload: Buffer.of(), room: 1 }, () => void seen.push('of no device'))
    assert.equal(seen.at(-1), 'of no device')
    path.close()
    send('{"n":3}', { kind: 'txack' })
    assert.equal(seen.at(-1), `${ONE} txack {"n":3}`)
  })
})

describe('an uplink that has waited for too long', () => {
  it('goes on without object, with an error event; what its codec says later is not heard', async () => {
    await known()
    send(UPLINK, { name: 'up' })
    send('{}', { kind: 'join', name: 'join' })
    await turn()
    ticks(2)
    assert.deepEqual(seen, [])
    ticks(1)
    assert.deepEqual(seen, ['up', LATE, 'join'])
    decodings[0]?.succeed()
    await turn()
    assert.equal(seen.length, 3)
    assert.deepEqual([path.numbers().late, path.numbers().decoded, path.numbers().held], [1, 0, 0])
  })

  it('lets its application wait no more for 10 s, then for 20 s, until its script is changed; other applications go on', async () => {
    codecs.set('6', SCRIPTED)
    await known()
    await known('6')
    const isHeld = (applicationId = '5'): boolean => {
      const before = path.numbers().held
      send(UPLINK, { applicationId, devEui: TWO })
      return path.numbers().held > before
    }
    for (const seconds of [10, 20]) {
      logged = []
      for (const devEui of [ONE, TWO]) send(UPLINK, { devEui })
      ticks(3)
      assert.deepEqual([logged, path.numbers().held], [['uplinks.late'], 0])
      seen = []
      assert.equal(isHeld(), false)
      assert.deepEqual(seen, [UPLINK, OFTEN_LATE])
      assert.equal(isHeld('6'), true)
      for (const { succeed } of decodings.splice(0)) succeed()
      await turn()
      for (const { succeed } of decodings.splice(0)) succeed()
      await turn()
      assert.equal(path.numbers().held, 0)
      ticks(seconds - 1)
      assert.equal(isHeld(), false)
      ticks(1)
    }
    send(UPLINK)
    ticks(3)
    codecs.set('5', { ...SCRIPTED, decoderScript: 'the new script' })
    path.applicationChanged('5')
    await known()
    assert.equal(isHeld(), true)
  })

  it('lets its organization wait no more once three of its applications were late within a minute', async () => {
    for (const applicationId of ['6', '7', '8']) codecs.set(applicationId, SCRIPTED)
    codecs.set('9', { ...SCRIPTED, organizationId: '2' })
    for (const applicationId of ['5', '6', '7', '8', '9']) await known(applicationId)
    for (const applicationId of ['5', '6', '7']) send(UPLINK, { applicationId, devEui: applicationId.repeat(16) })
    ticks(3)
    assert.equal(path.numbers().held, 0)
    send(UPLINK, { applicationId: '8' })
    assert.equal(path.numbers().held, 0)
    send(UPLINK, { applicationId: '9' })
    assert.equal(path.numbers().held, 1)
  })
})

describe('at a bound', () => {
  it('an uplink goes on without object, behind what came before it of its device', async () => {
    await known()
    send(UPLINK, { name: 'first' })
    send(UPLINK, { name: 'second', room: 1 })
    send(UPLINK, { devEui: TWO, name: 'another', room: 1 })
    assert.deepEqual(seen, ['another', BUSY])
    await turn()
    assert.equal(decodings.length, 1)
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, ['another', BUSY, 'first', 'second', BUSY])
    assert.deepEqual([path.numbers().refused, path.numbers().held], [2, 0])
  })

  it('twice as high what came before it does not wait either, and other devices’ does', async () => {
    await known()
    send(UPLINK, { name: 'first' })
    send('{}', { kind: 'join', name: 'join' })
    send(UPLINK, { devEui: TWO, name: 'another' })
    send(UPLINK, { name: 'second', room: 1 })
    assert.deepEqual(seen, ['first', BUSY, 'join', 'second', BUSY])
    await turn()
    // The first is decoded as well, for nothing.
    decodings[1]?.succeed()
    await turn()
    assert.equal(seen.at(-1), 'another')
    assert.deepEqual([path.numbers().refused, path.numbers().held], [1, 0])
  })

  it('of a connection’s unacknowledged messages an organization leaves as many as it has', async () => {
    await known()
    for (let index = 0; index < 100; index += 1) {
      send(UPLINK, { devEui: index.toString(16).padStart(16, '0'), room: 100 - path.numbers().held })
    }
    assert.equal(path.numbers().held, 50)
  })

  it('an application has its share, an organization a larger one, all have one, and the neighbour is not touched', async () => {
    let device = 0
    const flood = async (organizationId: string, applicationId: string): Promise<number> => {
      codecs.set(applicationId, { ...SCRIPTED, organizationId })
      await known(applicationId)
      const before = path.numbers().held
      for (let index = 0; index <= MAXIMUM_OF_APPLICATION; index += 1) {
        send(UPLINK, { applicationId, devEui: (device += 1).toString(16).padStart(16, '0') })
      }
      return path.numbers().held - before
    }
    const applications = MAXIMUM_OF_ORGANIZATION.messages / MAXIMUM_OF_APPLICATION
    const organizations = MAXIMUM_IN_ALL.messages / MAXIMUM_OF_ORGANIZATION.messages
    for (let organization = 1; organization <= organizations; organization += 1) {
      for (let application = 1; application <= applications; application += 1) {
        assert.equal(await flood(`${organization}`, `${organization}0${application}`), MAXIMUM_OF_APPLICATION)
      }
      assert.equal(await flood(`${organization}`, `${organization}00`), 0)
    }
    assert.equal(path.numbers().held, MAXIMUM_IN_ALL.messages)
    assert.equal(await flood('9', '9'), 0)
  })

  it('large events count by their bytes', async () => {
    await known()
    const large = JSON.stringify({ text: 'x'.repeat(1_048_576 - 4_096) })
    for (let index = 0; index < 20; index += 1) send(large, { devEui: index.toString(16).padStart(16, '0') })
    assert.equal(path.numbers().held, MAXIMUM_OF_ORGANIZATION.bytes / 1_048_576)
  })

  it('what has an object already needs no error event', async () => {
    await known()
    send(HAS_OBJECT, { room: 0 })
    assert.deepEqual(seen, [HAS_OBJECT])
  })

  it('error events are 100 of an application from one tick to the next, and the others are counted', async () => {
    await known()
    for (let index = 0; index < 150; index += 1) send(UPLINK, { room: 0 })
    assert.equal(seen.filter((text) => text.startsWith('error')).length, 100)
    assert.equal(seen.length, 250)
    assert.equal(path.numbers().errorsWithheld, 50)
    path.tick()
    for (let index = 0; index < 150; index += 1) send(UPLINK, { room: 0 })
    assert.equal(seen.length, 500)
  })

  it('an error event that the broker can’t own is counted', async () => {
    await known()
    publish = () => Promise.reject(new Error('the disk is full'))
    send(UPLINK, { room: 0 })
    await turn()
    assert.equal(path.numbers().errorsLost, 1)
  })
})

describe('a path that closes', () => {
  it('lets all go on as they came, without error events, and holds nothing back from then on', async () => {
    await known()
    send(UPLINK, { name: 'up' })
    send('{}', { kind: 'join', name: 'join' })
    path.close()
    assert.deepEqual(seen, ['up', 'join'])
    send(UPLINK, { name: 'later' })
    assert.deepEqual(seen, ['up', 'join', 'later'])
    await turn()
    decodings[0]?.succeed()
    await turn()
    assert.equal(seen.length, 3)
  })
})
