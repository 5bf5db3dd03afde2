import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Dispatched, Dispatcher, DispatchWatcher, OwnMessage, ReaderPreference } from '../broker/consumer.ts'
import { MqttNetworkServer } from './mqtt-network-server.ts'
import type { Downlink, NetworkServer } from './network-server.ts'

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
    readonly prefers: ReaderPreference | undefined
  }[] = []
  answer: Dispatched = 'sent'

  dispatch(message: OwnMessage, watcher: DispatchWatcher, prefers?: ReaderPreference): Dispatched {
    if (this.answer === 'sent') this.sent.push({ message, watcher, prefers })
    return this.answer
  }
}

const organizationOf = (applicationId: string): string => (applicationId === '5' ? '1' : '2')

function open(isServedElsewhere: (applicationId: string) => boolean = () => false) {
  const dispatcher = new TestDispatcher()
  const ready: NetworkServer[] = []
  const sink = { ready: (networkServer: NetworkServer) => void ready.push(networkServer) }
  return { dispatcher, ready, server: new MqttNetworkServer({ dispatcher, sink, organizationOf, isServedElsewhere }) }
}

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

  it('is for a network server of the application’s own organization before others', async () => {
    const { dispatcher, server } = open()
    void server.handOver(DOWNLINK)
    await turn()
    const tenants = ['deployment', 'organization:2', 'organization:1', 'organization:undefined']
    const isPreferred = (tenant: string): boolean => dispatcher.sent[0]?.prefers?.({ tenant, identity: 'x' }) === true
    assert.deepEqual(tenants.filter(isPreferred), ['organization:1'])
  })

  it('waits when nobody reads, or has no room', async () => {
    const { dispatcher, server } = open()
    for (const answer of ['no reader', 'no room'] as const) {
      dispatcher.answer = answer
      assert.equal((await server.handOver(DOWNLINK)).outcome, 'away')
    }
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

  it('serves what no other adapter does', () => {
    const { server } = open((applicationId) => applicationId === '6')
    assert.deepEqual([server.serves('5'), server.serves('6')], [true, false])
  })
})
