/** For those who run the deployment: health, metrics, signing keys and the audit log. */
import type { Registry as MetricsRegistry } from 'prom-client'
import { Type } from 'typebox'
import type { AuditEntry } from '../../identity/store/audit.ts'
import type { Registry } from '../../identity/registry.ts'
import { viewerOf } from '../api/authenticate.ts'
import { RequestRefused } from '../api/errors.ts'
import {
  choice,
  digits,
  flag,
  givenId,
  idOrNothing,
  listOf,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  textAnswer,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { METRICS_SECURITY, SESSION_SECURITY } from '../api/openapi.ts'
import { demandGlobalAdmin, demandIn } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'
import { addSigningKeyRoutes } from './signing-keys.ts'
import type { SigningKeyRegistry } from './signing-keys.ts'

/** The parts of the registry that operation needs. */
export type OperationRegistry = OwnershipRegistry & SigningKeyRegistry & Pick<Registry, 'audit' | 'users'>

/** What the HTTP interface may know of the broker. */
export interface BrokerView {
  /**
   * Whether it takes connections and can write; `reason` says in a sentence why not, and is public.
   */
  health(): { readonly ready: boolean; readonly reason: string }
}

/** Registers health, metrics, signing keys and the audit log. */
export function addOperationRoutes(
  app: HttpApp,
  registry: OperationRegistry,
  views: { readonly broker?: BrokerView | undefined; readonly metrics?: MetricsRegistry | undefined },
): void {
  addHealthRoutes(app, views.broker)
  if (views.metrics !== undefined) addMetricsRoute(app, views.metrics)
  addSigningKeyRoutes(app, registry)
  addAuditRoute(app, registry)
}

const Readiness = Type.Object({ live: Type.Boolean(), ready: Type.Boolean() }, { [NAME]: 'Readiness' })
const Liveness = Type.Object({ live: Type.Boolean() }, { [NAME]: 'Liveness' })

function addHealthRoutes(app: HttpApp, broker: BrokerView | undefined): void {
  readiness(app, broker)
  liveness(app)
}

const common = { tags: ['Operation'], security: [] }

function readiness(app: HttpApp, broker: BrokerView | undefined): void {
  app.route({
    method: 'GET',
    url: '/api/internal/health',
    config: { credential: 'none' },
    schema: {
      ...common,
      operationId: 'getReadiness',
      summary: 'Is the service ready',
      description:
        'Readiness: 503 with a reason while the broker can’t take or write messages, or the service shuts down.',
      response: responses(Readiness),
    },
    handler: async () => {
      const { ready, reason } = broker?.health() ?? { ready: true, reason: '' }
      if (!ready) throw new RequestRefused('unavailable', `not ready: ${reason}`, 'not_ready')
      return { live: true, ready }
    },
  })
}

function liveness(app: HttpApp): void {
  app.route({
    method: 'GET',
    url: '/api/internal/health/live',
    config: { credential: 'none' },
    schema: {
      ...common,
      operationId: 'getLiveness',
      summary: 'Is the process alive',
      description: 'Liveness: answers as long as the process serves requests at all.',
      response: responses(Liveness),
    },
    handler: async () => ({ live: true }),
  })
}

function addMetricsRoute(app: HttpApp, metrics: MetricsRegistry): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    config: { credential: 'metrics' },
    schema: {
      tags: ['Operation'],
      operationId: 'getMetrics',
      summary: 'Metrics in the format of Prometheus',
      description:
        'With a metrics token, for global admins, and without a credential for peers on the loopback interface (a request ' +
        'that a proxy forwarded does not count as one).',
      security: METRICS_SECURITY,
      response: textAnswer('text/plain', 'Lines of the text format of Prometheus.'),
    },
    handler: async (request, reply) => {
      if (request.caller?.kind === 'session') demandGlobalAdmin(viewerOf(request))
      return reply.type(metrics.contentType).send(await metrics.metrics())
    },
  })
}

const EntryItem = Type.Object(
  {
    id: digits('Entry id.'),
    at: Timestamp,
    actor: choice(['user', 'operator', 'service'], {
      [NAME]: 'AuditActor',
      description:
        'operator: somebody with the data directory, by the command line. service: the service by itself; in entries of ' +
        'older versions its command line too.',
    }),
    actorUserID: idOrNothing('"" unless the actor is a user.'),
    actorName: Type.String({ description: 'Name of that user; "" unless the actor is one that is still there.' }),
    action: Type.String(),
    subject: Type.String(),
    organizationID: idOrNothing('"" where it concerns no organization.'),
    detail: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true }),
  },
  { description: 'Audit entry', [NAME]: 'AuditEntry' },
)

function addAuditRoute(app: HttpApp, registry: OperationRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/audit-log',
    config: { credential: 'session' },
    schema: {
      tags: ['Operation'],
      operationId: 'listAuditEntries',
      summary: 'List what was done',
      description:
        'Newest first. What was done to an organization, for its admins; without organizationID everything, for global ' +
        'admins.',
      security: SESSION_SECURITY,
      querystring: Type.Object({
        ...PagingQuery,
        organizationID: optionalId('Organization id.'),
        consoleTokens: Type.Optional(
          flag(
            'false leaves out the tokens that open pages of the console took and gave back. They are in without it.',
          ),
        ),
      }),
      response: responses(listOf(EntryItem, 'AuditEntryList')),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const organizationId = givenId(request.query.organizationID)
      if (organizationId === undefined) demandGlobalAdmin(viewer)
      else await demandIn(registry, viewer, organizationId, 'audit.read')
      const page = {
        ...pageOf(request.query),
        ...(organizationId === undefined ? {} : { organizationId }),
        consoleTokens: request.query.consoleTokens ?? true,
      }
      const entries = await registry.audit.list(viewer, page)
      const actors = new Set(entries.items.map(({ actorUserId }) => actorUserId ?? ''))
      const names = await registry.users.emailsOf([...actors])
      return written(entries, (entry) => itemOf(entry, names))
    },
  })
}

function itemOf(entry: AuditEntry, names: ReadonlyMap<string, string>) {
  return {
    id: entry.id,
    at: timestamp(entry.atMs),
    actor: entry.actor,
    actorUserID: entry.actorUserId ?? '',
    actorName: names.get(entry.actorUserId ?? '') ?? '',
    action: entry.action,
    subject: entry.subject,
    organizationID: entry.organizationId ?? '',
    detail: entry.detail,
  }
}
