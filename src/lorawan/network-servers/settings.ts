/**
 * The file that names the network servers of a deployment: docs/network-servers/README.md describes
 * it member by member.
 */
import type { BrokerAddress } from './bridge/broker-socket.ts'
import type { ChirpStackAddress } from './chirpstack/chirpstack-api.ts'
import type { HttpTarget } from './http/http-request.ts'
import { objectOf } from '../../json.ts'
import { MemberReader } from './member-reader.ts'
import type { ReadFile } from './member-reader.ts'
import type { MqttBridgeSettings } from './bridge/mqtt-bridge.ts'
import { TopicTemplate } from './bridge/topic-template.ts'

/** The members of all kinds of network server. */
interface Common {
  readonly name: string
  /**
   * The only organization for whose devices the network server may speak; undefined for the whole
   * deployment.
   */
  readonly organizationId: string | undefined
}

export interface MqttBridgeEntry extends Common {
  readonly kind: 'mqtt-bridge'
  readonly address: BrokerAddress
  readonly bridge: MqttBridgeSettings
}

export interface ChirpStackGrpcEntry extends Common {
  readonly kind: 'chirpstack-grpc'
  readonly address: ChirpStackAddress
  readonly tenants: ReadonlyMap<string, string> | undefined
  /** 0: nothing is synchronised, and the inventory is imported on wish alone. */
  readonly syncIntervalMs: number
}

/** A ChirpStack that takes downlinks by HTTP, and whose events come as webhooks. */
export interface ChirpStackHttpEntry extends Common {
  readonly kind: 'chirpstack-http'
  readonly organizationId: string
  readonly target: HttpTarget
  readonly version: 'v3' | 'v4'
  /** The applications that it serves; undefined for all applications of the organization. */
  readonly applications: readonly string[] | undefined
}

export interface TheThingsStackEntry extends Common {
  readonly kind: 'the-things-stack'
  readonly organizationId: string
  readonly target: HttpTarget
  readonly applicationId: string
  readonly webhookId: string
  readonly applications: readonly string[] | undefined
}

export type NetworkServerEntry = MqttBridgeEntry | ChirpStackGrpcEntry | ChirpStackHttpEntry | TheThingsStackEntry

export type NetworkServersResult =
  | { readonly ok: true; readonly entries: readonly NetworkServerEntry[] }
  /** Sentences that begin with the member at fault. */
  | { readonly ok: false; readonly faults: readonly string[] }

/** Network servers of one deployment. Each has a connection or a synchronisation of its own. */
const MAXIMUM_ENTRIES = 100
const MAXIMUM_SYNC_SECONDS = 86_400
/** This is 32 days. */
const MAXIMUM_SESSION_EXPIRY_SECONDS = 2_764_800

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/
const DIGITS = /^[1-9][0-9]{0,14}$/
const APPLICATION_ID = /^[0-9A-Za-z-]{1,64}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const THINGS_ID = /^[a-z0-9](?:-?[a-z0-9]){1,35}$/
const EVENT_TOPIC = 'application/{{application_id}}/device/{{dev_eui}}/event/{{event}}'
const COMMAND_TOPIC = 'application/{{application_id}}/device/{{dev_eui}}/command/down'

/** Reads the text of the file. `readFile` reads the files that the text names. */
export function readNetworkServers(text: string, readFile: ReadFile): NetworkServersResult {
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch {
    return { ok: false, faults: ['the file is not JSON'] }
  }
  const list = objectOf(file)?.['networkServers']
  if (!Array.isArray(list)) return { ok: false, faults: ['networkServers: must be an array'] }
  if (list.length > MAXIMUM_ENTRIES) {
    return { ok: false, faults: [`networkServers: must have at most ${MAXIMUM_ENTRIES} elements`] }
  }
  const faults: string[] = []
  const entries = list.flatMap((element: unknown, index) => {
    const path = `networkServers[${index}]`
    const object = objectOf(element)
    if (object !== undefined) return readEntry(new MemberReader(object, path, readFile, faults))
    faults.push(`${path}: must be an object`)
    return []
  })
  entries.forEach(({ name }, index) => {
    const isTaken = entries.findIndex((entry) => entry.name === name) < index
    if (isTaken && name !== '')
      faults.push(`networkServers[${index}].name: "${name}" is the name of another one already`)
  })
  return faults.length === 0 ? { ok: true, entries } : { ok: false, faults }
}

/**
 * Reads the settings of one ChirpStack v4 with gRPC that came over the network. No file is read:
 * `caCertificate` has the PEM text that `caFile` would name. Faults begin with the member.
 */
export function readChirpStack(
  settings: Readonly<Record<string, unknown>>,
):
  | { readonly ok: true; readonly entry: ChirpStackGrpcEntry }
  | { readonly ok: false; readonly faults: readonly string[] } {
  const faults: string[] = []
  const reader = new MemberReader({ kind: 'chirpstack-grpc', ...settings }, 'networkServer', refuseFile, faults)
  const entry = readEntry(reader)
  if (entry.kind !== 'chirpstack-grpc') reader.fault('kind', 'must be "chirpstack-grpc"')
  return faults.length === 0 && entry.kind === 'chirpstack-grpc' ? { ok: true, entry } : { ok: false, faults }
}

function refuseFile(): never {
  throw new Error('no file is read')
}

function readEntry(reader: MemberReader): NetworkServerEntry {
  const name = reader.text('name', NAME, '1 to 40 lower-case letters, digits and hyphens')
  if (name === 'mqtt') reader.fault('name', '"mqtt" names the network servers that are clients of this broker')
  const kind = reader.choice('kind', ['mqtt-bridge', 'chirpstack-grpc', 'chirpstack-http', 'the-things-stack'])
  const entry = READERS[kind](reader, name)
  reader.end()
  return entry
}

const READERS: Readonly<
  Record<NetworkServerEntry['kind'], (reader: MemberReader, name: string) => NetworkServerEntry>
> = {
  'mqtt-bridge': readBridge,
  'chirpstack-grpc': readChirpStackGrpc,
  'chirpstack-http': readChirpStackHttp,
  'the-things-stack': readTheThingsStack,
}

function readBridge(reader: MemberReader, name: string): MqttBridgeEntry {
  const organizationId = readOrganization(reader)
  const url = reader.url('url', ['mqtt:', 'mqtts:'])
  const isTls = url.protocol === 'mqtts:'
  const tls = {
    ca: reader.optionalPemFile('caFile'),
    cert: reader.optionalPemFile('certFile'),
    key: reader.optionalPemFile('keyFile'),
  }
  if (!isTls && (tls.ca ?? tls.cert ?? tls.key) !== undefined)
    reader.fault('url', 'must begin with mqtts:// for caFile, certFile and keyFile')
  if ((tls.cert === undefined) !== (tls.key === undefined)) reader.fault('certFile', 'goes with keyFile')
  if (url.pathname !== '' && url.pathname !== '/') reader.fault('url', 'must have no path')
  const password = reader.optionalSecret('password')
  const userName = reader.optionalText('userName', /^[^\0]{1,200}$/, '1 to 200 characters')
  if (password !== undefined && userName === undefined) reader.fault('password', 'goes with userName')
  const applications = reader.optionalMap(
    'applications',
    APPLICATION_ID,
    APPLICATION_ID,
    'an object of application ids: {"theirs": "ours"}',
  )
  if (applications !== undefined && new Set(applications.values()).size !== applications.size) {
    reader.fault('applications', 'must name each of our applications once')
  }
  return {
    kind: 'mqtt-bridge',
    name,
    organizationId,
    address: {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (isTls ? 8883 : 1883) : Number(url.port),
      tls: isTls ? tls : undefined,
    },
    bridge: {
      name,
      protocolVersion: reader.choice('mqttVersion', ['5.0', '3.1.1'], '5.0') === '5.0' ? 5 : 4,
      clientId: reader.text('clientId', /^[!-~]{1,64}$/, '1 to 64 visible ASCII characters'),
      userName,
      password,
      sessionExpirySeconds: reader.integer('sessionExpirySeconds', 3600, MAXIMUM_SESSION_EXPIRY_SECONDS, 604_800),
      eventTopic: readTemplate(reader, 'eventTopic', EVENT_TOPIC, ['applicationId', 'devEui', 'event']),
      commandTopic: readTemplate(reader, 'commandTopic', COMMAND_TOPIC, ['applicationId', 'devEui']),
      takesCommands: reader.flag('commands', true),
      applications,
    },
  }
}

function readTemplate(
  reader: MemberReader,
  member: string,
  fallback: string,
  wanted: Parameters<typeof TopicTemplate.parse>[1],
): TopicTemplate {
  const text = reader.optionalText(member, /^[^\0]{1,400}$/, 'a topic template') ?? fallback
  const template = TopicTemplate.parse(text, wanted)
  if (typeof template !== 'string') return template
  reader.fault(member, template)
  return TopicTemplate.parse(fallback, wanted) as TopicTemplate
}

function readChirpStackGrpc(reader: MemberReader, name: string): ChirpStackGrpcEntry {
  const url = reader.url('url', ['http:', 'https:'])
  if (url.pathname !== '/') reader.fault('url', 'must have no path')
  const ca = readCa(reader, url) ?? readCaCertificate(reader, url)
  const isTls = url.protocol === 'https:'
  const port = url.port === '' ? (isTls ? '443' : '80') : url.port
  return {
    kind: 'chirpstack-grpc',
    name,
    organizationId: undefined,
    address: { target: `${url.hostname}:${port}`, apiKey: readApiKey(reader), tls: isTls ? { ca } : undefined },
    tenants: reader.optionalMap(
      'tenants',
      UUID,
      DIGITS,
      'an object of tenant ids and organization ids: {"<tenant’s UUID>": "<organization id>"}',
    ),
    syncIntervalMs: readSyncSeconds(reader) * 1000,
  }
}

function readSyncSeconds(reader: MemberReader): number {
  const seconds = reader.integer('syncSeconds', 0, MAXIMUM_SYNC_SECONDS, 300)
  if (seconds > 0 && seconds < 30) reader.fault('syncSeconds', 'must be an integer from 30 to 86400, or 0')
  return seconds
}

function readChirpStackHttp(reader: MemberReader, name: string): ChirpStackHttpEntry {
  const { organizationId, applications } = readOwner(reader)
  const version = reader.choice('version', ['v3', 'v4'])
  const target = readTarget(reader, (apiKey) => ({ 'grpc-metadata-authorization': `Bearer ${apiKey}` }))
  return { kind: 'chirpstack-http', name, organizationId, applications, version, target }
}

function readTheThingsStack(reader: MemberReader, name: string): TheThingsStackEntry {
  const rule = 'an id of The Things Stack'
  return {
    kind: 'the-things-stack',
    name,
    ...readOwner(reader),
    target: readTarget(reader, (apiKey) => ({ authorization: `Bearer ${apiKey}`, 'user-agent': 'fieldgate' })),
    applicationId: reader.text('applicationId', THINGS_ID, rule),
    webhookId: reader.text('webhookId', THINGS_ID, rule),
  }
}

function readOwner(reader: MemberReader): {
  readonly organizationId: string
  readonly applications: readonly string[] | undefined
} {
  const organizationId = reader.text('organizationId', DIGITS, 'the id of an organization, a string of digits')
  const applications = reader.optionalTexts('applications', APPLICATION_ID, 'an array of application ids')
  return { organizationId, applications }
}

function readOrganization(reader: MemberReader): string | undefined {
  return reader.optionalText('organizationId', DIGITS, 'the id of an organization, a string of digits')
}

function readTarget(reader: MemberReader, headersOf: (apiKey: string) => Record<string, string>): HttpTarget {
  const baseUrl = reader.url('url', ['http:', 'https:'])
  return { baseUrl, ca: readCa(reader, baseUrl), headers: headersOf(readApiKey(reader)) }
}

function readCa(reader: MemberReader, url: URL): string | undefined {
  const ca = reader.optionalPemFile('caFile')
  if (ca !== undefined && url.protocol !== 'https:') reader.fault('url', 'must begin with https:// for caFile')
  return ca
}

function readCaCertificate(reader: MemberReader, url: URL): string | undefined {
  const rule = 'a certificate in PEM, of at most 65536 characters'
  const ca = reader.optionalText('caCertificate', /^[^\0]{0,60000}-----BEGIN CERTIFICATE-----[^\0]{1,65000}$/, rule)
  if (ca !== undefined && url.protocol !== 'https:') reader.fault('url', 'must begin with https:// for caCertificate')
  return ca
}

/** The key goes into a header, where a line break would begin another header. */
function readApiKey(reader: MemberReader): string {
  const apiKey = reader.secret('apiKey')
  if (/^[!-~]*$/.test(apiKey)) return apiKey
  reader.fault('apiKey', 'must have visible ASCII characters alone')
  return ''
}
