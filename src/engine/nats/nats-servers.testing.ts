/**
 * Real servers of NATS for tests: three that form a cluster, or one, on loopback, with directories
 * of their own. Each is started and ended by its process.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node'
import { freePorts } from '../../../test/support/free-port.ts'
import { given } from '../../given.ts'

const START_MS = 30_000

export interface ServerOptions {
  readonly program: string
  readonly count: 1 | 3
  /** The servers' `sync_interval`; `always` unless the test says otherwise. */
  readonly syncInterval?: string
  /** More lines of the configuration, and how a client connects that the servers then take. */
  readonly security?: {
    readonly config: string
    readonly connect: (urls: readonly string[]) => Promise<NatsConnection>
  }
}

interface Server {
  readonly name: string
  readonly port: number
  readonly monitorPort: number
  readonly config: string
  process: ChildProcess | undefined
}

export class NatsServers {
  readonly #program: string
  readonly #directory: string
  readonly #servers: readonly Server[]
  readonly #connections: NatsConnection[] = []
  readonly #connect: (timeoutMs: number) => Promise<NatsConnection>

  private constructor(
    { program, security }: Pick<ServerOptions, 'program' | 'security'>,
    directory: string,
    servers: readonly Server[],
  ) {
    this.#program = program
    this.#directory = directory
    this.#servers = servers
    this.#connect = async (timeout) =>
      security?.connect(this.urls) ?? connect({ servers: this.urls, timeout, maxReconnectAttempts: 0 })
  }

  /** Starts the servers. Resolves when they take streams. */
  static async start({ program, count, syncInterval = 'always', security }: ServerOptions): Promise<NatsServers> {
    const directory = mkdtempSync(join(tmpdir(), 'fieldgate-nats-'))
    const ports = await freePorts(3 * count)
    const routes = ports.slice(2 * count).map((port) => `nats://127.0.0.1:${port}`)
    const servers = Array.from({ length: count }, (_, number): Server => {
      const name = `n${number + 1}`
      const [port, monitorPort] = [ports[number] as number, ports[count + number] as number]
      const store = `jetstream { store_dir: "${join(directory, name)}", max_file_store: 8GB, sync_interval: ${syncInterval} }`
      const cluster =
        count === 1
          ? ''
          : // A client learns no other addresses than it was given, so that a test can lead it through a proxy.
            `cluster { name: ${basename(directory)}, no_advertise: true, listen: "127.0.0.1:${ports[2 * count + number]}", routes: ${JSON.stringify(routes)} }`
      const config = join(directory, `${name}.conf`)
      const head = `server_name: ${name}\nlisten: "127.0.0.1:${port}"\nhttp: "127.0.0.1:${monitorPort}"\n`
      writeFileSync(config, `${head}${store}\n${cluster}\n${security?.config ?? ''}\n`)
      return { name, port, monitorPort, config, process: undefined }
    })
    const started = new NatsServers({ program, ...given({ security }) }, directory, servers)
    for (const { name } of servers) started.restart(name)
    // A test that is cut off leaves no servers behind.
    process.once('exit', () => started.#end())
    await started.ready()
    return started
  }

  /** The addresses for clients. */
  get urls(): string[] {
    return this.#servers.map(({ port }) => `nats://127.0.0.1:${port}`)
  }

  /** The addresses of the servers' monitoring. */
  get monitors(): string[] {
    return this.#servers.map(({ monitorPort }) => `http://127.0.0.1:${monitorPort}`)
  }

  get names(): string[] {
    return this.#servers.map(({ name }) => name)
  }

  /** The processes of the servers that run. */
  get pids(): number[] {
    return this.#servers.flatMap(({ process: running }) => running?.pid ?? [])
  }

  /** Starts a server that is not running. */
  restart(name: string): void {
    const server = this.#find(name)
    assert.equal(server.process, undefined)
    server.process = spawn(this.#program, ['-c', server.config], { stdio: 'ignore' })
  }

  /** Sends the signal to a server's process; waits for its end where the signal ends it. */
  async signal(name: string, signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const server = this.#find(name)
    assert(server.process !== undefined)
    const ended = signal === 'SIGKILL' || signal === 'SIGTERM' ? once(server.process, 'exit') : undefined
    server.process.kill(signal)
    await ended
    if (ended !== undefined) server.process = undefined
  }

  /** The folder in which a server stores everything. */
  storeOf(name: string): string {
    return join(this.#directory, this.#find(name).name)
  }

  /** Removes all that a server has stored, as a new disk would. The server must not be running. */
  wipe(name: string): void {
    assert.equal(this.#find(name).process, undefined)
    rmSync(join(this.#directory, name), { recursive: true, force: true })
  }

  /** Resolves when the servers answer for streams. */
  async ready(): Promise<void> {
    const deadline = performance.now() + START_MS
    for (;;) {
      try {
        const connection = await this.#connect(1_000)
        try {
          const manager = await jetstreamManager(connection, { timeout: 1_000 })
          await manager.streams.add({ name: 'ready', subjects: ['ready'], num_replicas: this.#servers.length })
          await manager.streams.delete('ready')
          return
        } finally {
          await connection.close()
        }
      } catch (error) {
        if (performance.now() > deadline) throw error
        await new Promise((resolve) => {
          setTimeout(resolve, 100)
        })
      }
    }
  }

  /** The server that leads a stream. */
  async leaderOf(stream: string): Promise<string> {
    const connection = await this.#connect(2_000)
    try {
      const manager = await jetstreamManager(connection)
      const { cluster } = await manager.streams.info(stream)
      return cluster?.leader ?? (this.names[0] as string)
    } finally {
      await connection.close()
    }
  }

  /** A connection to the servers, as a node has it. It ends with the servers. */
  async connect(options: ConnectionOptions = {}): Promise<NatsConnection> {
    const connection = await connect({
      servers: this.urls,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      pingInterval: 1_000,
      maxPingOut: 2,
      timeout: 2_000,
      ...options,
    })
    this.#connections.push(connection)
    return connection
  }

  /** Ends all connections and servers, and removes the servers' directories. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) await connection.close()
    for (const { name, process: running } of this.#servers) {
      if (running !== undefined) await this.signal(name, 'SIGKILL')
    }
    this.#end()
  }

  #end(): void {
    for (const { process: running } of this.#servers) running?.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #find(name: string): Server {
    const server = this.#servers.find((one) => one.name === name)
    assert(server !== undefined)
    return server
  }
}
