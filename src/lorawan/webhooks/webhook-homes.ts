/**
 * The homes of webhooks in a deployment of several nodes: one node runs each webhook. A webhook
 * changes its home when the node dies; the heir has its record by then.
 */
import { later } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Nodes } from '../../nodes.ts'
import { HOOK_PREFIX } from './hook-record.ts'
import type { WebhookHomes } from './webhooks.ts'

/** A webhook that another node runs is looked at again after this time, if no node is gone. */
const LOOK_AGAIN_MS = 60_000
const FIND_MS = 4_000
/** Webhooks whose homes are looked for at the same time. */
const TOGETHER = 50

/** The key of a webhook's home, for the key of its record; undefined for another key. */
export function homeKeyOfHook(stateKey: string): string | undefined {
  return stateKey.startsWith(HOOK_PREFIX) ? stateKey : undefined
}

export class HomesOfWebhooks implements WebhookHomes {
  readonly #nodes: Pick<Nodes, 'bus' | 'homes'>
  readonly #clock: Pick<Clock, 'steady'>
  /** By webhook that another node runs: when it is looked at again. */
  readonly #elsewhere = new Map<string, SteadyMs>()

  constructor(nodes: Pick<Nodes, 'bus' | 'homes' | 'onGone'>, clock: Pick<Clock, 'steady'>) {
    this.#nodes = nodes
    this.#clock = clock
    nodes.onGone(() => this.#elsewhere.clear())
  }

  /** As `WebhookHomes.here`. Rejects when the servers do not answer. */
  async here(webhookIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { homes } = this.#nodes
    const known = await homes.areHere(webhookIds.map(keyOf))
    const here = new Set<string>()
    const now = this.#clock.steady()
    const unsure = webhookIds.filter((id) => {
      if (known.has(keyOf(id))) here.add(id)
      return !here.has(id) && (this.#elsewhere.get(id) ?? 0) <= now
    })
    for (let at = 0; at < unsure.length; at += TOGETHER) {
      // The home of one may be dead, without an heir so far: the others do not wait for it.
      await Promise.allSettled(
        unsure.slice(at, at + TOGETHER).map(async (id) => {
          if (await this.#takes(id)) here.add(id)
        }),
      )
    }
    const wanted = new Set(webhookIds)
    for (const id of this.#elsewhere.keys()) if (!wanted.has(id)) this.#elsewhere.delete(id)
    return here
  }

  release(webhookId: string): void {
    this.#nodes.homes.release(keyOf(webhookId))
  }

  /** True: this node is the home from here on. */
  async #takes(id: string): Promise<boolean> {
    const { homes, bus } = this.#nodes
    const found = await homes.find(keyOf(id), FIND_MS)
    if (found.node === undefined) {
      if (await homes.take(keyOf(id), found)) return true
    } else if (found.node.incarnation === bus.self.incarnation) return true
    this.#elsewhere.set(id, later(this.#clock.steady(), LOOK_AGAIN_MS))
    return false
  }
}

function keyOf(webhookId: string): string {
  return `${HOOK_PREFIX}${webhookId}`
}
