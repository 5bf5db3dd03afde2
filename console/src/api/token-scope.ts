/** The limits of a token; a member that is missing is no limit. */
export interface TokenScope {
  readonly applicationIds?: readonly string[]
  readonly devEuis?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
  readonly eventKinds?: readonly string[]
  readonly isReadOnly?: boolean
  readonly reachesAllApplications?: boolean
}
