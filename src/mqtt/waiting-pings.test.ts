/** PINGREQ is found among unread packets, however the packets were cut into chunks. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodePacket } from './encode-packet.ts'
import { countWaitingPings } from './waiting-pings.ts'

const ping = encodePacket({ type: 'pingreq' }, 5)
/** A payload of many PINGREQs, and a Remaining Length of two bytes. */
const publish = encodePacket(
  {
    type: 'publish',
    topicName: 'a',
    payload: Buffer.concat(Array.from({ length: 100 }, () => ping)),
    qos: 0,
    retain: false,
    dup: false,
    packetId: 0,
  },
  5,
)

/** The bytes in chunks of this size. */
function cut(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
  return chunks
}

describe('the count of PINGREQs that wait', () => {
  const bytes = Buffer.concat([ping, publish, ping, ping, publish])

  it('is the same for all ways to cut the packets', () => {
    for (let size = 1; size <= bytes.length; size += 1) assert.equal(countWaitingPings(cut(bytes, size), 100), 3)
  })

  it('leaves a packet out that has not come whole, and what stands in a body', () => {
    assert.equal(countWaitingPings([], 100), 0)
    assert.equal(countWaitingPings([ping.subarray(0, 1)], 100), 0)
    assert.equal(countWaitingPings([publish.subarray(0, 50)], 100), 0)
    assert.equal(countWaitingPings([Buffer.concat([ping, publish.subarray(0, 50)]), Buffer.alloc(0)], 100), 1)
  })

  it('looks at no more packets than asked for', () => {
    for (const [packets, pings] of [
      [0, 0],
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 3],
    ] as const) {
      assert.equal(countWaitingPings(cut(bytes, 7), packets), pings)
    }
  })

  it('ends at a Remaining Length of five bytes, and at a PINGREQ with a body', () => {
    const broken = Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01])
    assert.equal(countWaitingPings([Buffer.concat([ping, broken, ping])], 100), 1)
    assert.equal(countWaitingPings([Buffer.from([0xc0, 2, 0xc0, 0])], 100), 0)
  })
})
