/**
 * The running broker behind the HTTP interface's port. It shows organizations, users and tokens
 * where the broker has tenants, identities and grounds.
 */
import { identityOf, readHolder, tenantOf } from '../access/holders.ts'
import type { Holder } from '../access/holders.ts'
import type { AccessPolicy } from '../access/policy.ts'
import type { Broker } from '../broker/broker.ts'
import type { ConnectionView } from '../broker/connections/connection-view.ts'
import { given } from '../given.ts'
import { pickConnections } from '../http/operation/broker-views.ts'
import type { BrokerViews, LiveConnection } from '../http/operation/broker-views.ts'

/**
 * A connection whose holder is read only when it is asked for: of a list of many thousands, one
 * page is shown.
 */
class Live implements LiveConnection {
  readonly id: string
  readonly facts: ConnectionView

  constructor(id: string, facts: ConnectionView) {
    this.id = id
    this.facts = facts
  }

  get holder(): Holder {
    return readHolder(this.facts)
  }
}

const NO_NODES: readonly string[] = []

const NOBODY: Holder = {
  organizationId: undefined,
  userId: undefined,
  serviceCredentialId: undefined,
  tokenId: undefined,
}

export interface BrokerViewsOptions {
  readonly broker: Broker
  readonly policy: AccessPolicy
  /**
   * Letters and digits. The id of each connection begins with it, so that an id from an earlier
   * process names no connection of this process.
   */
  readonly processId: string
}

/** Makes the views of this node's connections and refusals. */
export function createBrokerViews({ broker, policy, processId }: BrokerViewsOptions): BrokerViews {
  const prefix = `${processId}-`
  const numberOf = (id: string): number => (id.startsWith(prefix) ? Number(id.slice(prefix.length)) : 0)
  return {
    async connections(asked) {
      const { organizationId } = asked
      const views = [...broker.connections(organizationId === undefined ? undefined : tenantOf(organizationId))]
      const all = views.toReversed().map((view) => new Live(`${prefix}${view.number}`, view))
      return { ...pickConnections(all, asked), missing: NO_NODES }
    },

    async connection(id) {
      const view = broker.connection(numberOf(id))
      return view && new Live(id, view)
    },

    endConnection: async (id) => broker.endConnection(numberOf(id)),

    connectionsWith: async (tokenIds) => ({
      counts: new Map(tokenIds.map((id) => [id, policy.connectionsWith(id)])),
      missing: NO_NODES,
    }),

    async refusals({ organizationId, userId }) {
      const kept = broker.recentRefusals.list(
        given({
          tenant: organizationId === undefined ? undefined : tenantOf(organizationId),
          identity: userId === undefined ? undefined : identityOf(userId),
        }),
      )
      const items = kept.map(({ holder, ...refusal }) =>
        Object.assign(refusal, { holder: holder === undefined ? NOBODY : readHolder(holder) }),
      )
      return { items, missing: NO_NODES }
    },
  }
}
