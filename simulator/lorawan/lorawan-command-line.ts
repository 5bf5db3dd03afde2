/** The command line of `--lorawan`: parses options into settings or faults. */
import { isDevEui } from '../../src/lorawan/topics.ts'
import { complete, readArguments } from '../option-reading.ts'
import type { OptionReading } from '../option-reading.ts'
import { helpOf, oneOf, wholeNumber } from '../options.ts'
import type { Region } from '../region.ts'
import {
  euiRange,
  readBroker,
  readDeviceSource,
  readGeneratedRange,
  readInterval,
  readRegion,
  readSeed,
  readShare,
  readStartWindow,
} from '../shared-options.ts'
import type { BrokerOptions } from '../shared-options.ts'
import { DEFAULT_JOIN_EUI, MAXIMUM_LORAWAN_DEVICES } from './device-list.ts'
import type { GeneratedSettings } from './device-list.ts'
import type { GatewayProtocol } from './gateway-messages.ts'

/** The origin of the devices. */
export type LorawanDeviceSource =
  | { readonly from: 'file'; readonly path: string }
  | ({ readonly from: 'generated' } & GeneratedSettings)

/** The settings of `--lorawan`. The broker is the one to which ChirpStack's gateways connect. */
export interface LorawanOptions extends BrokerOptions {
  readonly protocol: GatewayProtocol
  readonly topicPrefix: string
  readonly region: Region
  /** 16 lower-case hexadecimal digits each. */
  readonly gatewayIds: readonly string[]
  readonly devices: LorawanDeviceSource
  /** Mean time between two uplinks of one device. */
  readonly intervalMs: number
  /** Each device joins within this time after the start. */
  readonly startWindowMs: number
  /** The share of confirmed uplinks, from 0 to 1. */
  readonly confirmedShare: number
  readonly seed: number
  readonly provisioning: ProvisioningOptions | undefined
  readonly isVerbose: boolean
}

/** The ChirpStack in which gateways and devices are made before they are played. */
export interface ProvisioningOptions {
  /** `host:port` of ChirpStack's API. */
  readonly target: string
  readonly isEncrypted: boolean
  readonly apiKey: string
  /** A UUID; undefined: the first tenant that the key gives access to. */
  readonly tenantId: string | undefined
}

export type LorawanCommandLine =
  | { readonly action: 'run'; readonly options: LorawanOptions }
  /** Prints the devices with their keys, and ends. */
  | { readonly action: 'print-devices'; readonly devices: LorawanDeviceSource }
  | { readonly action: 'help' }
  | { readonly action: 'refuse'; readonly faults: readonly string[] }

const GROUPS = {
  'The gateways': {
    url: ['URL', "the broker of ChirpStack's gateways: mqtt://host:port, or mqtts://host:port with TLS"],
    ca: ['FILE', "certificate authority of the broker in PEM (default: the system's)"],
    'user-name': ['NAME', 'user name at the broker, if it wants one'],
    password: ['PASSWORD', "its password; better in the environment, since others see a process's arguments"],
    chirpstack: ['3|4', "ChirpStack's version (default: 4)"],
    region: ['REGION', 'EU868, US915 or AS923 (default: EU868)'],
    'topic-prefix': ['TEXT', "part of the topics before gateway/: the topic_prefix of ChirpStack's region"],
    gateways: ['N', 'number of gateways, which all hear all devices (default: 1)'],
    'first-gateway-id': ['EUI', 'id of the first gateway; the others follow (default: 0200000000ff0001)'],
  },
  'The devices': {
    devices: ['FILE', 'CSV with a header line, or a JSON array: devEUI, appKey; joinEUI, name, model, deviceClass'],
    generate: ['N', 'number of devices of all models to generate, in place of a file'],
    'first-dev-eui': ['EUI', 'DevEUI of the first generated device; the others follow (default: 0200000000000001)'],
    'join-eui': ['EUI', 'JoinEUI of the generated devices (default: 0000000000000000)'],
    'class-c': ['SHARE', 'share of the generated devices that have class C (default: 0)'],
    'print-devices': ['', 'print the devices with their keys as CSV, and end'],
    interval: ['TIME', 'mean time between two uplinks of a device: 500ms, 10s, 5m, 1h (default: 1m)'],
    'start-window': ['TIME', 'time within which the devices join (default: 5s)'],
    confirmed: ['SHARE', 'share of uplinks that ask for an acknowledgement (default: 0.05)'],
  },
  'ChirpStack v4 itself': {
    provision: ['URL', 'make the gateways and devices in ChirpStack first, by its API: http://host:8080'],
    'api-key': ['KEY', 'API key of an administrator or of the tenant; better in the environment'],
    tenant: ['UUID', 'tenant that gets them (default: the first that the key gives access to)'],
  },
  'The rest': {
    seed: ['N', 'the same seed gives the same devices, keys and measurements (default: 1)'],
    verbose: ['', 'print a line for each uplink and each frame of ChirpStack'],
    help: ['', 'show this text'],
  },
} as const

const MORE: Readonly<Record<string, string>> = {
  'topic-prefix': '(default: the region in small letters, such as eu868; none for version 3)',
}

export const LORAWAN_HELP = `Usage: node simulator/main.ts --lorawan --url URL (--devices FILE | --generate N) [options]

LoRaWAN gateways and devices for a real ChirpStack: they join over the air, encrypt, count and acknowledge, so that a
deployment can be tried without a radio. ChirpStack must know the devices and their keys. Each option can be set in the
environment instead: --user-name as SIMULATOR_USER_NAME, and so on.

${helpOf(GROUPS, MORE)}
Ends with statistics on SIGINT and SIGTERM. Exit codes: 0 ended by a signal, 1 unexpected fault, 2 wrong option or device file,
3 credential refused, 4 certificate not trusted, 6 ChirpStack's API refused.
`

const FLAGS = ['print-devices', 'verbose', 'help'] as const
const TEXTS = [
  'url',
  'ca',
  'user-name',
  'password',
  'chirpstack',
  'region',
  'topic-prefix',
  'gateways',
  'first-gateway-id',
  'devices',
  'generate',
  'first-dev-eui',
  'join-eui',
  'class-c',
  'interval',
  'start-window',
  'confirmed',
  'provision',
  'api-key',
  'tenant',
  'seed',
] as const

type Reading = OptionReading<(typeof TEXTS)[number], (typeof FLAGS)[number]>

const MAXIMUM_GATEWAYS = 16

/**
 * Reads the arguments without `--lorawan`. Reports all faults at once; none shows a password or
 * key.
 */
export function parseLorawanCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): LorawanCommandLine {
  const reading = readArguments({ args, environment, texts: TEXTS, flags: FLAGS })
  if (typeof reading === 'string') return { action: 'refuse', faults: [reading] }
  if (reading.has('help')) return { action: 'help' }
  const seed = readSeed(reading)
  const devices = readDeviceSource(reading, () => readGenerated(reading, seed ?? 0))
  if (reading.has('print-devices')) {
    if (reading.faults.length > 0 || devices === undefined) return { action: 'refuse', faults: reading.faults }
    return { action: 'print-devices', devices }
  }
  const isVerbose = reading.has('verbose')
  const connection = readConnection(reading)
  const load = readLoad(reading)
  const provisioning = readProvisioning(reading, connection?.protocol)
  const parts = complete({ connection, load, devices, seed })
  if (reading.faults.length > 0 || parts === undefined) return { action: 'refuse', faults: reading.faults }
  const { connection: connected, load: loaded, ...others } = parts
  return { action: 'run', options: { ...connected, ...loaded, ...others, provisioning, isVerbose } }
}

function readGenerated(reading: Reading, seed: number): GeneratedSettings | undefined {
  const range = readGeneratedRange(reading, MAXIMUM_LORAWAN_DEVICES)
  const joinEui = reading.read('join-eui', DEFAULT_JOIN_EUI, eui, '16 hexadecimal digits')
  const classCShare = readShare(reading, 'class-c', '0')
  const parts = complete({ range, joinEui, classCShare })
  if (parts === undefined) return undefined
  const { range: found, ...others } = parts
  return { ...found, ...others, seed }
}

type Connection = Pick<LorawanOptions, keyof BrokerOptions | 'protocol' | 'topicPrefix' | 'region' | 'gatewayIds'>

function readConnection(reading: Reading): Connection | undefined {
  const broker = readBroker(reading)
  const protocol = reading.read('chirpstack', '4', oneOf({ '3': 'v3', '4': 'v4' } as const), '3 or 4')
  const region = readRegion(reading)
  const topicPrefix = reading.read(
    'topic-prefix',
    protocol === 'v3' ? '' : (region?.id ?? '').toLowerCase(),
    (text) => (/[#+\0]|^\/|\/$/.test(text) ? undefined : text),
    'without + and #, and without a / at its ends',
  )
  const count = reading.read(
    'gateways',
    '1',
    wholeNumber(1, MAXIMUM_GATEWAYS),
    `a number of gateways from 1 to ${MAXIMUM_GATEWAYS}`,
  )
  const first = reading.read(
    'first-gateway-id',
    '0200000000ff0001',
    euiRange(count ?? 1),
    '16 hexadecimal digits, with room for all gateways behind it',
  )
  const parts = complete({ broker, protocol, topicPrefix, region, count, first })
  if (parts === undefined) return undefined
  const { broker: login, count: gateways, first: firstId, ...others } = parts
  return {
    ...login,
    ...others,
    gatewayIds: Array.from({ length: gateways }, (_gateway, index) =>
      (BigInt(`0x${firstId}`) + BigInt(index)).toString(16).padStart(16, '0'),
    ),
  }
}

function readLoad(
  reading: Reading,
): Pick<LorawanOptions, 'intervalMs' | 'startWindowMs' | 'confirmedShare'> | undefined {
  return complete({
    intervalMs: readInterval(reading, '1m'),
    startWindowMs: readStartWindow(reading),
    confirmedShare: readShare(reading, 'confirmed', '0.05'),
  })
}

function readProvisioning(reading: Reading, protocol: GatewayProtocol | undefined): ProvisioningOptions | undefined {
  if (reading.text('provision') === undefined) return undefined
  if (protocol === 'v3') reading.faults.push('--provision is for version 4; version 3 has its own web page for that')
  const url = reading.read('provision', '', apiUrl, 'http://host:port or https://host:port')
  const apiKey = reading.text('api-key')
  if (apiKey === undefined) reading.faults.push('--provision needs --api-key')
  if (url === undefined || apiKey === undefined) return undefined
  const isEncrypted = url.protocol === 'https:'
  const target = url.port === '' ? `${url.hostname}:${isEncrypted ? 443 : 80}` : url.host
  return { target, isEncrypted, apiKey, tenantId: reading.text('tenant') }
}

function apiUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined
}

function eui(text: string): string | undefined {
  return isDevEui(text.toLowerCase()) ? text.toLowerCase() : undefined
}
