import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TenantMemory } from '../memory/tenant-memory.ts'
import { Session } from './session.ts'
import type { Inflight } from './session.ts'

test('Packet Identifiers go round from 1 to 65,535 past the ones in flight, however old they are [MQTT-2.2.1-3]', () => {
  const session = new Session('key', new TenantMemory('tenant'), 'user', 'client', () => {})
  const held = new Set([1, 2, 700, 65_535])
  for (let round = 0; round < 3; round += 1) {
    const given: number[] = []
    const count = round === 0 ? 65_535 : 65_535 - held.size
    for (let index = 0; index < count; index += 1) {
      const packetId = session.nextPacketId()
      given.push(packetId)
      if (round === 0 && held.has(packetId)) session.send({ packetId, bytes: 0 } as Inflight)
    }
    const expected = Array.from({ length: 65_535 }, (_, index) => index + 1).filter(
      (id) => round === 0 || !held.has(id),
    )
    assert.deepEqual(given, expected)
  }
})
