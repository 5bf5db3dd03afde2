/** The cost of many Sessions at one node of a cluster. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connector, openMany } from '../load/connection.ts'
import { cpuNanoseconds, residentBytes } from '../process-accounting.ts'
import type { ClusterLoad } from './cluster-load.ts'
import type { MeasuredNode } from './cluster-service.ts'

/** The Sessions before the count begins: a broker needs some memory only once. */
const FIRST_SESSIONS = 500
const CONNECTING_AT_ONCE = 32
/** After this time the states of the Sessions are written, and memory is collected. */
const SETTLE_MS = 10_000

export interface SessionsCost {
  readonly sessions: number
  /** Sessions a second, with one subscription each, from CONNECT to SUBACK. */
  readonly perSecond: number
  /** CPU time of the node for each Session, ns. */
  readonly nodeCpuNs: number
  /** CPU time of the three servers of NATS for each Session, ns. */
  readonly serversCpuNs: number
  /** Growth of the node's resident memory for each Session with a connected client, bytes. */
  readonly connectedBytes: number
  /** The same after all clients have gone. */
  readonly awayBytes: number
}

/** Opens Sessions that stay, with one subscription each, and leaves them. */
export async function measureSessions(
  node: MeasuredNode,
  serverPids: readonly number[],
  { integrator, applications }: ClusterLoad,
  count: number,
): Promise<SessionsCost> {
  const connector = new Connector(node)
  const open = (first: number, sessions: number): ReturnType<typeof openMany> =>
    openMany(sessions, CONNECTING_AT_ONCE, async (index) => {
      const connection = await connector.open({
        ...integrator,
        clientId: `asleep-${first + index}`,
        keepsSession: true,
        handlers: { publish: () => {}, acknowledged: () => {}, failed: () => {} },
      })
      const { topicNames } = applications[index % applications.length] as (typeof applications)[number]
      await connection.subscribe([topicNames[0] as string], 1)
      return connection
    })
  const connections = await open(0, FIRST_SESSIONS)
  await sleep(SETTLE_MS)
  const before = { bytes: residentBytes(node.pid), node: cpuNs([node.pid]), servers: cpuNs(serverPids) }
  const beganAtMs = performance.now()
  connections.push(...(await open(FIRST_SESSIONS, count)))
  const seconds = (performance.now() - beganAtMs) / 1_000
  const [nodeCpuNs, serversCpuNs] = [cpuNs([node.pid]) - before.node, cpuNs(serverPids) - before.servers]
  await sleep(SETTLE_MS)
  const connectedBytes = residentBytes(node.pid) - before.bytes
  for (const connection of connections) connection.close()
  await sleep(SETTLE_MS)
  const awayBytes = residentBytes(node.pid) - before.bytes
  return {
    sessions: count,
    perSecond: count / seconds,
    nodeCpuNs: nodeCpuNs / count,
    serversCpuNs: serversCpuNs / count,
    connectedBytes: connectedBytes / count,
    awayBytes: awayBytes / count,
  }
}

function cpuNs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0)
}
