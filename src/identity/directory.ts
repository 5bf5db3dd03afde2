/** Where a device belongs. */
export interface DevicePlace {
  readonly applicationId: string
  readonly organizationId: string
  readonly isDisabled: boolean
}

/**
 * Who owns what, for every packet: answers at once what it has at hand (no Promise), and is kept right by the
 * registry's changes.
 */
export interface Directory {
  /** The ids of the organization's applications; empty for an unknown organization. */
  applicationsOf(organizationId: string): ReadonlySet<string> | Promise<ReadonlySet<string>>
  organizationOf(applicationId: string): string | undefined | Promise<string | undefined>
  /** Takes the DevEUI as `parseDevEui` gives it. */
  device(devEui: string): DevicePlace | undefined | Promise<DevicePlace | undefined>
}
