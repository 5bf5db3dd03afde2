/** The fields of a device of ChirpStack, as the registry keeps them. */
import { descriptionOf, nameOf, pairsOf } from '../../inventory/registry-texts.ts'
import type { ChirpStackDevice } from './chirpstack-api.ts'
import type { SyncedDeviceFields } from './synced-registry.ts'

/** The variable of a device that ChirpStack no longer lists: the time since then, RFC 3339. */
export const GONE_SINCE = 'chirpstackGoneSince'

/** The fields of a device as the registry keeps them. */
export function deviceFieldsOf(device: ChirpStackDevice): SyncedDeviceFields {
  return {
    name: nameOf(device.name, device.devEui),
    description: descriptionOf(device.description),
    deviceProfileId: device.deviceProfileId,
    deviceProfileName: nameOf(device.deviceProfileName, device.deviceProfileId),
    tags: pairsOf(device.tags),
  }
}

/** True when the device has these fields already. */
export function isSame(device: SyncedDeviceFields, wanted: SyncedDeviceFields): boolean {
  return (
    device.name === wanted.name &&
    device.description === wanted.description &&
    device.deviceProfileId === wanted.deviceProfileId &&
    device.deviceProfileName === wanted.deviceProfileName &&
    textOf(device.tags) === textOf(wanted.tags)
  )
}

function textOf(tags: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(tags).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
