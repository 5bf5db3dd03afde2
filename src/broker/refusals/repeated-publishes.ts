/**
 * Refused messages that come again: a client of MQTT 3.1.1 whose connection is closed sends
 * unacknowledged messages again whenever it comes back.
 */
import type { PermitHolder } from '../ports/policy.ts'

/** The members that are the same when a message comes again. */
export interface RefusedPublish {
  readonly holder: Pick<PermitHolder, 'tenant' | 'identity'>
  readonly clientId: string
  readonly packetId: number
  readonly topicName: string
}

/** Seconds after which a message with the same Packet Identifier is a different one. */
const MEMORY_SECONDS = 60
/**
 * Messages of one tenant that are remembered. Beyond it the oldest is forgotten, and its client is
 * closed once more.
 */
const MAXIMUM_OF_TENANT = 256
/**
 * Tenants that are remembered. Beyond it the tenant whose last refusal is the oldest is forgotten.
 */
const MAXIMUM_TENANTS = 1_000

interface Known {
  times: number
  second: number
}

/**
 * Counts refused messages. The memory is bounded, and each tenant takes places of its own tenant
 * alone.
 */
export class RepeatedPublishes {
  readonly #tenants = new Map<string, Map<string, Known>>()

  /**
   * Counts the message; returns how often it was counted before. `second` may count up from any
   * number.
   */
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
