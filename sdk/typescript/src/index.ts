/** The SDK for Node, Bun and Deno. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import mqtt from 'mqtt'
import { connectOn } from './client.ts'
import type { ConnectOptions, Fieldgate } from './client.ts'
import { withEnvironment } from './environment.ts'
import { FilePositionStore } from './file-position-store.ts'
import { openTls, requestByNode } from './node-network.ts'
import { requestByFetch } from './platform.ts'
import type { Platform } from './platform.ts'

const MQTTS_PORT = 8883

const NODE: Platform = {
  defaultBroker(url, deployment) {
    const { host, port } = deployment ?? { host: url.hostname, port: MQTTS_PORT }
    return `mqtts://${host.includes(':') ? `[${host}]` : host}:${port}`
  },
  request(options, request) {
    if (options.fetch !== undefined) return requestByFetch(options.fetch, request)
    if (options.ca === undefined && options.proxy === undefined) return requestByFetch(fetch, request)
    return requestByNode(options, request)
  },
  async openClient(broker, network, client) {
    const { protocol, hostname, port } = new URL(broker)
    if (protocol !== 'mqtts:') {
      const wsOptions = network.ca === undefined ? {} : { ca: network.ca }
      return mqtt.connect(broker, { ...client, wsOptions })
    }
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = await openTls(host, Number(port) || MQTTS_PORT, network)
    return new mqtt.MqttClient(() => socket, client)
  },
  defaultStore(session) {
    const folder = process.env['FIELDGATE_SDK_DIR'] ?? join(homedir(), '.fieldgate-sdk')
    return new FilePositionStore(join(folder, `${encodeURIComponent(session)}.positions`))
  },
}

/**
 * Logs in, and resolves with the client of one organization. Tries again for as long as the service
 * can't be reached; rejects with a `FieldgateError` where it refuses. Options that are not given
 * come from the environment: `FIELDGATE_URL`, `FIELDGATE_API_KEY` or `FIELDGATE_USER` and
 * `FIELDGATE_PASSWORD`, `FIELDGATE_ORGANIZATION`, `FIELDGATE_BROKER`, and `FIELDGATE_CA`, the path
 * of a file with certificate authorities.
 */
export function connect(options: Partial<ConnectOptions> = {}): Promise<Fieldgate> {
  return new Promise((resolve) => resolve(connectOn(NODE, withEnvironment(options, process.env))))
}

export { FilePositionStore } from './file-position-store.ts'
export type { FileStoreOptions } from './file-position-store.ts'
export { MemoryPositionStore } from './positions.ts'
export type { Position, PositionStore } from './positions.ts'
export { FieldgateError } from './errors.ts'
export type { FieldgateErrorDetails } from './errors.ts'
export type { ConnectOptions, Device, EventOptions, Fieldgate } from './client.ts'
export type { Accepted, CommandInput, SentCommand } from './command.ts'
export type { EventKind, Family, FieldgateEvent, UnreadableEvent, UpEvent } from './event.ts'
export type { EventStream } from './event-stream.ts'
export type { EventBodies } from './generated/events.ts'
export type { Log, LogEntry } from './log.ts'
export type { Fetch, NetworkOptions } from './platform.ts'
export type { RetryOptions } from './backoff.ts'
export type { TokenScope } from './token-source.ts'
