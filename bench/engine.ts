/**
 * `node bench/engine.ts [directory]`: the cost of the embedded engine on this machine's disk,
 * beside the memory engine: CPU time and rate of appending, catching up, reading history, and
 * opening again. docs/decisions/0005 has the results, and the engines compared with it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '../src/broker/ports/engine.ts'
import { Message } from '../src/broker/ports/message.ts'
import { EmbeddedEngine } from '../src/engine/embedded.ts'
import { MemoryEngine } from '../src/engine/memory/memory.ts'
import { nodeDisk } from '../src/engine/ports/node-disk.ts'

const PARTITIONS = 64
const PAYLOAD = Buffer.alloc(200, 0x41)
const APPLICATION = 'application/5f0c2c1e-88e9-4bfb-a9f1-5a1b3c0d0001'
const TOPICS = Array.from(
  { length: 1_000 },
  (_, number) => `${APPLICATION}/device/${String(number).padStart(16, '0')}/event/up`,
)

const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'fieldgate-engine-'))
try {
  for (const batch of [1, 10, 50, 100, 500]) await appending(batch)
  await reading()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function open(name: string, options: { readonly gatherMs?: number } = {}): Promise<EmbeddedEngine> {
  const engine = new EmbeddedEngine({
    disk: nodeDisk,
    directory: join(directory, name),
    partitions: PARTITIONS,
    ...options,
  })
  await engine.open()
  return engine
}

/** Appends `count` messages, `batch` of them under way at a time. */
async function append(
  engine: Engine,
  count: number,
  batch: number,
  partitionOf: (number: number) => number,
): Promise<void> {
  let given = 0
  let owned = 0
  await new Promise<void>((resolve, reject) => {
    const give = (): void => {
      for (let one = 0; one < batch && given < count; one += 1) {
        const topicName = TOPICS[given % TOPICS.length] as string
        const fields = { topicName, payload: PAYLOAD, qos: 1, retain: false, properties: undefined } as const
        const message = new Message({ ...fields, publisherKey: 'organization service-credential' }, Infinity)
        engine.append(partitionOf(given), { message, committed, failed: ({ reason }) => reject(new Error(reason)) })
        given += 1
      }
    }
    const committed = (): void => {
      owned += 1
      if (owned === count) resolve()
      else if (owned % batch === 0) give()
    }
    give()
  })
}

interface Cost {
  readonly seconds: number
  readonly cpuMicros: number
}

async function measured(run: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage()
  const startedMs = performance.now()
  await run()
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - startedMs) / 1000, cpuMicros: user + system }
}

async function appending(batch: number): Promise<void> {
  const count = Math.min(200_000, 4_000 * batch)
  const memory = new MemoryEngine({ partitions: PARTITIONS })
  const embedded = await open(`append-${batch}`, { gatherMs: 0 })
  const costs = []
  for (const engine of [memory, embedded]) {
    await append(engine, Math.min(count, 50_000), batch, (number) => number % 4)
    costs.push(await measured(() => append(engine, count, batch, (number) => number % 4)))
  }
  await embedded.close()
  const [ofMemory, ofEmbedded] = costs.map(({ cpuMicros }) => cpuMicros / count)
  const rate = Math.round(count / (costs[1]?.seconds ?? 1))
  console.log(
    `append, ${batch} at a time: ${ofEmbedded?.toFixed(2)} µs CPU a message (memory: ${ofMemory?.toFixed(2)}), ${rate} messages/s`,
  )
}

async function reading(): Promise<void> {
  const million = 1_000_000
  const engine = await open('read')
  // A tenth of all messages goes to one partition, since this is the share that a reader waits for;
  // the others share the rest.
  await append(engine, million, 500, (number) => (number % 10 === 0 ? 0 : 1 + (number % (PARTITIONS - 1))))
  for (let number = 0; number < 10_000; number += 1000) {
    const changes = Array.from({ length: 1000 }, (_, one) => ({
      key: `session/${number + one}`,
      value: Buffer.alloc(300),
    }))
    await new Promise<void>((resolve, reject) => {
      engine.write({ changes, committed: resolve, failed: ({ reason }) => reject(new Error(reason)) })
    })
  }
  await engine.close()
  let again = engine
  const opening = await measured(async () => {
    again = await open('read')
    let keys = 0
    for await (const { key } of again.load('session/')) keys += key.length > 0 ? 1 : 0
    console.log(`state: ${keys} keys`)
  })
  console.log(`open with ${million} messages and their state: ${opening.seconds.toFixed(2)} s`)
  await catchUp(again, 'from disk')
  const alone = await open('alone')
  await append(alone, 100_000, 500, () => 0)
  await catchUp(alone, 'one partition alone, in part from memory')
  await history(alone)
  await alone.close()
  await again.close()
}

async function catchUp(engine: Engine, what: string): Promise<void> {
  let read = 0
  const cost = await measured(async () => {
    for (let from = 0; from < engine.tail(0);) {
      const { messages, next } = await engine.read(0, from, 2_048)
      read += messages.length
      from = next
    }
  })
  const rate = Math.round(read / cost.seconds)
  console.log(`catch up, ${what}: ${read} messages, ${rate}/s, ${(cost.cpuMicros / read).toFixed(2)} µs CPU each`)
}

async function history(engine: Engine): Promise<void> {
  const page = async (topicPrefix: string, maximumMessages: number, pages: number): Promise<number> => {
    let found = 0
    let afterOffset: number | undefined
    for (let number = 0; number < pages; number += 1) {
      const query = { partition: 0, topicPrefix, direction: 'newest first', maximumMessages, afterOffset } as const
      const { messages, more, nextAfterOffset } = await engine.scan(query)
      found += messages.length
      if (!more) return found
      afterOffset = nextAfterOffset
    }
    return found
  }
  let found = 0
  const all = await measured(async () => (found = await page(`${APPLICATION}/`, 1_000, 200)))
  console.log(`history, ${found} messages of an application in pages of 1,000: ${all.seconds.toFixed(2)} s`)
  const device = await measured(async () => (found = await page(`${APPLICATION}/device/0000000000000007/`, 50, 1)))
  console.log(`history, the last ${found} of a device: ${(device.seconds * 1000).toFixed(1)} ms`)
}
