/** The registration of devices that wait: which of them are meant, and their names. */
import type { UnknownDevice } from './shelves.ts'

/** The devices that are meant. A member that is left out, or empty, lets all pass. */
export interface UnknownDeviceFilter {
  readonly networkServer?: string | undefined
  /** The network server's own id of the application. */
  readonly applicationId?: string | undefined
  readonly applicationName?: string | undefined
  readonly deviceProfileName?: string | undefined
  /** Lower-case hexadecimal digits. */
  readonly devEuiPrefix?: string | undefined
  /** In any case; looks into the DevEUI and the names. */
  readonly search?: string | undefined
}

/** The longest name of a device. */
const MAXIMUM_NAME = 100

const PLACEHOLDER = /\{(deviceName|devEUI|applicationName|deviceProfileName)\}/g

/** True for a device that the filter means. */
export function isMeant({ devEui, networkServer, names }: UnknownDevice, filter: UnknownDeviceFilter): boolean {
  const { applicationId = '', applicationName = '', deviceProfileName = '', devEuiPrefix = '', search = '' } = filter
  if ((filter.networkServer ?? '') !== '' && filter.networkServer !== networkServer) return false
  if (applicationId !== '' && applicationId !== names.applicationId) return false
  if (applicationName !== '' && applicationName !== names.applicationName) return false
  if (deviceProfileName !== '' && deviceProfileName !== names.deviceProfileName) return false
  if (!devEui.startsWith(devEuiPrefix)) return false
  return search === '' || `${devEui} ${Object.values(names).join(' ')}`.toLowerCase().includes(search.toLowerCase())
}

/**
 * The name of the device: the template with `{deviceName}`, `{devEUI}`, `{applicationName}` and
 * `{deviceProfileName}` filled in. A name that comes out empty is the DevEUI.
 */
export function nameOf({ devEui, names }: Pick<UnknownDevice, 'devEui' | 'names'>, template: string): string {
  const { deviceName, applicationName, deviceProfileName } = names
  const values: Readonly<Record<string, string>> = { deviceName, devEUI: devEui, applicationName, deviceProfileName }
  const name = template.replace(PLACEHOLDER, (_placeholder, member: string) => values[member] ?? '')
  return name.trim().slice(0, MAXIMUM_NAME).trim() || devEui
}
