/**
 * `npm run bench-cluster -- [--nodes 3] [--loads 2000,11000,0] [--rounds 3] [--seconds 8]
 * [--window 256] [--readers share|all] [--sessions 0]`: the cost of a durable message in a cluster
 * of nodes, with three servers of NATS and PostgreSQL on this machine. The load 0 is as fast as the
 * windows of the publishers allow. docs/performance.md explains the measurement.
 */
import { fork } from 'node:child_process'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import type { ClusterAnswer, ClusterRequest, ClusterResult } from './cluster/cluster-job.ts'
import { jobOf, prepareLoad } from './cluster/cluster-load.ts'
import { measureSessions } from './cluster/cluster-sessions.ts'
import type { SessionsCost } from './cluster/cluster-sessions.ts'
import { missingParts, startCluster } from './cluster/cluster-service.ts'
import type { ClusterService, MeasuredNode } from './cluster/cluster-service.ts'
import type { FlowJob } from './load/job.ts'
import { figure, table } from './markdown.ts'
import { residentBytes } from './process-accounting.ts'
import { median } from './statistics.ts'

const generatorProgram = fileURLToPath(new URL('cluster/cluster-generator.ts', import.meta.url))
const JOB_TIMEOUT_MS = 120_000
const WARM_UP_MS = 3_000

const HEAD = [
  'load',
  'published/s',
  'delivered/s',
  'PUBACK p50 ms',
  'p99 ms',
  'delivery p50 ms',
  'p99 ms',
  'a node µs/message',
  'three servers µs/message',
  'generator CPUs',
  'envelopes/s',
  'messages each',
  'other writes/s',
  'stored bytes/message',
  'a node MB',
  'a server MB',
  'machine’s load',
]

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '3' },
    loads: { type: 'string', default: '2000,11000,0' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '8' },
    window: { type: 'string', default: '256' },
    readers: { type: 'string', default: 'share' },
    sessions: { type: 'string', default: '0' },
  },
})
for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, () => process.exit(status))
}
process.exitCode = await main()

/** A run with the load of the machine when it ended. */
interface Run extends ClusterResult {
  readonly machineLoad: number
}

async function main(): Promise<number> {
  const missing = missingParts()
  if (missing !== undefined) {
    console.error(`A cluster can't be started here: ${missing}`)
    return 1
  }
  const nodes = Number(values.nodes)
  const cluster = await startCluster(nodes)
  try {
    const [first] = cluster.nodes as [MeasuredNode]
    const load = await prepareLoad(first, nodes)
    console.log(`idle: nodes ${megabytes(cluster.nodes.map(({ pid }) => residentBytes(pid)))} MB`)
    const loads = values.loads.split(',').map(Number)
    const runs = new Map<number, Run[]>(loads.map((perSecond) => [perSecond, []]))
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const perSecond of loads) {
        const job = jobOf(load, {
          nodes,
          perSecond: perSecond === 0 ? undefined : perSecond,
          window: Number(values.window),
          isReadByAll: values.readers === 'all',
          warmUpMs: WARM_UP_MS,
          measureMs: Number(values.seconds) * 1_000,
        })
        const run = { ...(await measure(cluster, job)), machineLoad: loadavg()[0] ?? NaN }
        runs.get(perSecond)?.push(run)
        console.log(row(perSecond, [run]).join(' | '))
      }
    }
    if (Number(values.rounds) > 0) {
      console.log(
        `\n${table(
          HEAD,
          Array.from(runs, ([perSecond, those]) => row(perSecond, those)),
        )}`,
      )
    }
    const sessions = Number(values.sessions)
    if (sessions > 0) say(await measureSessions(first, cluster.servers.pids, load, sessions))
    return 0
  } finally {
    await cluster.close()
  }
}

function measure({ nodes, servers }: ClusterService, job: FlowJob): Promise<ClusterResult> {
  const targets = nodes.map(({ port, pid, certificate }) => ({ port, pid, certificate }))
  const request: ClusterRequest = { targets, serverPids: servers.pids, monitor: servers.monitors[0] as string, job }
  return new Promise((resolve, reject) => {
    const child = fork(generatorProgram, { serialization: 'advanced' })
    const late = setTimeout(() => child.kill('SIGKILL'), JOB_TIMEOUT_MS)
    let answer: ClusterAnswer | undefined
    child.once('message', (said) => {
      answer = said as ClusterAnswer
    })
    child.once('exit', (code, signal) => {
      clearTimeout(late)
      if (answer?.kind === 'result') resolve(answer.result)
      else reject(new Error(answer?.text ?? `the load generator ended with ${code ?? signal}`))
    })
    child.send(request)
  })
}

/** Medians of the runs. The cost of a node is its CPU time for each message of the cluster. */
function row(perSecond: number, runs: readonly Run[]): string[] {
  const of = (value: (run: Run) => number): number => median(runs.map(value))
  const perMessage = (run: Run, ns: readonly number[]): number => total(ns) / 1_000 / run.flow.published
  return [
    perSecond === 0 ? 'flat out' : `${perSecond}/s`,
    of(({ flow }) => flow.published / flow.seconds).toFixed(0),
    of(({ flow }) => flow.deliveries / flow.seconds).toFixed(0),
    figure(of(({ flow }) => flow.acknowledgement.p50)),
    figure(of(({ flow }) => flow.acknowledgement.p99)),
    figure(of(({ flow }) => flow.latency.p50)),
    figure(of(({ flow }) => flow.latency.p99)),
    figure(of((run) => perMessage(run, run.nodesCpuNs) / run.nodesCpuNs.length)),
    figure(of((run) => perMessage(run, run.serversCpuNs))),
    figure(of(({ flow }) => flow.generatorCpuNs / 1e9 / flow.seconds)),
    of(({ flow, writes }) => writes.log / flow.seconds).toFixed(0),
    figure(of(({ flow, writes }) => flow.published / writes.log)),
    of(({ flow, writes }) => writes.other / flow.seconds).toFixed(0),
    of(({ flow, logBytes }) => logBytes / flow.published).toFixed(0),
    megabytes([of(({ nodesBytes }) => Math.max(...nodesBytes))]),
    megabytes([of(({ serversBytes }) => Math.max(...serversBytes))]),
    figure(of(({ machineLoad }) => machineLoad)),
  ]
}

function say({ sessions, perSecond, nodeCpuNs, serversCpuNs, connectedBytes, awayBytes }: SessionsCost): void {
  console.log(
    `${sessions} Sessions at one node: ${perSecond.toFixed(0)}/s, ${figure(nodeCpuNs / 1e6)} ms CPU each at the node, ` +
      `${figure(serversCpuNs / 1e6)} ms at the three servers; ${figure(connectedBytes / 1_024)} KB each while connected, ` +
      `${figure(awayBytes / 1_024)} KB each while away`,
  )
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

function megabytes(bytes: readonly number[]): string {
  return bytes.map((value) => (value / 2 ** 20).toFixed(0)).join(', ')
}
