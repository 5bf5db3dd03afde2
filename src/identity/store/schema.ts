import type { Generated } from 'kysely'

/*
 * The tables. What an application would call a boolean is 0 or 1, a time is integer milliseconds since 1970 and ends in
 * `_at`, structured values are JSON in text, so that SQLite and PostgreSQL hold the same.
 */

export interface Schema {
  readonly schema_versions: SchemaVersionsTable
  readonly users: UsersTable
  readonly organizations: OrganizationsTable
  readonly members: MembersTable
  readonly applications: ApplicationsTable
  readonly devices: DevicesTable
  readonly device_search: DeviceSearchTable
  readonly service_credentials: ServiceCredentialsTable
  readonly network_servers: NetworkServersTable
  readonly metrics_tokens: MetricsTokensTable
  readonly broker_tokens: BrokerTokensTable
  readonly signing_keys: SigningKeysTable
  readonly second_factors: SecondFactorsTable
  readonly recovery_codes: RecoveryCodesTable
  readonly audit_entries: AuditEntriesTable
}

interface NetworkServersTable {
  readonly name: string
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
  /** Session tokens carry it; raising it voids those issued before. */
  readonly session_epoch: number
  readonly created_at: number
  readonly updated_at: number
}

interface OrganizationsTable {
  readonly id: Generated<number>
  /**
   * What a network server calls it that it was synchronised from: unique among those not removed.
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
  /** How many devices its applications have; kept with every change of devices. */
  readonly device_count: number
  /** Set while its devices are being taken away: for everybody else it is gone. */
  readonly removed_at: number | null
  readonly created_at: number
  readonly updated_at: number
}

interface MembersTable {
  readonly organization_id: number
  readonly user_id: number
  readonly is_admin: number
  readonly is_device_admin: number
  readonly is_gateway_admin: number
  readonly created_at: number
  readonly updated_at: number
}

interface ApplicationsTable {
  readonly id: Generated<number>
  /** The id, where it is a UUID; otherwise `null`, and the id is the row's. */
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
  readonly device_count: number
  readonly removed_at: number | null
  readonly created_at: number
  readonly updated_at: number
}

interface DevicesTable {
  readonly id: Generated<number>
  readonly dev_eui: string
  readonly application_id: number
  /** The application's; here too, so that an index can order an organization's devices by name. */
  readonly organization_id: number
  readonly name: string
  /** Folded name, line feed, DevEUI: what lists are ordered by and what a search looks into. */
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
  readonly created_at: number
  readonly updated_at: number
}

/** The trigrams of `devices.order_key`, by `devices.id`. */
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
}

interface SigningKeysTable {
  readonly kid: string
  readonly public_jwk: string
  readonly private_jwk: string
  readonly is_current: number
  /** No token signed with it expires later. */
  readonly latest_expiry_at: number
  readonly created_at: number
}

interface SecondFactorsTable {
  readonly user_id: number
  /** Base32. */
  readonly secret: string
  readonly is_enabled: number
  /** The time step of the newest code that was used up. */
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
  readonly is_operator: number
  readonly is_of_console: number
  readonly action: string
  readonly subject: string
  readonly search_text: string
  readonly organization_id: string | null
  readonly detail: string
}
