/**
 * A cluster of real parts on this machine: three servers of NATS that sync what they store, a
 * PostgreSQL, and nodes. A test can break each of them, and the paths between them.
 */
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { startTestServer } from '../postgresql/test-server.ts'
import type { TestServer } from '../postgresql/test-server.ts'
import { startStandby } from '../postgresql/standby.ts'
import type { BackingServer } from '../network-servers/backing-servers.ts'
import { findPostgreSql } from '../network-servers/programs.ts'
import { ClusterNode } from './cluster-node.ts'
import { untilReplicated } from './replicas.ts'
import type { LastSequences, Replication } from './replicas.ts'
import { until } from './until.ts'

/** The name of a stream of messages; the servers elect a leader for each stream. */
const MESSAGE_STREAM = /-log-0$/
const LOG_STREAM = /-log-\d+$/
/** Longer than any election takes, ms. */
const ELECTION_MS = 30_000

/** The part of the answer of a server's monitoring that is read here. */
interface ServerStreams {
  readonly account_details?: readonly { readonly stream_detail?: readonly ServerStream[] }[]
}

/** A stream as one server has it. */
interface ServerStream {
  readonly name: string
  readonly state: { readonly messages: number; readonly first_seq: number; readonly last_seq: number }
}

/** The reason for which no cluster can be started on this machine; undefined: it can. */
export function missingParts(): string | undefined {
  const found = natsServerProgram()
  if ('missing' in found) return found.missing
  return findPostgreSql() === undefined ? 'PostgreSQL is not here (Debian: apt-get install postgresql)' : undefined
}

export class Cluster {
  readonly servers: NatsServers
  readonly database: TestServer
  readonly nodes: readonly ClusterNode[]
  readonly #folder: string
  readonly #ended = new Set<string>()
  readonly #paused = new Set<string>()
  #primary: BackingServer
  #standby: BackingServer | undefined

  private constructor(parts: Pick<Cluster, 'servers' | 'database' | 'nodes'> & { readonly folder: string }) {
    this.servers = parts.servers
    this.database = parts.database
    this.nodes = parts.nodes
    this.#folder = parts.folder
    this.#primary = parts.database.server
  }

  /** Starts the servers and PostgreSQL, and opens the paths of the nodes, which don't run yet. */
  static async open(count: number): Promise<Cluster> {
    const found = natsServerProgram()
    assert('program' in found)
    const database = await startTestServer('the cluster')
    assert(database !== undefined)
    const servers = await NatsServers.start({ program: found.program, count: 3 })
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-cluster-'))
    await chmod(folder, 0o755)
    const databaseUrl = database.newDatabase()
    const nodes = await Promise.all(
      Array.from({ length: count }, (_, number) =>
        ClusterNode.create({
          name: `node${number + 1}`,
          folder: join(folder, `node${number + 1}`),
          natsPorts: portsOf(servers.urls),
          monitorPorts: portsOf(servers.monitors),
          databasePort: database.server.port,
          databaseUrl,
        }),
      ),
    )
    return new Cluster({ servers, database, nodes, folder })
  }

  /** The nodes that serve now. */
  get serving(): readonly ClusterNode[] {
    return this.nodes.filter(({ isRunning, isPaused }) => isRunning && !isPaused)
  }

  /** Starts all nodes, one after the other. */
  async start(): Promise<void> {
    for (const node of this.nodes) await node.start()
  }

  async killServer(name: string): Promise<void> {
    this.#ended.add(name)
    await this.servers.signal(name, 'SIGKILL')
  }

  /** Ends a server of NATS in order. */
  async stopServer(name: string): Promise<void> {
    this.#ended.add(name)
    await this.servers.signal(name, 'SIGTERM')
  }

  async pauseServer(name: string): Promise<void> {
    this.#paused.add(name)
    await this.servers.signal(name, 'SIGSTOP')
  }

  async resumeServer(name: string): Promise<void> {
    this.#paused.delete(name)
    await this.servers.signal(name, 'SIGCONT')
  }

  startServer(name: string): void {
    this.#ended.delete(name)
    this.servers.restart(name)
  }

  /** The server of NATS that leads a stream of messages; waits while it is being elected. */
  async leader(): Promise<string> {
    let leader: string | undefined
    await until(async () => {
      leader = await this.#leaderNow()
      return leader !== undefined
    }, ELECTION_MS)
    if (leader === undefined) throw new Error('no stream of messages has a leader')
    return leader
  }

  async #leaderNow(): Promise<string | undefined> {
    const connection = await this.servers.connect()
    try {
      const manager = await jetstreamManager(connection)
      for await (const { config, cluster } of manager.streams.list()) {
        if (MESSAGE_STREAM.test(config.name) && cluster?.leader !== undefined) return cluster.leader
      }
      return undefined
    } finally {
      await connection.close()
    }
  }

  /** The server of PostgreSQL that takes changes. */
  get primary(): BackingServer {
    return this.#primary
  }

  /** Starts a standby that has each change before the change is answered. */
  async startStandby(): Promise<void> {
    this.#standby = await startStandby(this.#primary.port, this.database.run)
  }

  /** Kills the primary, and leads all nodes to the standby, which only reads. */
  async losePrimary(): Promise<void> {
    const standby = this.#standby
    assert(standby !== undefined)
    for (const node of this.nodes) node.leadDatabaseTo(standby.port)
    await this.#primary.part.kill('SIGQUIT')
  }

  /** Makes the standby the primary. */
  promoteStandby(): void {
    const standby = this.#standby
    assert(standby !== undefined)
    this.database.run(`postgres://postgres@127.0.0.1:${standby.port}/postgres`, 'select pg_promote()')
    this.#primary = standby
    this.#standby = undefined
  }

  /** Waits until each server of NATS has all that the streams have now. */
  replicated(longestMs: number): Promise<Replication> {
    return untilReplicated({ streams: () => this.#streams(), servers: () => this.#replicas() }, longestMs)
  }

  async #streams(): Promise<LastSequences> {
    const connection = await this.servers.connect()
    try {
      const manager = await jetstreamManager(connection)
      const streams = new Map<string, number>()
      for await (const { config, cluster, state } of manager.streams.list()) {
        if (cluster?.leader === undefined) throw new Error(`${config.name} has no leader`)
        streams.set(config.name, state.last_seq)
      }
      return streams
    } finally {
      await connection.close()
    }
  }

  /** By the name of a server: its streams as it has them itself. */
  async #replicas(): Promise<ReadonlyMap<string, LastSequences>> {
    const { names, monitors } = this.servers
    return new Map(
      await Promise.all(
        monitors.map(async (monitor, number): Promise<[string, LastSequences]> => {
          const streams = await streamsOf(monitor)
          return [names[number] as string, new Map(streams.map(({ name, state }) => [name, state.last_seq]))]
        }),
      ),
    )
  }

  /** Messages that a server of NATS lacks in the middle of a log, in words. */
  async holes(): Promise<string[]> {
    const found: string[] = []
    for (const [number, monitor] of this.servers.monitors.entries()) {
      for (const { name, state } of await streamsOf(monitor)) {
        const { messages, first_seq: first, last_seq: last } = state
        const missing = messages === 0 ? 0 : last - first + 1 - messages
        if (LOG_STREAM.test(name) && missing !== 0) {
          found.push(`${this.servers.names[number]} lacks ${missing} of ${name}, ${first} to ${last}`)
        }
      }
    }
    return found
  }

  /** Ends every fault: all servers, paths and nodes are there again. */
  async heal(): Promise<void> {
    for (const name of this.#paused) await this.resumeServer(name)
    for (const name of this.#ended) this.startServer(name)
    if (this.#standby !== undefined && !this.#primary.part.isRunning) this.promoteStandby()
    if (!this.#primary.part.isRunning) await this.#primary.part.start()
    for (const node of this.nodes) node.mend()
    await this.servers.ready()
    for (const node of this.nodes) await node.ensureRunning()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node.close()
    await this.servers[Symbol.asyncDispose]()
    await this.#standby?.part.stop()
    await this.#primary.part.stop()
    await this.database.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** All streams of a server, by its monitoring. */
async function streamsOf(monitor: string): Promise<readonly ServerStream[]> {
  const answer = await fetch(`${monitor}/jsz?accounts=true&streams=true`)
  const { account_details: accounts = [] } = (await answer.json()) as ServerStreams
  return accounts.flatMap((account) => account.stream_detail ?? [])
}

function portsOf(urls: readonly string[]): number[] {
  return urls.map((url) => Number(new URL(url).port))
}
