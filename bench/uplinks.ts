/**
 * `node bench/uplinks.ts [--rounds 3] [--pairs 15] [--seconds 1] [--plain 2000] [--decoded 2000]`:
 * the delay of uplinks without a codec while uplinks of other applications go through scripts, so
 * many a second of each, and the CPU time of an uplink with a script. docs/performance.md explains
 * the measurement.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { prepareCodecService } from './codec-service.ts'
import type { CodecService } from './codec-service.ts'
import { devicesWith } from './codec-deployment.ts'
import type { PlannedDevice } from './codec-deployment.ts'
import type { UplinkPhase, UplinkResult } from './load/codec-job.ts'
import type { Percentiles } from './load/latency-histogram.ts'
import { median } from './statistics.ts'

const WARM_UP_MS = 4_000

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    pairs: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '1' },
    plain: { type: 'string', default: '2000' },
    decoded: { type: 'string', default: '2000' },
  },
})
const plainPerSecond = Number(values.plain)
const decodedPerSecond = Number(values.decoded)
const service = await prepareCodecService()
const without: UplinkPhase[] = []
const withScripts: UplinkPhase[] = []
for (let round = 0; round < Number(values.rounds); round += 1) {
  const result = await run(service)
  without.push(...result.without)
  withScripts.push(...result.with)
  console.log(`load of the machine ${loadavg()[0]?.toFixed(1)}`)
  for (const [pair, phase] of result.without.entries()) {
    console.log(`  without: ${line(phase)}`)
    console.log(`  with:    ${line(result.with[pair] as UplinkPhase)}`)
  }
}
console.log(`Medians of ${without.length} phases each:`)
console.log(`  without scripts: ${medians(without)}`)
console.log(`  with scripts:    ${medians(withScripts)}`)
const growth = without.map(({ plain }, index) => (withScripts[index] as UplinkPhase).plain.p99 - plain.p99)
console.log(`  an uplink with a script costs ${costs()} of CPU more than none`)
console.log(`  p99 of the other traffic grows by ${median(growth).toFixed(2)} ms (median of the pairs)`)

function run({ deployment, run: runJob }: CodecService): Promise<UplinkResult> {
  const plain = devicesWith('', deployment)
  const decoded = devicesWith('CUSTOM_JS', deployment)
  const receivers = deployment.integrators.map((credentials, organization) => {
    const own = [...plain, ...decoded].filter((device) => device.organization === organization)
    const applicationIds = new Set(own.map(({ applicationId }) => applicationId))
    return { credentials, topicFilters: Array.from(applicationIds, (id) => `application/${id}/device/+/event/up`) }
  })
  const job = {
    kind: 'uplinks',
    networkServer: { credentials: deployment.networkServer },
    receivers,
    plainTopicNames: plain.map(topicName),
    plainPerSecond,
    decodedTopicNames: decoded.map(topicName),
    decodedPerSecond,
    warmUpMs: WARM_UP_MS,
    pairs: Number(values.pairs),
    phaseMs: Number(values.seconds) * 1000,
  } as const
  // A kept event waits for the disk, and the scripts do not cause that wait.
  return runJob(job, { FIELDGATE_KEEP_QOS0_EVENTS: 'false' })
}

function topicName({ applicationId, devEui }: PlannedDevice): string {
  return `application/${applicationId}/device/${devEui}/event/up`
}

function line(phase: UplinkPhase): string {
  const { plain, plainUplinks, decoded, decodedUplinks, notDecoded, seconds } = phase
  const scripts =
    decodedUplinks === 0
      ? ''
      : `; ${Math.round(decodedUplinks / seconds)} uplinks/s by scripts, ${notDecoded} of them not decoded: ${text(decoded)}`
  return `${Math.round(plainUplinks / seconds)} other uplinks/s: ${text(plain)}${scripts}; ${share(phase)}`
}

function medians(phases: readonly UplinkPhase[]): string {
  const of = (figure: (phase: UplinkPhase) => number): number => median(phases.map(figure))
  const percentiles = (kind: 'plain' | 'decoded'): string =>
    `p50 ${of((phase) => phase[kind].p50).toFixed(2)} ms, p99 ${of((phase) => phase[kind].p99).toFixed(2)} ms`
  const cpu = of(({ cpuNs, seconds }) => cpuNs / 1e7 / seconds)
  const mainThread = of(({ mainThreadCpuNs, seconds }) => mainThreadCpuNs / 1e7 / seconds)
  const scripts = phases.some(({ decodedUplinks }) => decodedUplinks > 0)
    ? `; by scripts ${percentiles('decoded')}`
    : ''
  return `other traffic ${percentiles('plain')}${scripts}; ${cpu.toFixed(0)} % of a core, main thread ${mainThread.toFixed(0)} %`
}

/** In all, and its part in the main thread; medians of the pairs. */
function costs(): string {
  return `${costOf(({ cpuNs }) => cpuNs)} (main thread ${costOf(({ mainThreadCpuNs }) => mainThreadCpuNs)})`
}

function costOf(time: (phase: UplinkPhase) => number): string {
  const pairs = without.map((before, index) => {
    const phase = withScripts[index] as UplinkPhase
    return (time(phase) / phase.seconds - time(before) / before.seconds) / (phase.decodedUplinks / phase.seconds)
  })
  return `${(median(pairs) / 1000).toFixed(1)} µs`
}

function share({ cpuNs, mainThreadCpuNs, seconds }: UplinkPhase): string {
  const percent = (ns: number): string => `${(ns / 1e7 / seconds).toFixed(0)} %`
  return `${percent(cpuNs)} of a core, main thread ${percent(mainThreadCpuNs)}`
}

function text({ p50, p99 }: Percentiles): string {
  return `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`
}
