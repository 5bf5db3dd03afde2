/**
 * Keeps a browser signed in over a reload. The session token of a login is put into a cookie
 * that scripts can't read and that opens one door alone: the console asks for its token back when
 * it starts. No other route looks at cookies, so no page elsewhere can act in somebody's name.
 * docs/decisions/0006-console-session.md tells why.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { bearerToken } from '../api/authenticate.ts'
import { RequestRefused } from '../api/errors.ts'
import { Empty, responses } from '../api/fields.ts'
import { OPEN, SIGNED_IN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { DEMANDED, NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that the console's session needs. */
export type ConsoleSessionRegistry = Pick<Registry, 'tokens'>

const PATH = '/api/internal/console-session'

/**
 * `__Host-`: browsers take it over HTTPS alone, without a Domain, so that no neighbouring host can
 * set it.
 */
const COOKIE = '__Host-fieldgate-session'
/** Without Max-Age: it ends with the browser, and its token at its own time. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'

/**
 * A page of another origin can't send this header without asking first, and nobody answers that it
 * may.
 */
const OWN_HEADER = 'fieldgate-console'

/** The routes that keep the session in a cookie, return it, and forget it. */
export function consoleSessionRoutes(registry: ConsoleSessionRegistry): readonly Route[] {
  return resource('Login', [keepSession(), resumeSession(registry), forgetSession()])
}

function keepSession(): Route {
  return route({
    method: 'POST',
    url: PATH,
    may: SIGNED_IN,
    schema: {
      operationId: 'keepConsoleSession',
      summary: 'Keep my session in this browser',
      description:
        'For the console: puts the session token of the request into a cookie that scripts can’t read, so that a reload ' +
        'does not ask for the password again.',
      response: responses(Empty),
    },
    handle: async (_person, request, reply) => {
      reply.header('set-cookie', `${COOKIE}=${bearerToken(request.headers)}; ${ATTRIBUTES}`)
      return {}
    },
  })
}

const KeptSession = Type.Object(
  { jwt: Type.String({ description: 'Session JWT, or "".' }) },
  { description: 'The session of the cookie', [NAME]: 'KeptSession' },
)

function resumeSession(registry: ConsoleSessionRegistry): Route {
  return route({
    method: 'GET',
    url: PATH,
    may: OPEN,
    schema: {
      operationId: 'resumeConsoleSession',
      summary: 'Get my session back',
      description:
        'For the console: answers the session token of the cookie, or "" where there is none that is good. Needs the header ' +
        'Fieldgate-Console, which no page of another origin can send.',
      headers: OwnHeader,
      response: responses(KeptSession),
    },
    handle: async (_nobody, request, reply) => {
      demandOwnHeader(request.headers)
      const jwt = cookieOf(request.headers)
      if (jwt === undefined) return { jwt: '' }
      if ((await registry.tokens.verifySession(jwt)).ok) return { jwt }
      reply.header('set-cookie', EXPIRED)
      return { jwt: '' }
    },
  })
}

function forgetSession(): Route {
  return route({
    method: 'DELETE',
    url: PATH,
    may: OPEN,
    schema: {
      operationId: 'forgetConsoleSession',
      summary: 'Forget my session in this browser',
      description:
        'For the console: removes the cookie. The token itself lives on until it ends, or is ended everywhere.',
      headers: OwnHeader,
      response: responses(Empty),
    },
    handle: async (_nobody, request, reply) => {
      demandOwnHeader(request.headers)
      reply.header('set-cookie', EXPIRED)
      return {}
    },
  })
}

const EXPIRED = `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`

const OwnHeader = Type.Object({
  [OWN_HEADER]: Type.Optional(
    Type.String({
      description: 'Any text: it shows that the console itself is asking.',
      examples: ['1'],
      [DEMANDED]: true,
    }),
  ),
})

function demandOwnHeader(headers: IncomingHttpHeaders): void {
  if (headers[OWN_HEADER] === undefined) {
    throw new RequestRefused('permission_denied', 'the header Fieldgate-Console is missing', 'console_header_missing')
  }
}

/** Longer than any token of this service. */
const MAXIMUM_TOKEN_LENGTH = 4096

function cookieOf(headers: IncomingHttpHeaders): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2)
    if (name === COOKIE && value.length <= MAXIMUM_TOKEN_LENGTH && /^[A-Za-z0-9._-]+$/.test(value)) return value
  }
  return undefined
}
