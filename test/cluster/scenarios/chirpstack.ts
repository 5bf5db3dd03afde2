/** A real ChirpStack v4, to whose gRPC API one node of the cluster has a connection. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startChirpStackV4 } from '../../network-servers/chirpstack-v4.ts'
import { CutProxy } from '../../network-servers/cut-proxy.ts'
import { findPrograms, noChirpStack } from '../../network-servers/programs.ts'
import { startServers } from '../../network-servers/servers.ts'
import type { Servers } from '../../network-servers/servers.ts'
import { V4Administration } from '../../network-servers/v4-administration.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'

const LONGEST_MS = 90_000
const MOVES_MS = 15_000
const DEV_EUI = 'c0ffee0000000001'

export const CHIRPSTACK: readonly Scenario[] = [
  { number: 29.1, title: 'one gRPC adapter in the cluster', nodes: 2, impossible: noChirpStack(), run: adapter },
]

async function adapter(stage: Stage): Promise<void> {
  const { programs, missing } = await findPrograms()
  if (programs === undefined) throw new Error(missing)
  const servers = await startServers(programs)
  try {
    const { settings, path, administration, organizationId } = await openChirpStack(stage, servers)
    for (const node of stage.nodes) {
      await node.stop()
      await node.start(0, settings)
    }
    stage.load.goHome()
    const knownMs = await until(() => isKnown(stage.node(0)), LONGEST_MS)
    stage.bar('until the device of ChirpStack was known', knownMs, 60_000)
    stage.must(path.connections === 1, `the cluster has ${path.connections} connections`)
    let sent = 0
    const command = async (node: ClusterNode): Promise<void> => {
      const json = {
        deviceQueueItem: {
          confirmed: false,
          fPort: 10,
          data: Buffer.from([sent]).toString('base64'),
          id: `valve-${sent}`,
        },
      }
      await node.http.must('POST', `/api/devices/${DEV_EUI}/queue`, { token: node.adminSession, json })
      sent += 1
    }
    const haveCome = async (): Promise<boolean> => (await administration.queue(DEV_EUI)).length >= sent
    for (const node of stage.nodes) await command(node)
    stage.bar('until ChirpStack had the commands of all nodes', await until(haveCome, LONGEST_MS), MOVES_MS)
    for (const node of stage.nodes) {
      await node.kill()
      for (const other of stage.cluster.serving) await command(other)
      stage.bar(`until ChirpStack had commands without ${node.name}`, await until(haveCome, LONGEST_MS), MOVES_MS)
      stage.must(path.connections <= 1, `without ${node.name}, the cluster has ${path.connections} connections`)
      await node.start(0, settings)
      stage.load.goHome()
    }
    const data = (await administration.queue(DEV_EUI)).map((item) => item.data)
    stage.must(new Set(data).size === sent && data.length === sent, `ChirpStack has ${data.length} of ${sent} commands`)
    const { result } = await stage
      .node(0)
      .http.must('GET', `/api/applications?limit=9&organizationID=${organizationId}`, {
        token: stage.node(0).adminSession,
      })
    stage.must(Array.isArray(result) && result.length === 1, `the application is there ${JSON.stringify(result)}`)
  } finally {
    // The nodes forget ChirpStack.
    await Promise.all(stage.nodes.map((node) => node.stop()))
    await servers.close()
  }
}

async function isKnown(node: ClusterNode): Promise<boolean> {
  return (await node.http.ask('GET', `/api/devices/${DEV_EUI}`, { token: node.adminSession })).status === 200
}

/** Starts a ChirpStack with a device, and makes the settings by which nodes find it. */
async function openChirpStack(stage: Stage, servers: Servers) {
  const server = `tcp://127.0.0.1:${servers.gatewayBroker.port}`
  const integration = { server, userName: '', password: '', clientId: 'cluster', caFile: '' }
  const chirpStack = await startChirpStackV4({ ...servers, name: 'cluster', redisDatabase: 0, integration })
  servers.closing(() => chirpStack.close())
  const administration = new V4Administration(chirpStack)
  servers.closing(async () => administration.close())
  const tenantId = await administration.tenant('valley')
  const applicationId = await administration.application(tenantId, 'meters')
  const profileId = await administration.deviceProfile(tenantId, 'valve')
  const keys = { devEui: DEV_EUI, joinEui: '0000000000000000', appKey: '0'.repeat(32) }
  await administration.device(applicationId, profileId, keys)
  const path = await CutProxy.open(chirpStack.apiPort)
  servers.closing(() => path.close())
  const organizationId = await stage.deployment.administration().organization()
  const url = `http://127.0.0.1:${path.port}`
  const common = { name: 'main', kind: 'chirpstack-grpc', url, apiKey: chirpStack.apiKey, syncSeconds: 30 }
  const file = join(servers.folder, 'network-servers.json')
  await writeFile(file, JSON.stringify({ networkServers: [{ ...common, tenants: { [tenantId]: organizationId } }] }))
  return { settings: { FIELDGATE_NETWORK_SERVERS_FILE: file }, path, administration, organizationId }
}
