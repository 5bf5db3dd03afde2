/**
 * `node bench/commands.ts [--connections 5,10,50] [--rounds 3] [--seconds 5]`: the cost of commands
 * for the service with its durable engine, from PUBLISH over Cayenne LPP and the downlink queue to
 * a network server. docs/performance.md explains the measurement.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { prepareCodecService } from './codec-service.ts'
import type { CodecService } from './codec-service.ts'
import { devicesWith } from './codec-deployment.ts'
import type { CommandFigures, CommandResult, CommandSender } from './load/codec-job.ts'
import type { Percentiles } from './load/latency-histogram.ts'
import { median } from './statistics.ts'

/** The commands on their way, over all connections together. */
const WINDOW = 500
const PER_SECOND = 5_000
const WARM_UP_MS = 3_000

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '5,10,50' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
  },
})
const service = await prepareCodecService()
const results = new Map<number, CommandResult[]>()
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const connections of values.connections.split(',').map(Number)) {
    const result = await run(service, connections)
    results.set(connections, [...(results.get(connections) ?? []), result])
    console.log(`${connections} connections, load of the machine ${loadavg()[0]?.toFixed(1)}: ${line(result)}`)
  }
}
for (const [connections, runs] of results) console.log(row(connections, runs))

function run({ deployment, run: runJob }: CodecService, connections: number): Promise<CommandResult> {
  const devices = devicesWith('CAYENNE_LPP', deployment)
  const topicNames = Array.from({ length: connections }, (): string[] => [])
  const organizations = deployment.integrators.length
  for (const [index, { organization, applicationId, devEui }] of devices.entries()) {
    // Connections and organizations are matched in turn: each connection sends to its share of its
    // organization's devices.
    const sharing = Math.ceil((connections - organization) / organizations)
    if (sharing <= 0) continue
    const connection = organization + organizations * (Math.floor(index / organizations) % sharing)
    topicNames[connection]?.push(`application/${applicationId}/device/${devEui}/command/down`)
  }
  const senders = topicNames.map((names, connection): CommandSender => {
    return { credentials: deployment.integrators[connection % organizations], topicNames: names }
  })
  return runJob({
    kind: 'commands',
    networkServer: { credentials: deployment.networkServer },
    senders,
    window: Math.ceil(WINDOW / connections),
    warmUpMs: WARM_UP_MS,
    measureMs: Number(values.seconds) * 1000,
    perSecond: PER_SECOND,
  })
}

function line({ flatOut, paced, acknowledgedOutOfOrder }: CommandResult): string {
  return (
    `${perSecond(flatOut)} commands/s, ${microseconds(flatOut.cpuNs, flatOut).toFixed(0)} µs CPU each ` +
    `(${microseconds(flatOut.mainThreadCpuNs, flatOut).toFixed(0)} in the main thread), PUBACK ${text(flatOut.acknowledgement)}; at ` +
    `${perSecond(paced)}/s PUBACK ${text(paced.acknowledgement)}, network server ${text(paced.delivery)}; ` +
    `${acknowledgedOutOfOrder} PUBACKs out of order`
  )
}

/** Medians of the rounds, as a row of the table in docs/performance.md. */
function row(connections: number, runs: readonly CommandResult[]): string {
  const of = (figure: (result: CommandResult) => number): number => median(runs.map(figure))
  return [
    '',
    connections,
    of(({ flatOut }) => perSecond(flatOut)),
    of(({ flatOut }) => microseconds(flatOut.cpuNs, flatOut)).toFixed(0),
    of(({ flatOut }) => microseconds(flatOut.mainThreadCpuNs, flatOut)).toFixed(0),
    of(({ paced }) => perSecond(paced)),
    of(({ paced }) => paced.acknowledgement.p50).toFixed(1),
    of(({ paced }) => paced.acknowledgement.p99).toFixed(1),
    of(({ paced }) => paced.delivery.p99).toFixed(1),
    '',
  ].join(' | ')
}

function perSecond({ accepted, seconds }: CommandFigures): number {
  return Math.round(accepted / seconds)
}

function microseconds(nanoseconds: number, { accepted }: CommandFigures): number {
  return nanoseconds / 1000 / accepted
}

function text({ p50, p99 }: Percentiles): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`
}
