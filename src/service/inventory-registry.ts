/** The registry as the import of an inventory sees it. */
import { changedMembers } from '../changed-members.ts'
import { RequestRefused } from '../http/api/errors.ts'
import { demandParsed } from '../http/devices/script-check.ts'
import type { ScriptChecks } from '../http/devices/script-check.ts'
import type { CreatedTogether } from '../identity/devices/device.ts'
import type { Registry } from '../identity/registry.ts'
import type { Actor, Result } from '../identity/store/result.ts'
import type { ImportedProfile, InventoryRegistry, KnownDevice } from '../lorawan/inventory/inventory-registry.ts'
import { allOf, every } from './synced-registry.ts'

/** The members of a profile that no network server gives. */
const NO_DETAILS = {
  library: null,
  batteryLimitPercent: null,
  marginLimitDb: null,
  variables: {},
  fPortRules: [],
  testVectors: [],
}

const NO_CODEC = { payloadCodec: '', payloadEncoderScript: '', payloadDecoderScript: '' } as const
const EVERYTHING = { userId: '0', isAdmin: true }

/** Makes the port for one import: the audit names the actor, and has one entry for all devices. */
export function inventoryRegistry(
  registry: Pick<Registry, 'applications' | 'devices' | 'deviceProfiles'>,
  codecs: ScriptChecks,
  actor: Actor,
): InventoryRegistry {
  const { applications, devices, deviceProfiles } = registry
  const together: CreatedTogether = new Map()
  return {
    async applicationsOf(organizationId) {
      return allOf((page) => applications.list(EVERYTHING, { ...page, organizationId }))
    },

    async createApplication({ id, ...fields }) {
      const full = { ...fields, serviceProfileId: '', serviceProfileName: '', ...NO_CODEC }
      if (id !== undefined) {
        const withId = await applications.create({ ...full, id }, actor)
        // An id of The Things Stack is no id here, and another organization may have the id.
        if (withId.ok || !['invalid_application_id', 'application_exists'].includes(withId.reason)) {
          return creationOf(withId)
        }
      }
      return creationOf(await applications.create(full, actor))
    },

    async devicesOf(applicationId) {
      const found = new Map<string, KnownDevice>()
      for await (const device of every((page) => devices.list(EVERYTHING, { ...page, applicationId }))) {
        found.set(device.devEui, device)
      }
      return found
    },

    device: (devEui) => devices.get(devEui),
    createDevices: (created) => devices.createMany(created, actor, together),
    updateDevice: (devEui, changes) => devices.update(devEui, changes, actor),
    removeDevice: (devEui) => devices.remove(devEui, actor),

    profilesOf: (organizationId) => allOf((page) => deviceProfiles.list(organizationId, page)),

    async profileChanges(id, wanted) {
      const profile = await deviceProfiles.get(id)
      return profile === undefined ? {} : changedMembers<ImportedProfile>(wanted, profile)
    },

    async createProfile(organizationId, profile, source) {
      return creationOf(await deviceProfiles.create(organizationId, { ...NO_DETAILS, ...profile, source }, actor))
    },

    updateProfile: (id, changes) => deviceProfiles.update(id, changes, actor),

    async scriptFault(organizationId, script) {
      try {
        await demandParsed(codecs, { organizationId, body: 'deviceProfile' }, { payloadDecoderScript: script })
        return undefined
      } catch (error) {
        if (error instanceof RequestRefused) return error.message
        throw error
      }
    },
  }
}

function creationOf(result: Result<{ readonly id: string }>) {
  return result.ok ? { ok: true as const, id: result.value.id } : result
}
