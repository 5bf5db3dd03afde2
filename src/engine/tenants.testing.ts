/** A log of several tenants on a simulated disk. */
import { TestClock } from '../clock.testing.ts'
import { EmbeddedEngine } from './embedded.ts'
import type { EmbeddedEngineOptions } from './embedded.ts'
import { append, messageOf, scanAll, texts } from './engine-client.testing.ts'
import type { SimulatedDisk } from './ports/simulated-disk.testing.ts'

/** Bytes of a message's text; its record has some 170 bytes. */
export const TEXT_BYTES = 100

/** The tenants a and b have one application each, and all messages are in one partition. */
export async function openWithTenants(
  disk: SimulatedDisk,
  bounds: Readonly<Record<string, number>> = {},
  options: Partial<EmbeddedEngineOptions> = {},
): Promise<EmbeddedEngine> {
  const engine = new EmbeddedEngine({
    disk,
    directory: '/data',
    partitions: 1,
    clock: new TestClock(),
    gatherMs: 0,
    segmentBytes: 2_000,
    tailBytes: 0,
    tenants: {
      tenantOf: (branch) => branch.slice('application/'.length),
      maximumStoredBytesOf: (tenant) => bounds[tenant] ?? Infinity,
    },
    ...options,
  })
  await engine.open()
  return engine
}

/** Appends messages of the tenants in turn; each text is its number. */
export async function fill(engine: EmbeddedEngine, tenants: readonly string[], count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const tenant = tenants[number % tenants.length] ?? ''
    await append(engine, 0, messageOf(`application/${tenant}/device/1/event/up`, `${number}`.padEnd(TEXT_BYTES)))
  }
}

export function numbers(messages: Parameters<typeof texts>[0]): number[] {
  return texts(messages).map(Number)
}

export async function history(
  engine: EmbeddedEngine,
  tenant: string,
  direction: 'oldest first' | 'newest first',
): Promise<number[]> {
  return numbers(await scanAll(engine, { partition: 0, topicPrefix: `application/${tenant}/`, direction }, 7))
}
