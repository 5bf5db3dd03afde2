/** Opens the bounds of the organizations, and the look-out for organizations near them. */
import { systemClock } from '../clock.ts'
import { BoundsByOrganization } from '../organization-bounds.ts'
import { organizationBounds } from '../settings/bounds.ts'
import { NearBounds } from './near-bounds.ts'
import type { Parts, StartContext } from './parts.ts'

/**
 * Reads the overrides of all organizations, before anything of an organization can come, and
 * follows the registry from here on.
 */
export async function openBounds(
  { settings, shutdown }: StartContext,
  { registry }: Pick<Parts, 'registry'>,
): Promise<BoundsByOrganization> {
  const bounds = new BoundsByOrganization(organizationBounds(settings))
  const unsubscribe = registry.changes.subscribe((change) => {
    if (change.kind === 'organization_bounds_changed') bounds.override(change.organizationId, change.overrides)
    if (change.kind === 'organization_removed') bounds.override(change.organizationId, {})
  })
  shutdown.add('bounds', unsubscribe)
  for (const [organizationId, overrides] of await registry.organizationBounds.all()) {
    bounds.override(organizationId, overrides)
  }
  return bounds
}

/** Makes the look-out for organizations near their bounds. Its owner calls `tick` every second. */
export function createNearBounds(
  { log }: StartContext,
  { registry, bounds, usage }: Pick<Parts, 'registry' | 'bounds' | 'usage'>,
): NearBounds {
  const nameOf = async (organizationId: string): Promise<string | undefined> =>
    (await registry.organizations.get(organizationId))?.name
  return new NearBounds({ usage, bounds, nameOf, clock: systemClock, log: log.child({ room: 'service' }) })
}
