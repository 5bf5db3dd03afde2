/**
 * The set-up of network servers while the service runs. A network server is tried, its settings are
 * kept in the registry, and it is opened or closed at once.
 */
import type { NetworkServerSetups, NetworkServerTrial, NetworkServerView } from '../http/tenants/network-servers.ts'
import type { Registry } from '../identity/registry.ts'
import { refuse } from '../identity/store/result.ts'
import type { Result } from '../identity/store/result.ts'
import { readChirpStack } from '../lorawan/network-servers/settings.ts'
import type { ChirpStackGrpcEntry, NetworkServerEntry } from '../lorawan/network-servers/settings.ts'
import type { OpenedNetworkServers } from './opened-network-servers.ts'

export interface NetworkServerSetupOptions {
  readonly registry: Pick<Registry, 'networkServers' | 'organizations'>
  /**
   * The entries of the settings file. Their names are taken, and they can be removed only from the
   * file.
   */
  readonly ofFile: readonly NetworkServerEntry[]
  /** The running network servers; undefined where no service runs. */
  readonly running: Pick<OpenedNetworkServers, 'open' | 'shut'> | undefined
}

type Settings = Readonly<Record<string, unknown>>

/** Makes the port by which the HTTP interface lists, tries, adds and removes network servers. */
export function createNetworkServerSetups({
  registry,
  ofFile,
  running,
}: NetworkServerSetupOptions): NetworkServerSetups {
  const check = async (settings: Settings): Promise<Result<ChirpStackGrpcEntry>> => {
    const read = readChirpStack(settings)
    if (!read.ok) return refuse('invalid_argument', 'invalid_argument', read.faults.join('; '))
    for (const organizationId of new Set(read.entry.tenants?.values())) {
      if ((await registry.organizations.get(organizationId)) !== undefined) continue
      const message = `networkServer.tenants: there is no organization ${organizationId}`
      return refuse('invalid_argument', 'organization_not_found', message)
    }
    return { ok: true, value: read.entry }
  }
  return {
    async list() {
      const stored = (await registry.networkServers.list()).map(viewOf)
      return [
        ...ofFile.map(({ name, kind }) => ({ name, kind, url: '', isOfFile: true, createdAtMs: null })),
        ...stored,
      ]
    },

    async tryOut(settings) {
      const checked = await check(settings)
      return checked.ok ? { ok: true, value: await tryEntry(checked.value) } : checked
    },

    async add({ name, ...settings }, actor) {
      const checked = await check({ name, ...settings })
      if (!checked.ok) return checked
      const entry = checked.value
      if (ofFile.some((one) => one.name === entry.name)) {
        return refuse('already_exists', 'network_server_exists', 'object already exists')
      }
      const trial = await tryEntry(entry)
      if (trial.outcome !== 'works') return { ok: true, value: { trial, isAdded: false } }
      const added = await registry.networkServers.add({ name: entry.name, settings }, actor)
      if (!added.ok) return added
      await running?.open(entry)
      return { ok: true, value: { trial, isAdded: true } }
    },

    async remove(name, actor) {
      if (ofFile.some((one) => one.name === name)) {
        const message = 'the file of FIELDGATE_NETWORK_SERVERS_FILE names it: take it out there, and start again'
        return refuse('failed_precondition', 'network_server_of_file', message)
      }
      const removed = await registry.networkServers.remove(name, actor)
      if (removed.ok) await running?.shut(name)
      return removed
    },
  }
}

/** Loads gRPC when the first network server is tried, not at the start of the service. */
async function tryEntry({ address, tenants }: ChirpStackGrpcEntry): Promise<NetworkServerTrial> {
  const { tryChirpStack } = await import('../lorawan/network-servers/chirpstack/chirpstack-trial.ts')
  return tryChirpStack({ address, tenants })
}

function viewOf({
  name,
  settings,
  createdAtMs,
}: Awaited<ReturnType<Registry['networkServers']['list']>>[number]): NetworkServerView {
  const { url } = settings
  return { name, kind: 'chirpstack-grpc', url: typeof url === 'string' ? url : '', isOfFile: false, createdAtMs }
}
