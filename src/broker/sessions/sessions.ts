/**
 * All Sessions, by tenant, identity and Client Identifier: no client reaches another client's
 * Session by naming its Client Identifier.
 */
import type { Counters } from '../ports/counters.ts'
import { later } from '../../clock.ts'
import { parseSharedSubscription } from '../../mqtt/topic-filter.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Deadlines } from './deadlines.ts'
import { Holdings } from './holdings.ts'
import { OVER_BUDGET } from '../memory/memory-budget.ts'
import type { TenantMemories } from '../memory/tenant-memory.ts'
import type { Limits, TenantLimitsOf } from '../ports/limits.ts'
import { ownerOf, sharedNameOf } from '../ports/policy.ts'
import type { Branches, LostAccess, Permit } from '../ports/policy.ts'
import type { OrganizationBounds } from '../../organization-bounds.ts'
import { Session } from './session.ts'
import type { Subscription } from './session.ts'
import { SharedGroup } from './shared-group.ts'
import type { RemoteMember } from './shared-group.ts'
import type { SubscriptionIndex } from './subscription-index.ts'
import type { WillMessages } from './will-messages.ts'

/** The delivery, as the Sessions need it. */
export interface SessionDelivery {
  detach(session: Session): void
  giveBack(session: Session, canTake: (group: SharedGroup) => boolean): void
  forget(session: Session): void
  wake(session: Session): void
  rest(group: SharedGroup): void
  forgetGroup(group: SharedGroup): void
}

/** The store that lets Sessions outlive the process, as the Sessions need it. */
export interface SessionKeeper {
  changed(session: Session): void
  forget(session: Session): void
  forgetGroup(group: SharedGroup): void
}

export interface SessionsOptions {
  readonly index: SubscriptionIndex
  readonly delivery: SessionDelivery
  readonly deadlines: Deadlines
  readonly wills: WillMessages
  readonly limits: Limits
  readonly tenantLimits: TenantLimitsOf
  readonly counters: Counters
  readonly memories: TenantMemories
  /** Undefined where nothing outlives the process. */
  readonly store: SessionKeeper | undefined
  /** Told the key of each Session that has ended. */
  readonly ended?: ((key: string) => void) | undefined
  /** Told of each new group, before it has members. */
  readonly groupMade?: ((group: SharedGroup) => void) | undefined
  /** Told when a group has other members of this node than before. */
  readonly groupChanged?: ((group: SharedGroup) => void) | undefined
}

export class Sessions {
  readonly #byKey = new Map<string, Session>()
  readonly #sessionsByTenant = new Holdings()
  readonly #sessionsByIdentity = new Holdings()
  /** The bytes are those of the Topic Filters. */
  readonly #subscriptionsByTenant = new Holdings()
  readonly #groups = new Map<string, SharedGroup>()
  readonly #index: SubscriptionIndex
  readonly #delivery: SessionDelivery
  readonly #deadlines: Deadlines
  readonly #wills: WillMessages
  readonly #limits: Limits
  readonly #tenantLimits: TenantLimitsOf
  readonly #counters: Counters
  readonly #memories: TenantMemories
  readonly #store: SessionKeeper | undefined
  /** One function for all Sessions: one of its own would take 100 bytes of each. */
  readonly #expired = (session: Session): void => this.end(session)
  /** Told the key of each Session that has ended. */
  readonly #ended: (key: string) => void
  readonly #groupMade: (group: SharedGroup) => void
  readonly #groupChanged: (group: SharedGroup) => void

  constructor(options: SessionsOptions) {
    this.#ended = options.ended ?? (() => {})
    this.#groupMade = options.groupMade ?? (() => {})
    this.#groupChanged = options.groupChanged ?? (() => {})
    const { index, delivery, deadlines, wills, limits, tenantLimits, counters, memories, store } = options
    this.#store = store
    this.#index = index
    this.#delivery = delivery
    this.#deadlines = deadlines
    this.#wills = wills
    this.#limits = limits
    this.#tenantLimits = tenantLimits
    this.#counters = counters
    this.#memories = memories
  }

  find(permit: Permit, clientId: string): Session | undefined {
    return this.#byKey.get(sessionKey(permit, clientId))
  }

  findByKey(key: string): Session | undefined {
    return this.#byKey.get(key)
  }

  /** The number of all Sessions. */
  get count(): number {
    return this.#byKey.size
  }

  /**
   * The same text as that of an equal Topic Filter which has a subscription already: a thousand
   * Sessions with the same Topic Filter hold it once.
   */
  sharedText({ tenant, identity }: Owner, topicFilter: string): string {
    const shared = parseSharedSubscription(topicFilter)
    if (shared === 'invalid') return topicFilter
    if (shared === undefined) return this.#index.textOf(topicFilter) ?? topicFilter
    const shareName = sharedNameOf(identity, shared.shareName)
    const group = this.#groups.get(SharedGroup.key(tenant, shareName, shared.topicFilter))
    return group?.members.values().next().value?.topicFilter ?? topicFilter
  }

  /** Why the bounds have no room for another Session of the owner; undefined where they have. */
  whyFull(owner: Owner): string | undefined {
    if (this.#memories.isHeldBack(owner.tenant)) return OVER_BUDGET
    if (this.#sessionsByIdentity.of(identityKey(owner)).count >= this.#limits.maximumSessionsPerIdentity) {
      return 'too many Sessions of this user'
    }
    const { maximumSessionsPerTenant } = this.#tenantLimits(owner.tenant)
    return this.#sessionsByTenant.of(owner.tenant).count >= maximumSessionsPerTenant
      ? `too many Sessions of this organization, which may have ${maximumSessionsPerTenant}`
      : undefined
  }

  /** The use that the tenant makes of its bounds. */
  usageOf(tenant: string): Pick<OrganizationBounds, 'sessions' | 'subscriptions' | 'topicFilterBytes'> {
    const { count: subscriptions, bytes: topicFilterBytes } = this.#subscriptionsByTenant.of(tenant)
    return { sessions: this.#sessionsByTenant.of(tenant).count, subscriptions, topicFilterBytes }
  }

  /** The tenants that have Sessions. */
  tenants(): Iterable<string> {
    return this.#sessionsByTenant.holders()
  }

  /**
   * A new, empty Session. It is counted, but the bounds are not asked: Sessions that were stored
   * before a bound became lower are kept.
   */
  create(owner: Owner, clientId: string): Session {
    this.#sessionsByTenant.add(owner.tenant)
    this.#sessionsByIdentity.add(identityKey(owner))
    const key = sessionKey(owner, clientId)
    const session = new Session(key, this.#memories.open(owner.tenant), owner.identity, clientId, this.#expired)
    this.#byKey.set(key, session)
    this.#counters.sessions += 1
    return session
  }

  /** The connection is over: the Session rests until it expires, or ends now. */
  rest(session: Session, now: SteadyMs): void {
    if (session.expirySeconds === 0) {
      this.end(session)
      return
    }
    session.restingSince = now
    this.#delivery.detach(session)
    this.#deadlines.set(session, later(now, session.expirySeconds * 1000))
    this.#store?.changed(session)
  }

  /** After a restart: the Session has rested since. */
  restore(session: Session, restingSince: SteadyMs): void {
    session.restingSince = restingSince
    this.#deadlines.set(session, later(restingSince, session.expirySeconds * 1000))
  }

  wake(session: Session): void {
    session.restingSince = undefined
    this.#deadlines.clear(session)
  }

  /** Ends a Session and all that it holds. It must have no connection. */
  end(session: Session): void {
    if (this.#byKey.get(session.key) !== session) return
    this.#byKey.delete(session.key)
    // Groups get their messages back before the Session's own record goes.
    this.#delivery.giveBack(session, (group) => group.hasOthersThan(session))
    this.#store?.forget(session)
    this.#takeOut(session)
    this.#wills.sessionEnds(session)
    this.#ended(session.key)
  }

  /**
   * Takes a Session out that goes on at another node. It must have no connection, and its records
   * must be taken before.
   */
  leave(session: Session): void {
    this.#byKey.delete(session.key)
    this.#wills.cancel(session)
    for (const group of session.groups) group.memberMoves()
    this.#takeOut(session)
  }

  #takeOut(session: Session): void {
    session.hasEnded = true
    this.#sessionsByTenant.remove(session.tenant)
    this.#sessionsByIdentity.remove(identityKey(session))
    this.#counters.sessions -= 1
    this.#deadlines.clear(session)
    for (const topicFilter of session.subscriptions.keys()) this.unsubscribe(session, topicFilter)
    this.#delivery.forget(session)
    if (this.#sessionsByTenant.of(session.tenant).count === 0) this.#memories.close(session.tenant)
  }

  /**
   * Why the bounds have no room for this Topic Filter; undefined where they have. A subscription
   * that replaces an earlier one needs no room.
   */
  whyNoSubscription(session: Session, topicFilter: string): string | undefined {
    if (session.subscriptions.has(topicFilter)) return undefined
    if (session.memory.isHeldBack) return OVER_BUDGET
    if (session.subscriptions.size >= this.#limits.maximumSubscriptionsPerSession) {
      return 'too many subscriptions of this Session'
    }
    const limits = this.#tenantLimits(session.tenant)
    const { count, bytes } = this.#subscriptionsByTenant.of(session.tenant)
    if (count >= limits.maximumSubscriptionsPerTenant) {
      return `too many subscriptions of this organization, which may have ${limits.maximumSubscriptionsPerTenant}`
    }
    return bytes + Buffer.byteLength(topicFilter) > limits.maximumTopicFilterBytesPerTenant
      ? `the Topic Filters of this organization may have ${limits.maximumTopicFilterBytesPerTenant} bytes in all`
      : undefined
  }

  /**
   * Adds a subscription, or replaces the one with the same Topic Filter [MQTT-3.8.4-3]; true when
   * it is new.
   */
  subscribe(session: Session, subscription: Subscription): boolean {
    const known = session.subscriptions.get(subscription.topicFilter)
    session.subscriptions.set(subscription.topicFilter, subscription)
    session.subscriptionChanged(subscription.topicFilter)
    if (known === undefined) {
      this.#counters.subscriptions += 1
      this.#subscriptionsByTenant.add(session.tenant, Buffer.byteLength(subscription.topicFilter))
    }
    const { group } = subscription
    if (group === undefined) {
      if (known !== undefined) this.#index.removeSession(subscription.topicFilter, session)
      this.#index.addSession(subscription.topicFilter, session, subscription)
    } else {
      if (!group.hasMembers) this.#index.addGroup(group)
      group.join(session, subscription)
      session.groups.add(group)
      this.#delivery.wake(session)
      this.#groupChanged(group)
    }
    return known === undefined
  }

  /** Removes a subscription; false when there was none. */
  unsubscribe(session: Session, topicFilter: string): boolean {
    const subscription = session.subscriptions.get(topicFilter)
    if (subscription === undefined) return false
    session.subscriptions.delete(topicFilter)
    session.forgetRetained(topicFilter)
    session.subscriptionChanged(topicFilter)
    this.#counters.subscriptions -= 1
    this.#subscriptionsByTenant.remove(session.tenant, Buffer.byteLength(topicFilter))
    const { group } = subscription
    if (group === undefined) this.#index.removeSession(topicFilter, session)
    else {
      session.groups.delete(group)
      group.leave(session)
      if (!group.hasMembers) this.#endGroup(group)
      else if (!group.hasConnectedMember) this.#delivery.rest(group)
      this.#groupChanged(group)
    }
    return true
  }

  /** The branches within which the tenant's Topic Filter matches. Undefined: as it reads. */
  branchesOf(tenant: string, topicFilter: string): Branches | undefined {
    return this.#index.branchesOf(tenant, topicFilter)
  }

  /**
   * To be waited for before a reader of the Topic Filter goes on: until then its branches may be
   * missing, and their messages would be passed over. Undefined: there is nothing to wait for.
   */
  branchesReady(tenant: string, topicFilter: string): Promise<void> | undefined {
    return this.#index.branchesReady(tenant, topicFilter)
  }

  /** Counts the members of another node in, as they are now. */
  joinRemote(group: SharedGroup, remote: RemoteMember): void {
    if (!group.hasMembers) this.#index.addGroup(group)
    group.joinRemote(remote)
    if (!group.hasConnectedMember) this.#delivery.rest(group)
  }

  /** The other node has no members any more. */
  leaveRemote(group: SharedGroup, remote: RemoteMember): void {
    if (!group.remotes.has(remote)) return
    group.leaveRemote(remote)
    if (!group.hasMembers) this.#endGroup(group)
    else if (!group.hasConnectedMember) this.#delivery.rest(group)
  }

  /** Ends a group that no member has joined. */
  dropGroup(group: SharedGroup): void {
    if (group.hasMembers) return
    this.#groups.delete(group.key)
    this.#delivery.forgetGroup(group)
  }

  #endGroup(group: SharedGroup): void {
    if (group.isHeld || group.awaitsMembers) {
      // Members are about to come. If none does, its home drops it.
      this.#delivery.rest(group)
      this.#index.removeGroup(group)
      return
    }
    this.#groups.delete(group.key)
    this.#index.removeGroup(group)
    this.#delivery.forgetGroup(group)
    this.#store?.forgetGroup(group)
  }

  /** Takes away subscriptions that the permit does not allow; returns their Topic Filters. */
  dropRefusedSubscriptions(session: Session, permit: Permit): string[] {
    const lost: string[] = []
    for (const { topicFilter, group } of session.subscriptions.values()) {
      if (!permit.maySubscribe(group?.topicFilter ?? topicFilter).allowed) lost.push(topicFilter)
    }
    for (const topicFilter of lost) this.unsubscribe(session, topicFilter)
    return lost
  }

  /**
   * Ends the Sessions of a tenant or an identity that has lost access: their queues and their Will
   * Messages are dropped.
   */
  endAll({ tenant, identity, end }: LostAccess): void {
    for (const session of this.#byKey.values()) {
      if (tenant !== undefined && session.tenant !== tenant) continue
      if (identity !== undefined && ownerOf(session.identity) !== identity) continue
      const { connection } = session
      if (connection !== undefined) {
        connection.will = undefined
        connection.disconnect(end.reasonCode, end.reason, end.code)
      }
      this.#wills.cancel(session)
      this.end(session)
    }
  }

  /** The group with this key, if it has members. */
  findGroup(key: string): SharedGroup | undefined {
    return this.#groups.get(key)
  }

  /**
   * The group of a shared subscription. It is made if need be, and counts once a member has joined.
   */
  group(tenant: string, shareName: string, topicFilter: string): SharedGroup {
    const key = SharedGroup.key(tenant, shareName, topicFilter)
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = new SharedGroup(key, topicFilter, this.branchesOf(tenant, topicFilter))
      this.#groups.set(key, group)
      this.#groupMade(group)
    }
    return group
  }

  all(): IterableIterator<Session> {
    return this.#byKey.values()
  }
}

/** The tenant and identity of a Session. */
interface Owner {
  readonly tenant: string
  readonly identity: string
}

/** The holder of the bounds of an identity. */
function identityKey({ tenant, identity }: Owner): string {
  return `${tenant}\0${ownerOf(identity)}`
}

/** The key of a Session. */
export function sessionKey({ tenant, identity }: Owner, clientId: string): string {
  return `${tenant}\0${identity}\0${clientId}`
}

/** The tenant of a Session's key; empty for the empty key of the service's own messages. */
export function tenantOfKey(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('\0')))
}
