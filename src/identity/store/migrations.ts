/** The steps that bring the schema of a registry up to date. */
import { sql } from 'kysely'
import type { Kysely, Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/** One step of the schema. A released step is never changed; each later change is a new step. */
export interface Migration {
  readonly version: number
  up(trx: Transaction<Schema>): Promise<void>
}

/** The reason why a registry can't be opened. */
export class RegistryError extends Error {
  readonly code: 'registry_newer' | 'registry_unusable' | 'registry_damaged'

  constructor(code: RegistryError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RegistryError'
    this.code = code
  }
}

/** The part of migrating in which databases differ. */
export interface MigrationDialect {
  /** Whether there is no table of versions yet. */
  isNew(db: Kysely<Schema>): Promise<boolean>
  /** Makes the transaction wait for those of other processes that migrate. */
  lock(trx: Transaction<Schema>): Promise<void>
}

const ofSqlite: MigrationDialect = {
  async isNew(db) {
    const known = await sql`select 1 from sqlite_schema where name = 'schema_versions'`.execute(db)
    return known.rows.length === 0
  },
  // Each transaction takes the write lock at its begin.
  lock: () => Promise.resolve(),
}

/**
 * Brings the schema up to the newest of `migrations`. Each step is one transaction, together with
 * the note that the step was done: a crash leaves the schema at a whole step. `save` keeps a copy
 * of a registry of an older version before the first step. Throws RegistryError `registry_newer`
 * for a schema that this version does not know.
 */
export async function migrate(
  db: Kysely<Schema>,
  nowMs: number,
  migrations: readonly Migration[] = allMigrations,
  dialect: MigrationDialect = ofSqlite,
  save: (version: number) => void = () => {},
): Promise<void> {
  const newest = Math.max(0, ...migrations.map(({ version }) => version))
  // An up-to-date schema needs no write: the disk may be full, or the file damaged.
  const found = await versionOf(db, dialect)
  if (found === newest) return
  if (found !== undefined && found < newest) save(found)
  await db.transaction().execute(async (trx) => {
    await dialect.lock(trx)
    await sql`create table if not exists schema_versions (version integer primary key, applied_at bigint not null)`.execute(
      trx,
    )
  })
  for (const migration of migrations) {
    await db.transaction().execute(async (trx) => {
      await dialect.lock(trx)
      // Asked inside the transaction: another process may be migrating the same file.
      const { version } = await trx
        .selectFrom('schema_versions')
        .select((eb) => eb.fn.coalesce(eb.fn.max('version'), sql<number>`0`).as('version'))
        .executeTakeFirstOrThrow()
      if (version > newest) {
        throw new RegistryError(
          'registry_newer',
          `the registry has schema version ${version}, this program knows ${newest}: it was written by a newer version`,
        )
      }
      if (version >= migration.version) return
      await migration.up(trx)
      await trx.insertInto('schema_versions').values({ version: migration.version, applied_at: nowMs }).execute()
    })
  }
}

/** The version of the schema; undefined when there is no schema yet. */
async function versionOf(db: Kysely<Schema>, dialect: MigrationDialect): Promise<number | undefined> {
  if (await dialect.isNew(db)) return undefined
  const found = await db
    .selectFrom('schema_versions')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return found?.version ?? undefined
}

const tablesOfTenants = [
  `create table users (
    id integer primary key autoincrement, email text not null, email_key text not null unique,
    password_hash text not null, is_admin integer not null, is_active integer not null, note text not null,
    session_epoch integer not null, created_at bigint not null, updated_at bigint not null)`,
  `create table organizations (
    id integer primary key autoincrement, name text not null, name_key text not null, display_name text not null,
    sort_key text not null, search_text text not null, can_have_gateways integer not null, device_count integer not null,
    removed_at bigint, created_at bigint not null, updated_at bigint not null)`,
  `create unique index organizations_name on organizations (name_key) where removed_at is null`,
  `create index organizations_order on organizations (sort_key, id) where removed_at is null`,
  `create table members (
    organization_id integer not null references organizations (id), user_id integer not null references users (id),
    is_admin integer not null, is_device_admin integer not null, is_gateway_admin integer not null,
    created_at bigint not null, updated_at bigint not null, primary key (organization_id, user_id))`,
  `create index members_user on members (user_id, organization_id)`,
  `create table applications (
    id integer primary key autoincrement, organization_id integer not null references organizations (id),
    name text not null, sort_key text not null, description text not null,
    service_profile_id text not null, service_profile_name text not null, payload_codec text not null,
    payload_encoder_script text not null, payload_decoder_script text not null, device_count integer not null,
    removed_at bigint, created_at bigint not null, updated_at bigint not null)`,
  `create unique index applications_name on applications (organization_id, name) where removed_at is null`,
  `create index applications_order on applications (sort_key, id) where removed_at is null`,
  `create index applications_organization_order on applications (organization_id, sort_key, id) where removed_at is null`,
  `create index applications_removed on applications (id) where removed_at is not null`,
]

const tablesOfDevices = [
  `create table devices (
    id integer primary key autoincrement, dev_eui text not null unique,
    application_id integer not null references applications (id),
    organization_id integer not null references organizations (id),
    name text not null, order_key text not null, description text not null, device_profile_id text not null,
    device_profile_name text not null, tags text not null, variables text not null, is_disabled integer not null,
    last_seen_at bigint, battery_level real, margin real, created_at bigint not null, updated_at bigint not null)`,
  `create index devices_order on devices (order_key, organization_id)`,
  `create index devices_organization_order on devices (organization_id, order_key)`,
  `create index devices_application_order on devices (application_id, order_key)`,
  // The index holds neither a copy of the text nor positions. A row that has all trigrams of a word
  // is checked against order_key.
  `create virtual table device_search using fts5 (
    text, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1, detail = none)`,
]

const tablesOfAccess = [
  `create table service_credentials (
    id text primary key, name text not null, sort_key text not null,
    organization_id integer references organizations (id), password_hash text not null, created_at bigint not null)`,
  `create index service_credentials_organization on service_credentials (organization_id)`,
  `create table broker_tokens (
    id text primary key, user_id integer not null references users (id),
    organization_id integer not null references organizations (id), issued_at bigint not null, expires_at bigint not null,
    last_used_at bigint)`,
  `create index broker_tokens_issued on broker_tokens (issued_at, id)`,
  `create index broker_tokens_user on broker_tokens (user_id, organization_id)`,
  `create index broker_tokens_organization on broker_tokens (organization_id, issued_at, id)`,
  `create index broker_tokens_expiry on broker_tokens (expires_at)`,
  `create table signing_keys (
    kid text primary key, public_jwk text not null, private_jwk text not null, is_current integer not null,
    latest_expiry_at bigint not null, created_at bigint not null)`,
  `create table second_factors (
    user_id integer primary key references users (id), secret text not null, is_enabled integer not null,
    last_step bigint not null, failures integer not null, locked_until_at bigint not null)`,
  `create table recovery_codes (
    user_id integer not null references users (id), code_hash text not null, primary key (user_id, code_hash))`,
  `create table audit_entries (
    id integer primary key autoincrement, at bigint not null, actor_user_id text, action text not null,
    subject text not null, search_text text not null, organization_id text, detail text not null)`,
  `create index audit_entries_organization on audit_entries (organization_id, id)`,
  `create index audit_entries_at on audit_entries (at)`,
]

/** Applications and organizations that have an id or a name of their network server. */
const idsOfNetworkServers = [
  `alter table applications add column uuid text`,
  `create unique index applications_uuid on applications (uuid)`,
  `alter table organizations add column external_id text`,
  `create unique index organizations_external on organizations (external_id) where removed_at is null`,
]

/**
 * Rows of applications with a UUID get numbers below 0, and so do the references of their devices.
 * Numbers above 0 are ids that may be asked for, and a number that nobody can see would be taken.
 */
const hiddenNumbers = [
  `pragma defer_foreign_keys = on`,
  `update devices set application_id = -application_id
    where application_id in (select id from applications where uuid is not null)`,
  `update applications set id = -id where uuid is not null`,
]

/**
 * Network servers that were set up in the console or by the API. Their settings contain API keys.
 */
const setUpNetworkServers = [
  `create table network_servers (name text primary key, settings text not null, created_at bigint not null)`,
]

/**
 * Older entries name the first admin, or the user in whose place the operator acted. They stay so.
 */
const operatorInAudit = [`alter table audit_entries add column is_operator integer not null default 0`]

/** Tokens by which programs collect metrics. */
const tokensOfMetrics = [
  `create table metrics_tokens (
    id text primary key, name text not null, name_key text not null unique, token_hash text not null unique,
    created_at bigint not null, last_used_at bigint)`,
]

/** Older tokens of the console's pages are marked like all other tokens. They stay so. */
const tokensOfConsole = [
  `alter table broker_tokens add column is_of_console integer not null default 0`,
  `alter table audit_entries add column is_of_console integer not null default 0`,
]

/** The bounds that administrators have given single organizations. */
const boundsOfOrganizations = [
  `create table organization_bounds (
    organization_id integer not null references organizations (id), name text not null, value bigint not null,
    primary key (organization_id, name))`,
]

/**
 * The number of entries of each organization in the audit. The database itself keeps the numbers,
 * so that they are right whichever statement adds or deletes entries.
 */
const holdersOfAudit = [
  `create table audit_holders (organization_id text primary key, entries bigint not null)`,
  `insert into audit_holders select coalesce(organization_id, ''), count(*) from audit_entries group by 1`,
  `create index audit_holders_entries on audit_holders (entries)`,
  `create trigger audit_entry_added after insert on audit_entries begin
    insert into audit_holders values (coalesce(new.organization_id, ''), 1)
      on conflict (organization_id) do update set entries = entries + 1;
  end`,
  `create trigger audit_entry_removed after delete on audit_entries begin
    update audit_holders set entries = entries - 1 where organization_id = coalesce(old.organization_id, '');
    delete from audit_holders where organization_id = coalesce(old.organization_id, '') and entries <= 0;
  end`,
]

/**
 * The scopes of broker-access tokens, the API keys that they were made by, and members who only
 * read. A token without a scope has no limit.
 */
const scopesOfTokens = [
  `alter table broker_tokens add column scope text`,
  `alter table broker_tokens add column api_key_id text`,
  `create index broker_tokens_api_key on broker_tokens (api_key_id) where api_key_id is not null`,
  `alter table members add column is_read_only integer not null default 0`,
]

/**
 * API keys, and their names in the audit. A key whose maker was removed has none. Tokens of a key
 * are good for the generation of the key in which they were made.
 */
const keysOfPrograms = [
  `create table api_keys (
    id text primary key, organization_id integer references organizations (id), name text not null, name_key text not null,
    rights text not null, scope text, secret_hash text not null, old_secret_hash text, old_secret_until bigint,
    generation integer not null, expires_at bigint, maker_user_id integer references users (id), created_at bigint not null,
    rotated_at bigint, last_used_at bigint, last_used_address text)`,
  `create unique index api_keys_name on api_keys (coalesce(organization_id, 0), name_key)`,
  `create index api_keys_maker on api_keys (maker_user_id)`,
  `alter table broker_tokens add column api_key_generation integer`,
  `alter table audit_entries add column actor_api_key_id text`,
]

/** Webhooks, to which events go out. Their headers and secrets are kept as they are. */
const tableOfWebhooks = [
  `create table webhooks (
    id text primary key, organization_id integer not null references organizations (id), name text not null,
    sort_key text not null, settings text not null, headers text not null, secrets text not null,
    generation integer not null, start_at bigint not null, reach_at bigint not null, paused_at bigint,
    pause_code text not null, pause_reason text not null, created_at bigint not null, updated_at bigint not null)`,
  `create index webhooks_organization on webhooks (organization_id, sort_key)`,
]

/**
 * The state of each device. A device that was heard before counts as on time, until its state is
 * looked at for the first time.
 */
const statesOfDevices = [
  `alter table devices add column state text not null default 'NEVER_HEARD'`,
  `alter table devices add column state_since_at bigint`,
  `alter table devices add column state_due_at bigint`,
  `alter table devices add column untold_changes integer not null default 0`,
  `alter table devices add column is_battery_low integer not null default 0`,
  `alter table devices add column is_signal_weak integer not null default 0`,
  `alter table devices add column is_losing_frames integer not null default 0`,
  `alter table devices add column interval_seconds real`,
  `alter table devices add column loss_percent real`,
  `alter table devices add column rssi real`,
  `alter table devices add column snr real`,
  `update devices set state = 'ON_TIME', state_since_at = last_seen_at, state_due_at = last_seen_at
    where last_seen_at is not null`,
  `create index devices_state_due on devices (state_due_at) where state_due_at is not null`,
  `create index devices_untold on devices (id) where untold_changes > 0`,
]

/** Device profiles, and the versions of their codecs. Lists read no scripts: these come last. */
const profilesOfDevices = [
  `create table device_profiles (
    id text primary key, organization_id integer not null references organizations (id), name text not null,
    sort_key text not null, search_text text not null, settings text not null, payload_codec text not null,
    codec_version integer not null, size integer not null, created_at bigint not null, updated_at bigint not null,
    payload_decoder_script text not null, payload_encoder_script text not null, test_vectors text not null)`,
  `create unique index device_profiles_name on device_profiles (organization_id, name)`,
  `create index device_profiles_order on device_profiles (organization_id, sort_key, id)`,
  `create table device_profile_versions (
    profile_id text not null references device_profiles (id) on delete cascade, version integer not null,
    organization_id integer not null, payload_codec text not null, size integer not null, actor_user_id text,
    actor_api_key_id text, created_at bigint not null, payload_decoder_script text not null,
    payload_encoder_script text not null, primary key (profile_id, version))`,
  `create index device_profile_versions_organization on device_profile_versions (organization_id)`,
  `create index devices_profile on devices (device_profile_id, organization_id)`,
]

/** How the events of an application go out, and who encodes its commands. */
const shapesOfApplications = [
  `alter table applications add column event_shape text not null default ''`,
  `alter table applications add column object_commands text not null default ''`,
]

/** Rules by which devices that wait are registered. */
const rulesOfRegistration = [
  `create table registration_rules (
    id text primary key, organization_id integer not null references organizations (id),
    application_id integer not null references applications (id), number integer not null,
    settings text not null, created_at integer not null)`,
  `create index registration_rules_organization on registration_rules (organization_id, number)`,
  `create index registration_rules_application on registration_rules (application_id)`,
]

/** The library of device profiles. Lists read no vectors: these come last. */
const libraryOfProfiles = [
  `create table library_scripts (hash text primary key, size integer not null, script text not null)`,
  `create index library_scripts_size on library_scripts (size)`,
  `create table library_profiles (
    id text primary key, profile_key text not null, source text not null, vendor text not null, model text not null,
    firmware_version text not null, sort_key text not null, search_text text not null, regions text not null,
    settings text not null, payload_codec text not null, decoder_hash text not null, encoder_hash text not null,
    revision integer not null, failed_examples integer not null, vector_count integer not null, size integer not null,
    created_at bigint not null, updated_at bigint not null, test_vectors text not null)`,
  `create index library_profiles_key on library_profiles (profile_key)`,
  `create index library_profiles_order on library_profiles (sort_key, id)`,
  `create index library_profiles_vendor on library_profiles (vendor, sort_key, id)`,
  `create index library_profiles_source on library_profiles (source)`,
  `create index library_profiles_size on library_profiles (size)`,
  `create index library_profiles_decoder on library_profiles (decoder_hash)`,
  `create index library_profiles_encoder on library_profiles (encoder_hash)`,
]

/** Whether the last event of each device of an application is retained. */
const lastEventsOfApplications = [`alter table applications add column retains_last_events integer not null default 0`]

/** The organizations that are kept in step with the inventories of network servers. */
const stepsOfInventories = [
  `create table inventory_steps (
    network_server text not null, organization_id integer not null references organizations (id), settings text not null,
    ran_at bigint, outcome text, created_at bigint not null, primary key (network_server, organization_id))`,
  `create index inventory_steps_organization on inventory_steps (organization_id)`,
]

/** Digests of the texts of broker-access tokens. Tokens that were issued before have none. */
const digestsOfTokens = [`alter table broker_tokens add column digest text`]

/** All steps of SQLite, in order. */
export const allMigrations: readonly Migration[] = [
  {
    version: 1,
    async up(trx) {
      for (const statement of [...tablesOfTenants, ...tablesOfDevices, ...tablesOfAccess]) {
        await sql.raw(statement).execute(trx)
      }
    },
  },
  {
    version: 2,
    async up(trx) {
      for (const statement of idsOfNetworkServers) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 3,
    async up(trx) {
      for (const statement of hiddenNumbers) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 4,
    async up(trx) {
      for (const statement of setUpNetworkServers) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 5,
    async up(trx) {
      for (const statement of operatorInAudit) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 6,
    async up(trx) {
      for (const statement of tokensOfMetrics) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 7,
    async up(trx) {
      for (const statement of tokensOfConsole) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 8,
    async up(trx) {
      for (const statement of boundsOfOrganizations) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 9,
    async up(trx) {
      for (const statement of holdersOfAudit) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 10,
    async up(trx) {
      for (const statement of scopesOfTokens) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 11,
    async up(trx) {
      for (const statement of keysOfPrograms) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 12,
    async up(trx) {
      for (const statement of tableOfWebhooks) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 13,
    async up(trx) {
      for (const statement of statesOfDevices) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 14,
    async up(trx) {
      for (const statement of profilesOfDevices) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 15,
    async up(trx) {
      for (const statement of shapesOfApplications) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 16,
    async up(trx) {
      for (const statement of rulesOfRegistration) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 17,
    async up(trx) {
      for (const statement of libraryOfProfiles) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 18,
    async up(trx) {
      for (const statement of lastEventsOfApplications) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 19,
    async up(trx) {
      for (const statement of stepsOfInventories) await sql.raw(statement).execute(trx)
    },
  },
  {
    version: 20,
    async up(trx) {
      for (const statement of digestsOfTokens) await sql.raw(statement).execute(trx)
    },
  },
]

/** The schema that this program writes to SQLite. */
export const newestSchemaVersion = Math.max(...allMigrations.map(({ version }) => version))
