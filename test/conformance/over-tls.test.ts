import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { AddressLimiter } from '../../src/listeners/address-limiter.ts'
import { makeCertificate } from '../../src/listeners/make-certificate.ts'
import { listenTls } from '../../src/listeners/tls.ts'
import { encodePacket } from '../../src/mqtt/encode-packet.ts'
import { PacketReader } from '../../src/mqtt/packet-reader.ts'
import type { Packet, ProtocolVersion, PublishPacket, ServerPacket } from '../../src/mqtt/packet.ts'
import { connectPacket, createHarness } from '../support/broker-harness.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const cert = await makeCertificate({
  subject: 'test',
  notBeforeMs: Date.now() - 60_000,
  notAfterMs: Date.now() + 3_600_000,
  publicKey,
  issuer: { privateKey },
  role: { authority: false, hostNames: ['localhost'] },
})
const { broker } = await createHarness()
const limiter = new AddressLimiter({ attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 })
const listener = await listenTls(broker, { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }, limiter, {
  host: '127.0.0.1',
  port: 0,
})
after(async () => {
  await broker.close()
  await listener.close()
})

/** The ways to cut a client's bytes into writes; each write is at least one TLS record. */
const cuts: Readonly<Record<string, (bytes: Buffer) => Buffer[]>> = {
  'all in one': (bytes) => [bytes],
  'byte by byte': (bytes) => Array.from({ length: bytes.length }, (_, index) => bytes.subarray(index, index + 1)),
  'in pieces of three': (bytes) => pieces(bytes, 3),
  'in pieces of seventeen': (bytes) => pieces(bytes, 17),
}

function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

interface SecureClient {
  readonly send: (packets: readonly Packet[], cut: (bytes: Buffer) => Buffer[]) => void
  /** The next packets, one for each of these types, in this order. */
  readonly next: (...types: readonly ServerPacket['type'][]) => Promise<ServerPacket[]>
  readonly socket: TLSSocket
}

async function openClient(version: ProtocolVersion): Promise<SecureClient> {
  const socket = connectTls({ host: '127.0.0.1', port: listener.port, ca: [cert], servername: 'localhost' })
  socket.setNoDelay(true)
  await once(socket, 'secureConnect')
  const reader = new PacketReader({ role: 'client', maximumPacketSizeBytes: 10_000_000 })
  reader.protocolVersion = version
  const received: ServerPacket[] = []
  let arrived: (() => void) | undefined
  socket.on('data', (chunk: Buffer) => {
    reader.push(chunk)
    for (let packet = reader.next(); packet !== undefined; packet = reader.next()) received.push(packet)
    arrived?.()
  })
  socket.on('close', () => arrived?.())
  return {
    socket,
    send: (packets, cut) => {
      const bytes = Buffer.concat(packets.map((packet) => encodePacket(packet, version)))
      for (const piece of cut(bytes)) socket.write(piece)
    },
    next: async (...types) => {
      while (received.length < types.length) {
        assert.equal(socket.destroyed, false, `closed while waiting for ${types.join(', ')}`)
        const { promise, resolve } = Promise.withResolvers<void>()
        arrived = resolve
        await promise
      }
      const packets = received.splice(0, types.length)
      assert.deepEqual(packets.map(({ type }) => type).toSorted(), types.toSorted())
      return packets
    },
  }
}

function publish(qos: 0 | 1 | 2, payload: Buffer, packetId = 0): PublishPacket {
  return { type: 'publish', topicName: 'tls/a', payload, qos, retain: false, dup: false, packetId }
}

const subscribe: Packet = {
  type: 'subscribe',
  packetId: 1,
  subscriptions: [{ topicFilter: 'tls/+', qos: 2, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
}

describe('over TLS', () => {
  for (const version of [4, 5] as const) {
    for (const [name, cut] of Object.entries(cuts)) {
      test(`MQTT ${version}: packets are read whatever records they come in, ${name} [MQTT-4.2.0-1] [MQTT311-7.1.1-1]`, async () => {
        const client = await openClient(version)
        const large = Buffer.alloc(name === 'byte by byte' ? 300 : 50_000, 'x')
        client.send(
          [
            connectPacket({ protocolVersion: version, clientId: `tls-${version}-${name}` }),
            subscribe,
            publish(0, Buffer.from('zero')),
            publish(1, large, 2),
            publish(2, Buffer.alloc(0), 3),
            { type: 'pingreq' },
          ],
          cut,
        )
        await client.next('connack', 'suback')
        const packets = await client.next('publish', 'publish', 'publish', 'puback', 'pubrec', 'pingresp')
        const payloads = packets.flatMap((packet) => (packet.type === 'publish' ? [packet.payload.length] : []))
        assert.deepEqual(payloads, [4, large.length, 0])
        client.send([{ type: 'pubrel', packetId: 3, reasonCode: 0 }], cut)
        await client.next('pubcomp')
        client.send([{ type: 'disconnect', reasonCode: 0 }], cut)
        await once(client.socket, 'close')
      })
    }

    test(`MQTT ${version}: a malformed packet between good ones ends the connection after them [MQTT-4.13.1-1] [MQTT311-4.8.0-1]`, async () => {
      const client = await openClient(version)
      client.send(
        [connectPacket({ protocolVersion: version, clientId: `bad-${version}` }), { type: 'pingreq' }],
        pieces17,
      )
      client.socket.write(Buffer.from([0, 0]))
      client.send([{ type: 'pingreq' }], pieces17)
      await client.next('connack', 'pingresp')
      if (version === 5) {
        const [disconnect] = await client.next('disconnect')
        assert.ok(disconnect?.type === 'disconnect')
        assert.equal(disconnect.reasonCode, 0x81)
      }
      if (!client.socket.destroyed) await once(client.socket, 'close')
    })
  }

  test('a connection without TLS is closed without an answer', async () => {
    const { connect } = await import('node:net')
    const socket = connect({ host: '127.0.0.1', port: listener.port })
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    socket.write(encodePacket(connectPacket(), 5))
    await once(socket, 'close')
    // At most a TLS alert.
    assert.ok(Buffer.concat(received).length <= 7)
  })
})

function pieces17(bytes: Buffer): Buffer[] {
  return pieces(bytes, 17)
}
