import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { PacketIdTable } from './packet-id-table.ts'

interface Message {
  readonly packetId: number
}

test('a table answers as a Map does, whatever comes and goes', () => {
  // Few identifiers, and some that share a slot while the table is small.
  const packetId = fc.constantFrom(1, 2, 3, 4, 17, 18, 33, 49, 257, 1025, 32_769, 65_535)
  const step = fc.record({ packetId, action: fc.constantFrom('set', 'set', 'delete') })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const table = new PacketIdTable<Message>()
      const expected = new Map<number, Message>()
      for (const { packetId: id, action } of steps) {
        if (action === 'set') {
          const message = { packetId: id }
          table.set(message)
          expected.set(id, message)
        } else assert.equal(table.delete(id), expected.delete(id))
        assert.equal(table.size, expected.size)
        assert.equal(table.get(id), expected.get(id))
      }
      assert.deepEqual(new Set(table.values()), new Set(expected.values()))
      for (const id of [1, 17, 33, 65_535]) assert.equal(table.has(id), expected.has(id))
    }),
  )
})

test('a table holds all Packet Identifiers at once, and none of them after that', () => {
  const table = new PacketIdTable<Message>()
  for (let packetId = 65_535; packetId > 0; packetId -= 1) table.set({ packetId })
  assert.equal(table.size, 65_535)
  assert.equal(new Set(table.values()).size, 65_535)
  for (let packetId = 1; packetId <= 65_535; packetId += 1) assert.ok(table.delete(packetId))
  assert.deepEqual([table.size, table.values(), table.get(1)], [0, [], undefined])
})

test('the list of messages stays as it is while messages go', () => {
  const table = new PacketIdTable<Message>()
  for (const packetId of [5, 6, 21]) table.set({ packetId })
  const given: number[] = []
  for (const message of table.values()) {
    given.push(message.packetId)
    table.delete(message.packetId)
  }
  assert.deepEqual(new Set(given), new Set([5, 6, 21]))
})
