/**
 * `node bench/history-buckets.ts [--events 10000000] [--directory <folder>]`: the time of a
 * device's buckets of seven days, in a log with many events of many devices. A folder that is given
 * stays, and is used again; else the log is made in a temporary folder, and removed at the end.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { History } from '../src/broker/delivery/history.ts'
import { Message } from '../src/broker/ports/message.ts'
import { partitionOfTopic } from '../src/broker/sessions/subscription-index.ts'
import { systemClock } from '../src/clock.ts'
import type { Clock, SteadyMs } from '../src/clock.ts'
import { EmbeddedEngine } from '../src/engine/embedded.ts'
import { nodeDisk } from '../src/engine/ports/node-disk.ts'
import { WorkTurns } from '../src/http/shares/work-turns.ts'
import { BUCKET_KINDS, HistoryBuckets } from '../src/lorawan/buckets/history-buckets.ts'
import { EventHistory } from '../src/lorawan/uplinks/event-history.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1)
const END_MS = START_MS + 7 * DAY_MS
const PARTITIONS = 64
const APPLICATIONS = 10
const DEVICES_OF_APPLICATION = 1_000
const DEVICES = APPLICATIONS * DEVICES_OF_APPLICATION
const UNDER_WAY = 4_000
const RETENTION_BYTES = 2 ** 40

const { values } = parseArgs({
  options: { events: { type: 'string', default: '10000000' }, directory: { type: 'string' } },
})
const count = Number(values.events)
const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'fieldgate-history-'))
try {
  if (!existsSync(join(directory, 'log'))) await fill()
  await measure()
} finally {
  if (values.directory === undefined) rmSync(directory, { recursive: true, force: true })
}

function openEngine(clock: Clock): EmbeddedEngine {
  return new EmbeddedEngine({
    disk: nodeDisk,
    directory,
    partitions: PARTITIONS,
    retentionBytes: RETENTION_BYTES,
    retentionMs: 3650 * DAY_MS,
    clock,
  })
}

function applicationOf(device: number): string {
  return `5f0c2c1e-88e9-4bfb-a9f1-5a1b3c0d${String(device % APPLICATIONS).padStart(4, '0')}`
}

function devEuiOf(device: number): string {
  return device.toString(16).padStart(16, '0')
}

/** An uplink as ChirpStack v4 writes it, with one gateway. */
function payloadOf(device: number, fCnt: number): Buffer {
  const lora = { bandwidth: 125_000, spreadingFactor: 7 + (fCnt % 3), codeRate: 'CR_4_5' }
  const event = {
    deduplicationId: '20286b86-4352-454d-9cab-0a551ca1538c',
    time: '2026-01-31T08:00:04.482+00:00',
    deviceInfo: {
      applicationId: applicationOf(device),
      applicationName: 'meters',
      deviceProfileName: 'meter',
      deviceName: `meter-${device}`,
      devEui: devEuiOf(device),
      tags: { valley: 'north' },
    },
    devAddr: '007e75ce',
    dr: 5 - (fCnt % 3),
    fCnt,
    fPort: 2,
    data: 'AWcA+gFoQA==',
    object: { temperatureSensor: { 1: 20 + (fCnt % 50) / 10 }, humiditySensor: { 1: 30 + (fCnt % 20) } },
    rxInfo: [{ gatewayId: '0102030405060799', uplinkId: 1_091_976_196, rssi: -60 - (fCnt % 40), snr: 9.5 }],
    txInfo: { frequency: 868_500_000, modulation: { lora } },
  }
  return Buffer.from(JSON.stringify(event))
}

/** Stores the events of seven days. Each device sends in turn, at the same distances of time. */
async function fill(): Promise<void> {
  let nowMs = START_MS
  const clock: Clock = { ...systemClock, now: () => nowMs, steady: () => nowMs as SteadyMs }
  const engine = openEngine(clock)
  await engine.open()
  const startedMs = performance.now()
  let given = 0
  let owned = 0
  await new Promise<void>((resolve, reject) => {
    const give = (): void => {
      for (; given < count && given - owned < UNDER_WAY; given += 1) {
        const device = given % DEVICES
        nowMs = START_MS + Math.floor((given / count) * (END_MS - START_MS))
        const topicName = `application/${applicationOf(device)}/device/${devEuiOf(device)}/event/up`
        const payload = payloadOf(device, Math.floor(given / DEVICES))
        const message = new Message(
          { topicName, payload, qos: 1, retain: false, properties: undefined, publisherKey: 'network-server' },
          Infinity,
        )
        const failed = ({ reason }: { readonly reason: string }): void => reject(new Error(reason))
        engine.append(partitionOfTopic(topicName, PARTITIONS), { message, committed, failed })
      }
    }
    const committed = (): void => {
      owned += 1
      if (owned === count) resolve()
      else if (owned % (UNDER_WAY / 2) === 0) give()
    }
    give()
  })
  await engine.close()
  const seconds = (performance.now() - startedMs) / 1000
  console.log(`${count} events of ${DEVICES} devices stored in ${seconds.toFixed(0)} s`)
}

async function measure(): Promise<void> {
  const files = readdirSync(join(directory, 'log')).map((name) => join(directory, 'log', name))
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
  console.log(`${files.length} files, ${(bytes / 2 ** 30).toFixed(2)} GiB`)
  const opened = performance.now()
  let engine = await reopened()
  console.log(`opened in ${(performance.now() - opened).toFixed(0)} ms`)
  const cold: number[] = []
  for (let round = 0; round < 10; round += 1) {
    await engine.close()
    dropFromPageCache(files)
    engine = await reopened()
    cold.push(await query(engine, deviceOf(round)))
  }
  show('cold: the first reading after a start, and nothing in the page cache', cold)
  const cpu = process.cpuUsage()
  const warm: number[] = []
  for (let round = 0; round < 100; round += 1) warm.push(await query(engine, deviceOf(100 + round)))
  const { user, system } = process.cpuUsage(cpu)
  show('warm: another device each time', warm)
  console.log(`warm: ${((user + system) / 1000 / warm.length).toFixed(0)} ms of CPU a reading`)
  const same: number[] = []
  for (let round = 0; round < 100; round += 1) same.push(await query(engine, deviceOf(1)))
  show('warm: the same device', same)
  await engine.close()
}

async function reopened(): Promise<EmbeddedEngine> {
  const engine = openEngine({ ...systemClock, now: () => END_MS })
  await engine.open()
  return engine
}

function deviceOf(round: number): number {
  return (round * 7_919) % DEVICES
}

/** Needs GNU dd. */
function dropFromPageCache(files: readonly string[]): void {
  for (const file of files) execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
}

/** The time of one answer in ms: the buckets of seven days, read as the HTTP API reads them. */
async function query(engine: EmbeddedEngine, device: number): Promise<number> {
  const turns = new WorkTurns(systemClock)
  const startedMs = performance.now()
  const pages = new EventHistory(new History(engine)).pages({
    applicationId: applicationOf(device),
    devEui: devEuiOf(device),
    kinds: new Set(BUCKET_KINDS),
    fromMs: START_MS,
    toMs: END_MS,
    after: undefined,
    order: 'newest',
    maximumEvents: Infinity,
  })
  const buckets = new HistoryBuckets(3_600_000, undefined)
  const step = async (): Promise<boolean> => {
    const { value, done } = await pages.next()
    if (done !== true) for (const event of value.events) buckets.add(event)
    return done !== true
  }
  while (await turns.run('organization', step));
  const uplinks = buckets.finish().reduce((sum, bucket) => sum + bucket.uplinks, 0)
  const expected = Math.floor(count / DEVICES) + (device < count % DEVICES ? 1 : 0)
  if (uplinks !== expected) throw new Error(`${uplinks} uplinks in the place of ${expected}`)
  return performance.now() - startedMs
}

function show(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number): string => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(0)
  console.log(`${what}: ${times.length} readings, median ${at(0.5)} ms, p99 ${at(0.99)} ms`)
}
