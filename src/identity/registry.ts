/**
 * The registry: everything that the deployment knows about its tenants, in one SQLite file or in a
 * PostgreSQL.
 */
import { closeSync, openSync } from 'node:fs'
import { Kysely } from 'kysely'
import { createApplications } from './tenants/applications.ts'
import type { Applications } from './tenants/applications.ts'
import { createApiKeys } from './tokens/api-keys.ts'
import type { ApiKeys } from './tokens/api-keys.ts'
import { createApiKeyStandings } from './tokens/api-key-standing.ts'
import { createAudit } from './store/audit.ts'
import type { Audit } from './store/audit.ts'
import { createBrokerAccessLog } from './tokens/broker-access-log.ts'
import { createChanges } from './store/changes.ts'
import type { Changes } from './store/changes.ts'
import type { Clock } from '../clock.ts'
import { createDeviceProfiles } from './devices/device-profiles.ts'
import type { DeviceProfiles } from './devices/device-profile.ts'
import { createDeviceLibrary } from './devices/library-profiles.ts'
import type { DeviceLibrary } from './devices/library-profile.ts'
import { createDeviceRemoval } from './devices/device-removal.ts'
import { createDevices } from './devices/devices.ts'
import type { Devices } from './devices/device.ts'
import { createDeviceStates } from './devices/device-states.ts'
import type { DeviceStates } from './devices/device-states.ts'
import { createDirectory } from './devices/directory.ts'
import type { Directory } from './devices/directory.ts'
import { createMembers } from './tenants/members.ts'
import type { Members } from './tenants/members.ts'
import { createMetricsTokens } from './tokens/metrics-tokens.ts'
import type { MetricsTokens } from './tokens/metrics-tokens.ts'
import { TaggedDeviceSets } from './devices/tagged-devices.ts'
import type { TaggedDevices } from './devices/tagged-devices.ts'
import { migrate, RegistryError } from './store/migrations.ts'
import { createNetworkServers } from './tenants/network-servers.ts'
import type { NetworkServers } from './tenants/network-servers.ts'
import { createOrganizationBounds } from './tenants/organization-bounds.ts'
import type { OrganizationBoundRecords } from './tenants/organization-bounds.ts'
import { createOrganizations } from './tenants/organizations.ts'
import type { Organizations } from './tenants/organizations.ts'
import { createPasswordHasher } from './people/password-hasher.ts'
import type { PasswordHasher } from './people/password-hasher.ts'
import { createLoginThrottle } from './people/login-throttle.ts'
import type { LoginThrottle } from './people/login-throttle.ts'
import { createPasswords } from './people/passwords.ts'
import type { Passwords } from './people/passwords.ts'
import type { ChangeFeed } from './postgres/outbox.ts'
import type { PostgresAddress } from './postgres/postgres-pool.ts'
import type { Schema } from './store/schema.ts'
import { createSecondFactor } from './people/second-factor.ts'
import type { SecondFactor } from './people/second-factor.ts'
import { createServiceCredentials } from './tenants/service-credentials.ts'
import type { ServiceCredentials } from './tenants/service-credentials.ts'
import { openSigningKeys } from './tokens/signing-keys.ts'
import type { DatabaseState } from './postgres/database-state.ts'
import type { SigningKeys } from './tokens/signing-keys.ts'
import { given } from '../given.ts'
import { checkRegistry } from './store/check-registry.ts'
import { RegistryFile } from './store/registry-file.ts'
import { isDamage, RegistryHealth } from './store/registry-health.ts'
import { createSqliteDialect } from './store/sqlite-dialect.ts'
import { createStandings } from './tokens/standing.ts'
import { createStore } from './store/store.ts'
import type { RegistryClock, Store } from './store/store.ts'
import { brokenKeyText } from './store/stored-key.ts'
import { createTokenDigests } from './tokens/token-digests.ts'
import { createTokenVerifier } from './tokens/token-verifier.ts'
import { createTokens } from './tokens/tokens.ts'
import type { Tokens } from './tokens/tokens.ts'
import { createInventorySteps } from './tenants/inventory-steps.ts'
import type { InventoryStepStore } from './tenants/inventory-steps.ts'
import { createRegistrationRules } from './devices/registration-rules.ts'
import type { RegistrationRules } from './devices/registration-rules.ts'
import { createWebhooks } from './tenants/webhooks.ts'
import type { Webhooks } from './tenants/webhooks.ts'
import { createUsers } from './people/users.ts'
import type { Users } from './people/users.ts'

/** A logger for what goes wrong in the registry; pino fits. */
export interface RegistryLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How to open a registry. */
export type RegistryOptions = RegistryCommonOptions & (SqliteOptions | PostgresOptions)

/** The registry is in a file. */
interface SqliteOptions {
  /** The path of the file, which is made when it is missing; or ':memory:'. */
  readonly file: string
  readonly postgres?: undefined
}

/** The registry is in a database that several processes may have open. */
interface PostgresOptions {
  readonly postgres: PostgresAddress
  /** Tells the other processes of changes sooner than they would ask. */
  readonly feed?: ChangeFeed
}

/** The options of both kinds. */
interface RegistryCommonOptions {
  readonly clock: RegistryClock
  readonly log?: RegistryLog
  /** The `iss` of the tokens, `fieldgate` by default. */
  readonly issuer?: string
  /** How long a session lives, 86,400 by default. */
  readonly sessionTtlSeconds?: number
  /** Another way to hash passwords than argon2id, for tests that need many. */
  readonly passwordHasher?: PasswordHasher
}

/**
 * Everything that the deployment knows about its tenants. Only one process has a file open at a
 * time.
 */
export interface Registry {
  readonly users: Users
  readonly organizations: Organizations
  readonly organizationBounds: OrganizationBoundRecords
  readonly members: Members
  readonly applications: Applications
  readonly devices: Devices
  readonly deviceStates: DeviceStates
  readonly deviceProfiles: DeviceProfiles
  readonly deviceLibrary: DeviceLibrary
  readonly serviceCredentials: ServiceCredentials
  readonly networkServers: NetworkServers
  readonly webhooks: Webhooks
  readonly registrationRules: RegistrationRules
  /** The organizations that are kept in step with the inventories of network servers. */
  readonly inventorySteps: InventoryStepStore
  readonly metricsTokens: MetricsTokens
  readonly apiKeys: ApiKeys
  readonly passwords: Passwords
  readonly secondFactor: SecondFactor
  readonly tokens: Tokens
  readonly signingKeys: SigningKeys
  readonly audit: Audit
  readonly changes: Changes
  readonly directory: Directory
  readonly taggedDevices: TaggedDevices
  /**
   * Runs `work` while no other process runs a work of this kind on the same registry. `work` waits
   * for nothing slow.
   */
  alone(work: () => Promise<void>): Promise<void>
  /**
   * Says that the file is damaged, or that the database is away, in words without details; the log
   * has the details. Empty when no damage is known. Reads a little of the file, every few seconds
   * at most.
   */
  health(): string
  /** The state of the database; absent for a registry in a file. Rejects without an answer. */
  readonly database?: () => Promise<DatabaseState>
  /** Forgets expired tokens, expired keys and old audit entries. To be called now and then. */
  pruneExpired(): Promise<void>
  /** Writes pending notes and closes the file. */
  close(): Promise<void>
}

/** The database of a registry, opened and with the newest schema. */
export interface OpenedStore {
  readonly store: Store
  /** Is told of a signing key that is not as it was made. */
  readonly onBrokenKey: (kid: string) => void
  readonly throttle: LoginThrottle & { prune?(): Promise<void> }
  readonly alone: Registry['alone']
  readonly health: () => string
  readonly database?: () => Promise<DatabaseState>
  readonly close: () => Promise<void>
}

/**
 * Opens the registry and brings its schema up to date. A file that is damaged in places is opened
 * for reading: a read of a damaged place fails, and so does every change, with
 * RegistryDamagedError. Throws a RegistryError: `registry_newer` when it was written by a newer
 * version, `registry_damaged` when a part of the file is damaged without which nothing works,
 * `registry_unusable` when it can't be opened for another reason.
 */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const { log } = options
  const changes = createChanges(reportTo(log)('registry.listener_failed'))
  if (options.postgres === undefined) return openFile(options, (opened) => assemble(options, changes, opened), changes)
  // Loaded here, so that a deployment on SQLite does not load it.
  const { openPostgresStore } = await import('./postgres-registry.ts')
  const opened = await openPostgresStore(options, changes)
  try {
    return await assemble(options, changes, opened)
  } catch (error) {
    await opened.close()
    throw error
  }
}

type Report = (message: string) => (error: unknown) => void

function reportTo(log: RegistryLog | undefined): Report {
  return (message) => (error) => log?.error({ err: error }, message)
}

async function assemble(
  options: RegistryOptions,
  changes: Changes,
  { store, onBrokenKey, throttle, alone, health, database, close }: OpenedStore,
): Promise<Registry> {
  const { clock, log, issuer = 'fieldgate', sessionTtlSeconds = 86_400 } = options
  const report = reportTo(log)
  const hasher = options.passwordHasher ?? createPasswordHasher()
  const keys = await openSigningKeys(store, changes, onBrokenKey, report('registry.keys_unread'))
  const standings = createStandings(store, changes)
  const verifier = createTokenVerifier({ keys, digests: createTokenDigests(store, standings), issuer, clock })
  const apiKeys = createApiKeys(store, createApiKeyStandings(store, changes, report('registry.write_failed')))
  const accessLog = createBrokerAccessLog(store, report('registry.write_failed'))
  const tokens = createTokens({ store, keys, verifier, standings, apiKeys, accessLog, issuer, sessionTtlSeconds })
  const audit = createAudit(store)
  const removal = createDeviceRemoval(store)
  // Removes devices that were marked for removal before a crash or a stop.
  removal.run().catch(report('registry.removal_failed'))

  return {
    users: createUsers(store, hasher),
    organizations: createOrganizations(store, removal),
    organizationBounds: createOrganizationBounds(store),
    members: createMembers(store),
    applications: createApplications(store, removal),
    devices: createDevices(store, changes, removal),
    deviceStates: createDeviceStates(store),
    deviceProfiles: createDeviceProfiles(store),
    deviceLibrary: createDeviceLibrary(store),
    serviceCredentials: createServiceCredentials(store),
    networkServers: createNetworkServers(store),
    webhooks: createWebhooks(store),
    registrationRules: createRegistrationRules(store),
    inventorySteps: createInventorySteps(store),
    metricsTokens: createMetricsTokens(store, report('registry.write_failed')),
    apiKeys,
    passwords: createPasswords(store, hasher, throttle),
    secondFactor: createSecondFactor(store),
    tokens,
    signingKeys: keys,
    audit,
    changes,
    directory: createDirectory(store, changes),
    taggedDevices: new TaggedDeviceSets(store, changes),
    alone,
    health,
    ...given({ database }),
    async pruneExpired() {
      await tokens.pruneExpired()
      await audit.prune()
      await throttle.prune?.()
    },
    async close() {
      await removal.stop()
      await accessLog.flush().catch(report('registry.write_failed'))
      await close()
    },
  }
}

const REMEDY =
  'Keep the data directory, and restore a backup into a new one by `fieldgate restore`; `fieldgate check` says what else is damaged.'

async function openFile(
  options: RegistryCommonOptions & SqliteOptions,
  assembled: (opened: OpenedStore) => Promise<Registry>,
  changes: Pick<ReturnType<typeof createChanges>, 'emit'>,
): Promise<Registry> {
  const { file, log, clock } = options
  const health = new RegistryHealth((problems) => log?.error({ file, problems, remedy: REMEDY }, 'registry.damaged'))
  try {
    const { db, opened } = await openDatabase(file, clock, health)
    return await assembled({
      store: createStore(db, opened, clock, (change) => changes.emit(change)),
      onBrokenKey: (kid) => opened.noteProblem(brokenKeyText(kid)),
      throttle: createLoginThrottle(clock),
      alone: (work) => work(),
      health() {
        opened.readAgain()
        return health.problems.length === 0 ? '' : 'the registry is damaged: a backup must be restored'
      },
      close: () => db.destroy(),
    })
  } catch (error) {
    if (!isDamage(error) && !isDamage(error instanceof RegistryError ? error.cause : undefined)) throw error
    const problems = file === ':memory:' ? health.problems : checkRegistry(file).problems
    const found = [...new Set([...health.problems, ...problems])].join(' ')
    throw new RegistryError('registry_damaged', `The registry ${file} is damaged: ${found} ${REMEDY}`, { cause: error })
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
    const save = (version: number): void => {
      if (file !== ':memory:') opened.saveAs(`${file}.schema-${version}`)
    }
    await migrate(db, clock.now(), undefined, undefined, save)
    return { db, opened }
  } catch (error) {
    await db?.destroy()
    if (error instanceof RegistryError) throw error
    throw new RegistryError('registry_unusable', `the registry ${file} can't be opened: ${String(error)}`, {
      cause: error,
    })
  }
}
