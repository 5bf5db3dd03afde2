/**
 * Refused messages that come again: a client of MQTT 3.1.1 that is closed on sends what was not
 * acknowledged whenever it comes back.
 */
import type { PermitHolder } from '../ports/policy.ts'

/** What is the same when a message comes again. */
export interface RefusedPublish {
  readonly holder: Pick<PermitHolder, 'tenant' | 'identity'>
  readonly clientId: string
  readonly packetId: number
  readonly topicName: string
}

/** So many seconds after it came last, a message with the same Packet Identifier is another one. */
const MEMORY_SECONDS = 60
/**
 * Messages of one tenant that are remembered; beyond it the oldest is forgotten, and its client is
 * closed once more.
 */
const MAXIMUM_OF_TENANT = 256
/** Tenants; beyond it the one that was refused something least lately is forgotten. */
const MAXIMUM_TENANTS = 1_000

interface Known {
  times: number
  second: number
}

/** Bounded, and each tenant takes its own places alone. */
export class RepeatedPublishes {
  readonly #tenants = new Map<string, Map<string, Known>>()

  /** Counts the message; how often it was counted before. `second` counts up from any beginning. */
  count({ holder, clientId, packetId, topicName }: RefusedPublish, second: number): number {
    const messages = this.#tenants.get(holder.tenant) ?? new Map<string, Known>()
    this.#tenants.delete(holder.tenant)
    this.#tenants.set(holder.tenant, messages)
    dropOldest(this.#tenants, MAXIMUM_TENANTS)
    const key = JSON.stringify([holder.identity, clientId, packetId, topicName])
    const known = messages.get(key)
    const before = known === undefined || second - known.second > MEMORY_SECONDS ? 0 : known.times
    messages.delete(key)
    messages.set(key, { times: before + 1, second })
    dropOldest(messages, MAXIMUM_OF_TENANT)
    return before
  }
}

function dropOldest(map: Map<string, unknown>, maximum: number): void {
  if (map.size <= maximum) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
