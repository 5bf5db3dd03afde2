import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { HeldMessage, OwnMessage } from '../../broker/ports/consumer.ts'
import { silentLogger } from '../../logger.ts'
import { Topic } from '../../mqtt/topic.ts'
import type { CodecFault, DecodeRequest, Decoded } from '../codecs/codecs.ts'
import { eventTopic } from '../topics.ts'
import type { PublishedEventKind } from '../topics.ts'
import { MAXIMUM_OF_ORGANIZATION } from './uplink-path-bounds.ts'
import type { RegisteredCodec, RegisteredProfile } from './uplink-path-registry.ts'
import { UplinkPath } from './uplink-path.ts'

const ONE = '0101010101010101'
const TWO = '0202020202020202'
const UPLINK = '{"devEUI":"01","fPort":2,"fCnt":7,"data":"AQ=="}'
const WITH_OBJECT = '{"devEUI":"01","fPort":2,"fCnt":7,"data":"AQ==","object":{"a":1}}'
const HAS_OBJECT = '{"fPort":2,"data":"AQ==","object":{"of":"the network server"}}'
const FAMILY_B = '{"deviceInfo":{},"fPort":2,"data":"AQ=="}'

const SCRIPTED: RegisteredCodec = {
  organizationId: '1',
  codec: 'CUSTOM_JS',
  decoderScript: 'the script',
  eventShape: '',
  retainsLastEvents: false,
}
const NONE: RegisteredCodec = { ...SCRIPTED, codec: '', decoderScript: '' }

interface Decoding {
  readonly request: DecodeRequest
  readonly succeed: () => void
  readonly fail: () => void
  /** The answer when the codecs have no room, or no time. */
  readonly refuse: (reason?: 'codec_busy' | 'codec_time_used') => void
}

let naming: PromiseWithResolvers<void> | undefined
let path: UplinkPath
/** Events that have gone on, and events that the path itself published, in this order. */
let seen: string[]
/** The Topic Names of the events that have gone on to be retained. */
let retained: string[]
let decodings: Decoding[]
let codecs: Map<string, RegisteredCodec>
/** True: the registry tells a codec without a Promise. */
let tellsAtOnce: boolean
let looks: string[]
/** Organizations whose codecs have used their time. */
let outOfTime: Set<string>
let logged: string[]
/** Tags of the registry, by DevEUI. */
let tags: Map<string, Readonly<Record<string, string>>>
/** The ids of the profiles of devices, by DevEUI, and the profiles. */
let profileIds: Map<string, string>
let profiles: Map<string, RegisteredProfile>
let tagsAtHand: (devEui: string) => boolean | undefined
let devicesVersion: object
let publish: (message: OwnMessage) => Promise<void>

beforeEach(() => {
  naming = undefined
  seen = []
  retained = []
  decodings = []
  looks = []
  outOfTime = new Set()
  logged = []
  tags = new Map()
  profileIds = new Map()
  profiles = new Map()
  tagsAtHand = (devEui) => tags.has(devEui)
  devicesVersion = {}
  tellsAtOnce = false
  codecs = new Map([['5', SCRIPTED]])
  publish = async ({ topicName, payload, qos }) =>
    void seen.push(`${topicName.split('/').at(-1)} ${qos} ${payload.toString()}`)
  const note = (_fields: object, message: string): void => void logged.push(message)
  path = new UplinkPath({
    registry: {
      codecOf(applicationId) {
        looks.push(applicationId)
        const codec = codecs.get(applicationId)
        return tellsAtOnce ? codec : Promise.resolve(codec)
      },
      variablesOf: async (devEui) => {
        looks.push(devEui)
        return { of: devEui }
      },
      profileIdOf: (devEui) => profileIds.get(devEui),
      profileOf: async (profileId) => {
        looks.push(`profile ${profileId}`)
        return profiles.get(profileId)
      },
      hasTags: (devEui) => (profileIds.has(devEui) ? true : tagsAtHand(devEui)),
      get devicesVersion() {
        return devicesVersion
      },
      tagsOf: async (devEui) => {
        looks.push(`tags ${devEui}`)
        return tags.get(devEui) ?? {}
      },
    },
    codecs: { decodeUplink, hasTime: (organizationId) => !outOfTime.has(organizationId) },
    commandEvents: {
      wants: (topicName) => /\/event\/(?:txack|log)$/.test(topicName),
      told: ({ devEui, kind, payload }) => {
        const told = kind === 'txack' ? Buffer.from(`${devEui} ${kind} ${payload.toString()}`) : payload
        return naming === undefined ? told : naming.promise.then(() => told)
      },
    },
    publisher: { publish: (message) => publish(message) },
    clock: { now: () => 1_700_000_000_000 },
    log: { ...silentLogger, warn: note, error: note },
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
    refuse: (reason = 'codec_busy') => resolve({ ...fault, reason, message: 'too many', ...run }),
  })
  return promise
}

interface Sent extends Partial<Pick<HeldMessage, 'room' | 'isShared' | 'isGone' | 'giveBack'>> {
  readonly devEui?: string
  readonly kind?: PublishedEventKind
  readonly applicationId?: string
  /** The name of the event in `seen`. */
  readonly name?: string
}

/** On a connection that others share, and that has no room for more. */
const SHARED = { room: 0, isShared: true, tenant: undefined, isGone: false, giveBack: (): boolean => false }
const OWN = { isShared: false } as const

/** Each topic has one object, whichever path its events take. */
const topics = new Map<string, Topic>()

function holds(topicName: string): boolean {
  const topic = topics.get(topicName) ?? new Topic(topicName)
  topics.set(topicName, topic)
  return path.holds(topic)
}

/** An event comes in, as the broker brings it. Returns a promise when its connection waits. */
function send(
  payload: string,
  { devEui = ONE, kind = 'up', applicationId = '5', name, ...message }: Sent = {},
): Promise<void> | undefined {
  const topicName = eventTopic(applicationId, devEui, kind)
  const goOn = (completed: Buffer, retains = false): void => {
    if (retains) retained.push(topicName)
    seen.push(name ?? completed.toString())
  }
  if (holds(topicName)) {
    return path.transform({ topicName, payload: Buffer.from(payload), ...SHARED, ...message }, goOn)
  }
  goOn(Buffer.from(payload))
  return undefined
}

/** A device of its own. */
const deviceOf = (number: number): string => number.toString(16).padStart(16, '0')

/** Makes the codec known, and clears what was seen. */
async function known(applicationId = '5'): Promise<void> {
  void send('not an event', { applicationId, devEui: 'f'.repeat(16) })
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
const NO_TIME = errorOf(
  'codec_time_used: the payload codecs of the organization have used their time in these seconds (codecMsPerSecond)',
)
const BUSY = errorOf('too many uplinks of the application or its organization wait to be decoded')

const WAITING = MAXIMUM_OF_ORGANIZATION.messages

/**
 * Sends uplinks of the application, each of another device, named `0` and so on in `seen`. Resolves
 * when all of them may wait.
 */
async function flood(count: number, sent: Sent = OWN): Promise<void> {
  await known(sent.applicationId)
  const waits: Promise<void>[] = []
  for (let number = 0; number < count; number += 1) {
    waits.push(send(UPLINK, { devEui: deviceOf(number), name: `${number}`, ...sent }) ?? Promise.resolve())
  }
  await Promise.all(waits)
}

/** Answers for the codecs until no uplink is being decoded. */
async function decodeAll(): Promise<void> {
  for (let rounds = 0; rounds < 10_000 && decodings.length > 0; rounds += 1) {
    for (const { succeed } of decodings.splice(0)) succeed()
    await turn()
  }
}

describe('an event about a command that is being handed over', () => {
  it('waits for the command’s id, and what comes of its device behind it', async () => {
    codecs.set('5', { ...SCRIPTED, codec: '' })
    await known()
    naming = Promise.withResolvers()
    void send('sent', { kind: 'txack' })
    void send('{"n":1}')
    void send('answered', { kind: 'ack' })
    void send('of another', { devEui: TWO })
    ticks(5)
    assert.deepEqual(seen, ['of another'])
    assert.equal(path.numbers().held, 3)
    naming.resolve()
    await turn()
    assert.deepEqual(seen, ['of another', `${ONE} txack sent`, '{"n":1}', 'answered'])
    assert.equal(path.numbers().held, 0)
  })

  it('goes on as it came when the service closes', async () => {
    await known()
    naming = Promise.withResolvers()
    void send('sent', { kind: 'txack' })
    path.close()
    assert.deepEqual(seen, ['sent'])
  })
})

describe('an uplink', () => {
  it('goes on with its object, decoded by the application’s script with the device’s variables', async () => {
    void send(UPLINK)
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
      shaped: 0,
      unshaped: 0,
      errorsWithheld: 0,
      errorsLost: 0,
    })
  })

  it('goes on as it came where it can’t be decoded, and then comes the error event of its family', async () => {
    for (const payload of [UPLINK, FAMILY_B]) void send(payload, { devEui: payload === UPLINK ? ONE : TWO })
    await turn()
    for (const { fail } of decodings) fail()
    await turn()
    assert.deepEqual(seen, [
      UPLINK,
      errorOf('it threw (line 3)'),
      FAMILY_B,
      'log 1 {"time":null,"deviceInfo":{},"level":"ERROR","code":"UPLINK_CODEC","description":"it threw (line 3)","context":{"deduplication_id":""}}',
      'error 1 {"time":null,"deviceInfo":{},"level":"ERROR","code":"UPLINK_CODEC","description":"it threw (line 3)","context":{"deduplication_id":""}}',
    ])
    assert.equal(path.numbers().failed, 2)
  })

  it('goes on at once where its application has no codec, which is looked up once', async () => {
    codecs.set('5', NONE)
    void send(UPLINK, { name: 'first' })
    void send(UPLINK, { name: 'second', devEui: TWO })
    assert.deepEqual(seen, [])
    await turn()
    void send(UPLINK, { name: 'third' })
    assert.deepEqual(seen, ['first', 'second', 'third'])
    assert.deepEqual(looks, ['5'])
    assert.equal(decodings.length, 0)
  })

  it('of an application that does not exist goes on', async () => {
    codecs.clear()
    void send(UPLINK)
    await turn()
    assert.deepEqual(seen, [UPLINK])
  })

  it('waits while the registry fails, and is decoded when it answers', async () => {
    codecs.get = () => {
      throw new Error('the registry fails')
    }
    void send(UPLINK, OWN)
    await turn()
    ticks(20)
    await turn()
    assert.deepEqual(seen, [])
    assert.ok(logged.every((message) => message === 'uplink.look_failed') && logged.length > 1)
    codecs = new Map([['5', SCRIPTED]])
    ticks(1)
    await turn()
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, [WITH_OBJECT])
  })

  it('waits while the codecs have no room, and is decoded when they have', async () => {
    await known()
    void send(UPLINK, OWN)
    await turn()
    decodings[0]?.refuse()
    await turn()
    assert.deepEqual([seen, decodings.length], [[], 1])
    ticks(1)
    await turn()
    decodings[1]?.succeed()
    await turn()
    assert.deepEqual(seen, [WITH_OBJECT])
  })

  it('waits while the codecs of its organization have used their time; those of others go on', async () => {
    codecs.set('6', { ...SCRIPTED, organizationId: '2' })
    for (const applicationId of ['5', '6']) await known(applicationId)
    outOfTime.add('1')
    void send(UPLINK, OWN)
    void send(UPLINK, { ...OWN, applicationId: '6', devEui: TWO, name: 'of another' })
    await turn()
    assert.equal(decodings.length, 1)
    decodings.pop()?.succeed()
    ticks(20)
    await turn()
    assert.deepEqual([seen, decodings.length], [['of another'], 0])
    outOfTime.clear()
    ticks(1)
    await turn()
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, ['of another', WITH_OBJECT])
  })

  it('is decoded when the time was used up while it waited for its turn', async () => {
    await known()
    void send(UPLINK, OWN)
    await turn()
    decodings[0]?.refuse('codec_time_used')
    await turn()
    assert.deepEqual(seen, [])
    ticks(1)
    await turn()
    decodings[1]?.succeed()
    await turn()
    assert.deepEqual(seen, [WITH_OBJECT])
  })

  it('goes out without its object on a shared connection when its organization has no time, and says so', async () => {
    await known()
    outOfTime.add('1')
    void send(UPLINK)
    await turn()
    ticks(2)
    assert.deepEqual(seen, [])
    ticks(1)
    assert.deepEqual(seen, [UPLINK, NO_TIME])
  })

  it('is decoded as the registry says now: by the new script, with the new variables', async () => {
    await known()
    void send(UPLINK)
    await turn()
    codecs.set('5', { ...SCRIPTED, decoderScript: 'the new script' })
    path.memories.application.forget('5')
    path.memories.device.forget(ONE)
    void send(UPLINK)
    await turn()
    assert.deepEqual(
      decodings.map(({ request }) => request.script),
      ['the script', 'the new script'],
    )
    assert.deepEqual(looks, [ONE, '5', ONE])
    path.memories.device.forgetAll()
    void send(UPLINK)
    await turn()
    assert.deepEqual(looks, [ONE, '5', ONE, ONE])
  })

  it('whose application changes while it is looked up is not the last to look', async () => {
    void send(UPLINK)
    path.memories.application.forget('5')
    await turn()
    void send(UPLINK, { devEui: TWO })
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

describe('a topic whose uplinks go on as they came', () => {
  it('is never held back where the registry tells the application at once', () => {
    tellsAtOnce = true
    codecs.set('5', NONE)
    assert.equal(holds(eventTopic('5', ONE, 'up')), false)
    codecs.set('6', SCRIPTED)
    assert.equal(holds(eventTopic('6', TWO, 'up')), true)
  })

  it('is held back as soon as its application has a codec, or its device has tags', async () => {
    const topicName = eventTopic('5', ONE, 'up')
    codecs.set('5', NONE)
    await send(UPLINK)
    await turn()
    assert.deepEqual([holds(topicName), holds(topicName)], [false, false])
    codecs.set('5', SCRIPTED)
    path.memories.application.forget('5')
    assert.equal(holds(topicName), true)
    codecs.set('5', NONE)
    path.memories.application.forget('5')
    await send(UPLINK)
    await turn()
    assert.equal(holds(topicName), false)
    tags.set(ONE, { floor: '3' })
    devicesVersion = {}
    assert.equal(holds(topicName), true)
    tags.delete(ONE)
    devicesVersion = {}
    assert.equal(holds(topicName), false)
  })

  it('waits behind the held events of its device, and not once the path is closed', async () => {
    const topicName = eventTopic('5', ONE, 'up')
    codecs.set('5', NONE)
    await send(UPLINK)
    await turn()
    assert.equal(holds(topicName), false)
    naming = Promise.withResolvers()
    void send('{}', { kind: 'txack', name: 'txack' })
    assert.equal(holds(topicName), true)
    path.close()
    assert.equal(holds(topicName), false)
  })
})

describe('the order of events', () => {
  it('is that in which they came for one device, of every kind; other devices’ pass', async () => {
    await known()
    void send(UPLINK, { name: 'up 1' })
    void send('{}', { kind: 'status', name: 'status' })
    void send(UPLINK, { name: 'up 2' })
    void send('{}', { kind: 'join', name: 'join' })
    void send('{}', { kind: 'join', devEui: TWO, name: 'join of another' })
    await turn()
    assert.deepEqual(seen, ['join of another'])
    decodings[1]?.succeed()
    await turn()
    assert.deepEqual(seen, ['join of another'])
    assert.equal(path.numbers().held, 4)
    decodings[0]?.fail()
    await turn()
    assert.deepEqual(seen, ['join of another', 'up 1', errorOf('it threw (line 3)'), 'status', 'up 2', 'join'])
    assert.equal(holds(eventTopic('5', ONE, 'join')), false)
  })

  it('stays though one of them fails on its way', async () => {
    await known()
    const topicName = eventTopic('5', ONE, 'up')
    void path.transform({ topicName, payload: Buffer.from(UPLINK), ...SHARED }, () => {
      throw new Error('the router fails')
    })
    void send('{}', { kind: 'join', name: 'join' })
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
    void send('{}', { kind: 'txack' })
    assert.deepEqual(seen, [`${ONE} txack {}`])
    void send(UPLINK, { name: 'up' })
    void send('{"n":2}', { kind: 'txack' })
    await turn()
    assert.deepEqual(seen, [`${ONE} txack {}`])
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(seen, [`${ONE} txack {}`, 'up', `${ONE} txack {"n":2}`])
    const topicName = 'the/event/txack'
    void path.transform({ topicName, payload: Buffer.of(), ...SHARED }, () => void seen.push('of no device'))
    assert.equal(seen.at(-1), 'of no device')
    path.close()
    void send('{"n":3}', { kind: 'txack' })
    assert.equal(seen.at(-1), `${ONE} txack {"n":3}`)
  })
})

describe('an uplink that has waited for too long', () => {
  it('goes on without object, with an error event; what its codec says later is not heard', async () => {
    await known()
    void send(UPLINK, { name: 'up' })
    void send('{}', { kind: 'join', name: 'join' })
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
      void send(UPLINK, { applicationId, devEui: TWO })
      return path.numbers().held > before
    }
    for (const seconds of [10, 20]) {
      logged = []
      for (const devEui of [ONE, TWO]) void send(UPLINK, { devEui })
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
    void send(UPLINK)
    ticks(3)
    codecs.set('5', { ...SCRIPTED, decoderScript: 'the new script' })
    path.memories.application.forget('5')
    await known()
    assert.equal(isHeld(), true)
  })

  it('lets its organization wait no more once three of its applications were late within a minute', async () => {
    for (const applicationId of ['6', '7', '8']) codecs.set(applicationId, SCRIPTED)
    codecs.set('9', { ...SCRIPTED, organizationId: '2' })
    for (const applicationId of ['5', '6', '7', '8', '9']) await known(applicationId)
    for (const applicationId of ['5', '6', '7']) void send(UPLINK, { applicationId, devEui: applicationId.repeat(16) })
    ticks(3)
    assert.equal(path.numbers().held, 0)
    void send(UPLINK, { applicationId: '8' })
    assert.equal(path.numbers().held, 0)
    void send(UPLINK, { applicationId: '9' })
    assert.equal(path.numbers().held, 1)
  })
})

describe('a backlog', () => {
  it('is decoded as a whole, on a connection of one’s own however long that takes, and at a bound the connection waits', async () => {
    const flooded = flood(WAITING + 100)
    await turn()
    assert.equal(path.numbers().held, WAITING)
    ticks(100)
    await turn()
    assert.deepEqual(seen, [])
    await decodeAll()
    await flooded
    await decodeAll()
    assert.equal(seen.length, WAITING + 100)
    assert.deepEqual(
      seen,
      Array.from({ length: WAITING + 100 }, (_, number) => `${number}`),
    )
    const { decoded, refused, late } = path.numbers()
    assert.deepEqual([decoded, refused, late], [WAITING + 100, 0, 0])
  })

  it('has few of its uplinks with the codecs at a time', async () => {
    await flood(100)
    await turn()
    assert.equal(decodings.length, 16)
    decodings.shift()?.succeed()
    await turn()
    assert.equal(decodings.length, 16)
  })

  it('of one organization holds up no other one', async () => {
    codecs.set('6', { ...SCRIPTED, organizationId: '2' })
    void flood(WAITING + 100)
    await turn()
    await known('6')
    assert.equal(
      await send(UPLINK, { ...OWN, applicationId: '6', devEui: 'a'.repeat(16), name: 'the neighbour' }),
      undefined,
    )
    await turn()
    decodings.at(-1)?.succeed()
    await turn()
    assert.deepEqual(seen, ['the neighbour'])
  })

  it('of many organizations leaves room for one more', async () => {
    for (let organization = 1; organization <= 20; organization += 1) {
      codecs.set(`1${organization}`, { ...SCRIPTED, organizationId: `${organization}` })
      await known(`1${organization}`)
      const before = path.numbers().held
      void flood(WAITING, { ...OWN, applicationId: `1${organization}` })
      await turn()
      assert.ok(path.numbers().held > before, `organization ${organization} has room`)
    }
  })

  it('of large events is bounded by their bytes', async () => {
    await known()
    const large = JSON.stringify({ text: 'x'.repeat(1_048_576 - 4_096) })
    for (let index = 0; index < 20; index += 1) void send(large, { devEui: deviceOf(index), ...OWN })
    assert.equal(path.numbers().held, MAXIMUM_OF_ORGANIZATION.bytes / 1_048_576)
  })

  it('that its sender sends again is not decoded for nobody', async () => {
    await known()
    const given: string[] = []
    let isGone = false
    const giveBack = (): boolean => given.push('given back') > 0
    for (let number = 0; number < 40; number += 1) {
      const message = {
        get isGone() {
          return isGone
        },
      }
      void path.transform(
        Object.assign(Object.create(message) as typeof message, {
          topicName: eventTopic('5', deviceOf(number), 'up'),
          payload: Buffer.from(UPLINK),
          room: 0,
          isShared: false,
          tenant: undefined,
          giveBack,
        }),
        () => void seen.push('went on'),
      )
    }
    await turn()
    isGone = true
    for (const { succeed } of decodings.splice(0)) succeed()
    await turn()
    assert.deepEqual([decodings.length, given.length, path.numbers().held, seen], [0, 40, 0, []])
  })
})

describe('on a connection that others share', () => {
  it('an uplink waits for longer where there is room for the others', async () => {
    await known()
    void send(UPLINK, { room: 1, name: 'up' })
    await turn()
    ticks(10)
    assert.deepEqual(seen, [])
    ticks(1)
    assert.deepEqual(seen, ['up', LATE])
  })

  it('an organization that was slow keeps its part of the connection, and what is more goes on without object', async () => {
    await known()
    void send(UPLINK)
    ticks(3)
    seen = []
    for (let number = 0; number < 10; number += 1)
      void send(UPLINK, { devEui: deviceOf(number), room: 10 - number, name: 'up' })
    assert.equal(path.numbers().held, 5)
    assert.deepEqual(seen.slice(0, 2), ['up', OFTEN_LATE])
    assert.equal(path.numbers().refused, 5)
  })

  it('an uplink for which there is no room goes on without object after 2 to 3 s, behind what came before it of its device', async () => {
    void flood(WAITING, { ...OWN })
    await turn()
    const waits = send(UPLINK, { devEui: deviceOf(0), name: 'more' })
    await turn()
    assert.deepEqual(seen, [])
    ticks(3)
    await waits
    assert.deepEqual(seen, ['0', BUSY, 'more', BUSY])
  })
})

describe('error events', () => {
  it('what has an object already needs no error event', async () => {
    await known()
    void send(HAS_OBJECT)
    ticks(3)
    assert.deepEqual(seen, [HAS_OBJECT])
  })

  it('are 100 of an application from one tick to the next, and the others are counted', async () => {
    await known()
    void send(UPLINK)
    ticks(3)
    path.tick()
    seen = []
    for (let index = 0; index < 150; index += 1) void send(UPLINK)
    assert.equal(seen.filter((text) => text.startsWith('error')).length, 100)
    assert.equal(seen.length, 250)
    assert.equal(path.numbers().errorsWithheld, 50)
    path.tick()
    for (let index = 0; index < 150; index += 1) void send(UPLINK)
    assert.equal(seen.length, 500)
  })

  it('that the broker can’t own are counted', async () => {
    await known()
    publish = () => Promise.reject(new Error('the disk is full'))
    void send(UPLINK)
    ticks(3)
    await turn()
    assert.equal(path.numbers().errorsLost, 1)
  })
})

describe('a path that closes', () => {
  it('gives back what its sender sends again', async () => {
    const given: string[] = []
    const giveBack = (): boolean => given.push('given back') > 0
    void flood(WAITING + 10, { ...OWN, giveBack })
    await turn()
    path.close()
    assert.deepEqual([given.length, seen, path.numbers().held], [WAITING + 10, [], 0])
    const topicName = eventTopic('5', ONE, 'up')
    assert.equal(holds(topicName), false)
  })

  it('lets all go on as they came, without error events, and holds nothing back from then on', async () => {
    await known()
    void send(UPLINK, { name: 'up' })
    void send('{}', { kind: 'join', name: 'join' })
    path.close()
    assert.deepEqual(seen, ['up', 'join'])
    void send(UPLINK, { name: 'later' })
    assert.deepEqual(seen, ['up', 'join', 'later'])
    await turn()
    decodings[0]?.succeed()
    await turn()
    assert.equal(seen.length, 3)
  })
})

const tagged = (members: object): string => JSON.stringify({ devEUI: ONE, ...members })

describe('tags of the registry', () => {
  it('go out with every kind of event; one look-up serves all that follow', async () => {
    tags.set(ONE, { floor: '3' })
    codecs.set('5', NONE)
    const kinds: PublishedEventKind[] = ['up', 'join', 'ack', 'status', 'location', 'error', 'log', 'integration']
    for (const kind of kinds) await send(tagged({ tags: { floor: '1', own: 'x' } }), { kind })
    assert.deepEqual(
      seen,
      kinds.map(() => tagged({ tags: { floor: '3', own: 'x' } })),
    )
    assert.deepEqual(
      looks.filter((look) => look.startsWith('tags')),
      [`tags ${ONE}`],
    )
  })

  it('are not looked up for a device that has none', async () => {
    codecs.set('5', NONE)
    await send('{"devEUI":"01"}', { kind: 'status' })
    assert.deepEqual([seen, looks], [['{"devEUI":"01"}'], ['5']])
  })

  it('stand before an object that is added, and in the error event of a codec', async () => {
    tags.set(ONE, { floor: '3' })
    await settleUplink('{"tags":{},"fPort":2,"data":"AQ=="}', ({ succeed }) => succeed())
    await settleUplink('{"tags":{},"fPort":2,"data":"AQ=="}', ({ fail }) => fail())
    assert.equal(seen[0], '{"tags":{"floor":"3"},"fPort":2,"data":"AQ==","object":{"a":1}}')
    assert.match(seen[2] ?? '', /^error 1 .*"tags":\{"floor":"3"\}/)
  })

  it('that change are looked up again, and those that can’t be read keep no event back', async () => {
    tags.set(ONE, { floor: '3' })
    codecs.set('5', NONE)
    await send('{}', { kind: 'status' })
    tags.set(ONE, { floor: '4' })
    path.memories.device.forget(ONE)
    await send('{}', { kind: 'status' })
    // The directory has not heard yet that the tags are gone.
    tags.delete(ONE)
    tagsAtHand = () => undefined
    path.memories.device.forgetAll()
    await send('{}', { kind: 'status' })
    tags.get = () => {
      throw new Error('the disk is gone')
    }
    await send('{}', { kind: 'status', devEui: TWO })
    assert.deepEqual(seen, ['{"tags":{"floor":"3"}}', '{"tags":{"floor":"4"}}', '{}', '{}'])
    assert.deepEqual(logged, ['event.tags_not_read'])
  })
})

/** Sends an uplink, and lets its codec answer. */
async function settleUplink(payload: string, answer: (decoding: Decoding) => void): Promise<void> {
  await send(payload)
  await turn()
  const decoding = decodings.shift()
  assert.ok(decoding !== undefined)
  answer(decoding)
  await turn()
}

describe('errors of ChirpStack v4', () => {
  const error = '{"level":"ERROR","code":"UPLINK_CODEC","deviceInfo":{}}'

  it('on log go out as error as well, byte for byte and behind it', async () => {
    await known()
    void send(error, { kind: 'log', name: 'the log event' })
    assert.deepEqual(seen, ['the log event', `error 1 ${error}`])
  })

  it('are those of the level ERROR alone', async () => {
    await known()
    for (const payload of ['{"level":"WARNING","code":"ERROR"}', '{"level":"INFO"}', 'ERROR', '{"level":"ERROR"']) {
      void send(payload, { kind: 'log', name: 'x' })
    }
    void send(error, { kind: 'integration', name: 'x' })
    assert.deepEqual(new Set(seen), new Set(['x']))
  })

  it('are copied at a bounded rate, and the others are counted', async () => {
    await known()
    for (let index = 0; index < 130; index += 1) void send(error, { kind: 'log', name: 'log' })
    assert.equal(seen.filter((text) => text === 'log').length, 130)
    assert.equal(seen.length, 230)
    assert.equal(path.numbers().errorsWithheld, 30)
    path.tick()
    void send(error, { kind: 'log', name: 'log' })
    assert.equal(seen.length, 232)
  })
})

const profileOf = (id: string, members: Partial<RegisteredProfile> = {}): RegisteredProfile => ({
  ...SCRIPTED,
  id,
  name: `profile ${id}`,
  decoderScript: `script of ${id}`,
  tags: {},
  variables: { of: 'profile', own: id },
  decodesPort: undefined,
  ...members,
})

const labelled = (name: string, kind: string): string =>
  `{"tags":{"kind":"${kind}"},"devEUI":"01","deviceProfileName":"${name}","deviceProfileID":"theirs"}`

describe('a device with a profile', () => {
  it('is decoded by the codec of the profile, with its variables below those of the device', async () => {
    profileIds.set(ONE, 'p')
    profiles.set('p', profileOf('p'))
    void send(UPLINK)
    void send(UPLINK, { devEui: deviceOf(2) })
    await turn()
    assert.deepEqual(
      Object.fromEntries(decodings.map(({ request }) => [request.script, [request.profile?.id, request.variables]])),
      {
        'script of p': ['p', { of: ONE, own: 'p' }],
        [SCRIPTED.decoderScript]: [undefined, { of: deviceOf(2) }],
      },
    )
  })

  it('gets the labels of the profile, and the new ones with the next event after a change', async () => {
    profileIds.set(ONE, 'p')
    profiles.set('p', profileOf('p', { tags: { kind: 'meter' } }))
    const join = '{"devEUI":"01","deviceProfileName":"","deviceProfileID":"theirs"}'
    void send(join, { kind: 'join' })
    await turn()
    profiles.set('p', profileOf('p', { name: 'renamed', tags: { kind: 'valve' } }))
    void send(join, { kind: 'join' })
    path.memories.deviceProfile.forget('p')
    void send(join, { kind: 'join' })
    await turn()
    assert.deepEqual(seen, [
      labelled('profile p', 'meter'),
      labelled('profile p', 'meter'),
      labelled('renamed', 'valve'),
    ])
  })

  it('passes uplinks on FPorts that the profile does not decode, and has no codec where the profile has none', async () => {
    profileIds.set(ONE, 'p')
    profiles.set('p', profileOf('p', { decodesPort: () => false }))
    void send(UPLINK)
    await turn()
    profiles.set('p', profileOf('p', { codec: '' }))
    path.memories.deviceProfile.forget('p')
    void send(UPLINK)
    await turn()
    assert.equal(decodings.length, 0)
    assert.equal(seen.length, 2)
  })
})

/** The JSON of an event in `seen`. */
function jsonOf(text: string): Record<string, unknown> {
  return JSON.parse(text.slice(text.indexOf('{'))) as Record<string, unknown>
}

describe('the shape of an application', () => {
  const STATUS_B = '{"deviceInfo":{"deviceName":"a"},"margin":0,"batteryLevel":50}'
  const ERROR_A = '{"devEUI":"01","type":"OTAA","error":"no key"}'

  it('is that of each kind of event, from the first one on', async () => {
    codecs.set('5', { ...NONE, eventShape: 'NORMALIZED' })
    await send(STATUS_B, { kind: 'status' })
    void send(UPLINK)
    await turn()
    assert.deepEqual(
      seen.map((text) => [jsonOf(text)['shape'], jsonOf(text)['kind'], jsonOf(text)['devEui']]),
      [
        ['NORMALIZED', 'status', ONE],
        ['NORMALIZED', 'up', ONE],
      ],
    )
    assert.equal(path.numbers().shaped, 2)
    // An application without a shape gets the very bytes.
    codecs.set('6', NONE)
    await send(` ${STATUS_B}`, { kind: 'status', applicationId: '6' })
    assert.equal(seen[2], ` ${STATUS_B}`)
  })

  it('changes with the next event', async () => {
    codecs.set('5', NONE)
    await send(STATUS_B, { kind: 'status' })
    codecs.set('5', { ...NONE, eventShape: 'V3' })
    path.memories.application.forget('5')
    await send(STATUS_B, { kind: 'status' })
    assert.deepEqual([seen[0], jsonOf(seen[1] ?? '')['devEUI']], [STATUS_B, ONE])
  })

  it('is put on behind the object, and on the error events of a codec', async () => {
    codecs.set('5', { ...SCRIPTED, eventShape: 'V4' })
    void send(UPLINK)
    await turn()
    decodings[0]?.succeed()
    await turn()
    assert.deepEqual(jsonOf(seen[0] ?? '')['object'], { a: 1 })
    void send(UPLINK)
    await turn()
    decodings[1]?.fail()
    await turn()
    const [, uplink = '', ...told] = seen
    assert.equal((jsonOf(uplink)['deviceInfo'] as Record<string, unknown>)['devEui'], ONE)
    assert.deepEqual(
      told.map((text) => [text.split(' ')[0], jsonOf(text)['code'], 'deviceInfo' in jsonOf(text)]),
      [
        ['log', 'UPLINK_CODEC', true],
        ['error', 'UPLINK_CODEC', true],
      ],
    )
  })

  it('V4 brings an error of ChirpStack v3 on log as well, and V3 an ERROR of v4 on error', async () => {
    codecs.set('5', { ...NONE, eventShape: 'V4' })
    await send(ERROR_A, { kind: 'error' })
    assert.deepEqual(
      seen.map((text) => [text.split(' ')[0]?.slice(0, 5), jsonOf(text)['code'], jsonOf(text)['level']]),
      [
        ['{"tim', 'OTAA', 'ERROR'],
        ['log', 'OTAA', 'ERROR'],
      ],
    )
    seen = []
    codecs.set('6', { ...NONE, eventShape: 'V3' })
    const log = '{"deviceInfo":{},"level":"ERROR","code":"UPLINK_F_CNT_RESET","description":"reset"}'
    await send(log, { kind: 'log', applicationId: '6' })
    assert.deepEqual(
      seen.map((text) => [text.startsWith('error 1'), jsonOf(text)['type'], jsonOf(text)['error']]),
      [
        [false, 'UPLINK_FCNT_RESET', 'reset'],
        [true, 'UPLINK_FCNT_RESET', 'reset'],
      ],
    )
  })

  it('leaves an event that can’t be read as it was received, counts it, and tells of it', async () => {
    codecs.set('5', { ...NONE, eventShape: 'NORMALIZED' })
    const wrong = '{"deviceInfo":{},"margin":"high"}'
    await send(wrong, { kind: 'status' })
    assert.deepEqual([seen[0], path.numbers().unshaped], [wrong, 1])
    const { code, message } = jsonOf(seen[1] ?? '')
    const reason = 'the status event went on as it was received: margin: must be a number'
    assert.deepEqual([seen[1]?.split(' ')[0], code, message], ['error', 'EVENT_NOT_SHAPED', reason])
  })
})

describe('the last events of an application', () => {
  const RETAINING: RegisteredCodec = { ...NONE, retainsLastEvents: true }

  it('are its uplinks, from the first one on, and no other events', async () => {
    codecs.set('5', RETAINING)
    codecs.set('6', NONE)
    // Nothing is known of the application when the first event comes.
    await Promise.all([send(UPLINK), send(UPLINK, { devEui: TWO, applicationId: '6' })])
    for (const kind of ['join', 'ack', 'txack', 'error', 'log', 'status', 'location', 'integration'] as const) {
      await send('{}', { kind })
    }
    await send(UPLINK)
    assert.deepEqual(retained, [eventTopic('5', ONE, 'up'), eventTopic('5', ONE, 'up')])
  })

  it('are retained with their object, and where the codec fails', async () => {
    codecs.set('5', { ...RETAINING, codec: 'CUSTOM_JS' })
    for (const end of ['succeed', 'fail'] as const) {
      void send(UPLINK)
      await turn()
      assert.equal(retained.length, end === 'succeed' ? 0 : 1)
      decodings.at(-1)?.[end]()
      await turn()
    }
    assert.equal(retained.length, 2)
    assert.ok(seen.includes(WITH_OBJECT))
  })

  it('count by the application, also for a device whose profile has no codec', async () => {
    codecs.set('5', { ...RETAINING, eventShape: 'NORMALIZED' })
    profileIds.set(ONE, 'meter')
    const { codec, decoderScript, organizationId } = NONE
    const rest = { id: 'meter', name: 'Meter', tags: {}, variables: {}, decodesPort: undefined }
    profiles.set('meter', { codec, decoderScript, organizationId, ...rest })
    await send(UPLINK)
    await turn()
    assert.deepEqual(retained, [eventTopic('5', ONE, 'up')])
    assert.match(seen[0] ?? '', /"shape":"NORMALIZED"/)
  })

  it('come by other ways than the broker, too, and end with the setting', async () => {
    codecs.set('5', RETAINING)
    const published: (boolean | undefined)[] = []
    publish = async ({ retains }) => void published.push(retains)
    const message = { topicName: eventTopic('5', ONE, 'up'), payload: Buffer.from(UPLINK), qos: 1 } as const
    await path.publish(message)
    assert.equal(await path.retainsLastEvents('5'), true)
    codecs.set('5', NONE)
    path.memories.application.forget('5')
    await path.publish(message)
    await path.publish(message)
    assert.deepEqual(
      published.map((retains) => retains ?? false),
      [true, false, false],
    )
    assert.equal(await path.retainsLastEvents('5'), false)
  })
})
