/**
 * Groups whose home this node becomes by their records: after a restart, or as the heir of a node.
 * The other nodes tell what their members hold, so that it is not given twice.
 */
import { RequestRefusedError } from '../../nodes.ts'
import type { Gathered, NodeId, Nodes } from '../../nodes.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { decodeGroup } from '../durable/session-record.ts'
import type { CheckpointRecord } from '../durable/session-record.ts'
import type { SessionStore } from '../durable/session-store.ts'
import { STATE_KEYS, splitKey } from '../durable/state-keys.ts'
import type { Engine } from '../ports/engine.ts'
import { checkpointWithin } from '../restoring/checkpoint.ts'
import type { StateSource } from '../restoring/restore-sessions.ts'
import { placeKey } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import { GROUP_KINDS, decode, encode, placeOf } from './group-messages.ts'
import type { MembersOf } from './group-messages.ts'
import { homeRole } from './group-roles.ts'
import type { GroupRoles } from './group-roles.ts'
import type { HomeMembers } from './home-members.ts'

/** How long the other nodes may take for an answer, ms. */
const ANSWER_MS = 3_000
/** Questions to a living node that does not answer. */
const TRIES = 6
/** Groups in one question to all nodes. */
const GROUPS_PER_QUESTION = 500

export interface GroupRestoringOptions {
  readonly nodes: Nodes
  readonly roles: GroupRoles
  readonly members: HomeMembers
  readonly engine: Engine
  readonly sessions: Sessions
  readonly delivery: Delivery
  readonly store: SessionStore
}

export class GroupRestoring {
  readonly #options: GroupRestoringOptions
  /** They give no messages yet. */
  #heldGroups: SharedGroup[] = []

  constructor(options: GroupRestoringOptions) {
    this.#options = options
  }

  /**
   * Becomes the home of the groups that have a record: after a restart, or as the heir of a node.
   * They give no messages before `goOn`.
   */
  async restore(source: StateSource, saved: CheckpointRecord | undefined): Promise<void> {
    const { engine, sessions, delivery, roles } = this.#options
    const checkpoint = checkpointWithin(saved, engine)
    const restored = new Map<string, { readonly group: SharedGroup; readonly handled: Set<string> }>()
    for await (const { key: stateKey, value } of source.load(STATE_KEYS.groups)) {
      const key = stateKey.slice(STATE_KEYS.groups.length)
      const record = decodeGroup(value)
      const [tenant = '', shareName = '', topicFilter = ''] = splitKey(stateKey)
      // The members may have gone to other nodes meanwhile.
      const role = roles.get(key)
      const holds = role?.kind === 'elsewhere' ? role.elsewhere?.members() : undefined
      roles.set(key, homeRole())
      await sessions.branchesReady(tenant, topicFilter)
      const group = sessions.group(tenant, shareName, topicFilter)
      group.elsewhere = undefined
      group.isDistributed = true
      group.isHeld = true
      group.awaitsMembers = true
      const handled = new Set([...(holds?.holds ?? []), ...(holds?.took ?? [])].map((place) => placeKey(...place)))
      for (const place of record.returned) {
        if (!handled.has(placeKey(...place))) group.returned.push({ message: undefined, ...placeOf(place) })
      }
      const cursors = new Map(record.behind)
      const sentBefore = new Map<number, number>()
      for (const partition of delivery.partitionsOf(topicFilter)) {
        if (!cursors.has(partition)) cursors.set(partition, checkpoint.tails[partition] as number)
        if (!checkpoint.isClean) sentBefore.set(partition, engine.tail(partition))
      }
      for (const [partition, offset] of record.returned) handled.add(placeKey(partition, offset))
      group.recovery = { handled, sentBefore }
      delivery.resume(group, cursors)
      restored.set(key, { group, handled })
    }
    if (restored.size === 0) return
    await this.#askHeld(restored)
    this.#heldGroups.push(...[...restored.values()].map(({ group }) => group))
  }

  /** The Sessions are restored, too: the groups give messages from here on. */
  goOn(): void {
    const { delivery, store } = this.#options
    for (const group of this.#heldGroups.splice(0)) {
      group.isHeld = false
      store.changed(group)
      delivery.wakeGroup(group)
    }
  }

  /** A living node's answer may have got lost. A node that has died meanwhile has none. */
  async #askAgain(node: NodeId, body: Buffer): Promise<Gathered['answers']> {
    const { nodes } = this.#options
    const isLiving = (): boolean => nodes.living().some(({ incarnation }) => incarnation === node.incarnation)
    for (let tries = 1; tries < TRIES && isLiving(); tries += 1) {
      try {
        return [{ from: node, body: await nodes.bus.request(node, GROUP_KINDS.held, body, ANSWER_MS) }]
      } catch (error) {
        if (error instanceof RequestRefusedError) break
      }
    }
    return []
  }

  /** Learns what the members at all other nodes hold. */
  async #askHeld(
    restored: ReadonlyMap<string, { readonly group: SharedGroup; readonly handled: Set<string> }>,
  ): Promise<void> {
    const { nodes, roles, members: ofNodes } = this.#options
    const keys = [...restored.keys()]
    for (let from = 0; from < keys.length; from += GROUPS_PER_QUESTION) {
      const body = encode(keys.slice(from, from + GROUPS_PER_QUESTION))
      const { answers, missing } = await nodes.bus.gather(GROUP_KINDS.held, body, ANSWER_MS)
      const late = await Promise.all(missing.map((node) => this.#askAgain(node, body)))
      for (const { from: node, body: answer } of [...answers, ...late.flat()]) {
        for (const members of decode(answer) as readonly MembersOf[]) {
          const role = roles.get(members.key)
          if (role?.kind !== 'home') continue
          const handled = restored.get(members.key)?.handled
          for (const place of [...members.holds, ...members.took]) handled?.add(placeKey(...place))
          ofNodes.join(role, members, node)
        }
      }
    }
  }
}
