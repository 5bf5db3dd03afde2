/**
 * The writing of the good rows of an import, or in a preview only their look-up, with a refusal in
 * words for a DevEUI that is taken.
 */
import type { CreatedTogether, Device, NewDevice } from '../../identity/devices/device.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { reachesDevice } from '../../identity/tokens/scope.ts'
import { RequestRefused } from '../api/errors.ts'
import { roleIn } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'

/** The outcome of one device: of its creation, or of a preview. */
export interface ImportOutcome {
  readonly ok: boolean
  readonly message: string
  readonly reason: string
}

/** The outcome of a device that was taken. */
export const ACCEPTED: ImportOutcome = { ok: true, message: '', reason: '' }

/** The outcome of a refusal by the checks of a request. Throws any other error. */
export function refusalOf(error: unknown): ImportOutcome & { readonly ok: false } {
  if (error instanceof RequestRefused) return { ok: false, message: error.message, reason: error.reason }
  throw error
}

/**
 * Takes devices whose DevEUIs differ, and returns the outcome of each. Only the first `worded`
 * refusals name the device that has the DevEUI.
 */
export type ImportWriter = (devices: readonly NewDevice[], worded: number) => Promise<readonly ImportOutcome[]>

/** The writer that creates the devices of one import, with one entry of the audit. */
export function createWriter(registry: OwnershipRegistry, viewer: Viewer): ImportWriter {
  const holderOf = createHolderSearch(registry, viewer)
  const together: CreatedTogether = new Map()
  return async (devices, worded) => {
    const results = await registry.devices.createMany(devices, viewer, together)
    const outcomes: ImportOutcome[] = []
    let left = worded
    for (const [index, result] of results.entries()) {
      const devEui = devices[index]?.devEui ?? ''
      if (result.ok) outcomes.push(ACCEPTED)
      else if (result.reason !== 'device_exists' || left <= 0) outcomes.push(result)
      else outcomes.push((await holderOf(devEui)) ?? TAKEN_ELSEWHERE)
      if (!result.ok) left -= 1
    }
    return outcomes
  }
}

/**
 * Returns the refusals of a real import, as far as the person may see the device that has the
 * DevEUI. Devices of other organizations are not reported: a preview leaves no trace, so it would
 * be a cheap search for half a million DevEUIs.
 */
export function createPreview(registry: OwnershipRegistry, viewer: Viewer): ImportWriter {
  const holderOf = createHolderSearch(registry, viewer)
  return async (devices) => {
    const outcomes: ImportOutcome[] = []
    for (const { devEui } of devices) outcomes.push((await holderOf(devEui)) ?? ACCEPTED)
    return outcomes
  }
}

/**
 * The refusal does not name the owner of the device. That the device exists can't be hidden: a
 * DevEUI belongs to one device in the whole deployment.
 */
const TAKEN_ELSEWHERE: ImportOutcome = {
  ok: false,
  message: 'a device of an organization that you are no member of has this DevEUI',
  reason: 'device_exists_elsewhere',
}

/** Places whose words are remembered during an import. */
const MAXIMUM_REMEMBERED_PLACES = 1000

/**
 * The refusal that names the device with the DevEUI, where the person may see it. The words for the
 * devices of one application are looked up once: an import may meet thousands of its devices.
 */
function createHolderSearch(
  registry: OwnershipRegistry,
  viewer: Viewer,
): (devEui: string) => Promise<ImportOutcome | undefined> {
  const places = new Map<string, string | undefined>()
  const placeFor = async (device: Device): Promise<string | undefined> => {
    const { applicationId } = device
    if (!reachesDevice(viewer.apiKey?.scope, device)) return undefined
    if (places.has(applicationId)) return places.get(applicationId)
    const isVisible = (await roleIn(registry, viewer, device.organizationId)) !== 'none'
    const place = isVisible ? await placeOf(registry, device) : undefined
    if (places.size >= MAXIMUM_REMEMBERED_PLACES) places.clear()
    places.set(applicationId, place)
    return place
  }
  return async (devEui) => {
    const device = await registry.devices.get(devEui)
    const place = device && (await placeFor(device))
    if (device === undefined || place === undefined) return undefined
    return {
      ok: false,
      message: `the device "${device.name}" in ${place} has this DevEUI already`,
      reason: 'device_exists',
    }
  }
}

async function placeOf(registry: OwnershipRegistry, { applicationId, organizationId }: Device): Promise<string> {
  const application = await registry.applications.get(applicationId)
  const organization = await registry.organizations.get(organizationId)
  return `application "${application?.name ?? applicationId}" of organization "${organization?.name ?? organizationId}"`
}
