/**
 * A ChirpStack v4 on free ports, with a region of EU868, its own database and paths to its
 * neighbours that a test controls.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { outputOf } from '../support/program.ts'
import type { BackingServer, PostgreSql } from './backing-servers.ts'
import { CutProxy } from './cut-proxy.ts'
import { v4Section } from './mqtt-integration.ts'
import type { MqttIntegration } from './mqtt-integration.ts'
import { Part } from './part.ts'
import type { Programs } from './programs.ts'

export interface ChirpStackV4Settings {
  readonly programs: Programs
  readonly folder: string
  /** The name of its database, so only lower-case letters and digits. */
  readonly name: string
  readonly postgreSql: PostgreSql
  readonly redis: BackingServer
  /** The number of its database in Redis. */
  readonly redisDatabase: number
  readonly gatewayBroker: BackingServer
  readonly integration: MqttIntegration
}

export interface ChirpStackV4 {
  readonly part: Part
  /** The port of its gRPC API, in clear text. */
  readonly apiPort: number
  /** The API key of an admin, for all tenants. */
  readonly apiKey: string
  /** The path from it to PostgreSQL. */
  readonly databasePath: CutProxy
  /** The prefix of its gateways' topics: `eu868/gateway/<id>/event/up`. */
  readonly topicPrefix: string
  close(): Promise<void>
}

/** Starts a ChirpStack. Gateways' topics of several ChirpStacks can meet on one broker. */
export async function startChirpStackV4(settings: ChirpStackV4Settings): Promise<ChirpStackV4> {
  const { programs, name, postgreSql } = settings
  const folder = join(settings.folder, name)
  await mkdir(folder, { recursive: true })
  await postgreSql.createDatabase(name)
  const databasePath = await CutProxy.open(postgreSql.port)
  const apiPort = await freePort()
  const topicPrefix = `${name}-eu868`
  await writeFile(join(folder, 'chirpstack.toml'), serverSettings(settings, databasePath.port, apiPort))
  await writeFile(join(folder, 'region_eu868.toml'), regionSettings(settings.gatewayBroker.port, topicPrefix))
  const part = new Part({
    name: `ChirpStack v4 (${name})`,
    command: programs.chirpStackV4,
    args: ['--config', folder],
    // The last step of its start, behind migrations and queries of Redis.
    ready: /Setting up API interface/,
    folder,
  })
  await part.start()
  const printed = await outputOf(programs.chirpStackV4, ['--config', folder, 'create-api-key', '--name', 'test'])
  const apiKey = /token: (\S+)/.exec(printed)?.[1]
  if (apiKey === undefined) throw new Error(`no API key in: ${printed}`)
  const close = async (): Promise<void> => {
    await part.stop()
    await databasePath.close()
  }
  return { part, apiPort, apiKey, databasePath, topicPrefix, close }
}

function serverSettings(settings: ChirpStackV4Settings, databasePort: number, apiPort: number): string {
  return `
[logging]
  level="info"
[postgresql]
  dsn="postgresql://postgres@127.0.0.1:${databasePort}/${settings.name}?sslmode=disable"
[redis]
  servers=["redis://127.0.0.1:${settings.redis.port}/${settings.redisDatabase}"]
[api]
  bind="127.0.0.1:${apiPort}"
  secret="a secret of the test"
[gateway]
  allow_unknown_gateways=true
[network]
  net_id="000000"
  enabled_regions=["eu868"]
  deduplication_delay="200ms"
  get_downlink_data_delay="100ms"
  [network.scheduler]
    interval="1s"
${v4Section(settings.integration)}`
}

/**
 * The settings with the three channels that all devices of EU868 know, so that no device has to
 * learn others.
 */
function regionSettings(gatewayBrokerPort: number, topicPrefix: string): string {
  const channels = [868_100_000, 868_300_000, 868_500_000].map(
    (frequency) => `
  [[regions.gateway.channels]]
    frequency=${frequency}
    bandwidth=125000
    modulation="LORA"
    spreading_factors=[7, 8, 9, 10, 11, 12]
`,
  )
  return `
[[regions]]
  id="eu868"
  description="EU868"
  common_name="EU868"
  [regions.gateway]
    force_gws_private=false
    [regions.gateway.backend]
      enabled="mqtt"
      [regions.gateway.backend.mqtt]
        topic_prefix="${topicPrefix}"
        server="tcp://127.0.0.1:${gatewayBrokerPort}"
        qos=0
        clean_session=true
${channels.join('')}
  [regions.network]
    installation_margin=10
    rx_window=0
    rx1_delay=1
    rx1_dr_offset=0
    rx2_dr=0
    rx2_frequency=869525000
    downlink_tx_power=-1
    adr_disabled=false
    min_dr=0
    max_dr=5
`
}
