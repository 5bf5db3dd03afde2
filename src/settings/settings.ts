/**
 * The settings, from environment variables named `FIELDGATE_*`. Reading has two steps: first the
 * raw environment, then the checked values. The parser, `fieldgate settings`, the help texts and
 * the README all derive from the one table `definitions`.
 */
import { hostname } from 'node:os'
import { boundDefinitions } from './bounds.ts'
import { given } from '../given.ts'
import { fileVariable, readSecret } from './secret-file.ts'
import {
  choice,
  databaseUrl,
  host,
  integer,
  networks,
  optionalPath,
  origins,
  path,
  secret,
  urlSecrets,
} from './kinds.ts'
import type { Definition } from './kinds.ts'
import { natsDefinitions, natsFaults } from './nats.ts'

/**
 * The `FIELDGATE_*` variables that are set, as given. An empty variable counts as not set: that is
 * how most shells unset a variable for one command (`NAME= command`).
 */
export type RawEnvironment = ReadonlyMap<string, string>

/**
 * The table of settings. To add a setting, add an entry: its key becomes a field of `Settings`. The
 * names of times end in their unit, and the names of sizes in `Bytes`.
 */
export const definitions = {
  dataDirectory: path({
    name: 'FIELDGATE_DATA_DIR',
    default: '.fieldgate',
    description: 'Everything that must survive a restart. A relative path starts at the current directory.',
  }),
  host: host({
    name: 'FIELDGATE_HOST',
    default: '0.0.0.0',
    description: 'The address to listen on. `::` listens on IPv6 and IPv4, `127.0.0.1` for this machine alone.',
  }),
  publicHost: host({
    name: 'FIELDGATE_PUBLIC_HOST',
    default: hostname,
    defaultText: 'this machine’s host name',
    description: 'The name by which clients reach the service: it stands in addresses and in the certificate.',
  }),
  httpsPort: integer({
    name: 'FIELDGATE_HTTPS_PORT',
    default: 8443,
    minimum: 0,
    maximum: 65_535,
    description: 'TCP port of the HTTP API and the console. 0 takes any free port.',
  }),
  mqttsPort: integer({
    name: 'FIELDGATE_MQTTS_PORT',
    default: 8883,
    minimum: 0,
    maximum: 65_535,
    description: 'TCP port of MQTT over TLS. 0 takes any free port.',
  }),
  tlsCertFile: optionalPath({
    name: 'FIELDGATE_TLS_CERT_FILE',
    defaultText: 'made by a local CA',
    description:
      'The server’s certificate and its chain, PEM. Read again when it changes. Goes with `FIELDGATE_TLS_KEY_FILE`.',
  }),
  tlsKeyFile: optionalPath({
    name: 'FIELDGATE_TLS_KEY_FILE',
    defaultText: 'made by a local CA',
    description: 'The private key of that certificate, PEM, not encrypted.',
  }),
  adminPassword: secret({
    name: 'FIELDGATE_ADMIN_PASSWORD',
    defaultText: 'made, printed once',
    minimumLength: 10,
    maximumLength: 128,
    description: 'The password of the first user `admin`, which is made at the first start. Ignored later.',
  }),
  databaseUrl: databaseUrl({
    name: 'FIELDGATE_DATABASE_URL',
    defaultText: 'a file of SQLite in the data directory',
    description: 'The PostgreSQL database of the registry, which several services may share: `docs/postgresql.md`.',
  }),
  databasePassword: secret({
    name: 'FIELDGATE_DATABASE_PASSWORD',
    defaultText: 'that of the URL',
    minimumLength: 1,
    maximumLength: 1_000,
    description: 'The password of the database’s user, where the URL does not contain it.',
  }),
  databaseCaFile: optionalPath({
    name: 'FIELDGATE_DATABASE_CA_FILE',
    defaultText: 'the authorities of the runtime',
    description: 'The certificate authority of the database’s server, PEM. Only with an `sslmode` that encrypts.',
  }),
  allowedOrigins: origins({
    name: 'FIELDGATE_ALLOWED_ORIGINS',
    description:
      'Web pages that may use the HTTP API and MQTT over WebSocket from a browser, besides the console: `https://app.example.org`, several with commas.',
  }),
  strictTransportSecurity: choice({
    name: 'FIELDGATE_HSTS',
    default: 'false',
    choices: ['true', 'false'],
    description:
      'Whether browsers are told to use HTTPS alone for this host name, for a year (HSTS). Only with a certificate that they trust.',
  }),
  trustedProxies: networks({
    name: 'FIELDGATE_TRUSTED_PROXIES',
    description:
      'Proxies in front of Fieldgate, by address or range: `10.0.0.7,2001:db8::/32`. Fieldgate believes the client’s address that such a proxy names: `docs/operate.md`.',
  }),
  webhookAllowedNetworks: networks({
    name: 'FIELDGATE_WEBHOOK_ALLOWED_NETWORKS',
    description:
      'Addresses and ranges that webhooks of organizations may call though they are not public: `10.20.0.0/16`. Every organization may call them: `docs/webhooks.md`.',
  }),
  brokerHookSecrets: urlSecrets({
    name: 'FIELDGATE_BROKER_HOOK_SECRETS',
    defaultText: 'none: this machine alone may ask',
    description:
      'The secret with which mosquitto, EMQX or RabbitMQ ask about their clients: `docs/how-to/foreign-brokers.md`. Two, while the brokers change to the second.',
  }),
  brokerTokenDefaultTtlSeconds: integer({
    name: 'FIELDGATE_BROKER_TOKEN_DEFAULT_TTL_SECONDS',
    default: 86_400,
    minimum: 1,
    maximum: 315_576_000,
    description: 'Lifetime of a broker-access token whose request names none.',
  }),
  brokerTokenMaximumTtlSeconds: integer({
    name: 'FIELDGATE_BROKER_TOKEN_MAXIMUM_TTL_SECONDS',
    default: 31_557_600,
    minimum: 1,
    maximum: 315_576_000,
    description: 'The longest lifetime that a request for a broker-access token may name.',
  }),
  sessionTtlSeconds: integer({
    name: 'FIELDGATE_SESSION_TTL_SECONDS',
    default: 86_400,
    minimum: 60,
    maximum: 31_557_600,
    description: 'Lifetime of the session token that a login answers.',
  }),
  ...boundDefinitions,
  sessionExpiryMaximumSeconds: integer({
    name: 'FIELDGATE_SESSION_EXPIRY_MAXIMUM_SECONDS',
    default: 604_800,
    minimum: 0,
    maximum: 31_557_600,
    description: 'How long an MQTT Session outlives its connection at most. Longer values are reduced to this limit.',
  }),
  engine: choice({
    name: 'FIELDGATE_ENGINE',
    default: 'embedded',
    choices: ['embedded', 'memory', 'nats'],
    description:
      'Where messages and Sessions are kept: on disk, synced before they are acknowledged; in memory alone, for as long as the process lives; or on three servers of NATS: `docs/durability.md`.',
  }),
  ...natsDefinitions,
  retentionDays: integer({
    name: 'FIELDGATE_RETENTION_DAYS',
    default: 7,
    minimum: 1,
    maximum: 3650,
    description: 'How long messages are kept for Sessions that are away, for replay and for the history.',
  }),
  retentionBytes: integer({
    name: 'FIELDGATE_RETENTION_BYTES',
    default: 17_179_869_184,
    minimum: 268_435_456,
    maximum: 281_474_976_710_656,
    description:
      'How many bytes of messages are kept at most. When this limit is near, the organization with the most stored bytes loses its oldest messages first.',
  }),
  keepQoS0Events: choice({
    name: 'FIELDGATE_KEEP_QOS0_EVENTS',
    default: 'true',
    choices: ['true', 'false'],
    description:
      'Whether events that a network server publishes at QoS 0 are stored too. They then appear in the history and are delivered to clients that reconnect.',
  }),
  unknownDeviceDays: integer({
    name: 'FIELDGATE_UNKNOWN_DEVICE_DAYS',
    default: 7,
    minimum: 0,
    maximum: 365,
    description:
      'How long events of devices that are not registered are kept: `docs/unknown-devices.md`. With 0 they are refused.',
  }),
  unknownDeviceEvents: integer({
    name: 'FIELDGATE_UNKNOWN_DEVICE_EVENTS',
    default: 20_000,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'How many events of devices that are not registered are kept for each network server. The oldest are given up first.',
  }),
  unknownDeviceBytes: integer({
    name: 'FIELDGATE_UNKNOWN_DEVICE_BYTES',
    default: 33_554_432,
    minimum: 0,
    maximum: 268_435_456,
    description:
      'How many bytes of events of devices that are not registered are kept for each network server, in memory and on disk. The oldest are given up first.',
  }),
  commandWordSeconds: integer({
    name: 'FIELDGATE_COMMAND_WORD_SECONDS',
    default: 21_600,
    minimum: 30,
    maximum: 82_800,
    description:
      'How long Fieldgate waits for news of a command after a network server has taken it. Then the command is `unconfirmed`, and its sender is told. The default is longer than the time between two uplinks of most devices.',
  }),
  networkServersFile: optionalPath({
    name: 'FIELDGATE_NETWORK_SERVERS_FILE',
    defaultText: 'none',
    description:
      'A JSON file that names network servers which are no clients of this broker: `docs/network-servers/README.md`.',
  }),
  logLevel: choice({
    name: 'FIELDGATE_LOG_LEVEL',
    default: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    description: 'The least severe messages that are logged.',
  }),
  logFormat: choice({
    name: 'FIELDGATE_LOG_FORMAT',
    default: 'json',
    choices: ['json', 'text'],
    description: 'One JSON object a line for programs, or text for people. The log goes to standard error.',
  }),
} as const satisfies Record<string, Definition<unknown>>

/** The checked settings of a process, which reads them once, at its start. */
export type Settings = {
  readonly [Key in keyof typeof definitions]: (typeof definitions)[Key] extends Definition<infer Value> ? Value : never
}

/** Variables that the service does not read; the tables for people show them too. */
const otherVariables: readonly Variable[] = [
  {
    // `bin/runtime.mjs` reads it, and refuses other values.
    name: 'FIELDGATE_RUNTIME',
    accepts: 'bun, node',
    defaultText: '`bun`; `node` where Bun does not run',
    description: 'The runtime that the start chooses: `docs/operate.md`.',
    isSecret: false,
  },
  {
    // `bin/runtime.mjs` reads it, and refuses other values.
    name: 'FIELDGATE_RUNTIME_MEMORY',
    accepts: 'fast, small',
    defaultText: '`fast`; `small` where the service may hold less than 2 GiB',
    description: 'Whether Bun keeps free memory, which saves CPU time: `docs/operate.md`.',
    isSecret: false,
  },
  {
    name: 'FIELDGATE_PASSWORD',
    accepts: 'a text',
    defaultText: 'asked for',
    description:
      'For the command line alone: the password that `fieldgate user create` and `fieldgate user set-password` set.',
    isSecret: true,
  },
]

/** The variable by which `bin/launch.mjs` talks to the program; the tables do not show it. */
const LAUNCHERS = 'FIELDGATE_LAUNCHERS'

type Variable = Pick<Definition<unknown>, 'name' | 'accepts' | 'defaultText' | 'description' | 'isSecret'>

/** All variables that the tables show. A secret is followed by the variable of its file. */
const variables: readonly Variable[] = [...Object.values<Variable>(definitions), ...otherVariables].flatMap(
  (variable) => (variable.isSecret ? [variable, fileOf(variable)] : [variable]),
)

function fileOf({ name }: Variable): Variable {
  const description = `A file that holds the value of \`${name}\`, which must not be set then. A newline at its end is no part of it.`
  return { name: fileVariable(name), accepts: 'a path', defaultText: 'none', description, isSecret: false }
}

/**
 * A variable that can't be used: its name, the given text (absent for a secret), and the reason.
 */
export interface SettingFault {
  readonly name: string
  readonly given?: string
  readonly reason: string
}

/**
 * The result of a check: the settings, or all faults of the environment at once. The warnings name
 * variables that no program reads.
 */
export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly faults: readonly SettingFault[]; readonly warnings: readonly string[] }

/** Step one: takes the `FIELDGATE_*` variables out of a process environment. */
export function readEnvironment(environment: Readonly<Record<string, string | undefined>>): RawEnvironment {
  const raw = new Map<string, string>()
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith('FIELDGATE_') && value !== undefined && value !== '') raw.set(name, value)
  }
  return raw
}

/**
 * Step two: checks every variable, and returns the settings or all faults together. `defaults` (by
 * variable name, as text) replace variables that are not set; the demonstration has its own
 * defaults. A secret may be in a file, which is read here.
 */
export function checkSettings(raw: RawEnvironment, defaults: Readonly<Record<string, string>> = {}): SettingsResult {
  const faults: SettingFault[] = []
  const values: Record<string, unknown> = {}
  for (const [key, definition] of Object.entries<Definition<unknown>>(definitions)) {
    const found = definition.isSecret ? readSecret(definition.name, (name) => raw.get(name)) : undefined
    if (found?.ok === false) {
      faults.push({ name: found.name, reason: found.reason, ...given({ given: found.given }) })
      continue
    }
    const text = (found === undefined ? raw.get(definition.name) : found.secret) ?? defaults[definition.name]
    if (text === undefined) {
      values[key] = definition.default()
      continue
    }
    const parsed = definition.parse(text)
    if (parsed.ok) values[key] = parsed.value
    else faults.push({ name: definition.name, reason: parsed.reason, ...(definition.isSecret ? {} : { given: text }) })
  }
  const warnings = [...raw.keys()].filter((name) => !isKnownName(name)).map(unknownName)
  const settings = values as unknown as Settings
  if (faults.length === 0) faults.push(...crossFaults(settings))
  return faults.length === 0 ? { ok: true, settings, warnings } : { ok: false, faults, warnings }
}

/**
 * The faults for people, one line for each fault:
 * `FIELDGATE_HTTPS_PORT="http": must be an integer from 0 to 65535`.
 */
export function describeFaults(faults: readonly SettingFault[]): string[] {
  return faults.map(
    ({ name, given: text, reason }) => `${name}${text === undefined ? '' : `=${JSON.stringify(text)}`}: ${reason}`,
  )
}

/** The settings as a Markdown table. A test compares the table in the README with this text. */
export function settingsTable(): string {
  const rows = variables.map(
    ({ name, accepts, defaultText, description }) => `| \`${name}\` | ${accepts} | ${defaultText} | ${description} |`,
  )
  return ['| variable | value | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** The settings as indented text, for `--help`. */
export function settingsHelp(): string {
  const entries = variables.map(
    ({ name, accepts, defaultText, description }) =>
      `  ${name}  (${accepts}; default: ${defaultText.replaceAll('`', '')})\n      ${description.replaceAll('`', '')}`,
  )
  return `Settings, by environment variable:\n${entries.join('\n')}`
}

/** Faults that show only when settings are compared with one another. */
function crossFaults(settings: Settings): SettingFault[] {
  const faults: SettingFault[] = [...natsFaults(settings)]
  const { tlsCertFile, tlsKeyFile } = settings
  if (tlsCertFile !== undefined && tlsKeyFile === undefined) {
    faults.push({ name: definitions.tlsKeyFile.name, reason: `must be set when ${definitions.tlsCertFile.name} is` })
  }
  if (tlsKeyFile !== undefined && tlsCertFile === undefined) {
    faults.push({ name: definitions.tlsCertFile.name, reason: `must be set when ${definitions.tlsKeyFile.name} is` })
  }
  faults.push(...databaseFaults(settings))
  if (settings.publicHost === '0.0.0.0' || settings.publicHost === '::') {
    const reason = `must be a name or an address that clients can connect to; ${definitions.host.name} is the one to listen on`
    faults.push({ name: definitions.publicHost.name, given: settings.publicHost, reason })
  }
  if (settings.httpsPort === settings.mqttsPort && settings.httpsPort !== 0) {
    const reason = `must differ from ${definitions.httpsPort.name}`
    faults.push({ name: definitions.mqttsPort.name, given: String(settings.mqttsPort), reason })
  }
  if (settings.brokerTokenDefaultTtlSeconds > settings.brokerTokenMaximumTtlSeconds) {
    faults.push({
      name: definitions.brokerTokenDefaultTtlSeconds.name,
      given: String(settings.brokerTokenDefaultTtlSeconds),
      reason: `must not be above ${definitions.brokerTokenMaximumTtlSeconds.name} (${settings.brokerTokenMaximumTtlSeconds})`,
    })
  }
  return faults
}

function databaseFaults({ databaseUrl: url, databasePassword, databaseCaFile }: Settings): SettingFault[] {
  if (url === undefined) {
    const reason = `must not be set without ${definitions.databaseUrl.name}`
    return [
      ...(databasePassword === undefined ? [] : [{ name: definitions.databasePassword.name, reason }]),
      ...(databaseCaFile === undefined ? [] : [{ name: definitions.databaseCaFile.name, reason }]),
    ]
  }
  const { password, searchParams } = new URL(url)
  const faults: SettingFault[] = []
  if (databasePassword !== undefined && password !== '') {
    const reason = `must not be set when ${definitions.databaseUrl.name} contains a password`
    faults.push({ name: definitions.databasePassword.name, reason })
  }
  if (databaseCaFile !== undefined && (searchParams.get('sslmode') ?? 'disable') === 'disable') {
    const reason = `needs an sslmode that encrypts, in ${definitions.databaseUrl.name}`
    faults.push({ name: definitions.databaseCaFile.name, reason })
  }
  return faults
}

const settingNames: readonly string[] = variables.map(({ name }) => name)

function isKnownName(name: string): boolean {
  return settingNames.includes(name) || name === LAUNCHERS
}

function unknownName(name: string): string {
  const nearest = settingNames
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .toSorted((a, b) => a.distance - b.distance)[0]
  // When more than a third of the name differs, the similarity is chance.
  const isLikely = nearest !== undefined && nearest.distance <= Math.floor((name.length - 'FIELDGATE_'.length) / 3) + 1
  return `${name} is no setting of Fieldgate and is ignored${isLikely ? `; did you mean ${nearest.candidate}?` : ''}`
}

/**
 * Levenshtein's distance of the first 64 characters. Real names are shorter; the bound keeps a long
 * name from making the comparison slow.
 */
function editDistance(left: string, right: string): number {
  const a = left.slice(0, 64)
  const b = right.slice(0, 64)
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substitution))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
