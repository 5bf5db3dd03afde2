/**
 * A ChirpStack v3, which is an application server and a network server, on free ports with their
 * own databases.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import type { BackingServer, PostgreSql } from './backing-servers.ts'
import { CutProxy } from './cut-proxy.ts'
import { v3Section } from './mqtt-integration.ts'
import type { MqttIntegration } from './mqtt-integration.ts'
import { Part } from './part.ts'
import type { Programs } from './programs.ts'

export interface ChirpStackV3Settings {
  readonly programs: Programs
  readonly folder: string
  /** The name of its databases, so only lower-case letters and digits. */
  readonly name: string
  readonly postgreSql: PostgreSql
  readonly redis: BackingServer
  /** The application server's database in Redis; the network server has the next one. */
  readonly redisDatabase: number
  /**
   * The broker of its gateways. Topics of gateways begin with `gateway/`, so each v3 needs its own
   * broker.
   */
  readonly gatewayBroker: BackingServer
  readonly integration: MqttIntegration
}

export interface ChirpStackV3 {
  /** The part that Fieldgate knows. */
  readonly applicationServer: Part
  readonly networkServer: Part
  /** The port of the application server's HTTP API, in clear text. */
  readonly apiPort: number
  /** The port at which the application server reaches the network server. */
  readonly networkServerPort: number
  /** The path from both parts to PostgreSQL. */
  readonly databasePath: CutProxy
  close(): Promise<void>
}

export async function startChirpStackV3(settings: ChirpStackV3Settings): Promise<ChirpStackV3> {
  const { programs, name, postgreSql } = settings
  const folder = join(settings.folder, name)
  await mkdir(folder, { recursive: true })
  for (const database of [`${name}as`, `${name}ns`]) await postgreSql.createDatabase(database)
  const databasePath = await CutProxy.open(postgreSql.port)
  const ports: Ports = {
    database: databasePath.port,
    external: await freePort(),
    internal: await freePort(),
    join: await freePort(),
    networkServer: await freePort(),
  }
  const applicationFile = join(folder, 'chirpstack-application-server.toml')
  const networkFile = join(folder, 'chirpstack-network-server.toml')
  await writeFile(applicationFile, applicationServerSettings(settings, ports))
  await writeFile(networkFile, networkServerSettings(settings, ports))
  const networkServer = new Part({
    name: 'ChirpStack v3 network server',
    command: programs.chirpStackV3NetworkServer,
    args: ['-c', networkFile],
    ready: /starting downlink device-queue scheduler|starting api server/i,
    folder,
  })
  const applicationServer = new Part({
    name: 'ChirpStack v3 application server',
    command: programs.chirpStackV3ApplicationServer,
    args: ['-c', applicationFile],
    // All calls of its HTTP API exist when this line appears.
    ready: /starting join-server api/,
    folder,
  })
  await Promise.all([networkServer.start(), applicationServer.start()])
  const close = async (): Promise<void> => {
    await Promise.all([applicationServer.stop(), networkServer.stop()])
    await databasePath.close()
  }
  const networkServerPort = ports.networkServer
  return { applicationServer, networkServer, apiPort: ports.external, networkServerPort, databasePath, close }
}

interface Ports {
  readonly database: number
  readonly external: number
  readonly internal: number
  readonly join: number
  readonly networkServer: number
}

/**
 * Connections to PostgreSQL that v3 keeps, as docs/network-servers/mqtt.md recommends. By default
 * v3 keeps two, and opens a new one for nearly each query. PostgreSQL refuses some of these, and v3
 * drops the events whose query failed. The number of open connections is not bounded: v3's two
 * servers call each other within transactions, and with 20 connections each they waited for each
 * other while 60 devices were made and joined.
 */
const KEPT_CONNECTIONS = '  max_idle_connections=50'

function applicationServerSettings(settings: ChirpStackV3Settings, ports: Ports): string {
  return `
[general]
  log_level=4
  password_hash_iterations=1000
[postgresql]
  dsn="postgres://postgres@127.0.0.1:${ports.database}/${settings.name}as?sslmode=disable"
${KEPT_CONNECTIONS}
[redis]
  servers=["127.0.0.1:${settings.redis.port}"]
  database=${settings.redisDatabase}
[application_server]
  id="6d5db27e-4ce2-4b2b-b5d7-91f069397978"
  [application_server.api]
    bind="127.0.0.1:${ports.internal}"
    public_host="127.0.0.1:${ports.internal}"
  [application_server.external_api]
    bind="127.0.0.1:${ports.external}"
    jwt_secret="a secret of the test"
[join_server]
  bind="127.0.0.1:${ports.join}"
${v3Section(settings.integration)}`
}

function networkServerSettings(settings: ChirpStackV3Settings, ports: Ports): string {
  return `
[general]
  log_level=4
[postgresql]
  dsn="postgres://postgres@127.0.0.1:${ports.database}/${settings.name}ns?sslmode=disable"
${KEPT_CONNECTIONS}
[redis]
  servers=["127.0.0.1:${settings.redis.port}"]
  database=${settings.redisDatabase + 1}
[network_server]
  net_id="000000"
  deduplication_delay="200ms"
  get_downlink_data_delay="100ms"
  [network_server.band]
    name="EU868"
  [network_server.network_settings]
    rx1_delay=1
  [network_server.scheduler]
    scheduler_interval="1s"
    [network_server.scheduler.class_c]
      device_downlink_lock_duration="1s"
  [network_server.api]
    bind="127.0.0.1:${ports.networkServer}"
  [network_server.gateway.backend]
    type="mqtt"
    [network_server.gateway.backend.mqtt]
      server="tcp://127.0.0.1:${settings.gatewayBroker.port}"
      qos=0
      clean_session=true
[join_server.default]
  server="http://127.0.0.1:${ports.join}"
`
}
