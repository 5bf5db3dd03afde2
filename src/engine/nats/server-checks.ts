/** Looks at the servers of NATS before the engine trusts them. */
import { isCurrentServer } from './server-version.ts'

const ANSWER_MS = 5_000
/** Servers that must be there, so that one can be lost. */
const SMALLEST_CLUSTER = 3

/** The members of `/varz` that matter here. */
interface ServerReport {
  readonly server_name?: string
  readonly version?: string
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } }
}

/**
 * Asks the monitoring of each server. Throws a sentence with all faults: a server that is
 * older than 2.15, has no JetStream or does not sync each write, does not answer, or fewer servers
 * than three.
 */
export async function checkServers(monitoringUrls: readonly string[]): Promise<void> {
  const faults = (await Promise.all(monitoringUrls.map(faultOf))).filter((fault) => fault !== undefined)
  if (monitoringUrls.length < SMALLEST_CLUSTER) {
    faults.push(`FIELDGATE_NATS_MONITORING_URL names ${monitoringUrls.length} of at least 3 servers`)
  }
  if (faults.length > 0) throw new Error(`The servers of NATS do not fit: ${faults.join('; ')}.`)
}

async function faultOf(url: string): Promise<string | undefined> {
  let report: ServerReport
  try {
    const answer = await fetch(new URL('/varz', url), { signal: AbortSignal.timeout(ANSWER_MS) })
    report = (await answer.json()) as ServerReport
  } catch {
    return `${url} does not answer`
  }
  const { server_name: name = url, version = 'unknown', jetstream } = report
  if (!isCurrentServer(version)) return `${name} has version ${version}, and must have 2.15 or later`
  if (jetstream?.config === undefined) return `${name} has no JetStream`
  if (jetstream.config.sync_always !== true) return `${name} must have “sync_interval: always” in its block “jetstream”`
  return undefined
}
