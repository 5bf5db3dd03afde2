import type { Applications } from './applications.ts'
import type { Audit } from './audit.ts'
import type { Changes } from './changes.ts'
import type { Clock } from './clock.ts'
import type { Devices } from './devices.ts'
import type { Directory } from './directory.ts'
import type { Members } from './members.ts'
import type { Organizations } from './organizations.ts'
import type { Passwords } from './passwords.ts'
import type { SecondFactor } from './second-factor.ts'
import type { ServiceCredentials } from './service-credentials.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { Tokens } from './tokens.ts'
import type { Users } from './users.ts'

/** Where the registry reports what went wrong; pino fits. */
export interface RegistryLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How to open a registry. */
export interface RegistryOptions {
  /** A file, made when it is missing, or ':memory:'. */
  readonly file: string
  readonly clock: Clock
  readonly log?: RegistryLog
  /** The `iss` of the tokens, `fieldgate` by default. */
  readonly issuer?: string
  /** How long a session lives, 86,400 by default. */
  readonly sessionTtlSeconds?: number
}

/** Everything that the deployment knows about its tenants. One process has it open at a time. */
export interface Registry {
  readonly users: Users
  readonly organizations: Organizations
  readonly members: Members
  readonly applications: Applications
  readonly devices: Devices
  readonly serviceCredentials: ServiceCredentials
  readonly passwords: Passwords
  readonly secondFactor: SecondFactor
  readonly tokens: Tokens
  readonly signingKeys: SigningKeys
  readonly audit: Audit
  readonly changes: Changes
  readonly directory: Directory
  /** Writes what is pending and closes the file. */
  close(): Promise<void>
}

/**
 * Opens the registry and brings its schema up to date. Throws an Error with `code` `registry_newer` when the file was
 * written by a newer version, and `registry_unusable` when it can't be opened.
 */
export declare function openRegistry(options: RegistryOptions): Promise<Registry>
