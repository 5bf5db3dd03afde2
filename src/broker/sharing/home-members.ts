/**
 * The members of a group at other nodes, at the group's home: they come and go, are given messages,
 * and tell when these are over.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { RequestRefusedError } from '../../nodes.ts'
import type { Bus, NodeId } from '../../nodes.ts'
import { encodePassing } from '../delivery/passing-messages.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { SessionStore } from '../durable/session-store.ts'
import type { Message, Place } from '../ports/message.ts'
import { placeKey } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import { GROUP_KINDS, NO_MEMBERS, encode, placeOf, placesOf } from './group-messages.ts'
import type { Given, MembersOf, Over } from './group-messages.ts'
import type { GroupRoles, HomeRole } from './group-roles.ts'
import { RemoteMembers } from './remote-members.ts'

/** How long another node may take for an answer, ms. */
const ANSWER_MS = 3_000
/** Time until messages are given again to a node that did not answer, or that is behind the log. */
const AGAIN_MS = 100
const BEHIND_MS = 5

export interface HomeMembersOptions {
  readonly bus: Bus
  readonly roles: GroupRoles
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly store: SessionStore
  readonly clock: Clock
  readonly log: Logger
}

export class HomeMembers {
  readonly #options: HomeMembersOptions

  constructor(options: HomeMembersOptions) {
    this.#options = options
  }

  /** Takes the members of a node as they are now. */
  join(role: HomeRole, news: MembersOf, from: NodeId): void {
    const { key, members, connected, version = Infinity, hasMoved = false, holds, took } = news
    const { sessions, delivery, store } = this.#options
    const [tenant = '', shareName = '', topicFilter = ''] = key.split('\0')
    const group = sessions.group(tenant, shareName, topicFilter)
    const remote = role.remotes.get(from.incarnation) ?? this.#remote(group, from)
    role.remotes.set(from.incarnation, remote)
    if (version < remote.version) return
    remote.version = version
    // The news of them may have got lost.
    for (const place of took) remote.over(placeOf(place))
    const handled = new Set([...holds, ...took].map((place) => placeKey(...place)))
    const waiting = group.returned.filter(({ partition, offset }) => !handled.has(placeKey(partition, offset)))
    group.returned.splice(0, group.returned.length, ...waiting)
    if (members === 0) this.drop(group, remote, hasMoved)
    else {
      remote.holds(holds.map(placeOf))
      remote.connected = connected
      remote.isLost = false
      sessions.joinRemote(group, remote)
    }
    store.changed(group)
    delivery.wakeGroup(group)
  }

  /**
   * The node has no members any more: what it holds goes to others. `awaits`: their Sessions may be
   * about to come to another node.
   */
  drop(group: SharedGroup, remote: RemoteMembers, awaits: boolean): void {
    const { roles, sessions } = this.#options
    const role = roles.get(group.key)
    if (role?.kind !== 'home' || role.remotes.get(remote.node.incarnation) !== remote) return
    role.remotes.delete(remote.node.incarnation)
    if (awaits) group.awaitsMembers = true
    this.#takeBack(group, remote.takeAll())
    sessions.leaveRemote(group, remote)
  }

  /** A node does not hold these messages any more. Throws when this node is not the home. */
  over({ key, done, back, connected = 0, version = -1 }: Over, from: NodeId): void {
    const { roles, sessions, store, delivery } = this.#options
    const role = roles.get(key)
    const group = sessions.findGroup(key)
    const remote = role?.kind === 'home' ? role.remotes.get(from.incarnation) : undefined
    if (group === undefined || remote === undefined) throw new Error('the home of the group is another node')
    for (const place of done) remote.over(placeOf(place))
    if (version > remote.version && connected !== remote.connected && group.remotes.has(remote)) {
      remote.version = version
      remote.connected = connected
      sessions.joinRemote(group, remote)
    }
    this.#takeBack(
      group,
      back.map(placeOf).filter((place) => remote.over(place)),
    )
    store.changed(group)
    delivery.wakeGroup(group)
  }

  #remote(group: SharedGroup, node: NodeId): RemoteMembers {
    const { clock, bus } = this.#options
    const remote = new RemoteMembers(node, clock, {
      flush: (places) => this.#give(group, remote, places),
      pass: (message: Message) => {
        const body = Buffer.concat([Buffer.from(`${JSON.stringify(group.key)}\n`), encodePassing(message)])
        bus.request(node, GROUP_KINDS.pass, body, ANSWER_MS).catch(() => undefined)
      },
    })
    return remote
  }

  /** Gives messages to a node, again and again while it is alive and has not refused them. */
  #give(group: SharedGroup, remote: RemoteMembers, places: readonly Place[]): void {
    const { bus, clock, log } = this.#options
    const body = encode({ key: group.key, places: placesOf(places) } satisfies Given)
    bus.request(remote.node, GROUP_KINDS.give, body, ANSWER_MS).then(
      (answer) => {
        if (answer.equals(NO_MEMBERS)) this.drop(group, remote, true)
      },
      (error: unknown) => {
        log.debug({ err: error }, 'group.not_given')
        // The node may have taken them: it does not take them twice.
        clock.after(error instanceof RequestRefusedError ? BEHIND_MS : AGAIN_MS, () => {
          if (group.remotes.has(remote) && !remote.isLost) this.#give(group, remote, places)
        })
      },
    )
  }

  #takeBack(group: SharedGroup, places: readonly Place[]): void {
    if (places.length === 0) return
    const { delivery, store } = this.#options
    for (const { partition, offset } of places) group.returned.push({ message: undefined, partition, offset })
    store.changed(group)
    delivery.wakeGroup(group)
  }
}
