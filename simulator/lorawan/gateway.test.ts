import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Aedes } from 'aedes'
import type { PublishPacket } from 'aedes'
import { connectGateway } from './gateway.ts'
import { encodeTxAck } from './gateway-messages.ts'
import type { DownlinkItem } from './gateway-messages.ts'
import { refuseAll, saySilence } from './transmit-policy.ts'

const gatewayId = '0011223344556677'
const reception = { frequency: 868_300_000, bandwidth: 125_000, spreadingFactor: 7, channel: 0, rssi: -60, snr: 9.5 }
// A class C downlink that a ChirpStack v4.19.0 published.
const AT_ONCE = Buffer.from(
  '1895b9da86082a340a10a08e4af0008000000a4b20905d251df31a200888cccf9e03101d1a0c1a0a08c8d007100c2001280132020a003a0476a4' +
    'a9a93a1030303131323233333434353536363737',
  'hex',
)
const AT_ONCE_ID = 2161548437

test('a gateway says that it is there, hands uplinks over, and says that it goes', async (context) => {
  const { url, published } = await startBroker(context)
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v4', topicPrefix: 'eu868' })
  await gateway.transmit(Buffer.from('40', 'hex'), reception, () => {})
  await gateway.sendStats()
  await gateway.close()
  const root = `eu868/gateway/${gatewayId}`
  assert.deepEqual(
    published.map(({ topic, retain }) => [topic, retain]),
    [
      [`${root}/state/conn`, true],
      [`${root}/event/up`, false],
      [`${root}/event/stats`, false],
      [`${root}/state/conn`, true],
    ],
  )
})

test('a gateway of version 3 has no prefix', async (context) => {
  const { url, published } = await startBroker(context)
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v3', topicPrefix: '' })
  await gateway.close()
  assert.equal(published[0]?.topic, `gateway/${gatewayId}/state/conn`)
})

test('a downlink reaches those who listen, and ChirpStack is told that it was sent', async (context) => {
  const { url, say, nextAck } = await startBroker(context)
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v4', topicPrefix: 'eu868' })
  const heard: DownlinkItem[] = []
  const stop = gateway.listen((item) => heard.push(item))
  assert.deepEqual(await nextAck(() => say(AT_ONCE)), Buffer.from(encodeTxAck('v4', gatewayId, AT_ONCE_ID, ['OK'])))
  assert.equal(heard.length, 1)
  stop()
  await nextAck(() => say(AT_ONCE))
  assert.equal(heard.length, 1)
  await gateway.close()
})

test('a gateway answers a downlink before the device, which may acknowledge at once', async (context) => {
  const { url, say, nextAck, published } = await startBroker(context)
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v4', topicPrefix: 'eu868' })
  const acknowledged = Promise.withResolvers<void>()
  gateway.listen(() => {
    gateway.transmit(Buffer.from('40', 'hex'), reception, () => {}).then(acknowledged.resolve, acknowledged.reject)
  })
  await nextAck(() => say(AT_ONCE))
  await acknowledged.promise
  const events = published.map(({ topic }) => topic.replace(/^.*event\//, ''))
  assert.deepEqual(events.slice(-2), ['ack', 'up'])
  await gateway.close()
})

test('a gateway that refuses sends nothing and gives its reason; a silent one does neither', async (context) => {
  const { url, say, nextAck, published } = await startBroker(context)
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v4', topicPrefix: 'eu868', policy: saySilence })
  const heard: DownlinkItem[] = []
  gateway.listen((item) => heard.push(item))
  await say(AT_ONCE)
  // Commands are delivered in order, so the command to the silent gateway came before this answer.
  const refusal = await nextAck(async () => {
    await gateway.sendStats()
    gateway.policy = refuseAll('TOO_LATE')
    await say(AT_ONCE)
  })
  assert.deepEqual(refusal, Buffer.from(encodeTxAck('v4', gatewayId, AT_ONCE_ID, ['TOO_LATE'])))
  assert.deepEqual(heard, [])
  assert.equal(published.filter(({ topic }) => topic.endsWith('/event/ack')).length, 1)
  await gateway.close()
})

test('a command that is no message of ChirpStack is told and does no harm', async (context) => {
  const { url, say, nextAck } = await startBroker(context)
  const faults: string[] = []
  const onFault = (fault: string): unknown => faults.push(fault)
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v4', topicPrefix: 'eu868', onFault })
  await say(Buffer.from('ffffff', 'hex'))
  await nextAck(() => say(AT_ONCE))
  assert.match(faults.join(), /a downlink can't be read/)
  await gateway.close()
})

test('a gateway that has lost its broker says so, and that it is there again', async (context) => {
  const { url, sockets, published } = await startBroker(context)
  const isBack = Promise.withResolvers<void>()
  const faults: string[] = []
  const onFault = (fault: string): void => {
    faults.push(fault)
    if (fault.endsWith('again')) isBack.resolve()
  }
  const gateway = await connectGateway({ url, gatewayId, protocol: 'v4', topicPrefix: 'eu868', onFault })
  for (const socket of sockets) socket.destroy()
  await isBack.promise
  await gateway.transmit(Buffer.from('40', 'hex'), reception, () => {})
  assert.deepEqual(faults, ['the connection to the broker is gone', 'connected to the broker again'])
  const root = `eu868/gateway/${gatewayId}`
  assert.deepEqual(published.map(({ topic }) => topic).slice(-2), [`${root}/state/conn`, `${root}/event/up`])
  await gateway.close()
})

test('a broker that is not there is told at once', async () => {
  const settings = { gatewayId, protocol: 'v4', topicPrefix: 'eu868' } as const
  await assert.rejects(connectGateway({ ...settings, url: 'mqtt://127.0.0.1:1' }), /ECONNREFUSED/)
})

async function startBroker(context: TestContext) {
  const broker = await Aedes.createBroker()
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    broker.handle(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const published: PublishPacket[] = []
  broker.on('publish', (packet, client) => {
    if (client !== null) published.push(packet)
  })
  context.after(async () => {
    await new Promise<void>((resolve) => {
      broker.close(resolve)
    })
    server.close()
  })
  const say = (payload: Buffer): Promise<void> =>
    new Promise((resolve, reject) => {
      const topic = `eu868/gateway/${gatewayId}/command/down`
      const packet = { cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false } as const
      broker.publish(packet, (error) => (error ? reject(error) : resolve()))
    })
  const nextAck = async (act: () => Promise<void>): Promise<unknown> => {
    const ack = new Promise((resolve) => {
      const look = (packet: PublishPacket): void => {
        if (!packet.topic.endsWith('/event/ack')) return
        broker.removeListener('publish', look)
        resolve(packet.payload)
      }
      broker.on('publish', look)
    })
    await act()
    return await ack
  }
  return { sockets, url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, published, say, nextAck }
}
