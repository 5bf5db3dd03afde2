/** The simulator's command line: parses options into settings or faults. */
import { isApplicationId } from '../src/lorawan/topics.ts'
import type { Family } from './downlink.ts'
import { MAXIMUM_GENERATED } from './generated-devices.ts'
import { HELP_OPTIONS, duration, oneOf, positive, wholeNumber } from './options.ts'
import { complete, readArguments } from './option-reading.ts'
import type { OptionReading } from './option-reading.ts'
import type { OptionName } from './options.ts'
import type { RadioSettings } from './radio.ts'
import {
  readBroker,
  readDeviceSource,
  readGeneratedRange,
  readInterval,
  readRegion,
  readSeed,
  readShare,
  readStartWindow,
} from './shared-options.ts'
import type { BrokerOptions } from './shared-options.ts'

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
export interface SimulatorOptions extends BrokerOptions {
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
back. Needs only a service credential of the broker. Each option can be set in the environment instead:
--user-name as SIMULATOR_USER_NAME, and so on.

With --lorawan it plays gateways and devices for a real ChirpStack instead: --lorawan --help shows its options.

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
  const seed = readSeed(reading)
  const devices = readDeviceSource(reading, () => readGenerated(reading))
  if (reading.has('print-import')) {
    if (devices?.from === 'file') reading.faults.push('--print-import goes with --generate')
    if (reading.faults.length > 0 || devices === undefined || seed === undefined) return refusal(reading)
    return { action: 'print-import', devices, seed }
  }
  const [carriesIds, isVerbose] = [reading.has('carry-ids'), reading.has('verbose')]
  const connection = readConnection(reading)
  const load = readLoad(reading)
  const parts = complete({ connection, load, radio: readRadio(reading), devices, seed })
  if (reading.faults.length > 0 || parts === undefined) return refusal(reading)
  const { connection: connected, load: loaded, ...others } = parts
  return { action: 'run', options: { ...connected, ...loaded, ...others, carriesIds, isVerbose } }
}

function refusal({ faults }: Reading): CommandLine {
  return { action: 'refuse', faults }
}

type Generated = Omit<Extract<DeviceSource, { readonly from: 'generated' }>, 'from'>

function readGenerated(reading: Reading): Generated | undefined {
  const range = readGeneratedRange(reading, MAXIMUM_GENERATED)
  const applicationId = reading.read(
    'application',
    '',
    (text) => (isApplicationId(text) ? text : undefined),
    'the id of the application of the generated devices',
  )
  const applicationName = reading.text('application-name') ?? 'simulated'
  if (range === undefined || applicationId === undefined) return undefined
  return { ...range, applicationId, applicationName }
}

type Connection = Pick<
  SimulatorOptions,
  | keyof BrokerOptions
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
  const broker = readBroker(reading)
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
  const parts = complete({ broker, family, protocolVersion, qos, commandQos, sessionExpiryMs })
  if (parts === undefined) return undefined
  const { broker: login, sessionExpiryMs: expiryMs, ...others } = parts
  return {
    ...login,
    ...others,
    clientId: reading.text('client-id') ?? `fieldgate-simulator-${parts.family.toLowerCase()}`,
    cleanSession: reading.has('clean-session'),
    sessionExpirySeconds: Math.ceil(expiryMs / 1000),
    stateFile: reading.text('state'),
  }
}

function readLoad(
  reading: Reading,
): Pick<SimulatorOptions, 'intervalMs' | 'ratePerSecond' | 'startWindowMs'> | undefined {
  const isRated = reading.text('rate') !== undefined
  if (isRated && reading.text('interval') !== undefined) reading.faults.push('--rate and --interval exclude each other')
  const intervalMs = isRated ? 0 : readInterval(reading, '10s')
  const rate = isRated ? reading.read('rate', '', positive, 'a number of uplinks a second above 0') : 0
  const startWindowMs = readStartWindow(reading)
  if (intervalMs === undefined || rate === undefined || startWindowMs === undefined) return undefined
  const isByRate = rate > 0
  return {
    intervalMs: isByRate ? undefined : intervalMs,
    ratePerSecond: isByRate ? rate : undefined,
    startWindowMs,
  }
}

function readRadio(reading: Reading): RadioSettings | undefined {
  const powerCutEveryMs =
    reading.text('power-cut') === undefined ? undefined : reading.read('power-cut', '', duration, 'a time such as 1h')
  const settings = complete({
    region: readRegion(reading),
    uplinkLossRate: readShare(reading, 'loss', '0.02'),
    downlinkLossRate: readShare(reading, 'downlink-loss', reading.text('loss') ?? '0.02'),
    repeatRate: readShare(reading, 'repeat', '0.01'),
    confirmedRate: readShare(reading, 'confirmed', '0.05'),
    codecErrorRate: readShare(reading, 'codec-errors', '0.005'),
    withoutObjectShare: readShare(reading, 'without-object', '0'),
    classCShare: readShare(reading, 'class-c', '0'),
    resumedShare: readShare(reading, 'resumed', '0'),
    rejoinRate: readShare(reading, 'rejoin', '0.001'),
    frameCounterBits: reading.read('counter-bits', '32', oneOf({ '16': 16, '32': 32 } as const), '16 or 32'),
    downlinkRetries: reading.read('retries', '2', wholeNumber(0, 8), 'a whole number from 0 to 8'),
  })
  return settings && { ...settings, powerCutEveryMs }
}

const QOS = { '0': 0, '1': 1, '2': 2 } as const
