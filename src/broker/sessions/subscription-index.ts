/**
 * The Sessions that a Topic Name goes to: a trie by topic level, and in front of it a cache of
 * whole answers. A topic that was routed before has its answer at hand, however many subscriptions
 * there are.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { Session, Subscription } from './session.ts'
import type { SharedGroup } from './shared-group.ts'

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

/** The readers that a Topic Name goes to at present. */
export interface Route {
  /** The log partition of the Topic Name. */
  readonly partition: number
  /** Sessions that are connected. */
  readonly targets: readonly Target[]
  readonly groups: readonly SharedGroup[]
  /** True when a Session that is away has a matching subscription: it will read the log. */
  readonly asleep: boolean
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

/**
 * The log partition and the subscriptions that all Topic Names with the same first two levels
 * share.
 */
interface Branch {
  readonly partition: number
  /** Grows with each change of a subscription below these two levels. */
  generation: number
  subscriptions: number
}

class Node {
  readonly children = new Map<string, Node>()
  sessions: Map<Session, Subscription> | undefined = undefined
  groups: Set<SharedGroup> | undefined = undefined

  get isEmpty(): boolean {
    return this.children.size === 0 && this.sessions === undefined && this.groups === undefined
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
  readonly #root = new Node()
  readonly #partitions: number
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

  constructor(partitions: number) {
    this.#partitions = partitions
  }

  addSession(topicFilter: string, session: Session, subscription: Subscription): void {
    const node = this.#makeNode(topicFilter)
    node.sessions ??= new Map()
    node.sessions.set(session, subscription)
    this.#changed(topicFilter, 1)
  }

  removeSession(topicFilter: string, session: Session): void {
    this.#removeAt(topicFilter, (node) => {
      node.sessions?.delete(session)
      if (node.sessions?.size === 0) node.sessions = undefined
    })
    this.#changed(topicFilter, -1)
  }

  /** The text of an equal Topic Filter that a Session has subscribed to, if there is one. */
  textOf(topicFilter: string): string | undefined {
    let node: Node | undefined = this.#root
    for (const level of topicFilter.split('/')) {
      node = node.children.get(level)
      if (node === undefined) return undefined
    }
    return node.sessions?.values().next().value?.topicFilter
  }

  addGroup(group: SharedGroup): void {
    const node = this.#makeNode(group.topicFilter)
    node.groups ??= new Set()
    node.groups.add(group)
    this.#changed(group.topicFilter, 1)
  }

  removeGroup(group: SharedGroup): void {
    this.#removeAt(group.topicFilter, (node) => {
      node.groups?.delete(group)
      if (node.groups?.size === 0) node.groups = undefined
    })
    this.#changed(group.topicFilter, -1)
  }

  /**
   * Call when a Session with this Topic Filter has come or gone: the routes of the filter are made
   * anew.
   */
  touch(topicFilter: string): void {
    this.#changed(topicFilter, 0)
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
    this.#routedReaders += route.targets.length + route.groups.length
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
      if (branch.subscriptions === 0 && !inUse.has(branch)) this.#branches.delete(prefix)
    }
  }

  #findRoute(topicName: string): Route {
    const levels = topicName.split('/')
    const matched = new Map<Session, Subscription[]>()
    const groups: SharedGroup[] = []
    let asleep = false
    const take = (node: Node): void => {
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
    visit(this.#root, levels, 0, take)
    const targets: Target[] = []
    for (const [session, subscriptions] of matched) targets.push(mergeSubscriptions(session, subscriptions))
    const branch = this.#branch(topicPrefix(topicName))
    return {
      partition: branch.partition,
      targets,
      groups,
      asleep,
      branch,
      branchGeneration: branch.generation,
      generation: this.#generation,
    }
  }

  #branch(prefix: string): Branch {
    let branch = this.#branches.get(prefix)
    if (branch === undefined) {
      branch = { partition: partitionOf(prefix, this.#partitions), generation: 0, subscriptions: 0 }
      this.#branches.set(prefix, branch)
    }
    return branch
  }

  #changed(topicFilter: string, count: number): void {
    const prefix = concretePrefix(topicFilter)
    if (prefix === undefined) {
      this.#generation += 1
      return
    }
    const branch = this.#branch(prefix)
    branch.generation += 1
    branch.subscriptions += count
  }

  #makeNode(topicFilter: string): Node {
    let node = this.#root
    for (const level of topicFilter.split('/')) {
      let child = node.children.get(level)
      if (child === undefined) {
        child = new Node()
        node.children.set(ownText(level, topicFilter), child)
      }
      node = child
    }
    return node
  }

  #removeAt(topicFilter: string, remove: (node: Node) => void): void {
    const path: { readonly parent: Node; readonly level: string }[] = []
    let node = this.#root
    for (const level of topicFilter.split('/')) {
      const child = node.children.get(level)
      if (child === undefined) return
      path.push({ parent: node, level })
      node = child
    }
    remove(node)
    for (let step = path.pop(); step !== undefined && node.isEmpty; step = path.pop()) {
      step.parent.children.delete(step.level)
      node = step.parent
    }
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

/** The limit on topic levels bounds the depth. */
function visit(node: Node, levels: readonly string[], depth: number, take: (node: Node) => void): void {
  const { children } = node
  // Wildcards at the first level don't match Topic Names that begin with $ [MQTT-4.7.2-1].
  const wild = depth > 0 || !(levels[0] as string).startsWith('$')
  if (wild) {
    // `#` matches its parent level too [MQTT-4.7.1-2].
    const rest = children.get('#')
    if (rest !== undefined) take(rest)
  }
  if (depth === levels.length) {
    take(node)
    return
  }
  const exact = children.get(levels[depth] as string)
  if (exact !== undefined) visit(exact, levels, depth + 1, take)
  if (wild) {
    const single = children.get('+')
    if (single !== undefined) visit(single, levels, depth + 1, take)
  }
}

/**
 * The level without the Topic Filter around it. A piece of a text keeps the whole text in memory:
 * without this, a level of 13 characters could keep a kilobyte that nobody counts. A level that is
 * a good part of its Topic Filter needs no copy.
 */
function ownText(level: string, topicFilter: string): string {
  return level.length * 4 < topicFilter.length ? Buffer.from(level).toString() : level
}

/** The text before the second `/`, which decides the partition. */
function topicPrefix(topicName: string): string {
  const end = topicName.indexOf('/', topicName.indexOf('/') + 1)
  return topicName.includes('/') && end !== -1 ? topicName.slice(0, end) : topicName
}

/**
 * The prefix that all Topic Names matched by the Topic Filter share; undefined when they can differ
 * in it.
 */
function concretePrefix(topicFilter: string): string | undefined {
  const prefix = topicPrefix(topicFilter)
  if (prefix.includes('+') || prefix.includes('#')) return undefined
  return prefix
}

/** The log partition of a Topic Name. The first two levels decide it. */
export function partitionOfTopic(topicName: string, partitions: number): number {
  return partitionOf(topicPrefix(topicName), partitions)
}

/** Hashes by FNV-1a over the UTF-16 units. */
function partitionOf(prefix: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < prefix.length; index += 1) hash = Math.imul(hash ^ prefix.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % partitions
}
