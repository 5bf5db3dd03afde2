/**
 * Looks up a thing by its id, for a person who may do an action with it. A person without a role in
 * the owning organization gets the same answer as for an unknown id.
 */
import type { Application } from '../../identity/tenants/applications.ts'
import type { DeviceProfile } from '../../identity/devices/device-profile.ts'
import type { Device } from '../../identity/devices/device.ts'
import type { Organization } from '../../identity/tenants/organizations.ts'
import type { Registry } from '../../identity/registry.ts'
import type { Viewer } from '../../identity/store/result.ts'
import type { Caller } from './caller.ts'
import { objectNotFound, RequestRefused } from './errors.ts'
import { isRestricted } from '../../identity/store/reach.ts'
import { reachesApplication, reachesDevice } from '../../identity/tokens/scope.ts'
import type { ScopedDevice } from '../../identity/tokens/scope.ts'
import { demand, demandRight, roleOf } from './permissions.ts'
import type { Action, Role } from './permissions.ts'

/** The parts of the registry in which ownership is looked up. */
export type OwnershipRegistry = Pick<
  Registry,
  'organizations' | 'members' | 'applications' | 'devices' | 'deviceProfiles'
>

/**
 * The role of the viewer in an organization; `none` when the organization does not exist, even for
 * a global admin. An API key has the role of its maker in its own organization, and in no other.
 */
export async function roleIn(registry: OwnershipRegistry, viewer: Viewer, organizationId: string): Promise<Role> {
  const { apiKey } = viewer
  if (apiKey !== undefined && apiKey.organizationId !== null) {
    if (apiKey.organizationId !== organizationId) return 'none'
    const { isGlobalAdmin, ...membership } = apiKey.makerRoles
    return isGlobalAdmin ? 'organizationAdmin' : roleOf(false, membership)
  }
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
  demandRight(viewer, action)
}

/**
 * Throws unless the caller may read the events of the organization's devices. Sessions need the
 * role. A broker-access token is good for its own organization alone; the check of the token has
 * already looked up the membership. The caller compares the token's scope.
 */
export async function demandEventsIn(
  registry: OwnershipRegistry,
  caller: Caller | null,
  organizationId: string,
  action: Action,
): Promise<void> {
  if (caller?.kind === 'session' || caller?.kind === 'apiKey') {
    return demandIn(registry, caller.viewer, organizationId, action)
  }
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
  await demandReached(registry, viewer, applicationId)
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
  if (!reachesDevice(viewer.apiKey?.scope, device)) throw objectNotFound()
  return device
}

/** The device profile, for a person who may do the action in its organization. */
export async function deviceProfileFor(
  registry: OwnershipRegistry,
  viewer: Viewer,
  profileId: string,
  action: Action,
): Promise<DeviceProfile> {
  const profile = await registry.deviceProfiles.get(profileId)
  if (profile === undefined) throw objectNotFound()
  await demandIn(registry, viewer, profile.organizationId, action)
  return profile
}

/**
 * Throws unless the viewer reaches the application. One that a restricted API key does not reach
 * answers like one that does not exist.
 */
export async function demandReached(registry: OwnershipRegistry, viewer: Viewer, applicationId: string): Promise<void> {
  const scope = viewer.apiKey?.scope
  if (scope === undefined || (await registry.applications.isWithin(applicationId, scope))) return
  throw objectNotFound()
}

/**
 * Throws unless a restricted API key reaches the device as it is to become: no key makes a device
 * that it does not reach, nor moves one away from itself.
 */
export function demandReachedAfter({ apiKey }: Viewer, device: ScopedDevice): void {
  if (reachesDevice(apiKey?.scope, device)) return
  if (!reachesApplication(apiKey?.scope, device.applicationId)) throw objectNotFound()
  const message = 'the API key is restricted to other devices or tags'
  throw new RequestRefused('permission_denied', message, 'api_key_restricted')
}

/** Throws for a restricted API key: the thing would be outside of its restriction. */
export function demandUnrestricted({ apiKey }: Viewer): void {
  if (!isRestricted(apiKey?.scope ?? {})) return
  const message = 'the API key is restricted, and can make nothing outside of its restriction'
  throw new RequestRefused('permission_denied', message, 'api_key_restricted')
}

/** Throws a refusal unless the viewer is a global admin. */
export function demandGlobalAdmin(viewer: Viewer): void {
  demand(roleOf(viewer.isAdmin, NO_ROLES), 'organization.govern')
}

/**
 * The roles of any signed-in person: the refusal then names the needed role, and does not say that
 * the object is missing.
 */
const NO_ROLES = { isAdmin: false, isDeviceAdmin: false, isReadOnly: false }
