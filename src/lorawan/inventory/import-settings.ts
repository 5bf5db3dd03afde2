/** The settings of an import of an inventory, and its report. */

/** The ways of the network server's device profiles into the organization. */
export const PROFILE_MODES = ['IMPORT', 'BY_NAME', 'NONE'] as const

export type ProfileMode = (typeof PROFILE_MODES)[number]

export interface ImportSettings {
  readonly organizationId: string
  /**
   * Applications of the network server, each with an application here. No others are imported.
   * Undefined: each application goes to the one with the same id, or else with the same name.
   */
  readonly applications: Readonly<Record<string, string>> | undefined
  /** Makes applications for those that have none here; not with `applications`. */
  readonly createsApplications: boolean
  /** They get the ids that they have at the network server; otherwise numbers. */
  readonly givesIds: boolean
  /**
   * IMPORT: a profile here is made of each profile there, and follows it. BY_NAME: devices get the
   * organization's profile of the same name. NONE: only the id and the name are noted.
   */
  readonly profiles: ProfileMode
  /** Tags of all devices, over those of the network server. */
  readonly tags: Readonly<Record<string, string>>
}

export const OUTCOMES = ['created', 'updated', 'unchanged', 'refused', 'leftOut', 'missing'] as const

/**
 * The fate of a thing, or in a look the fate that it would have. An application is `missing` if the
 * settings choose it, and the network server does not have it.
 */
export type ImportOutcome = (typeof OUTCOMES)[number]

export interface ReportedApplication {
  /** The network server's own id. */
  readonly id: string
  /** The id for an application that is missing. */
  readonly name: string
  /** Here; empty where there is none. */
  readonly applicationId: string
  readonly outcome: ImportOutcome
  readonly reason: string
  readonly message: string
}

export interface ReportedProfile extends Omit<ReportedApplication, 'applicationId'> {
  /** Here; empty where there is none. */
  readonly deviceProfileId: string
  /** The members that change. */
  readonly members: readonly string[]
}

export interface ReportedDevice {
  readonly devEui: string
  readonly joinEui: string
  readonly name: string
  /** Here; empty for an application that is only made by the import itself. */
  readonly applicationId: string
  readonly outcome: ImportOutcome
  /** The members that change. */
  readonly members: readonly string[]
  readonly reason: string
  readonly message: string
}

export interface ImportReport {
  readonly isDryRun: boolean
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  /**
   * Devices that an earlier import made, and that the network server has no longer. Devices of an
   * application that is missing are among them, and are not removed.
   */
  readonly missing: number
  readonly removed: number
  readonly applications: readonly ReportedApplication[]
  readonly profiles: readonly ReportedProfile[]
  /** Devices that are created, updated or refused, as many as a report has room for. */
  readonly devices: readonly ReportedDevice[]
  /** The DevEUIs of the missing devices, as many as a report has room for. */
  readonly missingDevEuis: readonly string[]
}
