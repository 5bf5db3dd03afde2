/** The registry: everything that the deployment knows about its tenants, in one SQLite file. */
import { closeSync, openSync } from 'node:fs'
import { Kysely } from 'kysely'
import { createApplications } from './tenants/applications.ts'
import type { Applications } from './tenants/applications.ts'
import { createAudit } from './store/audit.ts'
import type { Audit } from './store/audit.ts'
import { createBrokerAccessLog } from './tokens/broker-access-log.ts'
import { createChanges } from './store/changes.ts'
import type { Changes } from './store/changes.ts'
import type { Clock } from '../clock.ts'
import { createDeviceRemoval } from './devices/device-removal.ts'
import { createDevices } from './devices/devices.ts'
import type { Devices } from './devices/device.ts'
import { createDirectory } from './devices/directory.ts'
import type { Directory } from './devices/directory.ts'
import { createMembers } from './tenants/members.ts'
import type { Members } from './tenants/members.ts'
import { createMetricsTokens } from './tokens/metrics-tokens.ts'
import type { MetricsTokens } from './tokens/metrics-tokens.ts'
import { migrate, RegistryError } from './store/migrations.ts'
import { createNetworkServers } from './tenants/network-servers.ts'
import type { NetworkServers } from './tenants/network-servers.ts'
import { createOrganizationBounds } from './tenants/organization-bounds.ts'
import type { OrganizationBoundRecords } from './tenants/organization-bounds.ts'
import { createOrganizations } from './tenants/organizations.ts'
import type { Organizations } from './tenants/organizations.ts'
import { createPasswordHasher } from './people/password-hasher.ts'
import type { PasswordHasher } from './people/password-hasher.ts'
import { createPasswords } from './people/passwords.ts'
import type { Passwords } from './people/passwords.ts'
import type { Schema } from './store/schema.ts'
import { createSecondFactor } from './people/second-factor.ts'
import type { SecondFactor } from './people/second-factor.ts'
import { createServiceCredentials } from './tenants/service-credentials.ts'
import type { ServiceCredentials } from './tenants/service-credentials.ts'
import { openSigningKeys } from './tokens/signing-keys.ts'
import type { SigningKeys } from './tokens/signing-keys.ts'
import { checkRegistry } from './store/check-registry.ts'
import { RegistryFile } from './store/registry-file.ts'
import { isDamage, RegistryHealth } from './store/registry-health.ts'
import { createSqliteDialect } from './store/sqlite-dialect.ts'
import { createStandings } from './tokens/standing.ts'
import { createStore } from './store/store.ts'
import { brokenKeyText } from './store/stored-key.ts'
import { createTokenVerifier } from './tokens/token-verifier.ts'
import { createTokens } from './tokens/tokens.ts'
import type { Tokens } from './tokens/tokens.ts'
import { createUsers } from './people/users.ts'
import type { Users } from './people/users.ts'

/** A logger for what goes wrong in the registry; pino fits. */
export interface RegistryLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How to open a registry. */
export interface RegistryOptions {
  /** The path of the file, which is made when it is missing; or ':memory:'. */
  readonly file: string
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly log?: RegistryLog
  /** The `iss` of the tokens, `fieldgate` by default. */
  readonly issuer?: string
  /** How long a session lives, 86,400 by default. */
  readonly sessionTtlSeconds?: number
  /** Another way to hash passwords than argon2id, for tests that need many. */
  readonly passwordHasher?: PasswordHasher
}

/**
 * Everything that the deployment knows about its tenants. Only one process has it open at a time.
 */
export interface Registry {
  readonly users: Users
  readonly organizations: Organizations
  readonly organizationBounds: OrganizationBoundRecords
  readonly members: Members
  readonly applications: Applications
  readonly devices: Devices
  readonly serviceCredentials: ServiceCredentials
  readonly networkServers: NetworkServers
  readonly metricsTokens: MetricsTokens
  readonly passwords: Passwords
  readonly secondFactor: SecondFactor
  readonly tokens: Tokens
  readonly signingKeys: SigningKeys
  readonly audit: Audit
  readonly changes: Changes
  readonly directory: Directory
  /**
   * Says that the file is damaged, in words without details; the log has the details. Empty when no
   * damage is known. Reads a little of the file, every few seconds at most.
   */
  health(): string
  /** Forgets expired tokens, expired keys and old audit entries. To be called now and then. */
  pruneExpired(): Promise<void>
  /** Writes pending notes and closes the file. */
  close(): Promise<void>
}

/**
 * Opens the registry and brings its schema up to date. A registry that is damaged in places is
 * opened for reading: a read of a damaged place fails, and so does every change, with
 * RegistryDamagedError. Throws a RegistryError: `registry_newer` when the file was written by a
 * newer version, `registry_damaged` when a part is damaged without which nothing works,
 * `registry_unusable` when the file can't be opened for another reason.
 */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const { file, log } = options
  const health = new RegistryHealth((problems) => log?.error({ file, problems, remedy: REMEDY }, 'registry.damaged'))
  try {
    return await openWith(options, health)
  } catch (error) {
    if (!isDamage(error) && !isDamage(error instanceof RegistryError ? error.cause : undefined)) throw error
    const problems = file === ':memory:' ? health.problems : checkRegistry(file).problems
    const found = [...new Set([...health.problems, ...problems])].join(' ')
    throw new RegistryError('registry_damaged', `The registry ${file} is damaged: ${found} ${REMEDY}`, { cause: error })
  }
}

const REMEDY =
  'Keep the data directory, and restore a backup into a new one by `fieldgate restore`; `fieldgate check` says what else is damaged.'

async function openWith(options: RegistryOptions, health: RegistryHealth): Promise<Registry> {
  const { file, clock, log, issuer = 'fieldgate', sessionTtlSeconds = 86_400 } = options
  const reportTo = (message: string) => (error: unknown) => log?.error({ err: error }, message)
  const { db, opened } = await openDatabase(file, clock, health)
  const changes = createChanges(reportTo('registry.listener_failed'))
  const store = createStore(db, clock, (change) => changes.emit(change))
  const hasher = options.passwordHasher ?? createPasswordHasher()
  const keys = await openSigningKeys(store, (kid) => opened.noteProblem(brokenKeyText(kid)))
  const verifier = createTokenVerifier(keys, issuer, clock)
  const standings = createStandings(store, changes)
  const accessLog = createBrokerAccessLog(store, reportTo('registry.write_failed'))
  const tokens = createTokens({ store, keys, verifier, standings, accessLog, issuer, sessionTtlSeconds })
  const audit = createAudit(store)
  const removal = createDeviceRemoval(store)
  // Removes devices that were marked for removal before a crash or a stop.
  removal.run().catch(reportTo('registry.removal_failed'))

  return {
    users: createUsers(store, hasher),
    organizations: createOrganizations(store, removal),
    organizationBounds: createOrganizationBounds(store),
    members: createMembers(store),
    applications: createApplications(store, removal),
    devices: createDevices(store, changes, removal),
    serviceCredentials: createServiceCredentials(store),
    networkServers: createNetworkServers(store),
    metricsTokens: createMetricsTokens(store, reportTo('registry.write_failed')),
    passwords: createPasswords(store, hasher),
    secondFactor: createSecondFactor(store),
    tokens,
    signingKeys: keys,
    audit,
    changes,
    directory: createDirectory(store, changes),
    health() {
      opened.readAgain()
      return health.problems.length === 0 ? '' : 'the registry is damaged: a backup must be restored'
    },
    async pruneExpired() {
      await tokens.pruneExpired()
      await audit.prune()
    },
    async close() {
      await removal.stop()
      await accessLog.flush()
      await db.destroy()
    },
  }
}

async function openDatabase(
  file: string,
  clock: Pick<Clock, 'now'>,
  health: RegistryHealth,
): Promise<{ readonly db: Kysely<Schema>; readonly opened: RegistryFile }> {
  let db: Kysely<Schema> | undefined
  try {
    // The file holds the keys that tokens are signed with: only the service's own user may read it.
    if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600))
    const opened = new RegistryFile(file, health)
    db = new Kysely<Schema>({ dialect: createSqliteDialect(opened, health) })
    if (file !== ':memory:') opened.check()
    await migrate(db, clock.now())
    return { db, opened }
  } catch (error) {
    await db?.destroy()
    if (error instanceof RegistryError) throw error
    throw new RegistryError('registry_unusable', `the registry ${file} can't be opened: ${String(error)}`, {
      cause: error,
    })
  }
}
