/** The registry, as a synchronisation sees it. */

export interface SyncedDeviceFields {
  readonly name: string
  readonly description: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
}

export interface SyncedDevice extends SyncedDeviceFields {
  readonly variables: Readonly<Record<string, string>>
}

/**
 * Where false or undefined is answered, the registry would not, because of what it has: that is no
 * failure of the synchronisation.
 */
export interface SyncedRegistry {
  /** The organization with this external id, with this name; it is made where there is none. */
  organizationFor(tenant: { readonly externalId: string; readonly displayName: string }): Promise<string | undefined>
  /** The applications of organizations with external ids of this beginning, and of those named. */
  syncedApplications(externalIdPrefix: string, organizationIds: readonly string[]): Promise<readonly string[]>
  /** By id. */
  applicationsOf(
    organizationId: string,
  ): Promise<ReadonlyMap<string, { readonly name: string; readonly description: string }>>
  createApplication(application: {
    readonly id: string
    readonly organizationId: string
    readonly name: string
    readonly description: string
  }): Promise<boolean>
  updateApplication(id: string, fields: { readonly name: string; readonly description: string }): Promise<boolean>
  /** By DevEUI. */
  devicesOf(applicationId: string): Promise<ReadonlyMap<string, SyncedDevice>>
  /** Tells for each whether it was created. */
  createDevices(
    devices: readonly (SyncedDeviceFields & { readonly devEui: string; readonly applicationId: string })[],
  ): Promise<readonly boolean[]>
  updateDevice(devEui: string, fields: Partial<SyncedDevice> & { readonly isDisabled?: boolean }): Promise<boolean>
  /** Moves a device of the same organization to the application. */
  moveDevice(devEui: string, to: { readonly applicationId: string; readonly organizationId: string }): Promise<boolean>
}
