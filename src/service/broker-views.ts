/**
 * The running broker behind the HTTP interface's port: organizations, users and tokens in the place
 * of tenants, identities and grounds.
 */
import { identityOf, readHolder, tenantOf } from '../access/holders.ts'
import type { Holder } from '../access/holders.ts'
import type { AccessPolicy } from '../access/policy.ts'
import type { Broker } from '../broker/broker.ts'
import type { ConnectionView } from '../broker/connections/connection-view.ts'
import type { BrokerViews, LiveConnection } from '../http/operation/broker-views.ts'

/** Holders are read when somebody asks: a list of many thousands shows a page. */
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

const NOBODY: Holder = {
  organizationId: undefined,
  userId: undefined,
  serviceCredentialId: undefined,
  tokenId: undefined,
}

/**
 * `processId` is in the ids of connections, so that one of an earlier process names none of this
 * one. Letters and digits.
 */
export function openBrokerViews(broker: Broker, policy: AccessPolicy, processId: string): BrokerViews {
  const prefix = `${processId}-`
  const numberOf = (id: string): number => (id.startsWith(prefix) ? Number(id.slice(prefix.length)) : 0)
  return {
    connections(organizationId) {
      const views = [...broker.connections(organizationId === undefined ? undefined : tenantOf(organizationId))]
      return views.toReversed().map((view) => new Live(`${prefix}${view.number}`, view))
    },

    connection(id) {
      const view = broker.connection(numberOf(id))
      return view && new Live(id, view)
    },

    endConnection: (id) => broker.endConnection(numberOf(id)),

    connectionsWith: (tokenId) => policy.connectionsWith(tokenId),

    refusals({ organizationId, userId }) {
      const kept = broker.recentRefusals.list({
        ...(organizationId === undefined ? {} : { tenant: tenantOf(organizationId) }),
        ...(userId === undefined ? {} : { identity: identityOf(userId) }),
      })
      return kept.map(({ holder, ...refusal }) =>
        Object.assign(refusal, { holder: holder === undefined ? NOBODY : readHolder(holder) }),
      )
    },
  }
}
