/** The faults of ChirpStack's API; test/network-servers/inventory.test.ts reads a real one. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import grpc from '@grpc/grpc-js'
import { addressOf, APPLICATION, FakeChirpStack, TENANT } from '../../../../test/support/fake-chirpstack.ts'
import { readApplications, readInventory } from '../../inventory/inventory.ts'
import { ChirpStackInventory } from './chirpstack-inventory.ts'

const SIGNAL = new AbortController().signal

let chirpStack: FakeChirpStack
let source: ChirpStackInventory

beforeEach(async () => {
  chirpStack = new FakeChirpStack()
  await chirpStack.start()
  source = new ChirpStackInventory(addressOf(chirpStack), [TENANT])
})

afterEach(() => {
  source.close()
  chirpStack.stop()
})

test('lists the applications of the named tenants, or of all', async () => {
  const other = '52f14cd4-c6f1-4fbd-8f87-4025e1d49243'
  chirpStack.tenants.set(other, 'Other')
  chirpStack.applications.set(other, new Map([['7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c99', 'Theirs']]))
  const named = await readApplications(source, SIGNAL)
  assert.deepEqual(
    named.map(({ id }) => id),
    [APPLICATION],
  )
  const all = new ChirpStackInventory(addressOf(chirpStack), undefined)
  assert.equal((await readApplications(all, SIGNAL)).length, 2)
  all.close()
})

test('a key that ChirpStack does not know is inventory_key_refused', async () => {
  const wrong = new ChirpStackInventory({ ...addressOf(chirpStack), apiKey: 'wrong' }, [TENANT])
  await assert.rejects(readApplications(wrong, SIGNAL), { code: 'inventory_key_refused' })
  wrong.close()
})

for (const [status, code] of [
  [grpc.status.PERMISSION_DENIED, 'inventory_key_refused'],
  [grpc.status.DEADLINE_EXCEEDED, 'inventory_too_slow'],
  [grpc.status.UNAVAILABLE, 'inventory_unreachable'],
  [grpc.status.INTERNAL, 'inventory_failed'],
] as const) {
  test(`the status ${status} while devices are listed is ${code}`, async () => {
    chirpStack.fault = { code: status, details: 'no' }
    const reading = readInventory(source, [APPLICATION], { withProfiles: true, signal: SIGNAL })
    await assert.rejects(reading, { code })
  })
}

test('a reading whose time is over ends at its next device', async () => {
  chirpStack.devices.get(APPLICATION)?.set('0101010101010101', { name: 'meter' })
  const reading = readInventory(source, [APPLICATION], { withProfiles: false, signal: AbortSignal.abort() })
  await assert.rejects(reading, { code: 'inventory_too_slow' })
})
