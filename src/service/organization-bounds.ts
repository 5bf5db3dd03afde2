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
  { settings, log, shutdown }: StartContext,
  { registry }: Pick<Parts, 'registry'>,
): Promise<BoundsByOrganization> {
  const bounds = new BoundsByOrganization(organizationBounds(settings))
  const unsubscribe = registry.changes.subscribe((change) => {
    if (change.kind === 'organization_bounds_changed') bounds.override(change.organizationId, change.overrides)
    if (change.kind === 'organization_removed') bounds.override(change.organizationId, {})
    if (change.kind === 'resynchronized') {
      readAll().catch((error: unknown) => log.error({ err: error }, 'bounds.unread'))
    }
  })
  shutdown.add('bounds', unsubscribe)
  const readAll = async (): Promise<void> => {
    const overridden = await registry.organizationBounds.all()
    for (const organizationId of bounds.overridden()) {
      if (!overridden.has(organizationId)) bounds.override(organizationId, {})
    }
    for (const [organizationId, overrides] of overridden) bounds.override(organizationId, overrides)
  }
  await readAll()
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
