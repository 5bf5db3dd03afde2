/** Peers without a credential that try to exhaust the service's sockets and memory. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { floodOverTls } from '../support/flood.ts'
import { WireClient } from '../support/wire-client.ts'
import { HALF_A_HELLO, SilentConnections } from '../support/silent-connections.ts'
import type { Fault, FaultWorld } from './fault.ts'

/**
 * The longest time of another client's message meanwhile, even on a machine that is busy with both
 * ends.
 */
const NEIGHBOUR_MS = 5_000
/** The most memory that the service may use in addition while it is flooded. */
const FLOOD_GROWTH_MIB = 256
/**
 * The bytes taken from one connection: the service's buffer, and the buffers of the two kernels.
 */
const FLOOD_TAKEN_MIB = 32
const FLOOD_MS = 3_000
const FLOODERS = 4

export const NETWORK_FAULTS: readonly Fault[] = [
  {
    name: 'opens half of TLS connections',
    async run(world, random) {
      // Mostly some thousands, seldom 20,000.
      const count = Math.round(2_000 * 10 ** random() * world.scale)
      const isHttps = random() < 0.5
      const port = isHttps ? Number(new URL(world.service.https).port) : world.service.mqttsPort
      const address = `127.0.3.${1 + Math.floor(random() * 200)}`
      const firstBytes = random() < 0.5 ? HALF_A_HELLO : Buffer.alloc(0)
      using silent = await SilentConnections.open({ port, count, address, firstBytes })
      await assertServes(world)
      return `${count} from one address to ${isHttps ? 'HTTPS' : 'MQTTS'}, ${silent.size} of them left open`
    },
  },
  {
    name: 'floods behind a refused first packet',
    async run(world) {
      const beforeBytes = await residentBytes(world)
      const flooders = await Promise.all(Array.from({ length: FLOODERS }, () => floodOverTls(world.service)))
      let highestBytes = beforeBytes
      const endsMs = performance.now() + FLOOD_MS * world.scale
      while (performance.now() < endsMs) {
        await sleep(200)
        highestBytes = Math.max(highestBytes, await residentBytes(world))
      }
      const takenMib = flooders.map(({ bytesWritten, writableLength }) => mib(bytesWritten - writableLength))
      for (const socket of flooders) socket.destroy()
      const grownMib = mib(highestBytes - beforeBytes)
      assert.ok(grownMib < FLOOD_GROWTH_MIB, `${grownMib} MiB more under the flood`)
      for (const taken of takenMib)
        assert.ok(taken < FLOOD_TAKEN_MIB, `the service read ${taken} MiB of a refused connection`)
      await assertServes(world)
      return `${FLOODERS} connections, ${Math.max(...takenMib)} MiB read of one, ${grownMib} MiB more memory meanwhile`
    },
  },
]

function mib(bytes: number): number {
  return Math.round(bytes / 1_048_576)
}

/** Checks that other clients can connect, and that the witnesses' messages have not waited. */
async function assertServes(world: FaultWorld): Promise<void> {
  const { service } = world
  const health = await service.http.ask('GET', '/api/internal/health')
  assert.equal(health.status, 200, health.text)
  using client = await WireClient.open(service, 5)
  assert.equal(await client.connect({ username: 'nobody', password: 'default' }), 0x86)
  assert.ok(world.slowestMs < NEIGHBOUR_MS, `a neighbour's message took ${Math.round(world.slowestMs)} ms`)
}

async function residentBytes({ service }: FaultWorld): Promise<number> {
  const { text } = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}
