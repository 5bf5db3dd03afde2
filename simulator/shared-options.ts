/** The options that both command lines of the simulator have. */
import { DEFAULT_FIRST_DEV_EUI, isDevEuiRange } from './generated-devices.ts'
import { brokerUrl, complete } from './option-reading.ts'
import type { OptionReading } from './option-reading.ts'
import { duration, regionId, REGION_RULE, share, wholeNumber } from './options.ts'
import { region } from './region.ts'
import type { Region } from './region.ts'

/** A reading that has these options with a value, at least. */
type Reading<Text extends string> = OptionReading<Text, never>

/** The broker, and the login there. */
export interface BrokerOptions {
  readonly url: string
  /** Path of a PEM file; undefined: the system's certificate authorities. */
  readonly certificateAuthorityFile: string | undefined
  readonly userName: string | undefined
  readonly password: string | undefined
}

export function readBroker(reading: Reading<'url' | 'ca' | 'user-name' | 'password'>): BrokerOptions | undefined {
  const url = reading.read('url', '', brokerUrl, 'mqtts://host:port or mqtt://host:port')
  if (url === undefined) return undefined
  return {
    url,
    certificateAuthorityFile: reading.text('ca'),
    userName: reading.text('user-name'),
    password: reading.text('password'),
  }
}

export function readSeed(reading: Reading<'seed'>): number | undefined {
  return reading.read('seed', '1', wholeNumber(0, 2 ** 32 - 1), 'a whole number from 0 to 4294967295')
}

export function readRegion(reading: Reading<'region'>): Region | undefined {
  const id = reading.read('region', 'EU868', regionId, REGION_RULE)
  return id === undefined ? undefined : region(id)
}

/** The time within which the devices begin, in milliseconds. */
export function readStartWindow(reading: Reading<'start-window'>): number | undefined {
  return reading.read('start-window', '5s', duration, 'a time such as 5s')
}

/** The mean time between two uplinks of a device, in milliseconds. */
export function readInterval(reading: Reading<'interval'>, fallback: string): number | undefined {
  return reading.read('interval', fallback, duration, 'a time such as 500ms, 10s, 5m')
}

export function readShare<Text extends string>(
  reading: Reading<Text>,
  name: Text,
  fallback: string,
): number | undefined {
  return reading.read(name, fallback, share, 'a share from 0 to 1')
}

/** The file of the devices, or the settings by which `readGenerated` generates them. */
export function readDeviceSource<Generated>(
  reading: Reading<'devices' | 'generate'>,
  readGenerated: () => Generated | undefined,
): { readonly from: 'file'; readonly path: string } | ({ readonly from: 'generated' } & Generated) | undefined {
  const path = reading.text('devices')
  const isGenerated = reading.text('generate') !== undefined
  if (path !== undefined && isGenerated) reading.faults.push('--devices and --generate exclude each other')
  if (path === undefined && !isGenerated) reading.faults.push('--devices is missing, and --generate as well')
  if (!isGenerated) return path === undefined ? undefined : { from: 'file', path }
  const generated = readGenerated()
  return generated === undefined ? undefined : { from: 'generated', ...generated }
}

/** The number of generated devices, and the DevEUI of the first. */
export function readGeneratedRange(
  reading: Reading<'generate' | 'first-dev-eui'>,
  maximum: number,
): { readonly count: number; readonly firstDevEui: string } | undefined {
  const count = reading.read('generate', '', wholeNumber(1, maximum), `a number of devices from 1 to ${maximum}`)
  const firstDevEui = reading.read(
    'first-dev-eui',
    DEFAULT_FIRST_DEV_EUI,
    euiRange(count ?? 1),
    '16 hexadecimal digits, with room for all generated devices behind it',
  )
  return complete({ count, firstDevEui })
}

/** A reader of the first of `count` EUIs in a row. */
export function euiRange(count: number): (text: string) => string | undefined {
  return (text) => (isDevEuiRange(text.toLowerCase(), count) ? text.toLowerCase() : undefined)
}
