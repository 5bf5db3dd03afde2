import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Dispatched, Dispatcher, DispatchWatcher, OwnMessage, ReaderFilter } from '../../broker/ports/consumer.ts'
import { NEXT_AFTER_MS } from './adapter/downlink-message.ts'
import { LocalReaders } from './downlink-readers.ts'
import { MqttNetworkServer } from './mqtt-network-server.ts'
import type { Downlink, HandOverAnswer, NetworkServer } from '../commands/network-server.ts'
import { describeNetworkServer } from './network-server-contract.testing.ts'
import type { FarSide, ReceivedDownlink, TestSink } from './network-server-contract.testing.ts'

const UUID = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'

const DOWNLINK: Downlink = {
  id: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d',
  applicationId: '5',
  devEui: '0102030405060708',
  confirmed: true,
  fPort: 10,
  data: Buffer.from([1, 2, 3]),
  expiresAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
}

class TestDispatcher implements Dispatcher {
  readonly sent: {
    readonly message: OwnMessage
    readonly watcher: DispatchWatcher
    readonly tenant: string
  }[] = []
  /** The tenants of the connected readers. */
  readers = ['organization:1', 'deployment']
  hasRoom = true

  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor: ReaderFilter = () => true): Dispatched {
    const tenant = this.readers.find((reader) => isFor({ tenant: reader, identity: 'x' }))
    if (tenant === undefined) return 'no reader'
    if (!this.hasRoom) return 'no room'
    this.sent.push({ message, watcher, tenant })
    return 'sent'
  }
}

/** No event was seen of application 5. Application 3 is on ChirpStack v3. */
const naming = {
  names: (applicationId: string) => applicationId === UUID,
  countsFrames: (applicationId: string) => applicationId === '3',
}

const presences = new Map<string, 'connected' | number>()
const presenceOf = (tenant: string) => presences.get(tenant)

const organizationOf = (applicationId: string): string => (applicationId === '5' ? '1' : '2')
/** Organization 1 has a network server of its own, organization 2 has none. */
const hasOwn = async (organizationId: string): Promise<boolean> => organizationId === '1'

function open(isServedElsewhere: (applicationId: string) => boolean = () => false) {
  const dispatcher = new TestDispatcher()
  const ready: NetworkServer[] = []
  const sink = { ready: (networkServer: NetworkServer) => void ready.push(networkServer) }
  const server = new MqttNetworkServer({
    readers: new LocalReaders(dispatcher),
    sink,
    organizationOf,
    hasOwn,
    presenceOf,
    isServedElsewhere,
    naming,
  })
  return { dispatcher, ready, server }
}

const hasNone = async (): Promise<boolean> => false

const is999 = (applicationId: string): boolean => applicationId === '999'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a downlink to a network server on this broker', () => {
  it('is one message that both families take, on the command topic', async () => {
    const { dispatcher, server } = open()
    void server.handOver(DOWNLINK)
    void server.handOver({ ...DOWNLINK, expiresAtMs: undefined })
    await turn()
    const messages = dispatcher.sent.map(({ message }) => message)
    assert.deepEqual(
      [messages[0]?.topicName, messages[0]?.qos],
      ['application/5/device/0102030405060708/command/down', 1],
    )
    assert.deepEqual(
      messages.map(({ payload }) => JSON.parse(payload.toString()) as unknown),
      [
        {
          devEui: '0102030405060708',
          id: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d',
          confirmed: true,
          fPort: 10,
          data: 'AQID',
          expiresAt: '2026-01-02T03:04:05.678Z',
        },
        {
          devEui: '0102030405060708',
          id: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d',
          confirmed: true,
          fPort: 10,
          data: 'AQID',
        },
      ],
    )
  })

  it('is taken when it was acknowledged, and given back when the Session ended before', async () => {
    const { dispatcher, server } = open()
    const answers = [server.handOver(DOWNLINK), server.handOver(DOWNLINK)]
    await turn()
    dispatcher.sent[0]?.watcher.acknowledged()
    dispatcher.sent[1]?.watcher.abandoned()
    assert.deepEqual(
      (await Promise.all(answers)).map(({ outcome }) => outcome),
      ['taken', 'away'],
    )
  })

  it('is for the organization’s own network server, and waits for it where it is away', async () => {
    const { dispatcher, server } = open()
    dispatcher.readers = ['deployment', 'organization:2', 'organization:1']
    void server.handOver(DOWNLINK)
    await turn()
    assert.deepEqual(
      dispatcher.sent.map(({ tenant }) => tenant),
      ['organization:1'],
    )
    dispatcher.readers = ['deployment']
    assert.equal((await server.handOver(DOWNLINK)).outcome, 'away')
    assert.equal(dispatcher.sent.length, 1)
  })

  it('is for one of the deployment where the organization has none of its own', async () => {
    const { dispatcher, server } = open()
    dispatcher.readers = ['deployment']
    void server.handOver({ ...DOWNLINK, applicationId: '6' })
    await turn()
    assert.deepEqual(
      dispatcher.sent.map(({ tenant }) => tenant),
      ['deployment'],
    )
  })

  it('waits when nobody subscribes, or the subscriber has no room', async () => {
    const { dispatcher, server } = open()
    dispatcher.hasRoom = false
    assert.equal((await server.handOver(DOWNLINK)).outcome, 'away')
    dispatcher.readers = []
    for (const applicationId of ['5', '6']) {
      assert.equal((await server.handOver({ ...DOWNLINK, applicationId })).outcome, 'away')
    }
  })

  it('waits with a reason: whose network server never came, is away since when, or does not subscribe', async () => {
    const { dispatcher, server } = open()
    dispatcher.readers = []
    const why = async (applicationId: string): Promise<unknown[]> => {
      const answer = await server.handOver({ ...DOWNLINK, applicationId })
      return answer.outcome === 'away' ? [answer.code, answer.reason] : [answer.outcome]
    }
    const own = 'the organization’s network server'
    const shared = 'the deployment’s network server'
    assert.deepEqual(await why('5'), ['network_server_never_connected', `${own} has not connected yet`])
    assert.deepEqual(await why('6'), ['network_server_never_connected', `${shared} has not connected yet`])
    presences.set('organization:1', Date.UTC(2026, 0, 2, 3, 4, 5))
    presences.set('deployment', 'connected')
    assert.deepEqual(await why('5'), ['network_server_away', `${own} has been away since 2026-01-02T03:04:05.000Z`])
    const unsubscribed = `${shared} is connected, and does not subscribe to the command`
    assert.deepEqual(await why('6'), ['network_server_not_subscribed', unsubscribed])
    presences.clear()
  })

  it('of an application that is gone goes to nobody', async () => {
    const dispatcher = new TestDispatcher()
    const options = {
      readers: new LocalReaders(dispatcher),
      sink: { ready: () => {} },
      hasOwn,
      presenceOf,
      isServedElsewhere: () => false,
      naming,
    }
    const server = new MqttNetworkServer({ ...options, organizationOf: () => undefined })
    assert.equal((await server.handOver(DOWNLINK)).outcome, 'away')
    assert.deepEqual(dispatcher.sent, [])
  })
})

describe('the next downlink of a device', () => {
  it('follows a little later when events name commands, because the network server handles commands side by side', async () => {
    assert.deepEqual(await taken({ ...DOWNLINK, applicationId: UUID }), {
      outcome: 'taken',
      nextAfterMs: NEXT_AFTER_MS,
      holdsNext: false,
    })
  })

  it('waits for an event about the one before it when they do not, or are not known to', async () => {
    for (const applicationId of ['5', '3']) {
      assert.deepEqual(await taken({ ...DOWNLINK, applicationId }), {
        outcome: 'taken',
        nextAfterMs: NEXT_AFTER_MS,
        holdsNext: true,
      })
    }
  })
})

describe('a downlink that a ChirpStack would silently not deliver', () => {
  it('is refused for a v4 when it has the fPort of relays', async () => {
    const { dispatcher, server } = open()
    assert.deepEqual(await server.handOver({ ...DOWNLINK, applicationId: UUID, fPort: 226 }), {
      outcome: 'refused',
      reason: 'fPort: 226 is for relays; ChirpStack v4 would send nothing else to the device any more',
    })
    for (const fPort of [225, 227, 255]) void server.handOver({ ...DOWNLINK, applicationId: UUID, fPort })
    await turn()
    assert.equal(dispatcher.sent.length, 3)
  })

  it('is refused for a v3 when its fPort is above 224', async () => {
    const { dispatcher, server } = open()
    assert.deepEqual(await server.handOver({ ...DOWNLINK, applicationId: '3', fPort: 225 }), {
      outcome: 'refused',
      reason: 'fPort: 225 is above 224, the highest that ChirpStack v3 takes',
    })
    void server.handOver({ ...DOWNLINK, applicationId: '3', fPort: 224 })
    void server.handOver({ ...DOWNLINK, applicationId: '5', fPort: 255 })
    await turn()
    assert.equal(dispatcher.sent.length, 2)
  })
})

describe('a network server on this broker', () => {
  it('is ready when a Session reads commands, however it spells the filter', () => {
    const { ready, server } = open()
    server.readerReady(['application/+/device/+/event/+'])
    server.readerReady([])
    assert.equal(ready.length, 0)
    server.readerReady(['application/+/device/+/command/down'])
    server.readerReady(['application/5/device/+/event/up', 'application/+/device/+/command/+'])
    assert.deepEqual(ready, [server, server])
  })

  it('serves the applications that no other adapter serves', () => {
    const { server } = open((applicationId) => applicationId === '6')
    assert.deepEqual([server.serves('5'), server.serves('6')], [true, false])
  })
})

describeNetworkServer({
  name: 'a client of this broker',
  open: openFarSide,
  skip: {
    events: 'a client publishes its events to the broker, which no adapter stands between',
    refusals: 'an acknowledgement of MQTT 3.1.1 refuses nothing, and ChirpStack’s of MQTT 5 does not',
  },
})

/** A real broker, and a client that plays the network server: it acknowledges what it gets. */
async function openFarSide(sink: TestSink): Promise<FarSide> {
  const readerListener = { readerReady: (topicFilters: readonly string[]) => adapter.readerReady(topicFilters) }
  const { broker, connect } = await createHarness({ readerListener })
  const adapter = new MqttNetworkServer({
    readers: new LocalReaders(broker),
    sink,
    organizationOf,
    hasOwn: hasNone,
    presenceOf,
    isServedElsewhere: is999,
    naming,
  })
  const received: ReceivedDownlink[] = []
  const waiting: ((downlink: ReceivedDownlink) => void)[] = []
  const connectAgain = async () => {
    const reader = await connect()
    await reader.subscribe('application/+/device/+/command/down', { qos: 1 })
    void takeAll(reader, (downlink) => {
      const wanted = waiting.shift()
      if (wanted === undefined) received.push(downlink)
      else wanted(downlink)
    })
    return reader
  }
  let client = await connectAgain()
  return {
    adapter,
    applicationId: '5',
    sendEvent: unused,
    allDealtWith: unused,
    sendAgain: unused,
    refuseDownlinks: unused,
    nextDownlink: async () => received.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    goAway: async () => client.drop(),
    comeBack: async () => {
      client = await connectAgain()
    },
    close: async () => {
      client.drop()
      await broker.close()
    },
  }
}

type TestClient = Awaited<ReturnType<Awaited<ReturnType<typeof createHarness>>['connect']>>

/** Acknowledges each downlink at once, until the connection ends. */
async function takeAll(client: TestClient, take: (downlink: ReceivedDownlink) => void): Promise<void> {
  while (!client.transport.ended) {
    // The end of the connection is no fault here.
    const packet = await client.next('publish').catch(() => undefined)
    if (packet === undefined) return
    const { packetId, payload } = packet
    client.acknowledge('puback', packetId)
    const { expiresAt, ...downlink } = JSON.parse(payload.toString()) as ReceivedDownlink & { expiresAt?: string }
    take(expiresAt === undefined ? downlink : { ...downlink, expiresAtMs: Date.parse(expiresAt) })
  }
}

async function unused(): Promise<never> {
  assert.fail('this part of the contract is skipped')
}

/** The answer when the network server acknowledges the downlink. */
async function taken(downlink: Downlink): Promise<HandOverAnswer> {
  const { dispatcher, server } = open()
  const answer = server.handOver(downlink)
  await turn()
  dispatcher.sent[0]?.watcher.acknowledged()
  return answer
}
