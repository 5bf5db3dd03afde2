/** The registry as the synchronisation with a network server sees it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Device } from '../identity/devices/device.ts'
import type { Registry } from '../identity/registry.ts'
import type { Result } from '../identity/store/result.ts'
import type { SyncedRegistry } from '../lorawan/network-servers/chirpstack/synced-registry.ts'

/** The parts of the registry that are synchronised. */
export type SynchronisableRegistry = Pick<Registry, 'organizations' | 'applications' | 'devices' | 'deviceProfiles'>

/** The audit log shows no user: the service itself makes these changes. */
const ACTOR = { userId: null }
const EVERYTHING = { userId: '0', isAdmin: true }
const PAGE_SIZE = 1000

/** Makes a `SyncedRegistry`. A refused change returns false; any other failure rejects. */
export function syncedRegistry({
  organizations,
  applications,
  devices,
  deviceProfiles,
}: SynchronisableRegistry): SyncedRegistry {
  return {
    organizationFor: (tenant) => organizationFor(organizations, tenant),

    async syncedApplications(externalIdPrefix, organizationIds) {
      const ids: string[] = []
      for (const organizationId of [...(await organizations.listExternal(externalIdPrefix)), ...organizationIds]) {
        for await (const { id } of every((page) => applications.list(EVERYTHING, { ...page, organizationId }))) {
          // An application that was made here has an id of digits; a synchronised one has a UUID.
          if (id.includes('-')) ids.push(id)
        }
      }
      return ids
    },

    async applicationsOf(organizationId) {
      const found = new Map<string, { readonly name: string; readonly description: string }>()
      for await (const one of every((page) => applications.list(EVERYTHING, { ...page, organizationId }))) {
        found.set(one.id, one)
      }
      return found
    },

    async createApplication(application) {
      const noCodec = { payloadCodec: '', payloadEncoderScript: '', payloadDecoderScript: '' } as const
      const full = { ...application, serviceProfileId: '', serviceProfileName: '', ...noCodec }
      const first = await applications.create(full, ACTOR)
      if (first.ok || first.reason !== 'application_exists') return first.ok
      // The registry requires unique names within an organization; the network server does not.
      return isDone(await applications.create({ ...full, name: uniqueName(full.name, full.id) }, ACTOR))
    },

    async updateApplication(id, fields) {
      const first = await applications.update(id, fields, ACTOR)
      if (first.ok || first.reason !== 'application_exists') return first.ok
      return isDone(await applications.update(id, { ...fields, name: uniqueName(fields.name, id) }, ACTOR))
    },

    async profilesOf(organizationId) {
      return new Set((await allOf((page) => deviceProfiles.list(organizationId, page))).map(({ id }) => id))
    },

    async devicesOf(applicationId) {
      const found = new Map<string, Device>()
      for await (const device of every((page) => devices.list(EVERYTHING, { ...page, applicationId }))) {
        found.set(device.devEui, device)
      }
      return found
    },

    createDevices: async (created) => (await devices.createMany(created, ACTOR)).map(isDone),

    updateDevice: async (devEui, fields) => isDone(await devices.update(devEui, fields, ACTOR)),

    async moveDevice(devEui, { applicationId, organizationId }) {
      const device = await devices.get(devEui)
      if (device === undefined || device.organizationId !== organizationId) return false
      return isDone(await devices.update(devEui, { applicationId }, ACTOR))
    },
  }
}

async function organizationFor(
  organizations: SynchronisableRegistry['organizations'],
  { externalId, displayName }: { readonly externalId: string; readonly displayName: string },
): Promise<string | undefined> {
  const known = await organizations.findByExternalId(externalId)
  if (known === undefined) {
    const name = organizationName(displayName, externalId)
    const created = await organizations.create({ name, displayName, canHaveGateways: false, externalId }, ACTOR)
    return created.ok ? created.value.id : undefined
  }
  if (known.displayName !== displayName) await organizations.update(known.id, { displayName }, ACTOR)
  return known.id
}

/**
 * Makes a unique name of letters, digits, `_` and `-` for a tenant, whose own name may be of other
 * characters and not unique.
 */
function organizationName(displayName: string, externalId: string): string {
  const letters = displayName
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  const id = externalId.slice(externalId.lastIndexOf('/') + 1)
  return `${letters.slice(0, 60)}-${id.slice(0, 8)}`.replace(/^-/, '')
}

function uniqueName(name: string, id: string): string {
  return `${Array.from(name).slice(0, 80).join('')} (${id.slice(0, 8)})`
}

/** All items of a list whose bound is small. */
export async function allOf<Item>(list: Parameters<typeof every<Item>>[0]): Promise<readonly Item[]> {
  const items: Item[] = []
  for await (const item of every(list)) items.push(item)
  return items
}

/** All items of a list, page by page. */
export async function* every<Item>(
  list: (page: { readonly limit: number; readonly offset: number }) => Promise<{ readonly items: readonly Item[] }>,
): AsyncGenerator<Item> {
  for (let offset = 0; ; offset += PAGE_SIZE) {
    const { items } = await list({ limit: PAGE_SIZE, offset })
    yield* items
    if (items.length < PAGE_SIZE) return
    // SQLite answers without a turn of the event loop.
    await nextTurn()
  }
}

function isDone(result: Result<unknown>): boolean {
  return result.ok
}
