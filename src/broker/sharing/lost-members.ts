/**
 * The members of a node that is gone, at the home of their group. The home does not know which
 * QoS 2 messages their Sessions had stored in the last moment. Another member must not get these,
 * so the home asks the node that has the Sessions now, and gives the other messages to others.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import { later } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { RequestRefusedError } from '../../nodes.ts'
import type { NodeId, Nodes } from '../../nodes.ts'
import { decodeInflight } from '../durable/session-record.ts'
import { STATE_KEYS } from '../durable/state-keys.ts'
import type { StateSource } from '../restoring/restore-sessions.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { GROUP_KINDS, decode, encode, placeOf } from './group-messages.ts'
import type { MembersOf, Places, Stored } from './group-messages.ts'
import type { GroupRoles } from './group-roles.ts'
import type { HomeMembers } from './home-members.ts'
import type { RemoteMembers } from './remote-members.ts'

/** How long another node may take for an answer, ms. */
const ANSWER_MS = 3_000
/** How long the place of a node that is gone may stay empty before this looks again, ms. */
const SUCCESSOR_MS = 15_000
const AGAIN_MS = 200
/** How long a node can tell what Sessions had stored when they came to it, ms. */
const REMEMBERED_MS = 600_000
/** Groups in one question. */
const GROUPS_PER_QUESTION = 200

export interface LostMembersOptions {
  readonly nodes: Nodes
  readonly roles: GroupRoles
  readonly members: HomeMembers
  readonly sessions: Sessions
  readonly clock: Clock
  readonly log: Logger
}

/** A group with members at the node that is gone. */
type Lost = readonly [key: string, remote: RemoteMembers]

export class LostMembers {
  readonly #options: LostMembersOptions
  /** By key of the group: the QoS 2 messages that Sessions had stored when they came here. */
  readonly #stored = new Map<string, [number, number][]>()
  #forgetAt: SteadyMs | undefined

  constructor(options: LostMembersOptions) {
    this.#options = options
    options.nodes.bus.serve(GROUP_KINDS.stored, (body) => {
      const keys = decode(body) as readonly string[]
      return encode(keys.map((key): Stored => ({ key, places: this.#stored.get(key) ?? [] })))
    })
  }

  /**
   * Remembers for some minutes which messages of groups the Sessions in these records have stored.
   * To be called before the Sessions are restored, and so before anybody finds them here.
   */
  async remember(source: StateSource): Promise<void> {
    const { clock } = this.#options
    for await (const { value } of source.load(STATE_KEYS.sentMessages)) {
      const { group, partition, offset } = decodeInflight(value)
      if (group === undefined) continue
      const places = this.#stored.get(group) ?? []
      places.push([partition, offset])
      this.#stored.set(group, places)
    }
    if (this.#stored.size > 0) this.#forgetAt = later(clock.steady(), REMEMBERED_MS)
  }

  /** Forgets what nobody asks for any more. The owner calls it about once a second. */
  tick(): void {
    if (this.#forgetAt === undefined || this.#forgetAt > this.#options.clock.steady()) return
    this.#forgetAt = undefined
    this.#stored.clear()
  }

  /** A node is gone: its members get no messages any more, and keep the ones that they have. */
  gone(node: NodeId): void {
    const { roles } = this.#options
    const lost: Lost[] = []
    for (const [key, role] of roles) {
      const remote = role.kind === 'home' ? role.remotes.get(node.incarnation) : undefined
      if (remote === undefined || remote.isLost) continue
      remote.isLost = true
      lost.push([key, remote])
    }
    for (let from = 0; from < lost.length; from += GROUPS_PER_QUESTION) {
      void this.#settle(node, lost.slice(from, from + GROUPS_PER_QUESTION))
    }
  }

  /** Tries until the successor has told, or the node itself is back. Never rejects. */
  async #settle(node: NodeId, lost: readonly Lost[]): Promise<void> {
    const { nodes, clock, log } = this.#options
    for (let open = lost; open.length > 0; open = open.filter(([, { isLost }]) => isLost)) {
      try {
        const successor = await nodes.successorOf(node, SUCCESSOR_MS)
        if (successor.incarnation === node.incarnation) await this.#readmit(node, open)
        else this.#drop(open, await this.#ask(successor, open))
        return
      } catch (error) {
        log.debug({ err: error }, 'group.members_lost')
        await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
      }
    }
  }

  async #ask(successor: NodeId, lost: readonly Lost[]): Promise<readonly Stored[]> {
    const { bus } = this.#options.nodes
    try {
      const body = encode(lost.map(([key]) => key))
      return decode(await bus.request(successor, GROUP_KINDS.stored, body, ANSWER_MS)) as readonly Stored[]
    } catch (error) {
      // A node of an earlier version can't tell.
      if (error instanceof RequestRefusedError) return []
      throw error
    }
  }

  #drop(lost: readonly Lost[], stored: readonly Stored[]): void {
    const { sessions, members } = this.#options
    const taken = new Map<string, Places>(stored.map(({ key, places }) => [key, places]))
    for (const [key, remote] of lost) {
      const group = sessions.findGroup(key)
      if (!remote.isLost || group === undefined) continue
      for (const place of taken.get(key) ?? []) remote.over(placeOf(place))
      members.drop(group, remote, true)
    }
  }

  /** The node was only slow: its members get messages again. */
  async #readmit(node: NodeId, lost: readonly Lost[]): Promise<void> {
    const { nodes, roles, members } = this.#options
    const body = encode(lost.map(([key]) => key))
    const answer = decode(await nodes.bus.request(node, GROUP_KINDS.held, body, ANSWER_MS)) as readonly MembersOf[]
    for (const news of answer) {
      const role = roles.get(news.key)
      if (role?.kind === 'home') members.join(role, news, node)
    }
    // Groups that it does not name have no members there any more.
    this.#drop(
      lost.filter(([, { isLost }]) => isLost),
      [],
    )
  }
}
