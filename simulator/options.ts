/** The options of the command line: their help, and the spelling of their values. */
import { REGION_IDS } from './region.ts'
import type { RegionId } from './region.ts'

/** The groups of options. Each option has its argument and its purpose. */
const GROUPS = {
  'The broker': {
    url: ['URL', 'mqtts://host:port, or mqtt://host:port without TLS'],
    ca: ['FILE', "certificate authority of the broker in PEM (default: the system's)"],
    'user-name': ['NAME', 'user name of the service credential'],
    password: ['PASSWORD', "its password; better in the environment, since others see a process's arguments"],
    family: ['A|B', 'payloads and topics of ChirpStack v3 (A) or v4 (B) (default: A)'],
    mqtt: ['3.1.1|5', "MQTT's version (default: 3.1.1 for A, 5 for B)"],
    qos: ['0|1|2', 'QoS of the events (default: 1)'],
    'command-qos': ['0|1|2', 'QoS of the subscription to commands (default: 1)'],
    'client-id': ['ID', 'Client Identifier; a stable one keeps the Session (default: fieldgate-simulator-a or -b)'],
    'clean-session': ['', 'begin a new Session with each connection'],
    state: ['FILE', 'file that keeps unfinished commands over the end of the process'],
    'session-expiry': ['TIME', 'how long the broker keeps the Session with MQTT 5 (default: 1h)'],
  },
  'The devices': {
    devices: ['FILE', 'a JSON array of {applicationID, applicationName, deviceName, devEUI, model, deviceClass?,'],
    generate: ['N', 'number of devices of all models to generate, in place of a file'],
    application: ['ID', 'application of the generated devices'],
    'application-name': ['NAME', 'name of this application (default: simulated)'],
    'first-dev-eui': ['EUI', 'DevEUI of the first generated device; the others follow (default: 0200000000000001)'],
    'print-import': ['', 'print a line for each generated device, for `fieldgate import`, and end'],
    interval: ['TIME', 'mean time between two uplinks of a device: 500ms, 10s, 5m, 1h (default: 10s)'],
    rate: ['N', 'uplinks a second of all devices together, in place of --interval'],
    'start-window': ['TIME', 'time within which the devices begin; a short one makes a storm of joins (default: 5s)'],
    'power-cut': ['TIME', 'interval at which the power of all devices fails; then all join again'],
    resumed: ['SHARE', 'share of devices that need not join, since they have a session already (default: 0)'],
    'class-c': ['SHARE', 'share of devices of class C, which listen all the time (default: 0)'],
    'without-object': ['SHARE', 'share of devices without a codec, whose uplinks have no object (default: 0)'],
  },
  'The air': {
    region: ['REGION', 'EU868, US915 or AS923 (default: EU868)'],
    loss: ['SHARE', 'share of frames from devices that are lost at any distance (default: 0.02)'],
    'downlink-loss': ['SHARE', 'share of frames for devices that are lost (default: as --loss)'],
    repeat: ['SHARE', 'share of frames that come twice (default: 0.01)'],
    confirmed: ['SHARE', 'share of uplinks that ask for an acknowledgement (default: 0.05)'],
    'codec-errors': ['SHARE', 'share of uplinks that the codec cannot read (default: 0.005)'],
    rejoin: ['SHARE', 'share of uplinks in place of which the device joins again (default: 0.001)'],
    'counter-bits': ['16|32', 'width of the uplink frame counter; at its end the device joins again (default: 32)'],
    retries: ['N', 'how often a confirmed downlink is sent again without an acknowledgement (default: 2)'],
    'carry-ids': ['', 'events txack, ack and error of family A, too, carry the id of a command, as queueItemId'],
  },
  'The rest': {
    seed: ['N', 'the same seed gives the same devices and measurements (default: 1)'],
    verbose: ['', 'print a line for each event and command'],
    help: ['', 'show this text'],
  },
} as const

/** Longer help below an option's line. */
const MORE: Readonly<Record<string, string>> = {
  devices: 'deviceProfileName?, tags?, location: {latitude, longitude, altitude}}',
}

type Group = keyof typeof GROUPS

/** The names of all options. */
export type OptionName = { [Name in Group]: keyof (typeof GROUPS)[Name] }[Group]

const NAME_WIDTH = 26

/** The argument behind an option's name, and the option's purpose. */
type OptionText = readonly [argument: string, text: string]

/** All options with their texts, in groups. */
export const HELP_OPTIONS = helpOf(GROUPS, MORE)

/** The help of options in groups; `more` has the longer help of an option. */
export function helpOf(
  groups: Readonly<Record<string, Readonly<Record<string, OptionText>>>>,
  more: Readonly<Record<string, string>>,
): string {
  return Object.entries(groups)
    .map(([group, options]) => {
      const lines = Object.entries(options).map(([name, text]) => helpLine(name, text, more[name]))
      return `${group}\n${lines.join('')}`
    })
    .join('\n')
}

function helpLine(name: string, [argument, text]: OptionText, more: string | undefined): string {
  const line = `  ${`--${name} ${argument}`.padEnd(NAME_WIDTH)} ${text}\n`
  return more === undefined ? line : `${line}${' '.repeat(NAME_WIDTH + 3)}${more}\n`
}

/** A time such as `10s` in milliseconds: above 0, at most a year. */
export function duration(text: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[parts?.[2] ?? '']
  if (parts === null || unit === undefined) return undefined
  const ms = Number(parts[1]) * unit
  return ms > 0 && ms <= 366 * 86_400_000 ? ms : undefined
}

/** Reads a whole number within bounds, both included. */
export function wholeNumber(low: number, high: number): (text: string) => number | undefined {
  return (text) => {
    const value = Number(text)
    return /^\d+$/.test(text) && value >= low && value <= high ? value : undefined
  }
}

/** A decimal number above 0. */
export function positive(text: string): number | undefined {
  const value = Number(text)
  return /^\d+(?:\.\d+)?$/.test(text) && value > 0 ? value : undefined
}

/** A decimal number from 0 to 1. */
export function share(text: string): number | undefined {
  const value = Number(text)
  return /^\d+(?:\.\d+)?$/.test(text) && value <= 1 ? value : undefined
}

/** One of the regions that the simulator knows. */
export function regionId(text: string): RegionId | undefined {
  return REGION_IDS.find((id) => id === text)
}

/** The values that `regionId` accepts, as a phrase for people. */
export const REGION_RULE = REGION_IDS.join(', ').replace(/, ([^,]*)$/, ' or $1')

/** A reader of texts that each stand for a value. */
export function oneOf<Value>(values: Readonly<Record<string, Value>>): (text: string) => Value | undefined {
  return (text) => (Object.hasOwn(values, text) ? values[text] : undefined)
}
