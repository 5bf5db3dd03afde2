/** The last retained message of each Topic Name [MQTT-3.3.1-5], found by Topic Filter. */
import type { Limits, TenantLimitsOf } from '../ports/limits.ts'
import type { SteadyMs } from '../../clock.ts'
import type { OrganizationBounds } from '../../organization-bounds.ts'
import { SmallMap } from '../../small-map.ts'
import { hasExpired, sizeOfMessage } from '../ports/message.ts'
import type { Message, MessageFields } from '../ports/message.ts'
import { OVER_BUDGET } from '../memory/memory-budget.ts'
import type { TenantMemories } from '../memory/tenant-memory.ts'
import { Holdings } from '../sessions/holdings.ts'
import type { Holding } from '../sessions/holdings.ts'
import { tenantOfKey } from '../sessions/sessions.ts'

class Node {
  readonly children = new SmallMap<string, Node>()
  message: Message | undefined = undefined
  /** The tenant that the message is counted for. */
  tenant = ''
}

export interface RetainedMessagesOptions {
  /** Undefined, or absent, where the tenant of a topic's publisher is to be taken. */
  readonly tenantOfTopic?: ((topicName: string) => string | undefined) | undefined
  /** The bounds of one tenant. Absent: the limits have the bounds of each tenant. */
  readonly tenantLimits?: TenantLimitsOf
  /** Absent: no tenant is held back. */
  readonly memories?: TenantMemories
}

export class RetainedMessages {
  readonly #root = new Node()
  readonly #limits: Limits
  readonly #tenantLimits: TenantLimitsOf
  readonly #memories: TenantMemories | undefined
  readonly #tenantOfTopic: (topicName: string) => string | undefined
  /** The retained messages of each tenant, and those of its messages that are on their way. */
  readonly #byTenant = new Holdings()
  /** The tenants of the messages on their way. A device may change its tenant meanwhile. */
  readonly #reservedFor = new Map<Message, string>()
  #count = 0
  #bytes = 0
  /** Messages on their way into the log: there must be room for them when they are owned. */
  #reservedBytes = 0

  constructor(limits: Limits, { tenantOfTopic, tenantLimits, memories }: RetainedMessagesOptions = {}) {
    this.#limits = limits
    this.#tenantOfTopic = tenantOfTopic ?? (() => undefined)
    this.#tenantLimits = tenantLimits ?? (() => limits)
    this.#memories = memories
  }

  get count(): number {
    return this.#count
  }

  /** The tenant whose bounds count the message while it is retained. */
  tenantOf({ topicName, publisherKey }: Pick<MessageFields, 'topicName' | 'publisherKey'>): string {
    return this.#tenantOfTopic(topicName) ?? tenantOfKey(publisherKey)
  }

  /** The use that the tenant makes of its bounds. */
  usageOf(tenant: string): Pick<OrganizationBounds, 'retainedMessages' | 'retainedBytes'> {
    const { count: retainedMessages, bytes: retainedBytes } = this.#byTenant.of(tenant)
    return { retainedMessages, retainedBytes }
  }

  /** The tenants that have retained messages. */
  tenants(): Iterable<string> {
    return this.#byTenant.holders()
  }

  /**
   * Why the bounds have no room for this message in the place of its predecessor; undefined where
   * they have. A message that is no larger than its predecessor always has room: a store above a
   * bound that became lower can still be brought up to date.
   */
  whyFull(message: Pick<MessageFields, 'topicName' | 'payload' | 'properties' | 'publisherKey'>): string | undefined {
    const limits = this.#limits
    const known = this.#find(message.topicName)
    const knownBytes = known?.message?.sizeBytes
    const size = sizeOfMessage(message)
    const all = { count: this.#count + this.#reservedFor.size, bytes: this.#bytes + this.#reservedBytes }
    const tenant = this.tenantOf(message)
    const replaced = known?.tenant === tenant ? knownBytes : undefined
    const held = this.#byTenant.of(tenant)
    const { maximumRetainedMessages, maximumRetainedBytes } = limits
    if (
      !hasRoom(all, knownBytes, size, maximumRetainedMessages, maximumRetainedBytes) &&
      !hasRoom(held, replaced, size, assuredMessages(limits), assuredBytes(limits))
    ) {
      return 'no room for another retained message'
    }
    if (this.#memories?.isHeldBack(tenant) === true && !(knownBytes !== undefined && size <= knownBytes)) {
      return OVER_BUDGET
    }
    const { maximumRetainedMessagesPerTenant, maximumRetainedBytesPerTenant } = this.#tenantLimits(tenant)
    return hasRoom(held, replaced, size, maximumRetainedMessagesPerTenant, maximumRetainedBytesPerTenant)
      ? undefined
      : 'no room for another retained message of this organization'
  }

  /**
   * Keeps room for a message that is on its way into the log. Each call is followed by one
   * `release`.
   */
  reserve(message: Message): void {
    if (!message.retain || message.payloadBytes === 0) return
    const tenant = this.tenantOf(message)
    this.#reservedFor.set(message, tenant)
    this.#byTenant.add(tenant, message.sizeBytes)
    this.#reservedBytes += message.sizeBytes
  }

  release(message: Message): void {
    if (!message.retain) return
    const tenant = this.#reservedFor.get(message)
    if (tenant === undefined) return
    this.#reservedFor.delete(message)
    this.#byTenant.remove(tenant, message.sizeBytes)
    this.#reservedBytes -= message.sizeBytes
  }

  /**
   * Keeps the message in the place of an earlier one; an empty payload removes it [MQTT-3.3.1-6],
   * [MQTT-3.3.1-7].
   */
  set(message: Message): void {
    if (message.payloadBytes === 0) this.remove(message.topicName)
    else this.#keep(message, this.tenantOf(message))
  }

  /**
   * Keeps a message that was stored before a restart, whether the bounds have room for it or not.
   */
  restore(message: Message, tenant = this.tenantOf(message)): void {
    this.#keep(message, tenant)
  }

  #keep(message: Message, tenant: string): void {
    let node = this.#root
    for (const level of message.topicName.split('/')) {
      let child = node.children.get(level)
      if (child === undefined) {
        child = new Node()
        node.children.set(level, child)
      }
      node = child
    }
    if (node.message === undefined) this.#count += 1
    else {
      this.#bytes -= node.message.sizeBytes
      this.#byTenant.remove(node.tenant, node.message.sizeBytes)
    }
    const kept = message.withoutForms()
    kept.keepForLong()
    node.message = kept
    node.tenant = tenant
    this.#bytes += message.sizeBytes
    this.#byTenant.add(tenant, message.sizeBytes)
  }

  /**
   * The retained messages that a new subscription gets. Expired messages are removed on the way
   * [MQTT-3.3.2-5].
   */
  match(topicFilter: string, now: SteadyMs): Message[] {
    const found: Message[] = []
    const expired: string[] = []
    const take = ({ message }: Node): void => {
      if (message === undefined) return
      if (hasExpired(message, now)) expired.push(message.topicName)
      else found.push(message)
    }
    visit(this.#root, topicFilter.split('/'), 0, take)
    for (const topicName of expired) this.remove(topicName)
    return found
  }

  /** The retained message of a Topic Name, be it expired or not. */
  find(topicName: string): Message | undefined {
    return this.#find(topicName)?.message
  }

  #find(topicName: string): Node | undefined {
    let node: Node | undefined = this.#root
    for (const level of topicName.split('/')) {
      node = node.children.get(level)
      if (node === undefined) return undefined
    }
    return node.message === undefined ? undefined : node
  }

  /**
   * The Topic Names with retained messages below a prefix that ends with `/`; the empty prefix: all
   * of them. Messages may come and go meanwhile.
   */
  *topicNames(prefix: string): Generator<string> {
    let node: Node | undefined = this.#root
    for (const level of prefix.split('/').slice(0, -1)) node = node?.children.get(level)
    if (node !== undefined) yield* topicNamesBelow(node)
  }

  remove(topicName: string): void {
    const path: { readonly parent: Node; readonly level: string }[] = []
    let node = this.#root
    for (const level of topicName.split('/')) {
      const child = node.children.get(level)
      if (child === undefined) return
      path.push({ parent: node, level })
      node = child
    }
    if (node.message === undefined) return
    this.#count -= 1
    this.#bytes -= node.message.sizeBytes
    this.#byTenant.remove(node.tenant, node.message.sizeBytes)
    node.message = undefined
    for (
      let step = path.pop();
      step !== undefined && node.message === undefined && node.children.size === 0;
      step = path.pop()
    ) {
      step.parent.children.delete(step.level)
      node = step.parent
    }
  }
}

/**
 * Retained messages of a tenant that have a place even if all others are taken: the tenants that
 * hold more are the first to be refused.
 */
function assuredMessages({ maximumRetainedMessages }: Limits): number {
  return Math.min(1_000, Math.floor(maximumRetainedMessages / 256))
}

/** The bytes of these messages: as many as one of the largest messages has. */
function assuredBytes({ maximumRetainedBytes }: Limits): number {
  return Math.min(1_048_576, Math.floor(maximumRetainedBytes / 256))
}

/**
 * `replaced` is the size of the message that the new one replaces; undefined when there is none.
 */
function hasRoom(
  held: Holding,
  replaced: number | undefined,
  size: number,
  maximumMessages: number,
  maximumBytes: number,
): boolean {
  if (replaced === undefined) return held.count < maximumMessages && held.bytes + size <= maximumBytes
  return size <= replaced || held.bytes - replaced + size <= maximumBytes
}

/** The limit on topic levels bounds the depth. */
function visit(node: Node, levels: readonly string[], depth: number, take: (node: Node) => void): void {
  if (depth === levels.length) {
    take(node)
    return
  }
  const level = levels[depth] as string
  if (level === '#') {
    if (depth > 0) take(node)
    visitAll(node, depth, take)
  } else if (level === '+') {
    for (const [name, child] of node.children)
      if (depth > 0 || !name.startsWith('$')) visit(child, levels, depth + 1, take)
  } else {
    const child = node.children.get(level)
    if (child !== undefined) visit(child, levels, depth + 1, take)
  }
}

/** The limit on topic levels bounds the depth. */
function* topicNamesBelow(node: Node): Generator<string> {
  for (const child of node.children.values()) {
    if (child.message !== undefined) yield child.message.topicName
    yield* topicNamesBelow(child)
  }
}

function visitAll(node: Node, depth: number, take: (node: Node) => void): void {
  for (const [name, child] of node.children) {
    if (depth === 0 && name.startsWith('$')) continue
    take(child)
    visitAll(child, depth + 1, take)
  }
}
