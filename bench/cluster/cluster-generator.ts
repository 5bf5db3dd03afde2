/**
 * The load generator of a cluster: runs one job against all nodes, and counts the CPU time of each
 * node and of each server of NATS within the window.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connector } from '../load/connection.ts'
import { runFlow } from '../load/flow.ts'
import type { FlowJob, Target } from '../load/job.ts'
import { cpuNanoseconds, residentBytes } from '../process-accounting.ts'
import type { ClusterAnswer, ClusterRequest, ClusterResult, StreamWrites } from './cluster-job.ts'

/** The streams of messages; the other streams have state, claims and snapshots. */
const LOG_STREAM = /-log-\d+$/

interface Sample {
  readonly nodesCpuNs: readonly number[]
  readonly serversCpuNs: readonly number[]
  readonly writes: StreamWrites
  readonly logBytes: number
}

/** The part of a server's answer that counts. */
interface StreamsOfServer {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string
      readonly state: { readonly last_seq: number; readonly bytes: number }
    }[]
  }[]
}

// If the run is interrupted, no load stays behind.
process.once('disconnect', () => process.exit(1))
process.once('message', (request: ClusterRequest) => {
  measure(request)
    .then(
      (result): ClusterAnswer => ({ kind: 'result', result }),
      (error: unknown): ClusterAnswer => ({
        kind: 'fault',
        text: error instanceof Error ? error.message : String(error),
      }),
    )
    .then((answer) => process.send?.(answer, () => process.exit(0)))
    .catch((error: unknown) => {
      console.error(error)
      process.exit(1)
    })
})

async function measure(request: ClusterRequest): Promise<ClusterResult> {
  const { targets, serverPids, job } = request
  let samples: readonly [Sample, Sample] | undefined
  const flow = await runFlow(targets, job, async () => {
    const begin = await sample(request)
    await sleep(job.measureMs)
    samples = [begin, await sample(request)]
  })
  await endSessions(targets, job)
  if (samples === undefined) throw new Error('the flow had no window')
  const [begin, end] = samples
  return {
    flow,
    nodesCpuNs: differences(end.nodesCpuNs, begin.nodesCpuNs),
    serversCpuNs: differences(end.serversCpuNs, begin.serversCpuNs),
    writes: { log: end.writes.log - begin.writes.log, other: end.writes.other - begin.writes.other },
    logBytes: end.logBytes - begin.logBytes,
    nodesBytes: targets.map(({ pid }) => residentBytes(pid)),
    serversBytes: serverPids.map(residentBytes),
  }
}

async function sample({ targets, serverPids, monitor }: ClusterRequest): Promise<Sample> {
  const answer = await fetch(`${monitor}/jsz?streams=true`)
  const { account_details: accounts = [] } = (await answer.json()) as StreamsOfServer
  let [log, other, logBytes] = [0, 0, 0]
  for (const { name, state } of accounts.flatMap(({ stream_detail: streams = [] }) => streams)) {
    if (LOG_STREAM.test(name)) {
      log += state.last_seq
      logBytes += state.bytes
    } else other += state.last_seq
  }
  return {
    nodesCpuNs: targets.map(({ pid }) => cpuNanoseconds(pid)),
    serversCpuNs: serverPids.map(cpuNanoseconds),
    writes: { log, other },
    logBytes,
  }
}

/** Ends the receivers' Sessions, so that the next run has nothing of this one. */
async function endSessions(targets: readonly Target[], { receivers }: FlowJob): Promise<void> {
  const nothing = { publish: () => {}, acknowledged: () => {}, failed: () => {} }
  for (const [index, { credentials, target = 0 }] of receivers.entries()) {
    const connector = new Connector(targets[target] as Target)
    const connection = await connector.open({ clientId: `receiver-${index}`, credentials, handlers: nothing })
    connection.close()
  }
}

function differences(end: readonly number[], begin: readonly number[]): number[] {
  return end.map((value, index) => value - (begin[index] as number))
}
