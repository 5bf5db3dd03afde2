/** The options that a program may leave to its environment. */
import { readFileSync } from 'node:fs'
import type { ConnectOptions } from './client.ts'

const VARIABLES = {
  url: 'FIELDGATE_URL',
  apiKey: 'FIELDGATE_API_KEY',
  username: 'FIELDGATE_USER',
  password: 'FIELDGATE_PASSWORD',
  organization: 'FIELDGATE_ORGANIZATION',
  broker: 'FIELDGATE_BROKER',
} as const

/**
 * The options, completed by the variables. A program that gives one kind of credential does not get
 * the other. Throws where the file of `FIELDGATE_CA` can't be read.
 */
export function withEnvironment(
  options: Partial<ConnectOptions>,
  environment: Readonly<Record<string, string | undefined>>,
): Partial<ConnectOptions> {
  const { apiKey, ...rest } = optionsOf(environment)
  const hasCredential = options.apiKey !== undefined || options.username !== undefined
  return { ...rest, ...(hasCredential || apiKey === undefined ? {} : { apiKey }), ...options }
}

function optionsOf(environment: Readonly<Record<string, string | undefined>>): Partial<ConnectOptions> {
  const given = Object.entries(VARIABLES)
    .map(([option, name]) => [option, environment[name]] as const)
    .filter(([, value]) => value !== undefined && value !== '')
  const file = environment['FIELDGATE_CA']
  const ca = file === undefined || file === '' ? {} : { ca: readFileSync(file, 'utf8') }
  return { ...(Object.fromEntries(given) as Partial<ConnectOptions>), ...ca }
}
