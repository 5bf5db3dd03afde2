/**
 * Reads the entries of network servers: of the file of FIELDGATE_NETWORK_SERVERS_FILE, and of the
 * registry.
 */
import { readFileSync } from 'node:fs'
import { readChirpStack, readNetworkServers } from '../lorawan/network-servers/settings.ts'
import type { NetworkServerEntry, NetworkServersResult } from '../lorawan/network-servers/settings.ts'
import type { Parts, StartContext } from './parts.ts'
import { StartFailure } from './start-failure.ts'

/** Reads the file of the settings; throws a StartFailure that lists all faults of the file. */
export function readEntriesOfFile({ settings }: StartContext): readonly NetworkServerEntry[] {
  const { networkServersFile } = settings
  if (networkServersFile === undefined) return []
  const result = readFile(networkServersFile)
  if (result.ok) return result.entries
  throw new StartFailure(`FIELDGATE_NETWORK_SERVERS_FILE=${networkServersFile}:\n${result.faults.join('\n')}`)
}

/** Reads the file, and the files that its entries name. */
function readFile(path: string): NetworkServersResult {
  try {
    return readNetworkServers(readText(path), readText)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return { ok: false, faults: [`the file can't be read (${code})`] }
  }
}

function readText(file: string): string {
  return readFileSync(file, 'utf8')
}

/**
 * Reads the entries that the registry keeps. An entry is left out, and logged, when it is wrong or
 * when the file has an entry of the same name.
 */
export async function readEntriesOfRegistry(
  { log }: StartContext,
  { registry, entriesOfFile }: Pick<Parts, 'registry' | 'entriesOfFile'>,
): Promise<readonly NetworkServerEntry[]> {
  const lorawanLog = log.child({ room: 'lorawan' })
  const entries: NetworkServerEntry[] = []
  for (const { name, settings } of await registry.networkServers.list()) {
    const read = readChirpStack({ ...settings, name })
    const isTaken = entriesOfFile.some((entry) => entry.name === name)
    if (read.ok && !isTaken) entries.push(read.entry)
    else {
      const faults = read.ok ? ['its name is taken by the settings file'] : read.faults
      lorawanLog.error({ networkServer: name, faults }, 'network_server.left_out')
    }
  }
  return entries
}
