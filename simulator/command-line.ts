/** The simulator's command line: options in, settings or faults out. */
import { parseArgs } from 'node:util'

/** What the simulator is told to do. */
export interface SimulatorOptions {
  readonly url: string
  /** Path of a PEM file; undefined for the system's certificate authorities. */
  readonly certificateAuthorityFile: string | undefined
  readonly userName: string | undefined
  readonly password: string | undefined
  readonly devicesFile: string
  /** Mean time between two uplinks of one device; undefined where `ratePerSecond` decides. */
  readonly intervalMs: number | undefined
  /** Uplinks a second of all devices together. */
  readonly ratePerSecond: number | undefined
  readonly seed: number
  readonly qos: 0 | 1 | 2
  readonly clientId: string
  readonly sessionExpirySeconds: number
  readonly isVerbose: boolean
}

export type CommandLine =
  | { readonly action: 'run'; readonly options: SimulatorOptions }
  | { readonly action: 'help' }
  | { readonly action: 'refuse'; readonly faults: readonly string[] }

export const HELP = `Usage: node simulator/main.ts --url URL --devices FILE [options]

A LoRaWAN network server with simulated devices: publishes their events over MQTT 5 and sends the commands that
come back. Needs nothing but a service credential of the broker.

  --url URL              mqtts://host:port, or mqtt://host:port without TLS
  --ca FILE              certificate authority of the broker in PEM (default: the system's)
  --user-name NAME       user name of the service credential (or SIMULATOR_USER_NAME in the environment)
  --password PASSWORD    its password; better SIMULATOR_PASSWORD in the environment, since others see a process's arguments
  --client-id ID         client identifier, stable so that the Session is kept (default: fieldgate-simulator)
  --session-expiry TIME  how long the broker keeps the Session (default: 1h)
  --devices FILE         the devices, a JSON array of {applicationID, applicationName, deviceName, devEUI, model,
                         deviceProfileName?, tags?, location: {latitude, longitude, altitude}}
  --interval TIME        mean time between two uplinks of a device: 500ms, 10s, 5m, 1h (default: 10s)
  --rate N               uplinks a second of all devices together, in the place of --interval
  --qos 0|1|2            of the events (default: 1)
  --seed N               the same seed gives the same devices and measurements (default: 1)
  --verbose              a line for each event and command
  --help                 this text

Ends with statistics on SIGINT and SIGTERM. Exit codes: 0 ended by a signal, 1 unexpected fault, 2 wrong option or device file,
3 credential refused, 4 certificate not trusted, 5 subscription refused.
`

const OPTIONS = {
  url: { type: 'string' },
  ca: { type: 'string' },
  'user-name': { type: 'string' },
  password: { type: 'string' },
  'client-id': { type: 'string', default: 'fieldgate-simulator' },
  'session-expiry': { type: 'string', default: '1h' },
  devices: { type: 'string' },
  interval: { type: 'string' },
  rate: { type: 'string' },
  qos: { type: 'string', default: '1' },
  seed: { type: 'string', default: '1' },
  verbose: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const DEFAULT_INTERVAL_MS = 10_000

/** Reads the arguments behind the script's name. All faults are told at once; none shows the password. */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): CommandLine {
  let values
  try {
    values = parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    return { action: 'refuse', faults: [error instanceof Error ? error.message : String(error)] }
  }
  if (values.help) return { action: 'help' }
  const faults: string[] = []
  const must = <T>(value: T | undefined, fault: string): T | undefined => {
    if (value === undefined) faults.push(fault)
    return value
  }
  const url = must(brokerUrl(values.url), '--url must be mqtts://host:port or mqtt://host:port')
  const devicesFile = must(values.devices, '--devices is missing')
  const qos = must(values.qos === '0' || values.qos === '1' || values.qos === '2' ? values.qos : undefined, QOS_FAULT)
  const seed = must(wholeNumber(values.seed, 0, 2 ** 32 - 1), '--seed must be a whole number from 0 to 4294967295')
  const sessionExpiryMs = must(duration(values['session-expiry']), '--session-expiry must be a time such as 1h')
  const intervalMs =
    values.interval === undefined
      ? DEFAULT_INTERVAL_MS
      : must(duration(values.interval), '--interval must be a time such as 500ms, 10s, 5m')
  const rate =
    values.rate === undefined ? 0 : must(positive(values.rate), '--rate must be a number of uplinks a second above 0')
  if (values.rate !== undefined && values.interval !== undefined)
    faults.push('--rate and --interval exclude each other')
  if (
    url === undefined ||
    devicesFile === undefined ||
    qos === undefined ||
    seed === undefined ||
    sessionExpiryMs === undefined ||
    intervalMs === undefined ||
    rate === undefined ||
    faults.length > 0
  ) {
    return { action: 'refuse', faults }
  }
  return {
    action: 'run',
    options: {
      url,
      certificateAuthorityFile: values.ca,
      userName: values['user-name'] ?? environment['SIMULATOR_USER_NAME'],
      password: values.password ?? environment['SIMULATOR_PASSWORD'],
      devicesFile,
      intervalMs: rate > 0 ? undefined : intervalMs,
      ratePerSecond: rate > 0 ? rate : undefined,
      seed,
      qos: Number(qos) as 0 | 1 | 2,
      clientId: values['client-id'],
      sessionExpirySeconds: Math.ceil(sessionExpiryMs / 1000),
      isVerbose: values.verbose,
    },
  }
}

const QOS_FAULT = '--qos must be 0, 1 or 2'

function brokerUrl(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined
  const url = new URL(text)
  // A credential in the URL would be shown in messages.
  const isPlain = url.username === '' && url.password === '' && url.hostname !== ''
  return isPlain && (url.protocol === 'mqtts:' || url.protocol === 'mqtt:') ? text : undefined
}

/** A time such as `10s` in milliseconds: above 0, at most a year. */
function duration(text: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[parts?.[2] ?? '']
  if (parts === null || unit === undefined) return undefined
  const ms = Number(parts[1]) * unit
  return ms > 0 && ms <= 366 * 86_400_000 ? ms : undefined
}

function wholeNumber(text: string, low: number, high: number): number | undefined {
  const value = Number(text)
  return /^\d+$/.test(text) && value >= low && value <= high ? value : undefined
}

function positive(text: string): number | undefined {
  const value = Number(text)
  return /^\d+(?:\.\d+)?$/.test(text) && value > 0 ? value : undefined
}
