/**
 * Looks up a thing by its id, for a person who may do an action with it. A person without a role in
 * the owning organization gets the same answer as for an unknown id.
 */
import type { Application } from '../../identity/tenants/applications.ts'
import type { Device } from '../../identity/devices/device.ts'
import type { Organization } from '../../identity/tenants/organizations.ts'
import type { Registry } from '../../identity/registry.ts'
import type { Viewer } from '../../identity/store/result.ts'
import type { Caller } from './caller.ts'
import { objectNotFound } from './errors.ts'
import { demand, roleOf } from './permissions.ts'
import type { Action, Role } from './permissions.ts'

/** The parts of the registry in which ownership is looked up. */
export type OwnershipRegistry = Pick<Registry, 'organizations' | 'members' | 'applications' | 'devices'>

/**
 * The role of the viewer in an organization; `none` when the organization does not exist, even for
 * a global admin.
 */
export async function roleIn(registry: OwnershipRegistry, viewer: Viewer, organizationId: string): Promise<Role> {
  if (viewer.isAdmin) {
    return (await registry.organizations.get(organizationId)) === undefined ? 'none' : 'globalAdmin'
  }
  return roleOf(false, await registry.members.get(organizationId, viewer.userId))
}

/** Throws unless the viewer may do the action in the organization. */
export async function demandIn(
  registry: OwnershipRegistry,
  viewer: Viewer,
  organizationId: string,
  action: Action,
): Promise<void> {
  demand(await roleIn(registry, viewer, organizationId), action)
}

/**
 * Throws unless the caller may read the events of the organization's devices. Sessions need the
 * role. A broker-access token is good for its own organization alone; the check of the token has
 * already looked up the membership.
 */
export async function demandEventsIn(
  registry: OwnershipRegistry,
  caller: Caller | null,
  organizationId: string,
): Promise<void> {
  if (caller?.kind === 'session') return demandIn(registry, caller.viewer, organizationId, 'device.read')
  if (caller?.kind === 'brokerAccess' && caller.organizationId === organizationId) return undefined
  throw objectNotFound()
}

/** The organization, for a person who may do the action with it. */
export async function organizationFor(
  registry: OwnershipRegistry,
  viewer: Viewer,
  organizationId: string,
  action: Action,
): Promise<Organization> {
  await demandIn(registry, viewer, organizationId, action)
  const organization = await registry.organizations.get(organizationId)
  if (organization === undefined) throw objectNotFound()
  return organization
}

/** The application, for a person who may do the action in its organization. */
export async function applicationFor(
  registry: OwnershipRegistry,
  viewer: Viewer,
  applicationId: string,
  action: Action,
): Promise<Application> {
  const application = await registry.applications.get(applicationId)
  if (application === undefined) throw objectNotFound()
  await demandIn(registry, viewer, application.organizationId, action)
  return application
}

/** The device, for a person who may do the action in its organization. */
export async function deviceFor(
  registry: OwnershipRegistry,
  viewer: Viewer,
  devEui: string,
  action: Action,
): Promise<Device> {
  const device = await registry.devices.get(devEui)
  if (device === undefined) throw objectNotFound()
  await demandIn(registry, viewer, device.organizationId, action)
  return device
}

/** Throws a refusal unless the viewer is a global admin. */
export function demandGlobalAdmin(viewer: Viewer): void {
  demand(roleOf(viewer.isAdmin, NO_ROLES), 'organization.govern')
}

/**
 * The roles of any signed-in person: the refusal then names the needed role, and does not say that
 * the object is missing.
 */
const NO_ROLES = { isAdmin: false, isDeviceAdmin: false }
