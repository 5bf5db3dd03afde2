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
  engine,
  downlinks,
  codecs,
  requestShares,
}: Pick<Parts, 'broker' | 'engine' | 'downlinks' | 'codecs' | 'requestShares'>): UsageSource {
  return joinUsage([
    byOrganization(broker),
    // Messages in memory have no bound of their own.
    ...(engine.isDurable ? [byOrganization(storedBytesIn(engine))] : []),
    downlinks,
    codecs,
    requestShares,
  ])
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

/** A room that counts by tenant. */
interface TenantSource {
  usageOf(tenant: string): OrganizationUsage
  tenants(): Iterable<string>
}

function storedBytesIn(engine: Parts['engine']): TenantSource {
  return {
    usageOf: (tenant) => ({ storedBytes: engine.storedBytesOf(tenant) }),
    tenants: () => engine.tenants(),
  }
}

/**
 * The organizations among the tenants. Network servers of the whole deployment count for nobody.
 */
function byOrganization(source: TenantSource): UsageSource {
  return {
    usageOf: (organizationId) => source.usageOf(tenantOf(organizationId)),
    *organizations() {
      for (const tenant of source.tenants()) {
        const organizationId = organizationOf(tenant)
        if (organizationId !== undefined) yield organizationId
      }
    },
  }
}
