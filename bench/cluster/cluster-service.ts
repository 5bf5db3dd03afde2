/**
 * A cluster for measurements: three servers of NATS that sync what they store, PostgreSQL, and
 * nodes of the built service. The nodes reach the servers directly. All parts end with this
 * process.
 */
import assert from 'node:assert'
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programFor } from '../../bin/launch.mjs'
import { chooseRuntime } from '../../bin/runtime.mjs'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { Part } from '../../test/network-servers/part.ts'
import { findPostgreSql } from '../../test/network-servers/programs.ts'
import { startTestServer } from '../../test/postgresql/test-server.ts'
import type { TestServer } from '../../test/postgresql/test-server.ts'
import { ADMIN_PASSWORD } from '../../test/support/running-service.ts'
import { freePort } from '../broker-process.ts'
import { ROOT } from '../brokers/runtimes.ts'
import type { Target } from '../load/job.ts'

/** A node that serves. */
export interface MeasuredNode extends Target {
  /** `https://localhost:<port>`. */
  readonly https: string
  readonly part: Part
}

export interface ClusterService {
  readonly nodes: readonly MeasuredNode[]
  readonly servers: NatsServers
  close(): Promise<void>
}

/** The reason for which no cluster can be started on this machine; undefined: it can. */
export function missingParts(): string | undefined {
  const found = natsServerProgram()
  if ('missing' in found) return found.missing
  return findPostgreSql() === undefined ? 'PostgreSQL is not here (Debian: apt-get install postgresql)' : undefined
}

/** Starts all parts. Resolves when each node serves. */
export async function startCluster(count: number): Promise<ClusterService> {
  const found = natsServerProgram()
  assert('program' in found)
  const database = await startTestServer('the cluster')
  assert(database !== undefined)
  const servers = await NatsServers.start({ program: found.program, count: 3 })
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-bench-cluster-'))
  // PostgreSQL and the nodes may run as other users.
  await chmod(folder, 0o755)
  const databaseUrl = database.newDatabase()
  const nodes: MeasuredNode[] = []
  for (let number = 1; number <= count; number += 1) {
    nodes.push(await startNode({ name: `node${number}`, folder: join(folder, `node${number}`), servers, databaseUrl }))
  }
  return { nodes, servers, close: () => end({ nodes, servers, database, folder }) }
}

interface NodePlace {
  readonly name: string
  readonly folder: string
  readonly servers: NatsServers
  readonly databaseUrl: string
}

async function startNode({ name, folder, servers, databaseUrl }: NodePlace): Promise<MeasuredNode> {
  await mkdir(folder, { recursive: true })
  const [httpsPort, port] = [await freePort(), await freePort()]
  const { name: runtime, program, flags, environment } = chooseRuntime(ROOT)
  const part = new Part({
    name,
    command: program,
    args: [...flags, programFor(runtime, ROOT), 'serve'],
    ready: /\n {2}data +\S+\n/,
    folder,
    environment: {
      ...environment,
      ...unboundedRates(),
      FIELDGATE_ENGINE: 'nats',
      FIELDGATE_NODE_NAME: name,
      FIELDGATE_NATS_URL: servers.urls.join(),
      FIELDGATE_NATS_MONITORING_URL: servers.monitors.join(),
      FIELDGATE_DATABASE_URL: databaseUrl,
      FIELDGATE_DATA_DIR: join(folder, 'data'),
      FIELDGATE_HOST: '127.0.0.1',
      FIELDGATE_PUBLIC_HOST: 'localhost',
      FIELDGATE_HTTPS_PORT: String(httpsPort),
      FIELDGATE_MQTTS_PORT: String(port),
      FIELDGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
      FIELDGATE_RETENTION_BYTES: '4294967296',
    },
  })
  await part.start()
  const [, caFile = ''] = await part.says(/trust +(\S+)/)
  const certificate = await readFile(caFile, 'utf8')
  return { port, pid: part.pid ?? 0, certificate, https: `https://localhost:${httpsPort}`, part }
}

/** The measurement asks how fast the nodes are; so no rate is bounded. */
function unboundedRates(): Record<string, string> {
  return {
    FIELDGATE_MAXIMUM_CONNECTIONS_PER_ORGANIZATION: '20000',
    FIELDGATE_MAXIMUM_CONNECTIONS_PER_USER: '20000',
    FIELDGATE_MAXIMUM_SESSIONS_PER_ORGANIZATION: '40000',
    FIELDGATE_MAXIMUM_CONNECTS_PER_SECOND_PER_ORGANIZATION: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_ORGANIZATION: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_ORGANIZATION: '68719476736',
    FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_NETWORK_SERVER: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_NETWORK_SERVER: '68719476736',
  }
}

interface ClusterParts {
  readonly nodes: readonly MeasuredNode[]
  readonly servers: NatsServers
  readonly database: TestServer
  readonly folder: string
}

async function end({ nodes, servers, database, folder }: ClusterParts): Promise<void> {
  for (const { part } of nodes) await part.stop()
  await servers[Symbol.asyncDispose]()
  await database.close()
  await rm(folder, { recursive: true, force: true })
}
