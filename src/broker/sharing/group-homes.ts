/**
 * Shared subscriptions in a deployment of several nodes. Each group has one home: the first node
 * with a member. The home reads the log for the group, and has its one place in it. It gives each
 * message to one member: of its own, or of another node. A node gets as many messages as its
 * connected members have room for, and tells the home when they are over.
 *
 * A message that a node holds is the home's until the node has told that it is over. So the home
 * gives it to another member when the node dies (`lost-members.ts`). A QoS 2 message is over for
 * the group as soon as the Session of a member has stored it [MQTT-4.8.2-5].
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { NodeId, Nodes } from '../../nodes.ts'
import { decodePassing } from '../delivery/passing-messages.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { encodeGroup } from '../durable/session-record.ts'
import type { CheckpointRecord } from '../durable/session-record.ts'
import type { SessionStore } from '../durable/session-store.ts'
import { STATE_KEYS, splitKey } from '../durable/state-keys.ts'
import type { Engine } from '../ports/engine.ts'
import type { TenantLimitsOf } from '../ports/limits.ts'
import { loadCheckpoint } from '../restoring/checkpoint.ts'
import type { StateSource } from '../restoring/restore-sessions.ts'
import type { GroupKeeper } from '../restoring/session-moves.ts'
import { writeState } from '../durable/write-state.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { sharedNameOf } from '../ports/policy.ts'
import { SharedGroup } from '../sessions/shared-group.ts'
import { Elsewhere } from './elsewhere.ts'
import { GROUP_KINDS, NO_MEMBERS, TAKEN, decode, encode, placeOf } from './group-messages.ts'
import type { Given, MembersOf, Over } from './group-messages.ts'
import { GroupRoles, elsewhereRole, homeRole, tenantOfGroup } from './group-roles.ts'
import type { ElsewhereRole, HomeRole } from './group-roles.ts'
import { GroupRestoring } from './group-restoring.ts'
import { HomeMembers } from './home-members.ts'
import { LostMembers } from './lost-members.ts'

/** How long a SUBSCRIBE waits for the home of its group, ms. */
const ACQUIRE_MS = 15_000
/** How long another node may take for an answer, ms. */
const ANSWER_MS = 3_000
const AGAIN_MS = 100
const LOOK_MS = 5
/**
 * Seconds for which a home without a group is kept: a SUBSCRIBE may be about to use it, or a member
 * may be on its way to another node.
 */
const UNUSED_TICKS = 30

export interface GroupHomesOptions {
  readonly nodes: Nodes
  readonly engine: Engine
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly store: SessionStore
  /** Bounds the groups that a tenant may make. */
  readonly tenantLimits: TenantLimitsOf
  readonly clock: Clock
  readonly log: Logger
}

export class GroupHomes implements GroupKeeper {
  readonly #options: GroupHomesOptions
  readonly #roles = new GroupRoles()
  readonly #members: HomeMembers
  readonly #lost: LostMembers
  readonly #restoring: GroupRestoring
  readonly #acquiring = new Map<string, Promise<void>>()
  /** The version of the newest news of members here. */
  #version = 0
  /** Groups that look for their home again. */
  readonly #following = new Set<string>()

  constructor(options: GroupHomesOptions) {
    this.#options = options
    const { bus } = options.nodes
    this.#members = new HomeMembers({ ...options, bus, roles: this.#roles })
    this.#lost = new LostMembers({ ...options, roles: this.#roles, members: this.#members })
    this.#restoring = new GroupRestoring({ ...options, roles: this.#roles, members: this.#members })
    bus.serve(GROUP_KINDS.members, async (body, from) => {
      await this.#membersChanged(decode(body) as MembersOf, from)
      return Buffer.alloc(0)
    })
    bus.serve(GROUP_KINDS.give, async (body, from) =>
      (await this.#given(decode(body) as Given, from)) ? TAKEN : NO_MEMBERS,
    )
    bus.serve(GROUP_KINDS.over, (body, from) => {
      this.#members.over(decode(body) as Over, from)
      return Buffer.alloc(0)
    })
    bus.serve(GROUP_KINDS.held, (body, from) => encode(this.#held(decode(body) as readonly string[], from)))
    bus.serve(GROUP_KINDS.pass, (body) => {
      this.#passed(body)
      return Buffer.alloc(0)
    })
    options.nodes.onGone((node) => this.#gone(node))
    options.nodes.onInherited(async (inheritance) => {
      const saved = await loadCheckpoint(inheritance)
      await this.restore(inheritance, saved && { ...saved, isClean: saved.isClean && inheritance.isOrderly })
    })
  }

  /**
   * Finds the homes of groups of one tenant before Sessions join them. Undefined: all are known.
   * The promise rejects with a sentence when a home can't be found in time, and when the tenant
   * makes too many groups.
   */
  prepare(keys: readonly string[]): Promise<void> | undefined {
    const unknown = keys.filter((key) => !this.#roles.has(key))
    if (unknown.length === 0) return undefined
    // A group costs claims at the servers, and stays for a while when its members have gone.
    const tenant = tenantOfGroup(unknown[0] ?? '')
    const { maximumSubscriptionsPerTenant } = this.#options.tenantLimits(tenant)
    if (this.#roles.countOf(tenant) + unknown.length > maximumSubscriptionsPerTenant) {
      return Promise.reject(new Error('too many shared subscriptions of this organization in a short time'))
    }
    return Promise.all(unknown.map((key) => this.#known(key))).then(() => undefined)
  }

  /**
   * Prepares the groups of Sessions that come with these records. It does not wait for homes: they
   * may be of dead nodes whose heir this node is about to be.
   */
  async prepareFor(source: StateSource): Promise<void> {
    for (const key of await groupKeysOf(source)) {
      if (this.#roles.has(key) || this.#acquiring.has(key)) continue
      this.#roles.set(key, elsewhereRole(undefined))
    }
  }

  /** Called with each new group. */
  made(group: SharedGroup): void {
    const role = this.#roles.get(group.key)
    if (role?.kind === 'elsewhere') this.#place(group, role)
    else group.isDistributed = true
  }

  /** Called when a group has other members of this node than before. */
  changed(group: SharedGroup): void {
    if (group.elsewhere instanceof Elsewhere) group.elsewhere.changed()
  }

  /**
   * Becomes the home of the groups that have a record: after a restart, or as the heir of a node.
   * They give no messages before `goOn`.
   */
  async restore(source: StateSource, saved: CheckpointRecord | undefined): Promise<void> {
    await this.#lost.remember(source)
    await this.#restoring.restore(source, saved)
  }

  goOn(): void {
    this.#restoring.goOn()
  }

  /** Tells again what was not heard. The owner calls it about once a second. */
  tick(): void {
    const { sessions } = this.#options
    this.#lost.tick()
    for (const [key, role] of this.#roles) {
      const group = sessions.findGroup(key)
      if (role.kind === 'elsewhere') this.#tell(role)
      else if (group !== undefined) stopAwaiting(group, role)
      role.unusedTicks = group?.hasMembers === true ? 0 : role.unusedTicks + 1
      if (role.unusedTicks < UNUSED_TICKS || this.#acquiring.has(key)) continue
      this.#roles.delete(key)
      if (group !== undefined) sessions.dropGroup(group)
      if (role.kind === 'home') this.#release(key)
    }
  }

  #release(key: string): void {
    const { nodes, engine } = this.#options
    const [tenant = ''] = key.split('\0')
    writeState(engine, tenant, [{ key: STATE_KEYS.group(key), value: undefined }]).then(
      () => {
        if (!this.#roles.has(key) && !this.#acquiring.has(key)) nodes.homes.release(homeKey(key))
      },
      // The record is an empty group's.
      () => undefined,
    )
  }

  #known(key: string): Promise<void> {
    let acquiring = this.#acquiring.get(key)
    if (acquiring === undefined) {
      acquiring = this.#acquire(key).finally(() => this.#acquiring.delete(key))
      this.#acquiring.set(key, acquiring)
    }
    return acquiring
  }

  async #acquire(key: string): Promise<void> {
    const { nodes, clock, engine } = this.#options
    const until = clock.steady() + ACQUIRE_MS
    while (!this.#roles.has(key)) {
      const leftMs = until - clock.steady()
      if (leftMs <= 0) throw new Error('the home of its shared subscription does not answer')
      try {
        const found = await nodes.homes.find(homeKey(key), leftMs)
        if (this.#roles.has(key)) return
        if (found.node !== undefined && found.node.incarnation !== nodes.bus.self.incarnation) {
          this.#roles.set(key, elsewhereRole(found.node))
          return
        }
        if (found.node === undefined) {
          // An heir finds the group by its record, so the record comes first.
          const [tenant = '', shareName = '', topicFilter = ''] = key.split('\0')
          const record = encodeGroup(new SharedGroup(SharedGroup.key(tenant, shareName, topicFilter), topicFilter))
          await writeState(engine, tenant, [{ key: STATE_KEYS.group(key), value: record }])
        }
        // The answer may be an earlier one, and another node may be about to take the group.
        if (!(await nodes.homes.take(homeKey(key), found))) continue
        if (this.#roles.has(key)) return
        this.#roles.set(key, homeRole())
      } catch (error) {
        this.#options.log.debug({ err: error }, 'group.home_unknown')
        await this.#wait(AGAIN_MS)
      }
    }
  }

  /** The group has members here, and its home is another node. */
  #place(group: SharedGroup, role: ElsewhereRole): void {
    const nextVersion = (): number => (this.#version += 1)
    const elsewhere = new Elsewhere(group, this.#options.clock, () => this.#tell(role), nextVersion)
    if (role.elsewhere !== undefined) elsewhere.goOnFrom(role.elsewhere)
    role.elsewhere = elsewhere
    group.elsewhere = elsewhere
    group.isDistributed = false
  }

  /** Tells the home what it does not know yet. */
  #tell(role: ElsewhereRole): void {
    const { elsewhere, home } = role
    if (elsewhere === undefined) return
    const { bus } = this.#options.nodes
    const { group } = elsewhere
    elsewhere.giveUpWaiting()
    if (home === undefined) {
      void this.#follow(group.key)
      return
    }
    const over = elsewhere.takeOver()
    if (over !== undefined) {
      bus.request(home, GROUP_KINDS.over, encode(over), ANSWER_MS).catch(() => elsewhere.putBack(over))
    }
    if (elsewhere.isNews) {
      elsewhere.isNews = false
      bus.request(home, GROUP_KINDS.members, encode(elsewhere.members()), ANSWER_MS).catch(() => {
        elsewhere.isNews = true
        void this.#follow(group.key)
      })
    }
  }

  /** Looks whether the group has another home by now. */
  async #follow(key: string): Promise<void> {
    const { nodes, sessions } = this.#options
    if (this.#following.has(key)) return
    this.#following.add(key)
    try {
      const found = await nodes.homes.find(homeKey(key), ACQUIRE_MS)
      const role = this.#roles.get(key)
      const group = sessions.findGroup(key)
      if (role?.kind !== 'elsewhere' || group === undefined) return
      if (found.node === undefined || found.node.incarnation === nodes.bus.self.incarnation) {
        this.#roles.delete(key)
        await this.#known(key)
        const now = this.#roles.get(key)
        if (now?.kind === 'home') this.#becomeHome(group)
        else if (now !== undefined) this.#place(group, now)
      } else if (found.node.incarnation !== role.home?.incarnation) {
        role.home = found.node
        if (role.elsewhere !== undefined) role.elsewhere.isNews = true
        this.#tell(role)
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'group.home_unknown')
    } finally {
      this.#following.delete(key)
    }
  }

  /** A group without a home begins here at the tail, with the messages that its members hold. */
  #becomeHome(group: SharedGroup): void {
    const { delivery, store } = this.#options
    group.elsewhere = undefined
    group.isDistributed = true
    store.changed(group)
    delivery.wakeGroup(group)
  }

  async #membersChanged(news: MembersOf, from: NodeId): Promise<void> {
    // A process that has an heir, and does not know it yet, has no members.
    const isLiving = this.#options.nodes.living().some(({ incarnation }) => incarnation === from.incarnation)
    if (!isLiving) throw new Error('the node is not alive')
    if (!this.#roles.has(news.key)) await this.#known(news.key)
    const [tenant = '', , topicFilter = ''] = news.key.split('\0')
    await this.#options.sessions.branchesReady(tenant, topicFilter)
    const role = this.#roles.get(news.key)
    if (role?.kind !== 'home') throw new Error('the home of the group is another node')
    this.#members.join(role, news, from)
  }

  /** The home of a group gives messages to members of this node. False: there are none. */
  async #given({ key, places }: Given, from: NodeId): Promise<boolean> {
    const { delivery, clock } = this.#options
    const taken = places.map(placeOf)
    const until = clock.steady() + ANSWER_MS / 2
    while (taken.some(({ partition, offset }) => (delivery.tails[partition] ?? Infinity) <= offset)) {
      if (clock.steady() >= until) throw new Error('this node is behind the log')
      await this.#wait(LOOK_MS)
    }
    const role = this.#roles.get(key)
    if (role?.kind !== 'elsewhere' || role.elsewhere?.group.hasMembers !== true) return false
    if (role.home?.incarnation !== from.incarnation) return false
    role.elsewhere.take(taken)
    role.elsewhere.giveUpWaiting()
    delivery.wakeGroup(role.elsewhere.group)
    return true
  }

  #passed(body: Buffer): void {
    const { sessions, delivery, clock } = this.#options
    const end = body.indexOf('\n')
    const group = sessions.findGroup(JSON.parse(body.toString('utf8', 0, end)) as string)
    const message = decodePassing(body.subarray(end + 1), clock)
    if (group !== undefined && message !== undefined) delivery.transmitter.offerQoS0(group, message)
  }

  /** A new home asks which of its groups have members here. */
  #held(keys: readonly string[], from: NodeId): readonly MembersOf[] {
    const held: MembersOf[] = []
    for (const key of keys) {
      const role = this.#roles.get(key)
      if (role?.kind !== 'elsewhere' || role.elsewhere === undefined) continue
      role.home = from
      role.elsewhere.isNews = true
      held.push(role.elsewhere.members())
    }
    return held
  }

  #gone(node: NodeId): void {
    for (const [key, role] of this.#roles) {
      if (role.kind === 'elsewhere' && role.home?.incarnation === node.incarnation) void this.#follow(key)
    }
    this.#lost.gone(node)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve))
  }
}

/** Members that have not come for so long do not come any more. */
function stopAwaiting(group: SharedGroup, role: HomeRole): void {
  role.awaitingTicks = group.awaitsMembers ? role.awaitingTicks + 1 : 0
  if (role.awaitingTicks >= UNUSED_TICKS) group.awaitsMembers = false
}

/** The key by which the nodes know the home of a group. */
function homeKey(groupKey: string): string {
  return `group/${groupKey}`
}

/** The keys of the groups that these entries of Sessions belong to. */
async function groupKeysOf(source: StateSource): Promise<readonly string[]> {
  const keys = new Set<string>()
  for await (const { key } of source.load(STATE_KEYS.subscriptions)) {
    const [tenant = '', identity = '', , topicFilter = ''] = splitKey(key)
    const [, shareName = '', ...levels] = topicFilter.startsWith('$share/') ? topicFilter.split('/') : []
    if (levels.length > 0) keys.add(SharedGroup.key(tenant, sharedNameOf(identity, shareName), levels.join('/')))
  }
  return [...keys]
}
