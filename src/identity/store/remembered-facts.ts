/**
 * The facts of the registry that the service remembers, and the one table of the changes that make
 * them wrong. A memory names the facts that it holds; it needs no knowledge of changes.
 */
import type { Change, Changes } from './changes.ts'

/** A memory that can forget what it holds of one id, and everything. */
interface Forgetful {
  forget(id: string): void
  forgetAll(): void
}

/** The memories that are told of changes, by fact. */
export interface RememberedFacts {
  /** How a user stands, by user id. */
  readonly user?: Forgetful
  /** How a user stands towards an organization, and a token towards both, by token id. */
  readonly access?: Forgetful
  /** How an API key stands, by its id. */
  readonly apiKey?: Forgetful
  /** An application with its organization and its codec, by application id. */
  readonly application?: Forgetful
  /** The ids of an organization's applications, by organization id: sets that callers keep. */
  readonly applicationIds?: Forgetful & {
    amend(organizationId: string, apply: (applicationIds: Set<string>) => void): void
  }
  /** A device with its variables and tags, by DevEUI. */
  readonly device?: Forgetful
  /** A device profile, by its id. */
  readonly deviceProfile?: Forgetful
  /** The application of a device, by DevEUI; devices of one application are a group. */
  readonly place?: Forgetful & { forgetGroup(applicationId: string): void }
}

/** Tells the memories of each change from now on. Returns the function that ends this. */
export function forgetOnChange(changes: Changes, facts: RememberedFacts): () => void {
  return changes.subscribe((change) => apply(change, facts))
}

function apply(change: Change, facts: RememberedFacts): void {
  const { user, access, apiKey, application, applicationIds, device, deviceProfile, place } = facts
  switch (change.kind) {
    case 'user_changed':
      user?.forget(change.userId)
      access?.forgetAll()
      return
    case 'member_added':
    case 'member_changed':
    case 'member_removed':
      access?.forgetAll()
      return
    case 'token_revoked':
      access?.forget(change.tokenId)
      return
    case 'organization_removed':
      access?.forgetAll()
      applicationIds?.amend(change.organizationId, (ids) => ids.clear())
      applicationIds?.forget(change.organizationId)
      return
    case 'application_created':
      application?.forget(change.applicationId)
      applicationIds?.amend(change.organizationId, (ids) => ids.add(change.applicationId))
      return
    case 'application_changed':
      application?.forget(change.applicationId)
      return
    case 'last_events_ended':
      // `application_changed` comes with it.
      return
    case 'application_removed':
      application?.forget(change.applicationId)
      applicationIds?.amend(change.organizationId, (ids) => ids.delete(change.applicationId))
      // No change tells of each device of a removed application.
      place?.forgetGroup(change.applicationId)
      return
    case 'device_created':
    case 'device_changed':
    case 'device_removed':
      device?.forget(change.devEui)
      place?.forget(change.devEui)
      return
    case 'devices_changed':
      // Never all devices: an import would make the service forget the devices of everybody.
      for (const devEui of change.devEuis) {
        device?.forget(devEui)
        place?.forget(devEui)
      }
      return
    case 'organization_bounds_changed':
      // The bounds in force are not among these facts: the service follows them itself.
      return
    case 'service_credential_revoked':
      // Nothing is remembered of service credentials: each use asks the registry.
      return
    case 'api_key_revoked':
    case 'api_key_changed':
      apiKey?.forget(change.apiKeyId)
      return
    case 'webhook_changed':
      // The part that runs webhooks follows them itself.
      return
    case 'device_profile_changed':
      deviceProfile?.forget(change.profileId)
      return
    case 'registration_rules_changed':
      // The part that applies the rules follows them itself.
      return
    case 'signing_key_rotated':
      // The key ring follows the keys itself.
      return
    case 'resynchronized':
      for (const memory of [user, access, apiKey, application, applicationIds, device, deviceProfile, place]) {
        memory?.forgetAll()
      }
      return
  }
}
