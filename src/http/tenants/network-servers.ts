/**
 * ChirpStacks of version 4 that are reached by gRPC: tried, set up and removed by global admins,
 * while the service runs.
 */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { Actor, Result } from '../../identity/store/result.ts'
import { accepted, RequestRefused } from '../api/errors.ts'
import { choice, Empty, listOf, PagingQuery, pageOf, responses, TimestampOrNull, timestamp } from '../api/fields.ts'
import { GLOBAL_ADMIN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'

export interface NetworkServerView {
  readonly name: string
  readonly kind: string
  /** "" for a network server of the settings file. */
  readonly url: string
  /** True for a network server that the settings file names. */
  readonly isOfFile: boolean
  readonly createdAtMs: number | null
}

const OUTCOMES = [
  'works',
  'unreachable',
  'tls_failed',
  'not_chirpstack',
  'key_refused',
  'tenants_needed',
  'failing',
] as const

/** The outcome of a try to reach a network server. */
export interface NetworkServerTrial {
  readonly outcome: (typeof OUTCOMES)[number]
  readonly answer: string
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly applications: number }[]
}

type Settings = Readonly<Record<string, unknown>>

/** The network servers of the deployment, as far as this interface needs them. */
export interface NetworkServerSetups {
  list(): Promise<readonly NetworkServerView[]>
  /** Refusals name the member at fault. */
  tryOut(settings: Settings): Promise<Result<NetworkServerTrial>>
  /** Tries the network server. If it works, stores it durably and opens it. */
  add(
    settings: Settings,
    actor: Actor,
  ): Promise<Result<{ readonly trial: NetworkServerTrial; readonly isAdded: boolean }>>
  remove(name: string, actor: Actor): Promise<Result<void>>
}

const TENANTS_DOCUMENTED = {
  type: 'object',
  minProperties: 1,
  maxProperties: 100,
  propertyNames: { type: 'string', pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
  additionalProperties: { type: 'string', pattern: '^[1-9][0-9]{0,14}$' },
} as const

const GivenNetworkServer = Type.Object(
  {
    name: Type.String({
      maxLength: 40,
      description: '1 to 40 lower-case letters, digits and hyphens; stays as it is.',
      examples: ['chirpstack'],
      [DOCUMENTED]: { type: 'string', minLength: 1, maxLength: 40, pattern: '^[a-z0-9][a-z0-9-]{0,39}$' },
    }),
    url: Type.String({
      maxLength: 500,
      description: '`https://host:port`, or `http://host:port` for clear text.',
      examples: ['https://chirpstack.example.org:8080'],
      [DOCUMENTED]: { type: 'string', maxLength: 500, pattern: '^https?://[^/?#@]+' },
    }),
    apiKey: Type.String({
      maxLength: 4096,
      description: 'Made in ChirpStack: Network Server › API keys. Never told again.',
      [DOCUMENTED]: { type: 'string', minLength: 1, maxLength: 4096, pattern: '^[!-~]+$' },
    }),
    caCertificate: Type.Optional(
      Type.String({
        maxLength: 65536,
        description: 'PEM, trusted in the place of the system’s authorities.',
        [DOCUMENTED]: { type: 'string', maxLength: 65536, pattern: '-----BEGIN CERTIFICATE-----' },
      }),
    ),
    tenants: Type.Optional(
      Type.Record(Type.String({ pattern: '^[0-9a-f-]{36}$' }), Type.String({ pattern: '^[0-9]{1,15}$' }), {
        maxProperties: 100,
        [DOCUMENTED]: TENANTS_DOCUMENTED,
        description:
          'ChirpStack’s tenants to organizations here: {"<UUID>": "<organization id>"}; all tenants when not given.',
      }),
    ),
    syncSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400,
        description:
          'Between two synchronisations, 30 or more; 300 when not given. 0: nothing is synchronised, and its inventory is imported on wish.',
      }),
    ),
  },
  { description: 'A ChirpStack v4 that is reached by gRPC', [NAME]: 'GivenNetworkServer' },
)
const Body = Type.Object({ networkServer: GivenNetworkServer })

const Tenant = Type.Object(
  { id: Type.String(), name: Type.String(), applications: Type.Integer() },
  { description: 'A tenant of ChirpStack', [NAME]: 'NetworkServerTenant' },
)

const Trial = Type.Object(
  {
    outcome: choice(OUTCOMES, { description: 'What came of it, in a word.', [NAME]: 'NetworkServerOutcome' }),
    answer: Type.String({ description: 'The same in words, and what to do.' }),
    tenants: Type.Array(Tenant, { description: 'What the key sees; at most 100.' }),
  },
  { description: 'What came of a try to reach a network server', [NAME]: 'NetworkServerTrial' },
)

const Item = Type.Object(
  {
    name: Type.String(),
    kind: Type.String(),
    url: Type.String({ description: '"" for one of the settings file.' }),
    isOfFile: Type.Boolean({ description: 'True where the file of FIELDGATE_NETWORK_SERVERS_FILE names it.' }),
    createdAt: TimestampOrNull,
  },
  { description: 'Network server', [NAME]: 'NetworkServer' },
)

/** The routes of network servers. */
export function networkServerRoutes(setups: NetworkServerSetups): readonly Route[] {
  return resource('Network servers', [
    listNetworkServers(setups),
    tryNetworkServer(setups),
    addNetworkServer(setups),
    removeNetworkServer(setups),
  ])
}

function listNetworkServers(setups: NetworkServerSetups): Route {
  return route({
    method: 'GET',
    url: '/api/network-servers',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'listNetworkServers',
      summary: 'List network servers',
      description: 'The network servers to which the service connects itself. API keys are never told.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(Item, 'NetworkServerList')),
    },
    handle: async (_person, request) => {
      const { limit, offset, search = '' } = pageOf(request.query)
      // There are a hundred at most.
      const found = (await setups.list()).filter(({ name }) => name.includes(search.toLowerCase()))
      return { totalCount: String(found.length), result: found.slice(offset, offset + limit).map(itemOf) }
    },
  })
}

function tryNetworkServer(setups: NetworkServerSetups): Route {
  let isUnderWay = false
  return route({
    method: 'POST',
    url: '/api/network-servers/try',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'tryNetworkServer',
      summary: 'Try to reach a ChirpStack v4',
      description: 'Connects, asks for tenants and applications, and answers with the outcome. One at a time.',
      body: Body,
      response: responses(Trial),
    },
    handle: async (_person, request) => {
      if (isUnderWay) throw new RequestRefused('resource_exhausted', 'another one is being tried', 'trial_busy')
      isUnderWay = true
      try {
        return written(accepted(await setups.tryOut(settingsOf(request.body))))
      } finally {
        isUnderWay = false
      }
    },
  })
}

function addNetworkServer(setups: NetworkServerSetups): Route {
  return route({
    method: 'POST',
    url: '/api/network-servers',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'createNetworkServer',
      summary: 'Set up a ChirpStack v4',
      description:
        'Tries to reach it first. If that works, it is stored and used at once: its tenants, applications and devices are ' +
        'synchronised, and it gets their commands.',
      body: Body,
      response: responses(Type.Object({ name: Type.String(), trial: Trial })),
    },
    handle: async ({ viewer }, request) => {
      const { trial, isAdded } = accepted(await setups.add(settingsOf(request.body), viewer))
      if (!isAdded) {
        throw new RequestRefused('failed_precondition', trial.answer, 'network_server_not_reached')
      }
      return { name: request.body.networkServer.name, trial: written(trial) }
    },
  })
}

function removeNetworkServer(setups: NetworkServerSetups): Route {
  return route({
    method: 'DELETE',
    url: '/api/network-servers/:name',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'deleteNetworkServer',
      summary: 'Remove a network server',
      description:
        'The organizations, applications and devices that were synchronised from it stay. Waiting commands go to the network ' +
        'servers that are clients of this broker.',
      params: Type.Object({ name: Type.String({ maxLength: 40 }) }),
      response: responses(Empty),
    },
    handle: async ({ viewer }, request) => {
      accepted(await setups.remove(request.params.name, viewer))
      return {}
    },
  })
}

/** The known members of the body, and no others. */
function settingsOf({ networkServer }: Static<typeof Body>): Settings {
  const { name, url, apiKey, caCertificate, tenants, syncSeconds } = networkServer
  const given = { name, url, apiKey, caCertificate, tenants, syncSeconds }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function written({ outcome, answer, tenants }: NetworkServerTrial) {
  return { outcome, answer, tenants: tenants.map((tenant) => ({ ...tenant })) }
}

function itemOf({ name, kind, url, isOfFile, createdAtMs }: NetworkServerView) {
  return { name, kind, url, isOfFile, createdAt: createdAtMs === null ? null : timestamp(createdAtMs) }
}
