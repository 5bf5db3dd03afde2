/**
 * The shape of a route, and the one place that registers routes. A route is a value: its method,
 * path and schema, the right to use it (`may`), and its handler. `addRoutes` checks `may` before
 * each call of the handler, so that no handler can forget it.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import assert from 'node:assert/strict'
import type {
  ContextConfigDefault,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteOptions,
} from 'fastify'
import type { Access, MemberPath } from './access.ts'
import type { Credential } from './caller.ts'
import type { HttpApp } from './http-app.ts'
import type { OwnershipRegistry } from './ownership.ts'
import type { RequestGate } from './request-gate.ts'

type Handler<Schema extends FastifySchema> = RouteHandlerMethod<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  RouteGenericInterface,
  ContextConfigDefault,
  Schema,
  TypeBoxTypeProvider
>

/** The request of a route with this schema. */
export type RequestOf<Schema extends FastifySchema> = Parameters<Handler<Schema>>[0]

/** The longest body of a request with two scripts, in bytes. */
export const SCRIPTS_LIMIT_BYTES = 4 * 1024 * 1024

type Settings = Pick<RouteOptions, 'bodyLimit' | 'handlerTimeout' | 'validatorCompiler'>

interface RouteDefinition<Schema extends FastifySchema, Found> extends Settings {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  /** The right to use the route; the OpenAPI description begins with its sentence. */
  readonly may: Access<Found>
  readonly schema: Schema
  /** Refusals that come before `may` is checked. The schema was checked already. */
  readonly before?: (request: RequestOf<Schema>) => void
  /** Gets what the check of `may` has found. */
  readonly handle: (
    found: Found,
    request: RequestOf<Schema>,
    reply: Parameters<Handler<Schema>>[1],
  ) => ReturnType<Handler<Schema>>
}

/** A route, whatever its schema is. */
export interface Route extends Settings {
  readonly method: string
  readonly url: string
  readonly may: Access
  readonly schema: FastifySchema
  readonly before?: (request: FastifyRequest) => void
  readonly handle: (found: unknown, request: FastifyRequest, reply: FastifyReply) => unknown
}

/** The route. Its handler gets the types of its schema and of its `may`. */
export function route<const Schema extends FastifySchema, Found>(definition: RouteDefinition<Schema, Found>): Route {
  return definition as unknown as Route
}

/** The routes of one resource, under its heading in the OpenAPI document. */
export function resource(tag: string, routes: readonly Route[]): readonly Route[] {
  return routes.map((one) => ({ ...one, schema: { ...one.schema, tags: [tag] } }))
}

/** Registers routes. Owners are looked up in the registry, and requests go through the gate. */
export function addRoutes(
  app: HttpApp,
  registry: OwnershipRegistry,
  gate: RequestGate,
  routes: readonly Route[],
): void {
  for (const { may, schema, before, handle, ...options } of routes) {
    for (const member of may.reads) {
      assert(hasMember(schema, member), `${options.method} ${options.url}: the schema has no ${member}`)
    }
    app.route({
      ...options,
      config: { may },
      schema: schema.hide === true ? schema : documented(schema, may),
      handler: async (request, reply) => {
        before?.(request)
        const found = await checked(may, registry, gate, request)
        const { turnsOf, release } = await gate.enter(request, may.organizationOf?.(found))
        request.turnsOf = turnsOf
        try {
          return await handle(found, request, reply)
        } finally {
          // An answer that its client doesn't read holds memory. The work for a client that has
          // gone goes on to its end.
          if (reply.raw.closed) release()
          else reply.raw.once('close', release)
        }
      },
    })
  }
}

async function checked(
  may: Access,
  registry: OwnershipRegistry,
  gate: RequestGate,
  request: FastifyRequest,
): Promise<unknown> {
  try {
    return await may.check({ registry, request, caller: request.caller })
  } catch (error) {
    await gate.refused(request)
    throw error
  }
}

/**
 * The security schemes of the OpenAPI document that each credential means. The header of the API
 * family is described in words alone: some generators send what they are given for all schemes of a
 * route, and for a scheme with a header of its own they would send it without the word Bearer.
 */
const SECURITY: Readonly<Record<Credential, readonly Readonly<Record<string, readonly string[]>>[]>> = {
  none: [],
  session: [{ bearer: [] }],
  sessionOrBrokerAccess: [{ bearer: [] }, { brokerAccess: [] }],
  secondFactorStep: [{ bearer: [] }],
  metrics: [{ metricsToken: [] }, { bearer: [] }, {}],
  serviceCredential: [{ serviceCredential: [] }],
  brokerHook: [{ brokerHook: [] }, {}],
}

function documented(schema: FastifySchema, { sentence, credential }: Access): FastifySchema {
  const { description = '' } = schema
  return { ...schema, description: `${sentence} ${description}`.trim(), security: SECURITY[credential] }
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
}

function hasMember({ params, querystring, body }: FastifySchema, member: MemberPath): boolean {
  const [place = '', ...names] = member.split('.')
  let node = { params, query: querystring, body }[place] as Node | undefined
  for (const name of names) node = node?.properties?.[name]
  return node !== undefined
}
