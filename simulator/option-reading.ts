/** Reads options from the arguments, else from the environment, and collects their faults. */
import { parseArgs } from 'node:util'

/** The texts of all options, and the faults that are found while they are read. */
export interface OptionReading<Text extends string, Flag extends string> {
  readonly faults: string[]
  has(flag: Flag): boolean
  text(name: Text): string | undefined
  /** The option's value, or the fallback's. If neither is valid, a fault is noted. */
  read<T>(name: Text, fallback: string, parse: (text: string) => T | undefined, rule: string): T | undefined
}

export interface ReadingSettings<Text extends string, Flag extends string> {
  readonly args: readonly string[]
  /** The environment variable of `--user-name` is `SIMULATOR_USER_NAME`. */
  readonly environment: NodeJS.ProcessEnv
  /** Options with a value. */
  readonly texts: readonly Text[]
  readonly flags: readonly Flag[]
}

/** The reading, or a sentence if the arguments are no options or unknown options. */
export function readArguments<Text extends string, Flag extends string>(
  settings: ReadingSettings<Text, Flag>,
): OptionReading<Text, Flag> | string {
  const { args, texts, flags } = settings
  const options = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' }] as const),
    ...flags.map((name) => [name, { type: 'boolean' }] as const),
  ])
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false })
    return createReading(values, settings.environment)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * A broker's address; undefined for another kind of address, and for an address that holds a
 * credential, which messages would show.
 */
export function brokerUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === '' && url.hostname !== ''
  return isPlain && (url.protocol === 'mqtts:' || url.protocol === 'mqtt:') ? text : undefined
}

/** The values, if none of them is undefined: each undefined value has noted its fault. */
export function complete<Values extends object>(
  values: Values,
): { readonly [Name in keyof Values]: Exclude<Values[Name], undefined> } | undefined {
  type Complete = { readonly [Name in keyof Values]: Exclude<Values[Name], undefined> }
  return Object.values(values).includes(undefined) ? undefined : (values as Complete)
}

function createReading<Text extends string, Flag extends string>(
  values: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): OptionReading<Text, Flag> {
  const faults: string[] = []
  const variable = (name: string): string | undefined =>
    environment[`SIMULATOR_${name.toUpperCase().replaceAll('-', '_')}`]
  const text = (name: Text): string | undefined => {
    const value = values[name]
    return typeof value === 'string' ? value : variable(name)
  }
  return {
    faults,
    has(flag) {
      const value = variable(flag)
      if (values[flag] === true || value === '1' || value === 'true') return true
      if (value !== undefined && value !== '0' && value !== 'false') faults.push(`--${flag} is true or false`)
      return false
    },
    text,
    read(name, fallback, parse, rule) {
      const value = parse(text(name) ?? fallback)
      if (value === undefined) faults.push(`--${name} must be ${rule}`)
      return value
    },
  }
}
