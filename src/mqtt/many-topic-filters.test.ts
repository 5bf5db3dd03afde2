/** A packet with very many Topic Filters is refused before its Topic Filters are handled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodePacket } from './encode-packet.ts'
import { PacketReader } from './packet-reader.ts'
import type { ClientPacket } from './packet.ts'
import { MAXIMUM_TOPIC_FILTERS } from './subscribe.ts'

const texts = (count: number): string[] => Array.from({ length: count }, (_, index) => `a/${index}`)

function subscribe(count: number): ClientPacket {
  const subscriptions = texts(count).map((topicFilter) => ({
    topicFilter,
    qos: 1 as const,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0 as const,
  }))
  return { type: 'subscribe', packetId: 1, subscriptions }
}

function unsubscribe(count: number): ClientPacket {
  return { type: 'unsubscribe', packetId: 1, topicFilters: texts(count) }
}

for (const make of [subscribe, unsubscribe]) {
  for (const version of [4, 5] as const) {
    test(`${make.name} of MQTT ${version} may have a thousand Topic Filters, and no more`, () => {
      const reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: 1_000_000 })
      reader.protocolVersion = version
      reader.push(encodePacket(make(MAXIMUM_TOPIC_FILTERS), version))
      assert.equal(reader.next()?.type, make.name)
      reader.push(encodePacket(make(MAXIMUM_TOPIC_FILTERS + 1), version))
      assert.throws(() => reader.next(), { reasonCode: 0x97, message: /more than 1000 Topic Filters/ })
    })
  }
}
