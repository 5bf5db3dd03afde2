/**
 * The tables of a registry. A boolean is 0 or 1. A time is an integer of milliseconds since 1970,
 * and its name ends in `_at`. A structured value is JSON in a text. So SQLite and PostgreSQL hold
 * the same.
 */
import type { Generated } from 'kysely'

export interface Schema {
  readonly schema_versions: SchemaVersionsTable
  readonly users: UsersTable
  readonly organizations: OrganizationsTable
  readonly organization_bounds: OrganizationBoundsTable
  readonly members: MembersTable
  readonly applications: ApplicationsTable
  readonly devices: DevicesTable
  readonly device_search: DeviceSearchTable
  readonly service_credentials: ServiceCredentialsTable
  readonly network_servers: NetworkServersTable
  readonly metrics_tokens: MetricsTokensTable
  readonly api_keys: ApiKeysTable
  readonly broker_tokens: BrokerTokensTable
  readonly signing_keys: SigningKeysTable
  readonly second_factors: SecondFactorsTable
  readonly recovery_codes: RecoveryCodesTable
  readonly audit_entries: AuditEntriesTable
  readonly audit_holders: AuditHoldersTable
  readonly outbox: OutboxTable
  readonly login_failures: LoginFailuresTable
  readonly webhooks: WebhooksTable
  readonly device_profiles: DeviceProfilesTable
  readonly device_profile_versions: DeviceProfileVersionsTable
  readonly registration_rules: RegistrationRulesTable
  readonly library_scripts: LibraryScriptsTable
  readonly library_profiles: LibraryProfilesTable
  readonly inventory_steps: InventoryStepsTable
}

interface NetworkServersTable {
  readonly name: string
  readonly settings: string
  readonly created_at: number
}

interface InventoryStepsTable {
  readonly network_server: string
  readonly organization_id: number
  readonly settings: string
  readonly ran_at: number | null
  readonly outcome: string | null
  readonly created_at: number
}

interface WebhooksTable {
  readonly id: string
  readonly organization_id: number
  readonly name: string
  /** `name`, folded. */
  readonly sort_key: string
  /** `WebhookSettings` without the name. */
  readonly settings: string
  /** Header fields by name in lower case. The values are secret. */
  readonly headers: string
  /** A list of `WebhookSecret`, the current one first. */
  readonly secrets: string
  /** Grows with each replay. */
  readonly generation: number
  /** Events from this time on are sent. */
  readonly start_at: number
  /** Applications that were chosen later are read from this time on. */
  readonly reach_at: number
  readonly paused_at: number | null
  /** Empty while the webhook runs. */
  readonly pause_code: string
  readonly pause_reason: string
  readonly created_at: number
  readonly updated_at: number
}

interface DeviceProfilesTable {
  readonly id: string
  readonly organization_id: number
  readonly name: string
  /** `name`, folded. */
  readonly sort_key: string
  /** Name, vendor and model, folded. */
  readonly search_text: string
  /** `ListedProfileFields` without the name and the codec. */
  readonly settings: string
  readonly payload_codec: string
  /** The number of the newest row in `device_profile_versions`. */
  readonly codec_version: number
  /** Characters of the settings, the scripts and the vectors. */
  readonly size: number
  readonly created_at: number
  readonly updated_at: number
  readonly payload_decoder_script: string
  readonly payload_encoder_script: string
  /** A list of `TestVector`. */
  readonly test_vectors: string
}

/** The codecs that a profile has and had, the present one included. */
interface DeviceProfileVersionsTable {
  readonly profile_id: string
  readonly version: number
  readonly organization_id: number
  readonly payload_codec: string
  /** Characters of the scripts. */
  readonly size: number
  readonly actor_user_id: string | null
  readonly actor_api_key_id: string | null
  readonly created_at: number
  readonly payload_decoder_script: string
  readonly payload_encoder_script: string
}

/** The scripts of library profiles, each text once. */
interface LibraryScriptsTable {
  /** SHA-256 of the text in hexadecimal. */
  readonly hash: string
  /** Characters of the text. */
  readonly size: number
  readonly script: string
}

/** The device profiles that all organizations may choose from. */
interface LibraryProfilesTable {
  readonly id: string
  /** SHA-256 of source, vendor, model and firmware. Profiles for different regions share it. */
  readonly profile_key: string
  /** The name of the source. */
  readonly source: string
  readonly vendor: string
  readonly model: string
  readonly firmware_version: string
  /** Vendor, model and firmware, folded. */
  readonly sort_key: string
  /** Vendor, model and description, folded. */
  readonly search_text: string
  /** The names of the regions, with a line feed before and behind each. */
  readonly regions: string
  /** Description, regions, FPort rules and source. */
  readonly settings: string
  readonly payload_codec: string
  /** In `library_scripts`; empty for no script. */
  readonly decoder_hash: string
  readonly encoder_hash: string
  readonly revision: number
  readonly failed_examples: number
  readonly vector_count: number
  /** Characters of the settings and the vectors. */
  readonly size: number
  readonly created_at: number
  readonly updated_at: number
  /** A list of `TestVector`. */
  readonly test_vectors: string
}

interface RegistrationRulesTable {
  readonly id: string
  readonly organization_id: number
  readonly application_id: number
  /** Orders the rules of an organization that were made at the same time. */
  readonly number: number
  /** `RegistrationRuleSettings`. */
  readonly settings: string
  readonly created_at: number
}

interface MetricsTokensTable {
  readonly id: string
  readonly name: string
  /** `name`, folded: unique. */
  readonly name_key: string
  /** SHA-256 in hexadecimal. */
  readonly token_hash: string
  readonly created_at: number
  readonly last_used_at: number | null
}

interface ApiKeysTable {
  readonly id: string
  /** `null` for a key of the whole deployment. */
  readonly organization_id: number | null
  readonly name: string
  /** `name`, folded: unique among the keys of one owner. */
  readonly name_key: string
  /** A list of `ApiKeyRight` in JSON. */
  readonly rights: string
  /** A `Scope` in JSON; `null` for no restriction. */
  readonly scope: string | null
  /** SHA-256 in hexadecimal. */
  readonly secret_hash: string
  /** The secret before the last rotation; good until `old_secret_until`. */
  readonly old_secret_hash: string | null
  readonly old_secret_until: number | null
  /** Raising it ends the broker-access tokens that the key made before. */
  readonly generation: number
  readonly expires_at: number | null
  /** `null` when that user was removed. */
  readonly maker_user_id: number | null
  readonly created_at: number
  readonly rotated_at: number | null
  readonly last_used_at: number | null
  readonly last_used_address: string | null
}

interface SchemaVersionsTable {
  readonly version: number
  readonly applied_at: number
}

interface UsersTable {
  readonly id: Generated<number>
  readonly email: string
  /** `email`, folded: unique. */
  readonly email_key: string
  readonly password_hash: string
  readonly is_admin: number
  readonly is_active: number
  readonly note: string
  /** Session tokens carry it. Raising it voids the tokens that were issued before. */
  readonly session_epoch: number
  readonly created_at: number
  readonly updated_at: number
}

interface OrganizationsTable {
  readonly id: Generated<number>
  /**
   * The organization's id at the network server that it was synchronised from. Unique among the
   * organizations that are not removed.
   */
  readonly external_id: string | null
  readonly name: string
  /** `name`, folded: unique among those not removed. */
  readonly name_key: string
  readonly display_name: string
  /** `display_name`, folded. */
  readonly sort_key: string
  /** `name` and `display_name`, folded. */
  readonly search_text: string
  readonly can_have_gateways: number
  /** The number of devices in its applications. Updated with every change of devices. */
  readonly device_count: number
  /**
   * Set while the organization's devices are being deleted. Readers no longer see the organization.
   */
  readonly removed_at: number | null
  readonly created_at: number
  readonly updated_at: number
}

/** The bounds of single organizations, where they are not those of the deployment. */
interface OrganizationBoundsTable {
  readonly organization_id: number
  readonly name: string
  readonly value: number
}

interface MembersTable {
  readonly organization_id: number
  readonly user_id: number
  readonly is_admin: number
  readonly is_device_admin: number
  readonly is_gateway_admin: number
  readonly is_read_only: Generated<number>
  readonly created_at: number
  readonly updated_at: number
}

interface ApplicationsTable {
  readonly id: Generated<number>
  /** The application's id if it is a UUID; otherwise `null`, and the row's number is the id. */
  readonly uuid: string | null
  readonly organization_id: number
  readonly name: string
  /** `name`, folded. */
  readonly sort_key: string
  readonly description: string
  readonly service_profile_id: string
  readonly service_profile_name: string
  readonly payload_codec: string
  readonly payload_encoder_script: string
  readonly payload_decoder_script: string
  readonly event_shape: string
  readonly object_commands: string
  readonly retains_last_events: number
  readonly device_count: number
  readonly removed_at: number | null
  readonly created_at: number
  readonly updated_at: number
}

interface DevicesTable {
  readonly id: Generated<number>
  readonly dev_eui: string
  readonly application_id: number
  /**
   * The organization of the application, so that an index can order an organization's devices by
   * name.
   */
  readonly organization_id: number
  readonly name: string
  /** Folded name, line feed, DevEUI. Lists are ordered by it, and searches look into it. */
  readonly order_key: string
  readonly description: string
  readonly device_profile_id: string
  readonly device_profile_name: string
  readonly tags: string
  readonly variables: string
  readonly is_disabled: number
  readonly last_seen_at: number | null
  readonly battery_level: number | null
  readonly margin: number | null
  /** A `DeviceState`. */
  readonly state: Generated<string>
  readonly state_since_at: number | null
  /**
   * When the state is looked at next; `null` for a device that was never heard. It may be earlier
   * than needed, so that a sign of life need not move it.
   */
  readonly state_due_at: number | null
  /** The changes of the state and its flags that nobody was told of. */
  readonly untold_changes: Generated<number>
  readonly is_battery_low: Generated<number>
  readonly is_signal_weak: Generated<number>
  readonly is_losing_frames: Generated<number>
  readonly interval_seconds: number | null
  readonly loss_percent: number | null
  readonly rssi: number | null
  readonly snr: number | null
  readonly created_at: number
  readonly updated_at: number
}

/** The trigrams of `devices.order_key`, by `devices.id`. On SQLite alone. */
interface DeviceSearchTable {
  readonly rowid: number
  readonly text: string
}

interface ServiceCredentialsTable {
  readonly id: string
  readonly name: string
  readonly sort_key: string
  readonly organization_id: number | null
  /** SHA-256 in hexadecimal. */
  readonly password_hash: string
  readonly created_at: number
}

interface BrokerTokensTable {
  readonly id: string
  readonly user_id: number
  readonly organization_id: number
  readonly issued_at: number
  readonly expires_at: number
  readonly last_used_at: number | null
  readonly is_of_console: number
  /** A `Scope` in JSON; `null` for no limit. */
  readonly scope: string | null
  /** The API key that made the token; `null` for a token that a person made. */
  readonly api_key_id: string | null
  /** The generation of the API key in which it made the token. */
  readonly api_key_generation: Generated<number | null>
  /** The SHA-256 of the token's text, in base64url; `null` for a token of an older version. */
  readonly digest: Generated<string | null>
}

interface SigningKeysTable {
  readonly kid: string
  readonly public_jwk: string
  readonly private_jwk: string
  readonly is_current: number
  /** No token that the key signed expires later. */
  readonly latest_expiry_at: number
  readonly created_at: number
}

interface SecondFactorsTable {
  readonly user_id: number
  /** Base32. */
  readonly secret: string
  readonly is_enabled: number
  /** The time step of the newest code that was used. */
  readonly last_step: number
  readonly failures: number
  readonly locked_until_at: number
}

interface RecoveryCodesTable {
  readonly user_id: number
  readonly code_hash: string
}

interface AuditEntriesTable {
  readonly id: Generated<number>
  readonly at: number
  /** `null` for the service, and for the operator of the machine. */
  readonly actor_user_id: string | null
  /** The API key that acted; `null` for all other actors. */
  readonly actor_api_key_id: Generated<string | null>
  readonly is_operator: number
  readonly is_of_console: number
  readonly action: string
  readonly subject: string
  readonly search_text: string
  readonly organization_id: string | null
  readonly detail: string
}

/**
 * The number of entries of each organization that has entries. Triggers of the database keep it.
 */
interface AuditHoldersTable {
  /** Empty for the deployment, which holds the entries without an organization. */
  readonly organization_id: string
  readonly entries: number
}

/** The changes as they were told, one row for each transaction. On PostgreSQL alone. */
interface OutboxTable {
  /** Grows in the order of the changes. */
  readonly number: Generated<number>
  /** A UUID. A number that was lost in a failover may be given again, with another id. */
  readonly id: string
  /** A list of `Change` in JSON. */
  readonly content: string
  /** By the clock of the database. */
  readonly told_at: number
}

/** Failed logins by account, by network, and by both. On PostgreSQL alone. */
interface LoginFailuresTable {
  readonly key: string
  readonly failures: number
  readonly blocked_until_at: number
  readonly last_at: number
}
