/** Devices that send without being registered, and the rules that register them. */
import { request } from './request.ts'

/** The path of the devices. It is also the first member of the key of their lists in the cache. */
export const UNKNOWN_DEVICES_PATH = '/api/unknown-devices'

/** The path of the rules. It is also the first member of the key of their list in the cache. */
export const REGISTRATION_RULES_PATH = '/api/registration-rules'

/** A device that waits. */
export interface UnknownDevice {
  readonly devEUI: string
  /** `credential:<id>`, `entry:<name>` or `http`. */
  readonly networkServer: string
  readonly networkServerName: string
  /** The names are empty where the network server has sent none. */
  readonly deviceName: string
  readonly networkServerApplicationID: string
  readonly networkServerApplicationName: string
  readonly deviceProfileName: string
  readonly eventCount: number
  readonly firstAt: string
  readonly lastAt: string
}

/** The devices that are meant. A member that is empty lets all pass. */
export interface UnknownDeviceFilter {
  readonly search: string
  readonly networkServerApplicationName: string
  readonly deviceProfileName: string
}

/** The values that the devices get. */
export interface NewDeviceValues {
  readonly applicationID: string
  readonly nameTemplate: string
  readonly deviceProfileID?: string
  readonly tags: Readonly<Record<string, string>>
  /** True: devices of the network servers of the whole deployment. */
  readonly ofDeployment?: true
}

/** The result of a registration. */
export interface RegisteredDevices {
  readonly registered: number
  readonly refused: number
  /** The first hundred devices that could not be registered. */
  readonly refusals: readonly { readonly devEUI: string; readonly message: string }[]
  /** More devices wait than one request registers. */
  readonly more: boolean
}

/** A rule. Texts that are empty let all devices pass, or set nothing. */
export interface RegistrationRule {
  readonly id: string
  readonly applicationID: string
  readonly ofDeployment: boolean
  readonly networkServerApplicationID: string
  readonly networkServerApplicationName: string
  readonly networkServerProfileName: string
  readonly networkServer: string
  readonly devEUIPrefix: string
}

/** Registers one device, or all that the filter means. */
export function registerUnknownDevices(
  values: NewDeviceValues,
  meant: { readonly devEUIs: readonly string[] } | { readonly filter: UnknownDeviceFilter },
): Promise<RegisteredDevices> {
  return request('POST', `${UNKNOWN_DEVICES_PATH}/register`, { body: { ...values, ...meant } })
}

/** Makes a rule. */
export function createRegistrationRule(
  rule: NewDeviceValues & Readonly<Record<RuleCondition, string>>,
): Promise<unknown> {
  return request('POST', REGISTRATION_RULES_PATH, { body: { registrationRule: rule } })
}

/** The conditions of a rule that the console asks for. */
export type RuleCondition = 'networkServerApplicationName' | 'networkServerProfileName' | 'devEUIPrefix'
