/**
 * The registry's port for a synchronisation: the calls that it needs, and the fields of a device.
 */

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
 * An answer of false or undefined means that the registry refused because of its contents. The
 * synchronisation goes on.
 */
export interface SyncedRegistry {
  /**
   * The id of the organization with this external id; creates the organization with this name if
   * there is none.
   */
  organizationFor(tenant: { readonly externalId: string; readonly displayName: string }): Promise<string | undefined>
  /**
   * The applications of the organizations whose external ids begin so, and of the named
   * organizations.
   */
  syncedApplications(externalIdPrefix: string, organizationIds: readonly string[]): Promise<readonly string[]>
  /** The applications of the organization by their ids. */
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
  /** The ids of the organization's device profiles here. A device keeps one of them. */
  profilesOf(organizationId: string): Promise<ReadonlySet<string>>
  /** The devices of the application by their DevEUIs. */
  devicesOf(applicationId: string): Promise<ReadonlyMap<string, SyncedDevice>>
  /** Resolves with one boolean for each device: true when it was created. */
  createDevices(
    devices: readonly (SyncedDeviceFields & { readonly devEui: string; readonly applicationId: string })[],
  ): Promise<readonly boolean[]>
  updateDevice(devEui: string, fields: Partial<SyncedDevice> & { readonly isDisabled?: boolean }): Promise<boolean>
  /** Moves a device to another application of the same organization. */
  moveDevice(devEui: string, to: { readonly applicationId: string; readonly organizationId: string }): Promise<boolean>
}
