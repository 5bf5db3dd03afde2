/**
 * The Sessions that a Topic Name goes to: a trie by topic level, and in front of it a cache of
 * whole answers. A topic that was routed before has its answer at hand, however many subscriptions
 * there are.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { Branches, Reach } from '../ports/policy.ts'
import { branchOf, OwnBranches } from './own-branches.ts'
import type { Session, Subscription } from './session.ts'
import type { SharedGroup } from './shared-group.ts'
import { TopicTrie } from './topic-trie.ts'
import type { TrieNode } from './topic-trie.ts'

/**
 * One Session's share of a route: all its matching subscriptions as one delivery [MQTT-3.3.4-2].
 */
export interface Target {
  readonly session: Session
  /** The highest QoS that the matching subscriptions grant. */
  readonly qos: QoS
  readonly retainAsPublished: boolean
  /**
   * The identifiers of all matching subscriptions that have one [MQTT-3.3.4-3]; undefined when none
   * has.
   */
  readonly subscriptionIdentifiers: readonly number[] | undefined
  /**
   * True when one of the matching subscriptions is No Local: then the Session's own messages are
   * checked subscription by subscription.
   */
  readonly noLocal: boolean
  /** True when one of the matching subscriptions reads the log. */
  readonly readsLog: boolean
}

/** The readers that a Topic Name goes to. */
interface Readers {
  /** Sessions that are connected. */
  readonly targets: readonly Target[]
  readonly groups: readonly SharedGroup[]
  /** True when a Session that is away has a matching subscription: it will read the log. */
  readonly asleep: boolean
}

/** The readers at present. Topic Names of a branch that have the same readers share the route. */
export interface Route extends Readers {
  /** The log partition of the Topic Names. */
  readonly partition: number
  readonly branch: Branch
  readonly branchGeneration: number
  readonly generation: number
}

/**
 * The place of a cached route. The index and the topic hold the same place, so that nothing is kept
 * by a topic once the index has forgotten the route.
 */
class RoutePlace {
  /** Tells the places of one index from those of another: they may share the topics. */
  readonly owner: object
  route: Route | undefined
  /** The half of the cache that the place was put into last. */
  half: number

  constructor(owner: object, route: Route, half: number) {
    this.owner = owner
    this.route = route
    this.half = half
  }
}

const NONE: readonly never[] = []
/** The routes of a branch that its next Topic Names are compared with. */
const COMPARED_ROUTES = 4

/**
 * The log partition and the subscriptions that all Topic Names with the same first two levels
 * share.
 */
class Branch {
  readonly partition: number
  /** Grows with each change of a subscription below these two levels. */
  generation = 0
  subscriptions = 0
  /** The routes found last. The devices of an application mostly have the same readers. */
  #found: readonly Route[] = NONE

  constructor(partition: number) {
    this.partition = partition
  }

  /** The readers of a Topic Name may be others from here on. */
  changed(): void {
    this.generation += 1
    this.forgetFound()
  }

  forgetFound(): void {
    this.#found = NONE
  }

  /** A route with these readers that was found for another Topic Name. */
  find(readers: Readers, generation: number): Route | undefined {
    return this.#found.find((route) => route.generation === generation && areSameReaders(route, readers))
  }

  remember(route: Route): void {
    this.#found = [route, ...this.#found.slice(0, COMPARED_ROUTES - 1)]
  }
}

/**
 * The number of routes that are kept; the older half goes at the bound. Stops a publisher of ever
 * new Topic Names from filling the memory.
 */
const MAXIMUM_ROUTES = 262_144
/**
 * The number of readers in the routes that are kept, about 64 bytes each; the older half goes at
 * the bound. Stops a publisher of many Topic Names that go to many readers: a thousand routes to
 * ten thousand Sessions would take 600 MB.
 */
const MAXIMUM_ROUTED_READERS = 1_048_576

export class SubscriptionIndex {
  readonly #trie = new TopicTrie()
  readonly #partitions: number
  readonly #reach: Reach | undefined
  readonly #own: OwnBranches | undefined
  readonly #owner = {}
  #routes = new Map<string, RoutePlace>()
  #olderRoutes = new Map<string, RoutePlace>()
  /** Counts the halves of the cache, of which `#routes` is the newest. */
  #half = 0
  /** The readers in `#routes`; a route that was made anew counts once more. */
  #routedReaders = 0
  #branches = new Map<string, Branch>()
  /** Grows with each change of a subscription that reaches beyond one branch. */
  #generation = 0

  constructor(partitions: number, reach?: Reach) {
    this.#partitions = partitions
    this.#reach = reach
    this.#own = reach && new OwnBranches(reach, (branch) => this.#branchChanged(branch))
  }

  addSession(topicFilter: string, session: Session, subscription: Subscription): void {
    this.#trieOf(session.tenant, topicFilter).addSession(topicFilter, session, subscription)
    this.#changed(session.tenant, topicFilter, 1)
  }

  removeSession(topicFilter: string, session: Session): void {
    this.#trieOf(session.tenant, topicFilter).removeSession(topicFilter, session)
    this.#changed(session.tenant, topicFilter, -1)
  }

  /** The text of an equal Topic Filter that a Session has subscribed to, if there is one. */
  textOf(topicFilter: string): string | undefined {
    return this.#trie.find(topicFilter)?.sessions?.values().next().value?.topicFilter
  }

  addGroup(group: SharedGroup): void {
    this.#trieOf(group.tenant, group.topicFilter).addGroup(group)
    this.#changed(group.tenant, group.topicFilter, 1)
  }

  removeGroup(group: SharedGroup): void {
    this.#trieOf(group.tenant, group.topicFilter).removeGroup(group)
    this.#changed(group.tenant, group.topicFilter, -1)
  }

  /**
   * Call when a Session with this Topic Filter has come or gone: the routes of the filter are made
   * anew.
   */
  touch(tenant: string, topicFilter: string): void {
    this.#changed(tenant, topicFilter, 0)
  }

  /**
   * The branches within which the tenant's Topic Filter matches. Undefined: it matches as it reads.
   */
  branchesOf(tenant: string, topicFilter: string): Branches | undefined {
    return this.#reach?.branchesOf(tenant, topicFilter)
  }

  /** Resolves when `branchesOf` is complete. Undefined: there is nothing to wait for. */
  branchesReady(tenant: string, topicFilter: string): Promise<void> | undefined {
    return this.#reach?.ready(tenant, topicFilter)
  }

  /** The partitions of the log that Topic Names matched by the Topic Filter can be in. */
  partitionsOf(topicFilter: string): readonly number[] {
    const prefix = concretePrefix(topicFilter)
    if (prefix !== undefined) return [partitionOf(prefix, this.#partitions)]
    return Array.from({ length: this.#partitions }, (_, partition) => partition)
  }

  /** True while no change of a subscription can have changed the route. */
  isCurrent(route: Route): boolean {
    return route.generation === this.#generation && route.branchGeneration === route.branch.generation
  }

  route(topic: Topic): Route {
    const { readers } = topic
    if (readers instanceof RoutePlace && readers.owner === this.#owner) {
      const { route } = readers
      if (route !== undefined && this.isCurrent(route)) return route
    }
    return this.#route(topic)
  }

  /** The route of a topic that has none at hand. */
  #route(topic: Topic): Route {
    const { name } = topic
    const known = this.#routes.get(name) ?? this.#olderRoutes.get(name)
    if (known?.route !== undefined && this.isCurrent(known.route)) {
      topic.readers = known
      return known.route
    }
    const route = this.#findRoute(name)
    const isFull = this.#routes.size >= MAXIMUM_ROUTES / 2 || this.#routedReaders >= MAXIMUM_ROUTED_READERS / 2
    if (isFull) this.#forgetOlderRoutes()
    const place = known ?? new RoutePlace(this.#owner, route, this.#half)
    place.route = route
    place.half = this.#half
    this.#routes.set(name, place)
    topic.readers = place
    return route
  }

  #forgetOlderRoutes(): void {
    // A route that was made anew stands in the newest half as well.
    for (const place of this.#olderRoutes.values()) if (place.half !== this.#half) place.route = undefined
    this.#olderRoutes = this.#routes
    this.#routes = new Map()
    this.#half += 1
    this.#routedReaders = 0
    // Branches without subscriptions are kept for cached routes alone.
    const inUse = new Set<Branch>()
    for (const { route } of this.#olderRoutes.values()) if (route !== undefined) inUse.add(route.branch)
    for (const [prefix, branch] of this.#branches) {
      branch.forgetFound()
      if (branch.subscriptions === 0 && !inUse.has(branch)) this.#branches.delete(prefix)
    }
  }

  #findRoute(topicName: string): Route {
    const levels = topicName.split('/')
    const matched = new Map<Session, Subscription[]>()
    const groups: SharedGroup[] = []
    let asleep = false
    const take = (node: TrieNode): void => {
      if (node.sessions !== undefined) {
        for (const [session, subscription] of node.sessions) {
          if (session.connection === undefined) asleep = true
          else {
            const subscriptions = matched.get(session)
            if (subscriptions === undefined) matched.set(session, [subscription])
            else subscriptions.push(subscription)
          }
        }
      }
      if (node.groups !== undefined) groups.push(...node.groups)
    }
    const prefix = branchOf(topicName)
    this.#trie.visit(levels, take)
    this.#own?.readersOf(prefix)?.visit(levels, take)
    const targets: Target[] = []
    for (const [session, subscriptions] of matched) targets.push(mergeSubscriptions(session, subscriptions))
    return this.#sharedRoute(this.#branch(prefix), { targets, groups, asleep })
  }

  /** The route with these readers that another Topic Name of the branch has, or else a new one. */
  #sharedRoute(branch: Branch, readers: Readers): Route {
    const same = branch.find(readers, this.#generation)
    if (same !== undefined) return same
    const route = {
      partition: branch.partition,
      targets: readers.targets,
      groups: readers.groups,
      asleep: readers.asleep,
      branch,
      branchGeneration: branch.generation,
      generation: this.#generation,
    }
    branch.remember(route)
    this.#routedReaders += route.targets.length + route.groups.length
    return route
  }

  #branch(prefix: string): Branch {
    let branch = this.#branches.get(prefix)
    if (branch === undefined) {
      branch = new Branch(partitionOf(prefix, this.#partitions))
      this.#branches.set(prefix, branch)
    }
    return branch
  }

  #changed(tenant: string, topicFilter: string, count: number): void {
    const own = this.#own?.of(tenant, topicFilter)
    if (own !== undefined) {
      for (const branch of own.branches.keys()) this.#branchChanged(branch)
      this.#own?.counted(tenant, own, count)
      return
    }
    const prefix = concretePrefix(topicFilter)
    if (prefix === undefined) {
      this.#generation += 1
      return
    }
    const branch = this.#branch(prefix)
    branch.changed()
    branch.subscriptions += count
  }

  /** A branch that is not known has no routes. */
  #branchChanged(prefix: string): void {
    this.#branches.get(prefix)?.changed()
  }

  #trieOf(tenant: string, topicFilter: string): TopicTrie {
    return this.#own?.of(tenant, topicFilter)?.trie ?? this.#trie
  }
}

/** Merges the matching subscriptions of a Session into one delivery. */
export function mergeSubscriptions(session: Session, subscriptions: readonly Subscription[]): Target {
  let qos: QoS = 0
  let retainAsPublished = false
  let noLocal = false
  let readsLog = false
  const identifiers: number[] = []
  for (const subscription of subscriptions) {
    if (subscription.qos > qos) qos = subscription.qos
    if (subscription.retainAsPublished) retainAsPublished = true
    if (subscription.noLocal) noLocal = true
    if (subscription.readsLog) readsLog = true
    if (subscription.subscriptionIdentifiers !== undefined) identifiers.push(subscription.subscriptionIdentifiers[0])
  }
  return {
    session,
    qos,
    retainAsPublished,
    noLocal,
    readsLog,
    subscriptionIdentifiers: identifiers.length > 0 ? identifiers : undefined,
  }
}

function areSameReaders(one: Readers, other: Readers): boolean {
  return (
    one.asleep === other.asleep &&
    one.targets.length === other.targets.length &&
    one.groups.length === other.groups.length &&
    one.groups.every((group, index) => group === other.groups[index]) &&
    one.targets.every((target, index) => isSameTarget(target, other.targets[index] as Target))
  )
}

function isSameTarget(one: Target, other: Target): boolean {
  return (
    one.session === other.session &&
    one.qos === other.qos &&
    one.retainAsPublished === other.retainAsPublished &&
    one.noLocal === other.noLocal &&
    one.readsLog === other.readsLog &&
    areSame(one.subscriptionIdentifiers, other.subscriptionIdentifiers)
  )
}

function areSame(one: readonly number[] = [], other: readonly number[] = []): boolean {
  return one.length === other.length && one.every((identifier, index) => identifier === other[index])
}

/**
 * The prefix that all Topic Names matched by the Topic Filter share; undefined when they can differ
 * in it.
 */
function concretePrefix(topicFilter: string): string | undefined {
  const prefix = branchOf(topicFilter)
  if (prefix.includes('+') || prefix.includes('#')) return undefined
  return prefix
}

/** The log partition of a Topic Name. The first two levels decide it. */
export function partitionOfTopic(topicName: string, partitions: number): number {
  return partitionOf(branchOf(topicName), partitions)
}

/** Hashes by FNV-1a over the UTF-16 units. */
function partitionOf(prefix: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < prefix.length; index += 1) hash = Math.imul(hash ^ prefix.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % partitions
}
