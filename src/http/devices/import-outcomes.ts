/**
 * What becomes of the good rows of an import: written, or only looked up, with words for a DevEUI
 * that is taken.
 */
import type { Device, NewDevice } from '../../identity/devices/device.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { roleIn } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'

/** What became of one device, or would. */
export interface ImportOutcome {
  readonly ok: boolean
  readonly message: string
  readonly reason: string
}

/** The outcome of what was taken. */
export const ACCEPTED: ImportOutcome = { ok: true, message: '', reason: '' }

/**
 * Takes devices whose DevEUIs differ, and tells for each what became of it: of the first `worded`
 * refused ones in words.
 */
export type ImportWriter = (devices: readonly NewDevice[], worded: number) => Promise<readonly ImportOutcome[]>

/** Creates them. */
export function createWriter(registry: OwnershipRegistry, viewer: Viewer): ImportWriter {
  return async (devices, worded) => {
    const results = await registry.devices.createMany(devices, viewer)
    const outcomes: ImportOutcome[] = []
    let left = worded
    for (const [index, result] of results.entries()) {
      const devEui = devices[index]?.devEui ?? ''
      if (result.ok) outcomes.push(ACCEPTED)
      else if (result.reason !== 'device_exists' || left <= 0) outcomes.push(result)
      else outcomes.push((await visibleHolder(registry, viewer, devEui)) ?? TAKEN_ELSEWHERE)
      if (!result.ok) left -= 1
    }
    return outcomes
  }
}

/**
 * Says what a writer would say about DevEUIs that a device has which the person may see. Others'
 * devices stay unseen here: a preview leaves no trace, and half a million of them would be a cheap
 * search.
 */
export function createPreview(registry: OwnershipRegistry, viewer: Viewer): ImportWriter {
  return async (devices) => {
    const outcomes: ImportOutcome[] = []
    for (const { devEui } of devices) outcomes.push((await visibleHolder(registry, viewer, devEui)) ?? ACCEPTED)
    return outcomes
  }
}

/**
 * Whose the device is stays untold; that there is one can't, for a DevEUI belongs to one device in
 * the whole deployment.
 */
const TAKEN_ELSEWHERE: ImportOutcome = {
  ok: false,
  message: 'a device of an organization that you are no member of has this DevEUI',
  reason: 'device_exists_elsewhere',
}

/** The refusal that names the device with the DevEUI, where the person may see it. */
async function visibleHolder(
  registry: OwnershipRegistry,
  viewer: Viewer,
  devEui: string,
): Promise<ImportOutcome | undefined> {
  const device = await registry.devices.get(devEui)
  if (device === undefined || (await roleIn(registry, viewer, device.organizationId)) === 'none') return undefined
  return { ok: false, message: await placeOf(registry, device), reason: 'device_exists' }
}

async function placeOf(registry: OwnershipRegistry, { name, applicationId, organizationId }: Device): Promise<string> {
  const application = await registry.applications.get(applicationId)
  const organization = await registry.organizations.get(organizationId)
  const place = `application "${application?.name ?? applicationId}" of organization "${organization?.name ?? organizationId}"`
  return `the device "${name}" in ${place} has this DevEUI already`
}
