import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import type { Duplex } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { Authority } from '../../../../test/support/authority.ts'
import { within } from '../../../../test/support/bounded-wait.ts'
import { outputOf } from '../../../../test/support/program.ts'
import { Mosquitto } from '../../../../test/support/mosquitto.ts'
import { PacketReader } from '../../../mqtt/packet-reader.ts'
import { describeNetworkServer, TestSink } from '../network-server-contract.testing.ts'
import type { FarSide, ReceivedDownlink } from '../network-server-contract.testing.ts'
import type { Downlink } from '../../commands/network-server.ts'
import { openBrokerSocket } from './broker-socket.ts'
import type { TlsSettings } from './broker-socket.ts'
import { TestClock } from '../../../clock.testing.ts'
import { silentLogger } from '../../../logger.ts'
import { ReasonCodes } from '../../../mqtt/reason-codes.ts'
import { FarBroker } from './far-broker.testing.ts'
import { createCounters } from '../adapter/counters.ts'
import { NEXT_AFTER_MS } from '../adapter/downlink-message.ts'
import { MqttBridge } from './mqtt-bridge.ts'
import type { MqttBridgeSettings } from './mqtt-bridge.ts'
import { systemClock } from '../../../clock.ts'
import type { Clock } from '../../../clock.ts'
import { TopicTemplate } from './topic-template.ts'

const ONE = '0101010101010101'
const UUID = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const BACKOFF = { minimumMs: 20, maximumMs: 100, random: () => 0 }

const template = (text: string, keys: ('applicationId' | 'devEui' | 'event')[]): TopicTemplate => {
  const parsed = TopicTemplate.parse(text, keys)
  assert.ok(parsed instanceof TopicTemplate)
  return parsed
}

const SETTINGS: MqttBridgeSettings = {
  name: 'valley',
  protocolVersion: 5,
  clientId: 'fieldgate-valley',
  userName: undefined,
  password: undefined,
  sessionExpirySeconds: 3600,
  eventTopic: template('application/{{application_id}}/device/{{dev_eui}}/event/{{event}}', [
    'applicationId',
    'devEui',
    'event',
  ]),
  commandTopic: template('application/{{application_id}}/device/{{dev_eui}}/command/down', ['applicationId', 'devEui']),
  takesCommands: true,
  applications: undefined,
}

function downlink(applicationId: string): Downlink {
  const data = Buffer.from([1])
  return { id: UUID, applicationId, devEui: ONE, confirmed: false, fPort: 1, data, expiresAtMs: undefined }
}

/** The adapter's waits that are not about connecting take 20 ms, so that no test waits long. */
const quickClock: Pick<Clock, 'after'> = { after: (ms, run) => systemClock.after(ms === 10_000 ? 20 : ms, run) }

interface Logged {
  readonly message: string
  readonly reason?: string
}

/** A bridge whose acknowledgements are counted on the wire. */
class TestBridge {
  readonly bridge: MqttBridge
  readonly counters = createCounters()
  readonly logged: Logged[] = []
  acknowledged = 0
  #wake: () => void = () => {}

  constructor(port: number, sink: TestSink, settings: Partial<MqttBridgeSettings> = {}, tls?: TlsSettings) {
    const note = (fields: object, message: string): void => void this.logged.push({ ...fields, message })
    this.bridge = new MqttBridge(
      { ...SETTINGS, ...settings },
      {
        sink,
        naming: { names: (_ours, theirs) => theirs === UUID, countsFrames: (applicationId) => applicationId === '3' },
        mayServe: (applicationId) => applicationId === '5' || applicationId === UUID,
        openSocket: async () => this.#watch(await openBrokerSocket({ host: '127.0.0.1', port, tls })),
        backoff: BACKOFF,
        clock: quickClock,
        counters: this.counters,
        log: { debug: note, info: note, warn: note, error: note },
      },
    )
  }

  async untilAcknowledged(count: number): Promise<void> {
    while (this.acknowledged < count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await within(promise, `${count} acknowledgements; there are ${this.acknowledged}`)
    }
  }

  #watch(socket: Duplex): Duplex {
    const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: 1_048_576 })
    const write = socket.write.bind(socket)
    socket.write = (chunk: Buffer) => {
      reader.push(Buffer.from(chunk))
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
        if (packet.type === 'puback') this.acknowledged += 1
      }
      this.#wake()
      return write(chunk)
    }
    return socket
  }
}

/** A network server at the other broker: publishes events, and subscribes to commands. */
class Neighbour {
  readonly client: MqttClient
  readonly #downlinks: ReceivedDownlink[] = []
  #wake: () => void = () => {}

  static async open(
    port: number,
    filter = '$share/chirpstack/application/+/device/+/command/+',
    login: { readonly username?: string; readonly password?: string } = {},
  ): Promise<Neighbour> {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      ...login,
      protocolVersion: 5,
      clientId: 'chirpstack',
      clean: false,
      properties: { sessionExpiryInterval: 3600 },
      reconnectPeriod: 50,
    })
    const neighbour = new Neighbour(client)
    if (filter !== '') {
      await client.subscribeAsync(filter, { qos: 1 })
      // ChirpStack subscribes again with each connection.
      client.on('connect', () =>
        client.subscribe(Object.assign({ [filter]: { qos: 1 as const } }, { resubscribe: true })),
      )
    }
    return neighbour
  }

  private constructor(client: MqttClient) {
    this.client = client
    client.on('error', () => undefined)
    client.on('message', (topicName, payload) => {
      const message = JSON.parse(payload.toString()) as ReceivedDownlink & { readonly expiresAt?: string }
      const [, , , devEui = ''] = topicName.split('/')
      const { expiresAt, ...rest } = message
      this.#downlinks.push({
        ...rest,
        ...(rest.devEui === undefined ? { devEui } : {}),
        ...(expiresAt === undefined ? {} : { expiresAtMs: Date.parse(expiresAt) }),
      })
      this.#wake()
    })
  }

  async event(
    payload: string,
    devEui = ONE,
    options: { applicationId?: string; retain?: boolean } = {},
  ): Promise<void> {
    const { applicationId = '5', retain = false } = options
    await this.client.publishAsync(`application/${applicationId}/device/${devEui}/event/up`, payload, {
      qos: 1,
      retain,
    })
  }

  async nextDownlink(): Promise<ReceivedDownlink> {
    for (;;) {
      const next = this.#downlinks.shift()
      if (next !== undefined) return next
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await within(promise, 'a downlink')
    }
  }
}

async function openFar(
  sink: TestSink,
  settings: Partial<MqttBridgeSettings>,
  filter?: string,
): Promise<FarSide & { readonly test: TestBridge }> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-bridge-'))
  const mosquitto = await Mosquitto.start(folder)
  const neighbour = await Neighbour.open(mosquitto.port, filter)
  const test = new TestBridge(mosquitto.port, sink, settings)
  let sent = 0
  return {
    test,
    adapter: test.bridge,
    applicationId: '5',
    sendEvent: async (devEui, payload) => {
      sent += 1
      await neighbour.event(payload, devEui)
    },
    allDealtWith: () => test.untilAcknowledged(sent),
    // The broker repeats unacknowledged messages with the next connection.
    sendAgain: () => Promise.resolve(),
    nextDownlink: () => neighbour.nextDownlink(),
    refuseDownlinks: () => Promise.reject(new Error('MQTT has no such answer')),
    goAway: async () => {
      const away = new Promise<void>((resolve) => neighbour.client.once('close', () => resolve()))
      await mosquitto.stop()
      await within(away, 'the end of the connection')
    },
    comeBack: () => mosquitto.comeBack(),
    close: async () => {
      await test.bridge.close()
      await neighbour.client.endAsync(true)
      await mosquitto.stop()
      await rm(folder, { recursive: true })
    },
  }
}

const noRefusals = 'a broker takes every command; the network server behind it has no answer but events'

describeNetworkServer({
  name: 'a bridge to a broker beside ChirpStack v4, by MQTT 5.0',
  open: (sink) => openFar(sink, {}),
  skip: { refusals: noRefusals },
})

describeNetworkServer({
  name: 'a bridge to a broker beside ChirpStack v3, by MQTT 3.1.1',
  open: (sink) => openFar(sink, { protocolVersion: 4 }, 'application/+/device/+/command/down'),
  skip: { refusals: noRefusals },
})

describe('a bridge', { timeout: 60_000 }, () => {
  let folder: string
  let mosquitto: Mosquitto
  let neighbour: Neighbour
  let sink: TestSink
  const bridges: MqttBridge[] = []

  const open = (settings: Partial<MqttBridgeSettings> = {}, tls?: TlsSettings): TestBridge => {
    const test = new TestBridge(mosquitto.port, sink, settings, tls)
    bridges.push(test.bridge)
    return test
  }

  const start = async (lines?: readonly string[]): Promise<void> => {
    mosquitto = await Mosquitto.start(folder, lines)
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-bridge-'))
    sink = new TestSink()
  })

  afterEach(async () => {
    for (const bridge of bridges.splice(0)) await bridge.close()
    await neighbour?.client.endAsync(true)
    await mosquitto.stop()
    await rm(folder, { recursive: true })
  })

  it('finds what was published while it was away, and loses nothing', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port)
    const first = open()
    await sink.until('ready', () => sink.readyCount === 1)
    await neighbour.event('{"fCnt":0}')
    await first.untilAcknowledged(1)
    await first.bridge.close()
    for (let fCnt = 1; fCnt <= 300; fCnt += 1) await neighbour.event(`{"fCnt":${fCnt}}`)
    const second = open()
    await sink.until('all events', () => sink.owned.length >= 301)
    await second.untilAcknowledged(300)
    assert.deepEqual(
      sink.payloads(),
      Array.from({ length: 301 }, (_, fCnt) => `{"fCnt":${fCnt}}`),
    )
  })

  it('loses nothing when the broker is restarted again and again in the middle', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port)
    open()
    await sink.until('ready', () => sink.readyCount === 1)
    const count = 400
    const publishing = (async () => {
      for (let fCnt = 0; fCnt < count; fCnt += 1) await neighbour.event(`{"fCnt":${fCnt}}`)
    })()
    for (const owned of [40, 120, 240]) {
      await sink.until(`${owned} events`, () => new Set(sink.payloads()).size >= owned)
      await mosquitto.stop()
      await mosquitto.comeBack()
    }
    await publishing
    await sink.until('all events', () => new Set(sink.payloads()).size === count)
  })

  it('loses nothing when it is killed with events under way, which come again to the next one', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port)
    // The events are never owned, as if the process had ended there.
    for (let index = 0; index < 3; index += 1) sink.plans.push(() => new Promise(() => undefined))
    const first = open()
    await sink.until('ready', () => sink.readyCount === 1)
    for (let fCnt = 0; fCnt < 3; fCnt += 1) await neighbour.event(`{"fCnt":${fCnt}}`)
    await sink.until('events on their way', () => sink.plans.length === 0)
    await first.bridge.close()
    assert.equal(first.acknowledged, 0)
    open()
    await sink.until('all events', () => sink.owned.length === 3)
    assert.deepEqual(sink.payloads(), ['{"fCnt":0}', '{"fCnt":1}', '{"fCnt":2}'])
  })

  it('takes at most 1,024 events at a time, and acknowledges in order [MQTT-4.6.0-2]', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port)
    const held: PromiseWithResolvers<void>[] = []
    for (let index = 0; index < 1_024; index += 1) {
      const one = Promise.withResolvers<void>()
      held.push(one)
      sink.plans.push(() => one.promise)
    }
    const test = open()
    await sink.until('ready', () => sink.readyCount === 1)
    for (let fCnt = 0; fCnt < 1_100; fCnt += 1) await neighbour.event(`{"fCnt":${fCnt}}`)
    await sink.until('a full window', () => sink.plans.length === 0)
    for (const one of held.slice(1)) one.resolve()
    // A command goes out and is answered: everything sent before has arrived.
    await test.bridge.handOver(downlink('5'))
    assert.equal(test.acknowledged, 0)
    assert.equal(sink.owned.length, 1_023)
    held[0]?.resolve()
    await test.untilAcknowledged(1_100)
    assert.equal(sink.owned.length, 1_100)
  })

  it('maps application ids in both directions, and takes nothing of others', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port)
    const test = open({ applications: new Map([['77', UUID]]) })
    await sink.until('ready', () => sink.readyCount === 1)
    await neighbour.event('{"of":"another"}', ONE, { applicationId: '5' })
    await neighbour.event('{"of":"ours"}', ONE, { applicationId: '77' })
    await test.untilAcknowledged(2)
    assert.deepEqual(
      sink.owned.map(({ applicationId, payload }) => [applicationId, payload.toString()]),
      [[UUID, '{"of":"ours"}']],
    )
    assert.deepEqual(
      [test.bridge.serves(UUID), test.bridge.serves('77'), test.bridge.serves('5')],
      [true, false, false],
    )
    const topicName = new Promise((resolve) => neighbour.client.once('message', resolve))
    assert.deepEqual(await test.bridge.handOver(downlink(UUID)), {
      outcome: 'taken',
      nextAfterMs: NEXT_AFTER_MS,
      holdsNext: true,
    })
    assert.equal(await topicName, `application/77/device/${ONE}/command/down`)
    assert.equal(test.counters.eventsRefused, 1)
  })

  it('takes no retained event, which would be told again with each subscription', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port)
    await neighbour.event('{"fCnt":"old"}', ONE, { retain: true })
    const test = open({ protocolVersion: 4 })
    await sink.until('ready', () => sink.readyCount === 1)
    await neighbour.event('{"fCnt":"new"}')
    await test.untilAcknowledged(2)
    assert.deepEqual(sink.payloads(), ['{"fCnt":"new"}'])
  })

  it('keeps a command that nobody subscribes to, and offers it again', async () => {
    await start()
    neighbour = await Neighbour.open(mosquitto.port, '')
    const test = open()
    await sink.until('ready', () => sink.readyCount === 1)
    const answer = await test.bridge.handOver(downlink('5'))
    assert.deepEqual(answer, {
      outcome: 'away',
      code: 'network_server_not_subscribed',
      reason: 'no network server subscribes to commands at the MQTT broker',
    })
    await neighbour.client.subscribeAsync('application/+/device/+/command/down', { qos: 1 })
    await sink.until('ready again', () => sink.readyCount === 2)
    assert.deepEqual(await test.bridge.handOver(downlink('5')), {
      outcome: 'taken',
      nextAfterMs: NEXT_AFTER_MS,
      holdsNext: true,
    })
  })

  it('logs why the broker refuses it, and tries again', async () => {
    await start(['allow_anonymous false'])
    const test = open()
    await mosquittoSays(test, /CONNACK 0x87/, 2)
    assert.equal((await test.bridge.handOver(downlink('5'))).outcome, 'away')
  })

  it('refuses downlinks that ChirpStack v3 would silently drop, when its events are v3’s', async () => {
    await start()
    const test = open()
    await sink.until('ready', () => sink.readyCount === 1)
    const tooHigh = { ...downlink('3'), fPort: 225 }
    assert.deepEqual(await test.bridge.handOver(tooHigh), {
      outcome: 'refused',
      reason: 'fPort: 225 is above 224, the highest that ChirpStack v3 takes',
    })
    const outcomes = [225, 226].map((fPort) => test.bridge.handOver({ ...downlink(UUID), fPort }))
    assert.deepEqual(
      (await Promise.all(outcomes)).map(({ outcome }) => outcome),
      ['away', 'refused'],
    )
  })

  it('needs no more rights at the broker than its page in docs/ gives it', async () => {
    const page = await readFile(new URL('../../../../docs/network-servers/bridge.md', import.meta.url), 'utf8')
    const [rights = ''] = /^user fieldgate\n(?:topic .*\n)+/m.exec(page) ?? []
    const [acl, passwords] = [join(folder, 'acl'), join(folder, 'passwords')]
    await writeFile(acl, `${rights}user chirpstack\ntopic readwrite #\n`)
    await outputOf('mosquitto_passwd', ['-c', '-b', passwords, 'fieldgate', 'secret'])
    await outputOf('mosquitto_passwd', ['-b', passwords, 'chirpstack', 'other'])
    await start(['allow_anonymous false', `password_file ${passwords}`, `acl_file ${acl}`])
    neighbour = await Neighbour.open(mosquitto.port, undefined, { username: 'chirpstack', password: 'other' })
    const test = open({ userName: 'fieldgate', password: 'secret' })
    await sink.until('ready', () => sink.readyCount === 1)
    await neighbour.event('{"fCnt":1}')
    await test.untilAcknowledged(1)
    assert.deepEqual(await test.bridge.handOver(downlink('5')), {
      outcome: 'taken',
      nextAfterMs: NEXT_AFTER_MS,
      holdsNext: true,
    })
    assert.equal((await neighbour.nextDownlink()).devEui, ONE)
  })

  it('speaks TLS with a certificate of its own, and trusts only what it is told to', async () => {
    const authority = await Authority.create(folder)
    await authority.issue()
    const [ca, cert, key] = await Promise.all(
      [authority.caFile, authority.certFile, authority.keyFile].map((file) => readFile(file, 'utf8')),
    )
    const files = [`cafile ${authority.caFile}`, `certfile ${authority.certFile}`, `keyfile ${authority.keyFile}`]
    await start([...files, 'require_certificate true', 'use_identity_as_username true'])
    const distrustful = open({ clientId: 'distrustful' }, { ca: undefined, cert, key })
    await mosquittoSays(distrustful, /certificate/, 1)
    await distrustful.bridge.close()
    open({}, { ca, cert, key })
    await sink.until('ready', () => sink.readyCount === 1)
  })
})

describe('a bridge that closes', () => {
  const parts = {
    naming: { names: () => true, countsFrames: () => false },
    mayServe: () => true,
    backoff: BACKOFF,
    counters: createCounters(),
    log: silentLogger,
  }

  it('leaves no timer while it waits to connect again', async () => {
    const clock = new TestClock()
    const bridge = new MqttBridge(SETTINGS, { ...parts, sink: new TestSink(), openSocket: unreachable, clock })
    await turn()
    assert.equal(clock.pending, 1)
    await bridge.close()
    assert.equal(clock.pending, 0)
  })

  it('leaves no timer while it connects', async () => {
    const clock = new TestClock()
    const [socket, far] = duplexPair()
    const broker = new FarBroker(far, 5)
    const bridge = new MqttBridge(SETTINGS, { ...parts, sink: new TestSink(), openSocket: async () => socket, clock })
    assert.equal((await broker.next()).type, 'connect')
    const closed = once(socket, 'close')
    await bridge.close()
    await within(closed, 'the end of the connection')
    await turn()
    assert.equal(clock.pending, 0)
  })

  it('leaves no timer while a command waits for a subscriber', async () => {
    const clock = new TestClock()
    const [socket, far] = duplexPair()
    const broker = new FarBroker(far, 5)
    const sink = new TestSink()
    const bridge = new MqttBridge(SETTINGS, { ...parts, sink, openSocket: async () => socket, clock })
    await broker.welcome()
    await sink.until('ready', () => sink.readyCount === 1)
    const before = clock.pending
    const answer = bridge.handOver(downlink('5'))
    const published = await broker.next()
    assert.ok(published.type === 'publish')
    broker.send({ type: 'puback', packetId: published.packetId, reasonCode: ReasonCodes.noMatchingSubscribers })
    assert.equal((await answer).outcome, 'away')
    assert.equal(clock.pending, before + 1)
    const closed = once(socket, 'close')
    await bridge.close()
    await within(closed, 'the end of the connection')
    await turn()
    assert.equal(clock.pending, 0)
  })
})

function unreachable(): Promise<Duplex> {
  return Promise.reject(new Error('refused'))
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Resolves when the bridge has logged so often that it is away for this reason. */
async function mosquittoSays({ logged }: TestBridge, reason: RegExp, times: number): Promise<void> {
  const deadline = AbortSignal.timeout(15_000)
  while (
    logged.filter((entry) => entry.message === 'network_server.away' && reason.test(entry.reason ?? '')).length < times
  ) {
    deadline.throwIfAborted()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
