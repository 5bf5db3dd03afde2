/** The simulator's command line: parses options into settings or faults. */
import { isApplicationId } from '../src/lorawan/topics.ts'
import type { Family } from './downlink.ts'
import { DEFAULT_FIRST_DEV_EUI, MAXIMUM_GENERATED, isDevEuiRange } from './generated-devices.ts'
import { HELP_OPTIONS, REGION_RULE, duration, oneOf, positive, regionId, share, wholeNumber } from './options.ts'
import { brokerUrl, readArguments } from './option-reading.ts'
import type { OptionReading } from './option-reading.ts'
import type { OptionName } from './options.ts'
import type { RadioSettings } from './radio.ts'
import { region } from './region.ts'

/** The origin of the devices: a file, or a number of devices to generate. */
export type DeviceSource =
  | { readonly from: 'file'; readonly path: string }
  | {
      readonly from: 'generated'
      readonly count: number
      readonly applicationId: string
      readonly applicationName: string
      readonly firstDevEui: string
    }

/** The settings from the command line. */
export interface SimulatorOptions {
  readonly url: string
  /** Path of a PEM file; undefined: the system's certificate authorities. */
  readonly certificateAuthorityFile: string | undefined
  readonly userName: string | undefined
  readonly password: string | undefined
  readonly family: Family
  /** 4 stands for MQTT 3.1.1. */
  readonly protocolVersion: 4 | 5
  readonly devices: DeviceSource
  /** Mean time between two uplinks of one device; undefined: `ratePerSecond` decides. */
  readonly intervalMs: number | undefined
  /** Uplinks per second of all devices together. */
  readonly ratePerSecond: number | undefined
  /** Each device sends for the first time within this time after the start. */
  readonly startWindowMs: number
  readonly radio: RadioSettings
  /** True if the events of family A carry the ids of commands. */
  readonly carriesIds: boolean
  readonly seed: number
  readonly qos: 0 | 1 | 2
  readonly commandQos: 0 | 1 | 2
  readonly clientId: string
  readonly cleanSession: boolean
  readonly sessionExpirySeconds: number
  /** The file in which commands survive the end of the process. */
  readonly stateFile: string | undefined
  readonly isVerbose: boolean
}

export type CommandLine =
  | { readonly action: 'run'; readonly options: SimulatorOptions }
  /** Prints the lines with which the generated devices are registered. */
  | { readonly action: 'print-import'; readonly devices: DeviceSource; readonly seed: number }
  | { readonly action: 'help' }
  | { readonly action: 'refuse'; readonly faults: readonly string[] }

export const HELP = `Usage: node simulator/main.ts --url URL (--devices FILE | --generate N --application ID) [options]

A LoRaWAN network server with simulated devices: publishes their events over MQTT and sends the commands that come
back. Needs nothing but a service credential of the broker. Each option can be set in the environment instead:
--user-name as SIMULATOR_USER_NAME, and so on.

With --lorawan it plays gateways and devices for a real ChirpStack instead: --lorawan --help shows the options of that.

${HELP_OPTIONS}
Ends with statistics on SIGINT and SIGTERM. Exit codes: 0 ended by a signal, 1 unexpected fault, 2 wrong option or device file,
3 credential refused, 4 certificate not trusted, 5 subscription refused.
`

const FLAGS = ['carry-ids', 'clean-session', 'print-import', 'verbose', 'help'] as const

const TEXTS = [
  'url',
  'ca',
  'user-name',
  'password',
  'family',
  'mqtt',
  'client-id',
  'session-expiry',
  'state',
  'qos',
  'command-qos',
  'devices',
  'generate',
  'application',
  'application-name',
  'first-dev-eui',
  'interval',
  'rate',
  'start-window',
  'power-cut',
  'region',
  'loss',
  'downlink-loss',
  'repeat',
  'confirmed',
  'codec-errors',
  'without-object',
  'class-c',
  'resumed',
  'rejoin',
  'counter-bits',
  'retries',
  'seed',
] as const satisfies readonly OptionName[]

type Text = (typeof TEXTS)[number]
type Flag = (typeof FLAGS)[number]

type Reading = OptionReading<Text, Flag>

/**
 * Reads the arguments behind the script's name. Reports all faults at once; none shows the
 * password.
 */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): CommandLine {
  const reading = readArguments({ args, environment, texts: TEXTS, flags: FLAGS })
  if (typeof reading === 'string') return { action: 'refuse', faults: [reading] }
  if (reading.has('help')) return { action: 'help' }
  const seed = reading.read('seed', '1', wholeNumber(0, 2 ** 32 - 1), 'a whole number from 0 to 4294967295')
  const devices = readDevices(reading)
  if (reading.has('print-import')) {
    if (devices?.from === 'file') reading.faults.push('--print-import goes with --generate')
    if (reading.faults.length > 0 || devices === undefined || seed === undefined) return refusal(reading)
    return { action: 'print-import', devices, seed }
  }
  const [carriesIds, isVerbose] = [reading.has('carry-ids'), reading.has('verbose')]
  const connection = readConnection(reading)
  const load = readLoad(reading)
  const radio = readRadio(reading)
  if (
    reading.faults.length > 0 ||
    seed === undefined ||
    devices === undefined ||
    connection === undefined ||
    load === undefined ||
    radio === undefined
  ) {
    return refusal(reading)
  }
  return { action: 'run', options: { ...connection, ...load, radio, devices, seed, carriesIds, isVerbose } }
}

function refusal({ faults }: Reading): CommandLine {
  return { action: 'refuse', faults }
}

function readDevices(reading: Reading): DeviceSource | undefined {
  const path = reading.text('devices')
  const isGenerated = reading.text('generate') !== undefined
  if (path !== undefined && isGenerated) reading.faults.push('--devices and --generate exclude each other')
  if (path === undefined && !isGenerated) reading.faults.push('--devices is missing, and --generate as well')
  if (!isGenerated) return path === undefined ? undefined : { from: 'file', path }
  const count = reading.read(
    'generate',
    '',
    wholeNumber(1, MAXIMUM_GENERATED),
    `a number of devices from 1 to ${MAXIMUM_GENERATED}`,
  )
  const applicationId = reading.read(
    'application',
    '',
    (text) => (isApplicationId(text) ? text : undefined),
    'the id of the application that the generated devices are of',
  )
  const firstDevEui = reading.read(
    'first-dev-eui',
    DEFAULT_FIRST_DEV_EUI,
    (text) => (isDevEuiRange(text.toLowerCase(), count ?? 1) ? text.toLowerCase() : undefined),
    '16 hexadecimal digits, with room for all generated devices behind it',
  )
  const applicationName = reading.text('application-name') ?? 'simulated'
  if (count === undefined || applicationId === undefined || firstDevEui === undefined) return undefined
  return { from: 'generated', count, applicationId, applicationName, firstDevEui }
}

type Connection = Pick<
  SimulatorOptions,
  | 'url'
  | 'certificateAuthorityFile'
  | 'userName'
  | 'password'
  | 'family'
  | 'protocolVersion'
  | 'qos'
  | 'commandQos'
  | 'clientId'
  | 'cleanSession'
  | 'sessionExpirySeconds'
  | 'stateFile'
>

function readConnection(reading: Reading): Connection | undefined {
  const url = reading.read('url', '', brokerUrl, 'mqtts://host:port or mqtt://host:port')
  const family = reading.read('family', 'A', oneOf({ A: 'A', B: 'B' } as const), 'A or B')
  const protocolVersion = reading.read(
    'mqtt',
    family === 'B' ? '5' : '3.1.1',
    oneOf({ '3.1.1': 4, '5': 5 } as const),
    '3.1.1 or 5',
  )
  if (family === 'B' && protocolVersion === 4)
    reading.faults.push('--family B shares its subscription, which needs --mqtt 5')
  const qos = reading.read('qos', '1', oneOf(QOS), '0, 1 or 2')
  const commandQos = reading.read('command-qos', '1', oneOf(QOS), '0, 1 or 2')
  const sessionExpiryMs = reading.read('session-expiry', '1h', duration, 'a time such as 1h')
  if (
    url === undefined ||
    family === undefined ||
    protocolVersion === undefined ||
    qos === undefined ||
    commandQos === undefined ||
    sessionExpiryMs === undefined
  ) {
    return undefined
  }
  return {
    url,
    certificateAuthorityFile: reading.text('ca'),
    userName: reading.text('user-name'),
    password: reading.text('password'),
    family,
    protocolVersion,
    qos,
    commandQos,
    clientId: reading.text('client-id') ?? `fieldgate-simulator-${family.toLowerCase()}`,
    cleanSession: reading.has('clean-session'),
    sessionExpirySeconds: Math.ceil(sessionExpiryMs / 1000),
    stateFile: reading.text('state'),
  }
}

function readLoad(
  reading: Reading,
): Pick<SimulatorOptions, 'intervalMs' | 'ratePerSecond' | 'startWindowMs'> | undefined {
  const isRated = reading.text('rate') !== undefined
  if (isRated && reading.text('interval') !== undefined) reading.faults.push('--rate and --interval exclude each other')
  const intervalMs = isRated ? 0 : reading.read('interval', '10s', duration, 'a time such as 500ms, 10s, 5m')
  const rate = isRated ? reading.read('rate', '', positive, 'a number of uplinks a second above 0') : 0
  const startWindowMs = reading.read('start-window', '5s', duration, 'a time such as 5s')
  if (intervalMs === undefined || rate === undefined || startWindowMs === undefined) return undefined
  const isByRate = rate > 0
  return {
    intervalMs: isByRate ? undefined : intervalMs,
    ratePerSecond: isByRate ? rate : undefined,
    startWindowMs,
  }
}

function readRadio(reading: Reading): RadioSettings | undefined {
  const readShare = (name: Text, fallback: string): number | undefined =>
    reading.read(name, fallback, share, 'a share from 0 to 1')
  const id = reading.read('region', 'EU868', regionId, REGION_RULE)
  const uplinkLossRate = readShare('loss', '0.02')
  const downlinkLossRate = readShare('downlink-loss', reading.text('loss') ?? '0.02')
  const repeatRate = readShare('repeat', '0.01')
  const confirmedRate = readShare('confirmed', '0.05')
  const codecErrorRate = readShare('codec-errors', '0.005')
  const withoutObjectShare = readShare('without-object', '0')
  const classCShare = readShare('class-c', '0')
  const resumedShare = readShare('resumed', '0')
  const rejoinRate = readShare('rejoin', '0.001')
  const powerCutEveryMs =
    reading.text('power-cut') === undefined ? undefined : reading.read('power-cut', '', duration, 'a time such as 1h')
  const frameCounterBits = reading.read('counter-bits', '32', oneOf({ '16': 16, '32': 32 } as const), '16 or 32')
  const downlinkRetries = reading.read('retries', '2', wholeNumber(0, 8), 'a whole number from 0 to 8')
  if (
    id === undefined ||
    uplinkLossRate === undefined ||
    downlinkLossRate === undefined ||
    repeatRate === undefined ||
    confirmedRate === undefined ||
    codecErrorRate === undefined ||
    withoutObjectShare === undefined ||
    classCShare === undefined ||
    resumedShare === undefined ||
    rejoinRate === undefined ||
    frameCounterBits === undefined ||
    downlinkRetries === undefined
  ) {
    return undefined
  }
  return {
    region: region(id),
    uplinkLossRate,
    downlinkLossRate,
    repeatRate,
    confirmedRate,
    codecErrorRate,
    withoutObjectShare,
    classCShare,
    resumedShare,
    rejoinRate,
    powerCutEveryMs,
    frameCounterBits,
    downlinkRetries,
  }
}

const QOS = { '0': 0, '1': 1, '2': 2 } as const
