/** The requests that a connection to the broker needs: tokens, topics, and the broker's address. */
import { useQuery } from '@tanstack/react-query'
import type { ClientRefusal } from './broker-views.ts'
import type { Listed } from './list.ts'
import { claimsOf } from '../session/claims.ts'
import { request } from './request.ts'
import type { TokenScope } from './token-scope.ts'

export interface Deployment {
  readonly mqttsHost: string
  readonly mqttsPort: number
  readonly brokerTokenDefaultTtlSeconds: number
  readonly brokerTokenMaximumTtlSeconds: number
  readonly hasOwnAuthority: boolean
}

export interface BrokerToken {
  readonly id: string
  readonly userID: string
  /** The API key that made the token; "" where a person did. */
  readonly apiKeyID: string
  readonly issuedAt: string
  readonly expiresAt: string
  readonly lastUsedAt: string | null
  /** The number of clients that are connected with the token. */
  readonly connections: number
  readonly lastRefusal: ClientRefusal | null
  /** Null for a token without limits. */
  readonly scope: TokenScope | null
}

/** A token that was just issued. */
export interface IssuedToken {
  readonly jwt: string
  readonly id: string
  readonly expiresAtMs: number
}

/** The address of the broker, and the bounds of tokens. */
export function useDeployment() {
  return useQuery({
    queryKey: ['deployment'],
    queryFn: ({ signal }) => request<Deployment>('GET', '/api/internal/deployment', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/**
 * Issues a broker-access token, with the limits that are given. `isOfConsole` marks a token for the
 * console's own connection.
 */
export async function issueBrokerToken(
  organizationId: string,
  ttlSeconds: number,
  options: TokenScope & { readonly isOfConsole?: boolean } = {},
): Promise<IssuedToken> {
  const body = { organizationId, ttlInSeconds: String(ttlSeconds), ...options }
  const { jwtMqttAuth } = await request<{ readonly jwtMqttAuth: string }>('POST', '/api/mosquitto-auth/login', { body })
  const { jti, exp } = claimsOf(jwtMqttAuth)
  return { jwt: jwtMqttAuth, id: jti, expiresAtMs: exp * 1000 }
}

/** Revokes a token. Its connections end at once. */
export function revokeBrokerToken(id: string, options: { readonly keepalive?: boolean } = {}): Promise<unknown> {
  return request('DELETE', `/api/broker-tokens/${encodeURIComponent(id)}`, options)
}

/** The key of an organization's tokens in the cache. */
export function brokerTokensKey(organizationId: string): readonly string[] {
  return ['broker-tokens', organizationId]
}

/** The newest tokens of the organization that are in force and that the person may see. */
export function useBrokerTokens(organizationId: string, refetchIntervalMs: number) {
  return useQuery({
    queryKey: brokerTokensKey(organizationId),
    queryFn: ({ signal }) =>
      request<Listed<BrokerToken>>('GET', '/api/broker-tokens', {
        query: { organizationID: organizationId, limit: 100 },
        signal,
      }),
    refetchInterval: refetchIntervalMs,
  })
}

/** The topics that a client subscribes to and publishes to. */
export interface Topics {
  readonly events: string
  /** Undefined for more than one device, since a command goes to one, and for reading only. */
  readonly commands: string | undefined
}

/** The topics of a whole application. */
export async function applicationTopics(organizationId: string, applicationId: string): Promise<Topics> {
  const query = { organizationId, applicationId }
  const path = '/api/mosquitto-auth/subscribe-application-events'
  const { topic } = await request<{ readonly topic: string }>('GET', path, { query })
  return { events: quoted(topic), commands: undefined }
}

/** The topic of all applications. */
export async function organizationTopics(organizationId: string): Promise<Topics> {
  const path = '/api/mosquitto-auth/subscribe-organization-events'
  const { topic } = await request<{ readonly topic: string }>('GET', path, { query: { organizationId } })
  return { events: quoted(topic), commands: undefined }
}

/** The topics of one device: all kinds of event, and commands unless it is for reading only. */
export async function deviceTopics(organizationId: string, devEui: string, isReadOnly: boolean): Promise<Topics> {
  const query = { organizationId, devEui }
  const [events, commands] = await Promise.all([
    request<{ readonly topic: readonly string[] }>('GET', '/api/mosquitto-auth/subscribe-device-events', { query }),
    isReadOnly ? undefined : request<{ readonly topic: string }>('GET', '/api/mosquitto-auth/send-command', { query }),
  ])
  return { events: quoted(events.topic.at(-1) ?? ''), commands: commands && quoted(commands.topic) }
}

/** The topic of a sentence stands in single quotes at its end (specification §2.6). */
function quoted(sentence: string): string {
  return /'([^']+)'$/.exec(sentence)?.[1] ?? ''
}
