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
 * the note that the step was done: a crash leaves the schema at a whole step. Throws RegistryError
 * `registry_newer` for a schema that this version does not know.
 */
export async function migrate(
  db: Kysely<Schema>,
  nowMs: number,
  migrations: readonly Migration[] = allMigrations,
  dialect: MigrationDialect = ofSqlite,
): Promise<void> {
  const newest = Math.max(0, ...migrations.map(({ version }) => version))
  // An up-to-date schema needs no write: the disk may be full, or the file damaged.
  if ((await versionOf(db, dialect)) === newest) return
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
]

/** The schema that this program writes to SQLite. */
export const newestSchemaVersion = Math.max(...allMigrations.map(({ version }) => version))
