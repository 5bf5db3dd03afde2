/**
 * `node bench/codecs.ts`: the cost of payload codecs. First Cayenne LPP in a loop, then 2,000
 * uplinks a second through a JavaScript decoder by the path of events, then 1, 40 and 1,000 scripts
 * in turn. Measures the processor time of this process and of the processes of scripts, the time
 * that calls take, and the delay of this thread's timers meanwhile, which a broker in this thread
 * would feel.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../src/clock.ts'
import { silentLogger } from '../src/logger.ts'
import { decodeCayenneLpp, encodeCayenneLpp } from '../src/lorawan/codecs/cayenne-lpp.ts'
import { Codecs } from '../src/lorawan/codecs/codecs.ts'
import { addObject } from '../src/lorawan/codecs/uplink-object.ts'
import { DECODER_SCRIPT } from './codec-deployment.ts'
import { cpuNanoseconds } from './process-accounting.ts'

const UPLINKS_PER_SECOND = 2_000
const SECONDS = 10
const TICK_MS = 5
const APPLICATIONS = 8
/** Uplinks of each measurement of scripts in turn. */
const IN_TURN = 20_000
/** Uplinks before each measurement. Until then the runtime compiles the engine again and again. */
const WARM_UP = 30_000
/** Uplinks that are on their way at a time while scripts are called in turn. */
const AT_A_TIME = 50

const EVENT = Buffer.from(
  JSON.stringify({
    applicationID: '5',
    applicationName: 'meters',
    deviceName: 'meter 1',
    devEUI: '0101010101010101',
    rxInfo: [1, 2, 3].map((n) => ({
      gatewayID: `020202020202020${n}`,
      time: '2026-01-15T12:00:00Z',
      rssi: -57,
      loRaSNR: 10,
    })),
    txInfo: { frequency: 868_100_000, dr: 5 },
    adr: true,
    fCnt: 10,
    fPort: 85,
    data: Buffer.from('01755c03673401046865', 'hex').toString('base64'),
    tags: {},
  }),
)

cayenne()
await idle()
await uplinks()
for (const scripts of [1, 40, 1_000]) await inTurn(scripts)

function cayenne(): void {
  const object = { temperatureSensor: { '1': 25 }, humiditySensor: { '1': 32 } }
  const bytes = Buffer.from('AWcA+gFoQA==', 'base64')
  const rounds = 200_000
  for (const [name, run] of [
    ['encode', () => encodeCayenneLpp(object)],
    ['decode', () => decodeCayenneLpp(bytes)],
  ] as const) {
    for (let round = 0; round < rounds; round += 1) run()
    const start = process.threadCpuUsage()
    for (let round = 0; round < rounds; round += 1) run()
    console.log(`Cayenne LPP ${name}: ${(microseconds(process.threadCpuUsage(start)) / rounds).toFixed(2)} µs`)
  }
}

/** The delay of timers on this machine without load. */
async function idle(): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(3_000)
  console.log(`Timers of this thread, idle: p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}`)
}

async function uplinks(): Promise<void> {
  const codecs = new Codecs({
    organizationOf: async (applicationId) => `organization ${Number(applicationId) % 3}`,
    clock: systemClock,
    log: silentLogger,
    workers: 2,
  })
  let failed = 0
  const calls: number[] = []
  const decoder: Pick<Codecs, 'decodeUplink'> = {
    decodeUplink: async (request) => {
      const decoded = await codecs.decodeUplink(request)
      calls.push(decoded.durationMs)
      return decoded
    },
  }
  const one = async (n: number): Promise<number> => {
    const startMs = performance.now()
    const codec = {
      applicationId: String(n % APPLICATIONS),
      codec: 'CUSTOM_JS',
      script: DECODER_SCRIPT,
      variables: {},
      receivedAtMs: 0,
    } as const
    const { error } = await addObject(EVENT, codec, decoder)
    if (error !== undefined) failed += 1
    return performance.now() - startMs
  }
  await together(WARM_UP, one)
  calls.length = 0
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const thread = process.threadCpuUsage()
  const use = new Use()
  const running: Promise<number>[] = []
  const startMs = performance.now()
  while (running.length < UPLINKS_PER_SECOND * SECONDS) {
    const due = Math.floor(((performance.now() - startMs) / 1000) * UPLINKS_PER_SECOND)
    while (running.length < due) running.push(one(running.length))
    await sleep(TICK_MS)
  }
  const latencies = await Promise.all(running)
  const seconds = (performance.now() - startMs) / 1000
  const inThread = (microseconds(process.threadCpuUsage(thread)) / running.length).toFixed(1)
  console.log(`${(running.length / seconds).toFixed(0)} uplinks/s through a JavaScript decoder, ${failed} failed`)
  console.log(`An uplink: ${percentiles(latencies)}, ${APPLICATIONS} applications of 3 organizations`)
  console.log(`A call within its process: ${percentiles(calls)}`)
  console.log(`Processor of an uplink: ${use.each(running.length)}; ${inThread} µs in this thread`)
  console.log(`Timers of this thread: p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}`)
  await codecs.close()
}

/**
 * Calls so many scripts one after the other, in two processes: the worst order for a cache of
 * scripts.
 */
async function inTurn(scripts: number): Promise<void> {
  const codecs = new Codecs({
    organizationOf: async (applicationId) => `organization ${Number(applicationId) % 10}`,
    clock: systemClock,
    log: silentLogger,
    workers: 2,
  })
  const texts = Array.from({ length: scripts }, (_, n) => `${DECODER_SCRIPT}\n// Of application ${n}.`)
  const one = async (n: number): Promise<void> => {
    const application = n % scripts
    const codec = {
      applicationId: String(application),
      codec: 'CUSTOM_JS',
      script: texts[application] as string,
      variables: {},
      receivedAtMs: 0,
    } as const
    const { error } = await addObject(EVENT, codec, codecs)
    if (error !== undefined) throw new Error(error.payload.toString())
  }
  await together(Math.max(2 * scripts, WARM_UP), one)
  const use = new Use()
  const startMs = performance.now()
  await together(IN_TURN, one)
  const seconds = (performance.now() - startMs) / 1000
  console.log(`${scripts} scripts in turn: ${use.each(IN_TURN)}; ${(IN_TURN / seconds).toFixed(0)} uplinks/s`)
  await codecs.close()
}

/** Runs so many, some at a time. */
async function together(count: number, run: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const runs = async (): Promise<void> => {
    while (next < count) {
      const n = next
      next += 1
      await run(n)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, runs))
}

/** The processor time from now on. */
class Use {
  readonly #wholeNs = cpuNanoseconds(process.pid)
  readonly #own = process.cpuUsage()

  /** The time of each of so many uplinks. */
  each(count: number): string {
    const whole = (cpuNanoseconds(process.pid) - this.#wholeNs) / 1_000 / count
    const own = microseconds(process.cpuUsage(this.#own)) / count
    return `${own.toFixed(1)} µs in this process, ${(whole - own).toFixed(1)} µs in those of scripts, ${whole.toFixed(1)} µs in all`
  }
}

function percentiles(unordered: readonly number[]): string {
  const values = unordered.toSorted((left, right) => left - right)
  const at = (share: number): string => `${(values[Math.floor(values.length * share)] ?? 0).toFixed(2)} ms`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}`
}

function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}

function ms(nanoseconds: number): string {
  return `${(nanoseconds / 1e6).toFixed(2)} ms`
}
