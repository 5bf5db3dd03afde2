import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, it } from 'node:test'
import * as mqtt from 'mqtt-packet'
import type { BrokerEvent } from './broker-event.ts'
import { COMMAND_FILTERS, createNetworkServer } from './network-server.ts'
import type { ConnectionStatus, NetworkServer, NetworkServerSettings } from './network-server.ts'

const EVENT: BrokerEvent = {
  settles: undefined,
  applicationId: '5',
  devEui: '00005eef10000001',
  kind: 'location',
  payload: {
    applicationID: '5',
    applicationName: 'a',
    deviceName: 'd',
    devEUI: '00005eef10000001',
    tags: {},
    location: { latitude: 0, longitude: 0, altitude: 0 },
  },
}
const COMMAND_TOPIC = 'application/5/device/00005eef10000001/command/down'

describe("the network server's connection", () => {
  it('keeps its Session and subscribes to the commands of all devices', async () => {
    await using broker = await startBroker()
    await using server = start(broker)
    assert.deepEqual(await server.nextStatus(), { state: 'connected', sessionPresent: false })
    const [connect, subscribe] = broker.received
    assert.ok(connect?.cmd === 'connect')
    assert.equal(connect.protocolVersion, 5)
    assert.equal(connect.clean, false)
    assert.equal(connect.properties?.sessionExpiryInterval, 3600)
    assert.deepEqual([connect.clientId, connect.username, String(connect.password)], ['sim', 'name', 'secret'])
    assert.ok(subscribe?.cmd === 'subscribe')
    assert.deepEqual(
      subscribe.subscriptions.map(({ topic, qos }) => ({ topic, qos })),
      [{ topic: COMMAND_FILTERS.B, qos: 1 }],
    )
  })

  it('of family A speaks MQTT 3.1.1, at the QoS and with the Session that it is told', async () => {
    await using broker = await startBroker({ protocolVersion: 4 })
    await using server = start(broker, { family: 'A', protocolVersion: 4, qos: 0, commandQos: 0, cleanSession: true })
    assert.deepEqual(await server.nextStatus(), { state: 'connected', sessionPresent: false })
    const [connect, subscribe] = broker.received
    assert.ok(connect?.cmd === 'connect' && subscribe?.cmd === 'subscribe')
    assert.deepEqual([connect.protocolVersion, connect.clean, connect.properties], [4, true, undefined])
    assert.deepEqual(
      subscribe.subscriptions.map(({ topic, qos }) => ({ topic, qos })),
      [{ topic: 'application/+/device/+/command/down', qos: 0 }],
    )
    server.publish(EVENT)
    assert.equal((await broker.next('publish')).qos, 0)
    await server.close()
    assert.equal(server.statistics.published.location, 1)
  })

  it('of family A gives up where MQTT 3.1.1 refuses its credential or its subscription', async () => {
    const version = { family: 'A', protocolVersion: 4 } as const
    await using strict = await startBroker({ protocolVersion: 4, connackReasonCode: 5 })
    await using refused = start(strict, version)
    const credential = await refused.nextStatus()
    assert.ok(credential.state === 'failed' && credential.because === 'credentials', JSON.stringify(credential))
    await using closed = await startBroker({ protocolVersion: 4, subackReasonCode: 0x80 })
    await using deaf = start(closed, version)
    const subscription = await deaf.nextStatus()
    assert.ok(subscription.state === 'failed' && subscription.because === 'subscription', JSON.stringify(subscription))
  })

  it('publishes events on the topics of their devices, and counts what is acknowledged', async () => {
    await using broker = await startBroker()
    await using server = start(broker)
    await server.nextStatus()
    server.publish(EVENT)
    const publish = await broker.next('publish')
    assert.equal(publish.topic, 'application/5/device/00005eef10000001/event/location')
    assert.equal(publish.qos, 1)
    assert.deepEqual(JSON.parse(String(publish.payload)), EVENT.payload)
    await server.close()
    assert.equal(server.statistics.published.location, 1)
  })

  it('shows a refused event once, with its reason, and counts the rest', async () => {
    await using broker = await startBroker({ puback: { reasonCode: 0x87, reasonString: 'no such device' } })
    await using server = start(broker)
    await server.nextStatus()
    server.publish(EVENT)
    server.publish(EVENT)
    await broker.next('publish')
    await broker.next('publish')
    await server.close()
    assert.deepEqual(server.refusals, ['location 135 no such device'])
    assert.deepEqual([...server.statistics.refused], [['0x87 no such device', 2]])
    assert.equal(server.statistics.published.location, 0)
  })

  it('hands on the commands that it receives', async () => {
    await using broker = await startBroker()
    await using server = start(broker)
    await server.nextStatus()
    broker.send({
      cmd: 'publish',
      topic: COMMAND_TOPIC,
      payload: '{}',
      qos: 1,
      messageId: 9,
      dup: false,
      retain: false,
    })
    assert.equal((await broker.next('puback')).messageId, 9)
    assert.deepEqual(server.commands, [`${COMMAND_TOPIC} {}`])
    assert.equal(server.statistics.commands, 1)
  })

  it('comes back after the connection is lost, and publishes what happened meanwhile', async () => {
    await using broker = await startBroker({ sessionPresent: [false, true] })
    await using server = start(broker)
    await server.nextStatus()
    broker.hangUp()
    assert.equal((await server.nextStatus()).state, 'disconnected')
    server.publish(EVENT)
    assert.deepEqual(await server.nextStatus(), { state: 'connected', sessionPresent: true })
    await broker.next('publish')
  })

  it('gives up where its credential is refused', async () => {
    await using broker = await startBroker({ connackReasonCode: 0x86 })
    await using server = start(broker)
    const status = await server.nextStatus()
    assert.ok(status.state === 'failed' && status.because === 'credentials', JSON.stringify(status))
  })

  it('tries again where the broker is not available', async () => {
    await using broker = await startBroker({ connackReasonCode: 0x88 })
    await using server = start(broker)
    assert.equal((await server.nextStatus()).state, 'disconnected')
    assert.equal((await server.nextStatus()).state, 'disconnected')
  })

  it('gives up where it may not subscribe to commands', async () => {
    await using broker = await startBroker({ subackReasonCode: 0x87 })
    await using server = start(broker)
    const status = await server.nextStatus()
    assert.ok(status.state === 'failed' && status.because === 'subscription', JSON.stringify(status))
  })

  it('has no more events under way than the broker takes, before and after it connects', async () => {
    await using broker = await startBroker({ receiveMaximum: 2, isSilent: true })
    await using server = start(broker)
    for (let count = 0; count < 3; count += 1) server.publish(EVENT)
    await server.nextStatus()
    for (let count = 0; count < 3; count += 1) server.publish(EVENT)
    const [first, second] = [await broker.next('publish'), await broker.next('publish')]
    // The acknowledgement of this PUBLISH comes behind everything that was sent before.
    broker.send({
      cmd: 'publish',
      topic: COMMAND_TOPIC,
      payload: '{}',
      qos: 1,
      messageId: 9,
      dup: false,
      retain: false,
    })
    await broker.next('puback')
    assert.equal(broker.received.filter(({ cmd }) => cmd === 'publish').length, 2)
    for (const { messageId } of [first, second])
      broker.send({ cmd: 'puback', messageId: messageId ?? 0, reasonCode: 0 })
    await broker.next('publish')
    await broker.next('publish')
    assert.equal(server.statistics.published.location, 2)
  })

  it('drops and counts events when too many have no answer', async () => {
    await using broker = await startBroker()
    await using server = start(broker)
    await server.nextStatus()
    broker.hangUp()
    await server.nextStatus()
    for (let count = 0; count < 2010; count += 1) server.publish(EVENT)
    assert.equal(server.statistics.dropped, 10)
  })
})

interface Script {
  /** Default: 5. */
  readonly protocolVersion?: 4 | 5
  readonly connackReasonCode?: number
  /** One value for each connection in turn; the last one repeats. */
  readonly sessionPresent?: readonly boolean[]
  readonly subackReasonCode?: number
  readonly receiveMaximum?: number
  /** True: no PUBLISH is answered. */
  readonly isSilent?: boolean
  /** The answer to each PUBLISH. Default: success. */
  readonly puback?: { readonly reasonCode: number; readonly reasonString?: string }
}

type Received<Command extends mqtt.Packet['cmd']> = Extract<mqtt.Packet, { cmd: Command }>

interface ScriptedBroker extends AsyncDisposable {
  readonly url: string
  readonly received: mqtt.Packet[]
  next<Command extends mqtt.Packet['cmd']>(command: Command): Promise<Received<Command>>
  send(packet: mqtt.Packet): void
  hangUp(): void
}

/** An MQTT server that follows a script. Its packet library is not the service's. */
async function startBroker(script: Script = {}): Promise<ScriptedBroker> {
  const received: mqtt.Packet[] = []
  const unread: mqtt.Packet[] = []
  const waiting: (() => void)[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const protocolVersion = script.protocolVersion ?? 5
  const answer = (packet: mqtt.Packet, socket: Socket): void => {
    const send = (reply: mqtt.Packet): void => void socket.write(mqtt.generate(reply, { protocolVersion }))
    if (packet.cmd === 'connect') {
      const sessionPresent = script.sessionPresent?.[connections] ?? script.sessionPresent?.at(-1) ?? false
      connections += 1
      const reasonCode = script.connackReasonCode ?? 0
      const { receiveMaximum } = script
      const limits = receiveMaximum === undefined ? {} : { properties: { receiveMaximum } }
      send({ cmd: 'connack', reasonCode, returnCode: reasonCode, sessionPresent, ...limits })
    } else if (packet.cmd === 'subscribe') {
      send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: [script.subackReasonCode ?? 1] })
    } else if (packet.cmd === 'publish' && script.isSilent !== true) {
      const { reasonCode, reasonString } = script.puback ?? { reasonCode: 0 }
      const properties = reasonString === undefined ? {} : { properties: { reasonString } }
      send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode, ...properties })
    }
  }
  const listener = createServer((socket) => {
    sockets.add(socket)
    const parser = mqtt.parser({ protocolVersion })
    parser.on('packet', (packet: mqtt.Packet) => {
      received.push(packet)
      unread.push(packet)
      answer(packet, socket)
      for (const wake of waiting.splice(0)) wake()
    })
    socket.on('data', (chunk: Buffer) => void parser.parse(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `mqtt://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    received,
    async next<Command extends mqtt.Packet['cmd']>(command: Command) {
      for (;;) {
        const at = unread.findIndex((packet) => packet.cmd === command)
        if (at >= 0) return unread.splice(at, 1)[0] as Received<Command>
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    send(packet) {
      for (const socket of sockets) socket.write(mqtt.generate(packet, { protocolVersion }))
    },
    hangUp() {
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

interface StartedServer extends NetworkServer, AsyncDisposable {
  readonly commands: string[]
  readonly refusals: string[]
  nextStatus(): Promise<ConnectionStatus>
}

function start(broker: ScriptedBroker, settings: Partial<NetworkServerSettings> = {}): StartedServer {
  const commands: string[] = []
  const refusals: string[] = []
  const statuses: ConnectionStatus[] = []
  const waiting: (() => void)[] = []
  let isClosed = false
  const server = createNetworkServer({
    url: broker.url,
    certificateAuthority: undefined,
    userName: 'name',
    password: 'secret',
    clientId: 'sim',
    family: 'B',
    protocolVersion: 5,
    qos: 1,
    commandQos: 1,
    cleanSession: false,
    sessionExpirySeconds: 3600,
    reconnectDelayMs: 5,
    ...settings,
    onCommand: (topicName, payload) => commands.push(`${topicName} ${payload.toString()}`),
    onAnswered() {},
    onStatus(status) {
      statuses.push(status)
      for (const wake of waiting.splice(0)) wake()
    },
    onRefused: (event, reasonCode, reason) => refusals.push(`${event.kind} ${reasonCode} ${reason}`),
  })
  const close = async (): Promise<void> => {
    if (isClosed) return
    isClosed = true
    await server.close()
  }
  return {
    commands,
    refusals,
    publish: (event) => server.publish(event),
    get statistics() {
      return server.statistics
    },
    close,
    async nextStatus() {
      for (;;) {
        const status = statuses.shift()
        if (status !== undefined) return status
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    [Symbol.asyncDispose]: close,
  }
}
