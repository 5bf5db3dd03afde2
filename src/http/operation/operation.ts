/** For the operators of the deployment: health, metrics, signing keys and the audit log. */
import type { Registry as MetricsRegistry } from 'prom-client'
import { Type } from 'typebox'
import type { AuditEntry } from '../../identity/store/audit.ts'
import type { Registry } from '../../identity/registry.ts'
import { RequestRefused } from '../api/errors.ts'
import {
  choice,
  digits,
  flag,
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
import { given } from '../../given.ts'
import { inOrganizationOrDeployment, METRICS_READER, OPEN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'
import { signingKeyRoutes } from './signing-keys.ts'
import type { SigningKeyRegistry } from './signing-keys.ts'

/** The parts of the registry that operation needs. */
export type OperationRegistry = OwnershipRegistry & SigningKeyRegistry & Pick<Registry, 'apiKeys' | 'audit' | 'users'>

/** The part of the broker that the HTTP interface may see. */
export interface BrokerView {
  /**
   * Whether the broker takes connections and can write. `reason` says in a sentence why not;
   * everybody may read it.
   */
  health(): { readonly ready: boolean; readonly reason: string }
}

/** The routes of health, metrics, signing keys and the audit log. */
export function operationRoutes(
  registry: OperationRegistry,
  views: { readonly broker?: BrokerView | undefined; readonly metrics?: MetricsRegistry | undefined },
): readonly Route[] {
  return resource('Operation', [
    readiness(views.broker),
    liveness(),
    ...(views.metrics === undefined ? [] : [metricsRoute(views.metrics)]),
    ...signingKeyRoutes(registry),
    auditLog(registry),
  ])
}

const Readiness = Type.Object({ live: Type.Boolean(), ready: Type.Boolean() }, { [NAME]: 'Readiness' })
const Liveness = Type.Object({ live: Type.Boolean() }, { [NAME]: 'Liveness' })

function readiness(broker: BrokerView | undefined): Route {
  return route({
    method: 'GET',
    url: '/api/internal/health',
    may: OPEN,
    schema: {
      operationId: 'getReadiness',
      summary: 'Is the service ready',
      description:
        'Readiness: 503 with a reason while the broker can’t take or write messages, or the service shuts down.',
      response: responses(Readiness),
    },
    handle: async (_nobody) => {
      const { ready, reason } = broker?.health() ?? { ready: true, reason: '' }
      if (!ready) throw new RequestRefused('unavailable', `not ready: ${reason}`, 'not_ready')
      return { live: true, ready }
    },
  })
}

function liveness(): Route {
  return route({
    method: 'GET',
    url: '/api/internal/health/live',
    may: OPEN,
    schema: {
      operationId: 'getLiveness',
      summary: 'Is the process alive',
      description: 'Liveness: answers as long as the process serves requests at all.',
      response: responses(Liveness),
    },
    handle: async (_nobody) => ({ live: true }),
  })
}

function metricsRoute(metrics: MetricsRegistry): Route {
  return route({
    method: 'GET',
    url: '/metrics',
    may: METRICS_READER,
    schema: {
      operationId: 'getMetrics',
      summary: 'Metrics in the format of Prometheus',
      response: textAnswer('text/plain', 'Lines of the text format of Prometheus.'),
    },
    handle: async (_reader, _request, reply) => {
      return reply.type(metrics.contentType).send(await metrics.metrics())
    },
  })
}

const EntryItem = Type.Object(
  {
    id: digits('Entry id.'),
    at: Timestamp,
    actor: choice(['user', 'operator', 'service', 'apiKey'], {
      [NAME]: 'AuditActor',
      description:
        'operator: somebody with the data directory, by the command line. service: the service by itself; in entries of ' +
        'older versions its command line too.',
    }),
    actorUserID: idOrNothing('"" unless the actor is a user.'),
    actorName: Type.String({
      description: 'Name of that user or API key; "" unless the actor is one that is still there.',
    }),
    actorApiKeyID: Type.String({ description: '"" unless the actor is an API key.' }),
    action: Type.String(),
    subject: Type.String(),
    organizationID: idOrNothing('"" where it concerns no organization.'),
    detail: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true }),
  },
  { description: 'Audit entry', [NAME]: 'AuditEntry' },
)

function auditLog(registry: OperationRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/audit-log',
    may: inOrganizationOrDeployment('audit.read', 'query.organizationID'),
    schema: {
      operationId: 'listAuditEntries',
      summary: 'List what was done',
      description: 'Newest first: the changes of the organization, or of the whole deployment.',
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
    handle: async ({ viewer, organizationId }, request) => {
      const consoleTokens = request.query.consoleTokens ?? true
      const page = { ...pageOf(request.query), ...given({ organizationId }), consoleTokens }
      const entries = await registry.audit.list(viewer, page)
      const actors = new Set(entries.items.map(({ actorUserId }) => actorUserId ?? ''))
      const keys = new Set(entries.items.flatMap(({ actorApiKeyId }) => actorApiKeyId ?? []))
      // An id of a user is a number, and that of a key has 12 characters: they share a map.
      const names = new Map([
        ...(await registry.users.emailsOf([...actors])),
        ...(await registry.apiKeys.namesOf([...keys])),
      ])
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
    actorName: names.get(entry.actorUserId ?? entry.actorApiKeyId ?? '') ?? '',
    actorApiKeyID: entry.actorApiKeyId ?? '',
    action: entry.action,
    subject: entry.subject,
    organizationID: entry.organizationId ?? '',
    detail: entry.detail,
  }
}
