import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodePublish } from './publish.ts'
import type { EncodedPublish } from './publish.ts'
import { IncomingPublish } from './incoming-publish.ts'
import { PacketReader } from './packet-reader.ts'
import type { ProtocolVersion } from './packet.ts'

/** Reads the one packet of these hexadecimal digits, in a chunk with other packets around it. */
function read(version: ProtocolVersion, hex: string): IncomingPublish {
  const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: 1_000_000 })
  reader.protocolVersion = version
  reader.push(Buffer.from(`c000${hex.replaceAll(' ', '')}c000`, 'hex'))
  assert.equal(reader.next()?.type, 'pingreq')
  const packet = reader.next()
  assert.ok(packet instanceof IncomingPublish)
  return packet
}

function bytesOf({ bytes, start, end }: EncodedPublish): Buffer {
  return bytes.subarray(start, end)
}

describe('a PUBLISH as it came', () => {
  for (const [version, qos, hex] of [
    [4, 0, '30 04 0001 61 78'],
    [4, 1, '32 06 0001 61 0007 78'],
    [4, 2, '34 06 0001 61 0007 78'],
    [5, 0, '30 05 0001 61 00 78'],
    [5, 1, '32 07 0001 61 0007 00 78'],
  ] as const) {
    test(`is the encoding for MQTT ${version} at QoS ${qos}, but for its Packet Identifier`, () => {
      const packet = read(version, hex)
      assert.ok(packet.fits(version, qos > 0))
      assert.ok(!packet.fits(version, qos === 0))
      assert.ok(!packet.fits(version === 4 ? 5 : 4, qos > 0))
      const { topicName, payload } = packet
      const encoded = encodePublish({ topicName, payload, qos, retain: false, dup: false }, version)
      const expected = Buffer.from(bytesOf(encoded))
      if (qos > 0) expected.writeUInt16BE(7, encoded.packetIdOffset)
      assert.equal(packet.packetIdOffset, encoded.packetIdOffset)
      assert.deepEqual(bytesOf(packet), expected)
    })
  }

  for (const [title, version, hex] of [
    ['a Remaining Length of more bytes than it needs', 4, '30 84 00 0001 61 78'],
    ['properties', 5, '30 07 0001 61 02 01 01 78'],
    ['a Topic Alias in the place of the Topic Name', 5, '30 07 0000 03 23 0001 78'],
    ['a length of properties of more bytes than it needs', 5, '30 06 0001 61 80 00 78'],
    ['RETAIN at QoS 0, which not all readers get', 4, '31 04 0001 61 78'],
  ] as const) {
    test(`is no encoding for others with ${title}`, () => {
      const packet = read(version, hex)
      assert.ok(!packet.fits(4, false) && !packet.fits(5, false))
      assert.equal(packet.payload.toString(), 'x')
    })
  }

  test('copies its payload, whose size it knows without a view', () => {
    const packet = read(4, '30 05 0001 61 7879')
    const target = Buffer.from('......')
    packet.copyPayload(target, 3)
    assert.equal(packet.payloadBytes, 2)
    assert.equal(target.toString(), '...xy.')
  })
})
