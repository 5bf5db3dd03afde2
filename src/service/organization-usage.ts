/** The use that organizations make of their bounds, joined from all rooms that count something. */
import { organizationOf, tenantOf } from '../access/holders.ts'
import type { OrganizationUsage } from '../organization-bounds.ts'
import type { Parts } from './parts.ts'

/** A room that counts what organizations use. Both functions answer from memory, at once. */
export interface UsageSource {
  /** The present use, by bound. Bounds that the room does not count are left out. */
  usageOf(organizationId: string): OrganizationUsage
  /** The organizations that use anything here. One may come several times. */
  organizations(): Iterable<string>
}

/**
 * Joins the rooms. A room that counts a further bound gets a line here; no two rooms may count the
 * same bound.
 */
export function createOrganizationUsage({
  broker,
  downlinks,
  codecs,
}: Pick<Parts, 'broker' | 'downlinks' | 'codecs'>): UsageSource {
  return joinUsage([byOrganization(broker), downlinks, codecs])
}

/** One source that answers for several ones. */
export function joinUsage(sources: readonly UsageSource[]): UsageSource {
  return {
    usageOf: (organizationId) =>
      Object.assign({}, ...sources.map((source) => source.usageOf(organizationId))) as OrganizationUsage,
    *organizations() {
      for (const source of sources) yield* source.organizations()
    },
  }
}

/**
 * The use of the broker, which counts by tenant. Network servers of the whole deployment count for
 * nobody.
 */
function byOrganization(broker: Parts['broker']): UsageSource {
  return {
    usageOf: (organizationId) => broker.usageOf(tenantOf(organizationId)),
    *organizations() {
      for (const tenant of broker.tenants()) {
        const organizationId = organizationOf(tenant)
        if (organizationId !== undefined) yield organizationId
      }
    },
  }
}
