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
    qos: ['0|1|2', 'of the events (default: 1)'],
    'command-qos': ['0|1|2', 'of the subscription to commands (default: 1)'],
    'client-id': ['ID', 'stable, so that the Session is kept (default: fieldgate-simulator-a or -b)'],
    'clean-session': ['', 'a new Session with each connection'],
    state: ['FILE', 'keeps the commands that are not done with over the end of the process'],
    'session-expiry': ['TIME', 'how long the broker keeps the Session with MQTT 5 (default: 1h)'],
  },
  'The devices': {
    devices: ['FILE', 'a JSON array of {applicationID, applicationName, deviceName, devEUI, model, deviceClass?,'],
    generate: ['N', 'in the place of a file: so many devices of all models'],
    application: ['ID', 'of the generated devices'],
    'application-name': ['NAME', 'of the generated devices (default: simulated)'],
    'first-dev-eui': ['EUI', 'of the generated devices; the others follow (default: 0200000000000001)'],
    'print-import': ['', 'print a line for each generated device, for `fieldgate import`, and end'],
    interval: ['TIME', 'mean time between two uplinks of a device: 500ms, 10s, 5m, 1h (default: 10s)'],
    rate: ['N', 'uplinks a second of all devices together, in the place of --interval'],
    'start-window': ['TIME', 'the devices begin within this time; short for a storm of joins (default: 5s)'],
    'power-cut': ['TIME', 'the power of all devices fails each time after so long, and all join again'],
    resumed: ['SHARE', 'of devices that need not join, since they have a session already (default: 0)'],
    'class-c': ['SHARE', 'of devices of class C, which listen all the time (default: 0)'],
    'without-object': ['SHARE', 'of devices without a codec, whose uplinks have no object (default: 0)'],
  },
  'The air': {
    region: ['REGION', 'EU868, US915 or AS923 (default: EU868)'],
    loss: ['SHARE', 'of frames from devices that are lost whatever the distance (default: 0.02)'],
    'downlink-loss': ['SHARE', 'of frames for devices that are lost (default: as --loss)'],
    repeat: ['SHARE', 'of frames that come twice (default: 0.01)'],
    confirmed: ['SHARE', 'of uplinks that ask for an acknowledgement (default: 0.05)'],
    'codec-errors': ['SHARE', 'of uplinks that the codec cannot read (default: 0.005)'],
    rejoin: ['SHARE', 'of uplinks in whose place the device joins again (default: 0.001)'],
    'counter-bits': ['16|32', 'width of the uplink frame counter; at its end the device joins again (default: 32)'],
    retries: ['N', 'how often a confirmed downlink is sent again without an acknowledgement (default: 2)'],
    'carry-ids': ['', 'family A too tells the id of a command in its txack, ack and error, as queueItemId'],
  },
  'The rest': {
    seed: ['N', 'the same seed gives the same devices and measurements (default: 1)'],
    verbose: ['', 'a line for each event and command'],
    help: ['', 'this text'],
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
