/**
 * From an id to the thing itself, for somebody who may do something with it. Whoever has no role in
 * the organization that owns it hears what an unknown id would say.
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

/** The organization, for somebody who may do the action with it. */
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

/** The application, for somebody who may do the action in its organization. */
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

/** The device, for somebody who may do the action in its organization. */
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

/** The refusal for somebody who asks for what only a global admin may. */
export function demandGlobalAdmin(viewer: Viewer): void {
  demand(roleOf(viewer.isAdmin, NO_ROLES), 'organization.govern')
}

/**
 * Stands for anybody who is signed in: such a person hears which role is needed, not that nothing
 * exists.
 */
const NO_ROLES = { isAdmin: false, isDeviceAdmin: false }
