/**
 * `node bench/codecs.ts`: the cost of payload codecs. First Cayenne LPP in a loop, then 2,000
 * uplinks a second through a JavaScript decoder by the path of events, then 1, 40 and 1,000 scripts
 * in turn. Measures the processor time of this thread and of this process with the processes of
 * scripts, and the delay of this thread's timers meanwhile, which a broker in this thread would
 * feel.
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
const IN_TURN = 10_000

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
  const one = async (n: number): Promise<number> => {
    const startMs = performance.now()
    const codec = {
      applicationId: String(n % APPLICATIONS),
      codec: 'CUSTOM_JS',
      script: DECODER_SCRIPT,
      variables: {},
      receivedAtMs: 0,
    } as const
    const { error } = await addObject(EVENT, codec, codecs)
    if (error !== undefined) failed += 1
    return performance.now() - startMs
  }
  for (let n = 0; n < 2_000; n += 1) await one(n)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const thread = process.threadCpuUsage()
  const wholeNs = cpuNanoseconds(process.pid)
  const running: Promise<number>[] = []
  const startMs = performance.now()
  while (running.length < UPLINKS_PER_SECOND * SECONDS) {
    const due = Math.floor(((performance.now() - startMs) / 1000) * UPLINKS_PER_SECOND)
    while (running.length < due) running.push(one(running.length))
    await sleep(TICK_MS)
  }
  const latencies = (await Promise.all(running)).toSorted((left, right) => left - right)
  const seconds = (performance.now() - startMs) / 1000
  const inAll = (cpuNanoseconds(process.pid) - wholeNs) / 1_000
  const at = (share: number): string => `${(latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(2)} ms`
  console.log(`${(running.length / seconds).toFixed(0)} uplinks/s through a JavaScript decoder, ${failed} failed`)
  console.log(`An uplink: p50 ${at(0.5)}, p99 ${at(0.99)}, ${APPLICATIONS} applications of 3 organizations`)
  console.log(
    `Processor: ${(microseconds(process.threadCpuUsage(thread)) / running.length).toFixed(1)} µs an uplink in this thread, ` +
      `${(inAll / running.length).toFixed(1)} µs in all, ${(inAll / 10_000 / seconds).toFixed(0)} % of one core`,
  )
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
  const run = async (count: number): Promise<void> => {
    let next = 0
    const one = async (): Promise<void> => {
      while (next < count) {
        const application = next % scripts
        next += 1
        const script = `${DECODER_SCRIPT}\n// Of application ${application}.`
        const codec = {
          applicationId: String(application),
          codec: 'CUSTOM_JS',
          script,
          variables: {},
          receivedAtMs: 0,
        } as const
        const { error } = await addObject(EVENT, codec, codecs)
        if (error !== undefined) throw new Error(error.payload.toString())
      }
    }
    await Promise.all(Array.from({ length: 50 }, one))
  }
  await run(Math.max(2 * scripts, 2_000))
  const wholeNs = cpuNanoseconds(process.pid)
  const startMs = performance.now()
  await run(IN_TURN)
  const seconds = (performance.now() - startMs) / 1000
  const each = (cpuNanoseconds(process.pid) - wholeNs) / 1_000 / IN_TURN
  console.log(
    `${scripts} scripts in turn: ${each.toFixed(0)} µs of processor an uplink, ${(IN_TURN / seconds).toFixed(0)} uplinks/s`,
  )
  await codecs.close()
}

function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}

function ms(nanoseconds: number): string {
  return `${(nanoseconds / 1e6).toFixed(2)} ms`
}
