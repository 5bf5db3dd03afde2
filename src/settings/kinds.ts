/**
 * The kinds of settings. A kind turns a text of the environment into a checked value, and describes
 * the accepted texts for people.
 */
import { isIP } from 'node:net'
import { resolve } from 'node:path'

/** One setting of the table: its name, its description, and the parser of its value. */
export interface Definition<Value> {
  readonly name: string
  readonly description: string
  /** The accepted texts, for people: "1 to 65535", "a path". */
  readonly accepts: string
  /** The value when the variable is not set, for people. */
  readonly defaultText: string
  readonly default: () => Value
  /** True: the value is never shown, not even when it is wrong. */
  readonly isSecret: boolean
  readonly parse: (text: string) => Parsed<Value>
}

type Parsed<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly reason: string }

/** A decimal integer from `minimum` to `maximum`, both included. */
export function integer(of: {
  readonly name: string
  readonly default: number
  readonly minimum: number
  readonly maximum: number
  readonly description: string
}): Definition<number> {
  const reason = `must be an integer from ${of.minimum} to ${of.maximum}`
  return {
    name: of.name,
    description: of.description,
    accepts: `${of.minimum} to ${of.maximum}`,
    defaultText: `\`${of.default}\``,
    default: () => of.default,
    isSecret: false,
    parse: (given) => {
      const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
      return value >= of.minimum && value <= of.maximum ? { ok: true, value } : { ok: false, reason }
    },
  }
}

/** A host name or an IP address, without scheme and port. */
export function host(of: {
  readonly name: string
  readonly default: string | (() => string)
  readonly defaultText?: string
  readonly description: string
}): Definition<string> {
  const fallback = of.default
  const reason = 'must be a host name or an IP address, without scheme or port'
  return {
    name: of.name,
    description: of.description,
    accepts: 'a host name or an IP address',
    defaultText: of.defaultText ?? (typeof fallback === 'string' ? `\`${fallback}\`` : ''),
    default: typeof fallback === 'string' ? () => fallback : fallback,
    isSecret: false,
    parse: (given) => (/^[A-Za-z0-9:.%_-]{1,253}$/.test(given) ? { ok: true, value: given } : { ok: false, reason }),
  }
}

/** A word out of a list. */
export function choice<const Choice extends string>(of: {
  readonly name: string
  readonly default: NoInfer<Choice>
  readonly choices: readonly Choice[]
  readonly description: string
}): Definition<Choice> {
  return {
    name: of.name,
    description: of.description,
    accepts: of.choices.join(', '),
    defaultText: `\`${of.default}\``,
    default: () => of.default,
    isSecret: false,
    parse: (given) => {
      const value = of.choices.find((candidate) => candidate === given)
      return value === undefined
        ? { ok: false, reason: `must be one of ${of.choices.join(', ')}` }
        : { ok: true, value }
    },
  }
}

/** A path; a relative one starts at the current directory. The value is absolute. */
export function path(of: {
  readonly name: string
  readonly default: string
  readonly description: string
}): Definition<string> {
  return {
    name: of.name,
    description: of.description,
    accepts: 'a path',
    defaultText: `\`${of.default}\``,
    default: () => resolve(of.default),
    isSecret: false,
    parse: parsePath,
  }
}

/** A path that may be left out. The value is absolute. */
export function optionalPath(of: {
  readonly name: string
  readonly defaultText: string
  readonly description: string
}): Definition<string | undefined> {
  return { ...of, accepts: 'a path', default: () => undefined, isSecret: false, parse: parsePath }
}

function parsePath(given: string): Parsed<string> {
  if (given.includes('\0')) return { ok: false, reason: 'must not hold a NUL character' }
  return { ok: true, value: resolve(given) }
}

/** No deployment has as many web applications. A look-up takes the same time for any number. */
const MAXIMUM_ORIGINS = 100

/**
 * Origins of web pages (RFC 6454), with commas between them; none when it is not set. A path, `*`
 * and `null` are refused.
 */
export function origins(of: { readonly name: string; readonly description: string }): Definition<readonly string[]> {
  return {
    ...of,
    accepts: 'origins with commas',
    defaultText: 'none',
    default: () => [],
    isSecret: false,
    parse: (given) => {
      const list = given.split(',').map((text) => text.trim().toLowerCase())
      const wrong = list.find((text) => !isOrigin(text))
      if (wrong !== undefined) {
        return {
          ok: false,
          reason: `must be origins like https://app.example.org, without a path; not ${JSON.stringify(wrong)}`,
        }
      }
      if (list.length > MAXIMUM_ORIGINS) return { ok: false, reason: `must be at most ${MAXIMUM_ORIGINS} origins` }
      return { ok: true, value: list }
    },
  }
}

/**
 * Whether the text is an origin as browsers send it: without the port that is the default of the
 * scheme. Applications in a web view have schemes of their own (`capacitor://localhost`).
 */
function isOrigin(text: string): boolean {
  if (/^https?:/.test(text)) return !text.includes('*') && URL.canParse(text) && new URL(text).origin === text
  return /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+(?::\d{1,5})?$/.test(text)
}

/** No deployment has as many proxies without a common range. A look-up passes each entry. */
const MAXIMUM_NETWORKS = 100

/** IP addresses, and ranges of addresses in CIDR notation, with commas between them. */
export function networks(of: { readonly name: string; readonly description: string }): Definition<readonly string[]> {
  return {
    ...of,
    accepts: 'addresses and ranges with commas',
    defaultText: 'none',
    default: () => [],
    isSecret: false,
    parse: (given) => {
      const list = given.split(',').map((text) => text.trim())
      const wrong = list.find((text) => !isNetwork(text))
      if (wrong !== undefined) {
        return {
          ok: false,
          reason: `must be IP addresses, or ranges like 10.0.0.0/8 that do not hold every address; not ${JSON.stringify(wrong)}`,
        }
      }
      if (list.length > MAXIMUM_NETWORKS) {
        return { ok: false, reason: `must be at most ${MAXIMUM_NETWORKS} addresses and ranges` }
      }
      return { ok: true, value: list }
    },
  }
}

/** A prefix of 0 bits is refused: every client could name an address of its choice. */
function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** A text that is never shown. Its length is counted in Unicode code points. */
export function secret(of: {
  readonly name: string
  readonly defaultText: string
  readonly minimumLength: number
  readonly maximumLength: number
  readonly description: string
}): Definition<string | undefined> {
  const accepts = `${of.minimumLength} to ${of.maximumLength} characters`
  return {
    name: of.name,
    description: of.description,
    accepts,
    defaultText: of.defaultText,
    default: () => undefined,
    isSecret: true,
    parse: (given) => {
      const length = Array.from(given).length
      const isLong = length >= of.minimumLength && length <= of.maximumLength
      if (!isLong) return { ok: false, reason: `must be ${accepts}` }
      // The registry refuses control characters too. The check is repeated here, so that the
      // start does not fail after the ports are open.
      return /[\p{Cc}\u2028\u2029]/u.test(given)
        ? { ok: false, reason: 'must have no control characters' }
        : { ok: true, value: given }
    },
  }
}

/** Secrets that stand in addresses: one, or two with a comma while programs change to the next. */
export function urlSecrets(of: {
  readonly name: string
  readonly defaultText: string
  readonly description: string
}): Definition<readonly string[]> {
  return {
    ...of,
    accepts: '32 to 128 letters, digits, `-` and `_`; two with a comma',
    default: () => [],
    isSecret: true,
    parse: (given) => {
      const secrets = given.split(',').map((one) => one.trim())
      const isGood = secrets.length <= 2 && secrets.every((one) => /^[A-Za-z0-9_-]{32,128}$/.test(one))
      if (isGood) return { ok: true, value: secrets }
      return { ok: false, reason: 'must be one or two secrets of 32 to 128 letters, digits, - and _' }
    },
  }
}

/** The modes of encryption that are told apart; the other modes of libpq fall back to none. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/**
 * The URL of a PostgreSQL database. It may contain a password, so it is never shown. In a network
 * the URL has to say how the connection is secured.
 */
export function databaseUrl(of: {
  readonly name: string
  readonly defaultText: string
  readonly description: string
}): Definition<string | undefined> {
  return {
    ...of,
    accepts: '`postgres://user@host:port/database?sslmode=…`',
    default: () => undefined,
    isSecret: true,
    parse(given) {
      const reason = faultOfDatabaseUrl(given)
      return reason === undefined ? { ok: true, value: given } : { ok: false, reason }
    },
  }
}

function faultOfDatabaseUrl(given: string): string | undefined {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) {
    return 'must be a URL like postgres://user@host:5432/database?sslmode=verify-full'
  }
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'sslmode')
  if (unknown !== undefined) return `must have no other parameter than sslmode, not ${JSON.stringify(unknown)}`
  if (url.hostname === '') return 'must name the host'
  if (url.username === '') return 'must name the user'
  if (!/^\/[^/]+$/.test(url.pathname)) return 'must name the database'
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode)) return `must have an sslmode out of ${SSL_MODES.join(', ')}`
  if (mode === null && !isLoopback(url.hostname)) {
    return 'must say by sslmode how the connection is secured: verify-full, or disable in a network that you trust'
  }
  return undefined
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || name.startsWith('127.')
}

/** No deployment has as many servers of NATS. */
const MAXIMUM_SERVERS = 100

/** Addresses of servers of NATS, with commas between them; none when it is not set. */
export function natsAddresses(of: {
  readonly name: string
  readonly description: string
}): Definition<readonly string[]> {
  return addresses(of, /^(?:nats|tls):\/\//, 'nats://host:4222 or tls://host:4222')
}

/** Addresses of HTTP servers, with commas between them; none when it is not set. */
export function webAddresses(of: {
  readonly name: string
  readonly description: string
}): Definition<readonly string[]> {
  return addresses(of, /^https?:\/\//, 'http://host:8222 or https://host:8222')
}

function addresses(
  of: { readonly name: string; readonly description: string },
  scheme: RegExp,
  example: string,
): Definition<readonly string[]> {
  const reason = `must be at most ${MAXIMUM_SERVERS} addresses like ${example}, without user, password and path`
  return {
    ...of,
    accepts: 'addresses with commas',
    defaultText: 'none',
    default: () => [],
    isSecret: false,
    parse: (given) => {
      const list = given.split(',').map((text) => text.trim())
      const isGood = list.length <= MAXIMUM_SERVERS && list.every((text) => scheme.test(text) && isPlainAddress(text))
      return isGood ? { ok: true, value: list } : { ok: false, reason }
    },
  }
}

/** True for a scheme with a host, and a port if need be. */
function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, username, password, pathname, search, hash } = new URL(text)
  return hostname !== '' && `${username}${password}${search}${hash}` === '' && ['', '/'].includes(pathname)
}

/** The name of a node, as a part of subjects of NATS. */
export function nodeName(of: { readonly name: string; readonly description: string }): Definition<string | undefined> {
  const reason = 'must be 1 to 32 letters, digits, hyphens and underscores'
  return {
    ...of,
    accepts: '1 to 32 letters, digits, `-` and `_`',
    defaultText: 'none',
    default: () => undefined,
    isSecret: false,
    parse: (given) => (/^[A-Za-z0-9_-]{1,32}$/.test(given) ? { ok: true, value: given } : { ok: false, reason }),
  }
}
