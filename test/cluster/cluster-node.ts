/**
 * A node of a cluster: a process of the built service, with a data directory of its own, and with a
 * path of its own to each server of NATS and to PostgreSQL. A test can cut each path.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programFor } from '../../bin/launch.mjs'
import { chooseRuntime } from '../../bin/runtime.mjs'
import { CutProxy } from '../network-servers/cut-proxy.ts'
import { Part } from '../network-servers/part.ts'
import { freePort } from '../support/free-port.ts'
import { HttpsClient, textIn } from '../support/https-client.ts'
import { ADMIN_PASSWORD } from '../support/running-service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Debian's libfaketime, which shows a process another clock; undefined: not installed. */
const FAKE_CLOCK: string | undefined = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path))

/** The reason for which the clock of a node can't be set; undefined: it can. */
export const noFakeClock =
  FAKE_CLOCK === undefined ? 'libfaketime is not installed (Debian: apt-get install faketime)' : undefined

/** The folder of another version of the service; undefined: there is none here. */
export const OTHER_VERSION: string | undefined = process.env['FIELDGATE_TEST_OTHER_VERSION']

/** The reason for which no node can run another version; undefined: one can. */
export const noOtherVersion =
  OTHER_VERSION !== undefined && existsSync(join(OTHER_VERSION, 'dist', 'program', 'main.js'))
    ? undefined
    : 'FIELDGATE_TEST_OTHER_VERSION does not name a folder with another version, built (`npm run build`)'

/** A path that can be cut: to a server of NATS, by its number, to all of them, or to PostgreSQL. */
export type Path = number | 'nats' | 'postgresql'

/** Cut: connections are reset. Silent: bytes are dropped, and neither side is told. */
export type Cut = 'cut' | 'silent'

/** The time from the last client of a node that drains to the end of its process, ms. */
const DRAINED_MS = 15_000

export interface NodeOptions {
  readonly name: string
  /** A folder of the node's own, which the caller removes. */
  readonly folder: string
  /** The ports of the servers of NATS. */
  readonly natsPorts: readonly number[]
  /** The ports of their monitoring. */
  readonly monitorPorts: readonly number[]
  /** The port of PostgreSQL. */
  readonly databasePort: number
  /** The URL of a database at that port. */
  readonly databaseUrl: string
}

export class ClusterNode {
  readonly name: string
  readonly mqttsPort: number
  readonly https: string
  readonly #folder: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #natsPaths: readonly CutProxy[]
  readonly #monitorPaths: readonly CutProxy[]
  readonly #databasePath: CutProxy
  #part: Part | undefined
  #ca = ''
  #http: HttpsClient | undefined
  #adminSession = ''
  #isPaused = false

  /** Opens the paths of the node. The node does not run yet. */
  static async create(options: NodeOptions): Promise<ClusterNode> {
    await mkdir(options.folder, { recursive: true })
    return new ClusterNode(options, {
      nats: await Promise.all(options.natsPorts.map((port) => CutProxy.open(port))),
      monitors: await Promise.all(options.monitorPorts.map((port) => CutProxy.open(port))),
      database: await CutProxy.open(options.databasePort),
      ports: [await freePort(), await freePort()],
    })
  }

  private constructor(
    { name, folder, databasePort, databaseUrl }: NodeOptions,
    paths: {
      readonly nats: readonly CutProxy[]
      readonly monitors: readonly CutProxy[]
      readonly database: CutProxy
      readonly ports: readonly [https: number, mqtts: number]
    },
  ) {
    const [httpsPort, mqttsPort] = paths.ports
    this.name = name
    this.mqttsPort = mqttsPort
    this.https = `https://localhost:${httpsPort}`
    this.#folder = folder
    this.#natsPaths = paths.nats
    this.#monitorPaths = paths.monitors
    this.#databasePath = paths.database
    this.#environment = {
      FIELDGATE_ENGINE: 'nats',
      FIELDGATE_NODE_NAME: name,
      FIELDGATE_NATS_URL: paths.nats.map(({ port }) => `nats://127.0.0.1:${port}`).join(),
      FIELDGATE_NATS_MONITORING_URL: paths.monitors.map(({ port }) => `http://127.0.0.1:${port}`).join(),
      FIELDGATE_DATABASE_URL: databaseUrl.replace(`:${databasePort}/`, `:${paths.database.port}/`),
      FIELDGATE_DATA_DIR: join(folder, 'data'),
      FIELDGATE_HOST: '127.0.0.1',
      FIELDGATE_PUBLIC_HOST: 'localhost',
      FIELDGATE_HTTPS_PORT: String(httpsPort),
      FIELDGATE_MQTTS_PORT: String(mqttsPort),
      FIELDGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
      FIELDGATE_RETENTION_BYTES: '1073741824',
      FIELDGATE_LOG_LEVEL: 'info',
      FIELDGATE_BROKER_TOKEN_DEFAULT_TTL_SECONDS: '31557600',
    }
  }

  /** The certificate authority of the node, PEM. */
  get ca(): string {
    return this.#ca
  }

  get isRunning(): boolean {
    return this.#part?.isRunning === true
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** The log and the output of the last start. */
  get text(): string {
    return this.#part?.text ?? ''
  }

  /** The HTTP interface of the running node. */
  get http(): HttpsClient {
    assert(this.#http !== undefined)
    return this.#http
  }

  /** A session of the global admin, which the running node gave. */
  get adminSession(): string {
    return this.#adminSession
  }

  /**
   * Starts the process, with its clock ahead by as many seconds, and with further settings; of the
   * version in this folder. Resolves when it serves.
   */
  async start(clockSeconds = 0, settings: Readonly<Record<string, string>> = {}, version = root): Promise<void> {
    assert(!this.isRunning, `${this.name} runs already`)
    const { name: runtime, program, flags, environment } = chooseRuntime(version)
    const part = new Part({
      name: this.name,
      command: program,
      args: [...flags, programFor(runtime, version), 'serve'],
      ready: /\n {2}data +\S+\n/,
      folder: this.#folder,
      environment: { ...this.#environment, ...settings, ...environment, ...(await this.#clock(clockSeconds)) },
    })
    this.#part = part
    await part.start()
    const [, caFile = ''] = await part.says(/trust +(\S+)/)
    this.#ca = await readFile(caFile, 'utf8')
    this.#http?.close()
    this.#http = new HttpsClient(this.https, this.#ca)
    const json = { username: 'admin', password: ADMIN_PASSWORD }
    this.#adminSession = textIn(await this.#http.must('POST', '/api/internal/login', { json }), 'jwt')
  }

  /** Starts the node unless it runs, and resumes it where it was paused. */
  async ensureRunning(): Promise<void> {
    if (this.#isPaused) this.resume()
    if (!this.isRunning) await this.start()
  }

  async kill(): Promise<void> {
    this.#isPaused = false
    await this.#part?.kill()
  }

  /** Ends the node in order, as an operator does. */
  async stop(): Promise<void> {
    this.#isPaused = false
    await this.#part?.stop()
  }

  /** Sends the clients away, evenly over the seconds. Resolves when the node has ended. */
  async drain(seconds: number): Promise<void> {
    await this.http.must('POST', '/api/internal/drain', { token: this.#adminSession, json: { seconds } })
    await this.#part?.ended(seconds * 1_000 + DRAINED_MS)
  }

  /** Stops the process without ending it: nothing of it moves, and nobody is told. */
  pause(): void {
    this.#isPaused = true
    this.#part?.freeze()
  }

  resume(): void {
    this.#isPaused = false
    this.#part?.thaw()
  }

  /** Breaks a path of the node until `mend`. */
  cut(path: Path, how: Cut): void {
    for (const proxy of this.#pathsOf(path)) {
      if (how === 'cut') proxy.cut()
      else proxy.silence()
    }
  }

  /** Opens all paths. Connections that were silent are reset, as by a router that forgot them. */
  mend(): void {
    for (const proxy of [...this.#pathsOf('nats'), this.#databasePath]) if (!proxy.isOpen) proxy.mend()
  }

  /** Leads new connections to PostgreSQL to the server at this port, as an address that moves. */
  leadDatabaseTo(port: number): void {
    this.#databasePath.leadTo(port)
  }

  /** Ends the process and the paths. */
  async close(): Promise<void> {
    this.#http?.close()
    await this.kill()
    for (const proxy of [...this.#pathsOf('nats'), this.#databasePath]) await proxy.close()
  }

  #pathsOf(path: Path): readonly CutProxy[] {
    if (path === 'postgresql') return [this.#databasePath]
    const isWanted = (_proxy: CutProxy, number: number): boolean => path === 'nats' || path === number
    return [...this.#natsPaths.filter(isWanted), ...this.#monitorPaths.filter(isWanted)]
  }

  /** The variables by which libfaketime shows the process another time of day. */
  async #clock(seconds: number): Promise<Record<string, string>> {
    if (seconds === 0) return {}
    if (FAKE_CLOCK === undefined) throw new Error(noFakeClock)
    const file = join(this.#folder, 'clock')
    await writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    return {
      LD_PRELOAD: FAKE_CLOCK,
      FAKETIME_TIMESTAMP_FILE: file,
      // Nobody sets the clock by which durations are measured.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    }
  }
}
