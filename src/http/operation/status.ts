/**
 * The state of the service at a glance: everybody sees whether it is well, global admins also see
 * the numbers.
 */
import { Type } from 'typebox'
import type { Clock } from '../../clock.ts'
import type { Registry } from '../../identity/registry.ts'
import { NEAR_SHARE, ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import type { BoundName } from '../../organization-bounds.ts'
import {
  BoundNameSchema,
  BoundUnitSchema,
  choice,
  digits,
  id,
  responses,
  timestamp,
  Timestamp,
  TimestampOrNull,
} from '../api/fields.ts'
import { SIGNED_IN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import { Server, serverOf } from './server-status.ts'
import type { ServerStatus } from './server-status.ts'

const DAY_MS = 86_400_000
/** A node that ended is shown for this time: then it is not expected to come back. */
const SHOWN_MS = 7 * DAY_MS
/** A deployment that has lost a node is not well for this time, or until the node is back. */
const ILL_MS = DAY_MS

/** The health of one part of the service. */
export interface PartHealth {
  readonly name: 'broker' | 'messages' | 'registry' | 'disk'
  readonly isWell: boolean
  /** A sentence for people; empty when all is well. */
  readonly reason: string
}

/** The load per second, on average over some seconds before a moment. */
export interface LoadSample {
  readonly atMs: number
  /** Messages from clients. */
  readonly messagesInPerSecond: number
  readonly messagesOutPerSecond: number
  readonly bytesInPerSecond: number
  readonly bytesOutPerSecond: number
  readonly connections: number
  /** The longest delay of the event loop: during a delay nobody is served. */
  readonly eventLoopDelayMs: number
}

/** A bound that an organization has nearly reached, or has reached. */
export interface NearBound {
  readonly organizationId: string
  readonly bound: BoundName
  readonly used: number
  readonly maximum: number
}

/** The numbers of the running service. */
export interface ServiceNumbers {
  readonly connections: number
  /** Awake and asleep. */
  readonly sessions: number
  readonly subscriptions: number
  readonly stored: { readonly messages: number; readonly bytes: number; readonly oldestAtMs: number | undefined }
  /** How long and how much is stored; undefined where messages live as long as the process. */
  readonly retention: { readonly days: number; readonly bytes: number } | undefined
  /** The volume of the data directory; undefined where the operating system does not tell. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | undefined
  readonly memoryBytes: number
  /** The nearest first, and not more than a person reads. */
  readonly nearBounds: readonly NearBound[]
  /** Oldest first, for some minutes. */
  readonly load: readonly LoadSample[]
}

/** A living node of the deployment. */
export interface NodeStatus {
  readonly name: string
  readonly version: string
  /** False while the node takes no new clients. */
  readonly isReady: boolean
  readonly startedAtMs: number
  /** Time since it was heard last, ms. */
  readonly silentMs: number
  /** Undefined for a node that did not answer in time. */
  readonly answer:
    | { readonly parts: readonly PartHealth[]; readonly connections: number; readonly sessions: number }
    | undefined
}

/** A node that lived, and of which no process lives now. */
export interface LostNodeStatus {
  readonly name: string
  readonly endedAtMs: number
  /** True: it ended in order. */
  readonly isOrderly: boolean
  /** The node that has its Sessions now. */
  readonly heir: string | undefined
}

/** The service's knowledge of itself. */
export interface ServiceStatus {
  readonly version: string
  /** The runtime and its version, for people. */
  readonly runtime: string
  readonly startedAtMs: number
  uptimeMs(): number
  health(): Promise<readonly PartHealth[]>
  numbers(): Promise<ServiceNumbers>
  /** The servers that keep the messages and the registry; empty where this process keeps them. */
  servers(): Promise<readonly ServerStatus[]>
  /** The nodes that do not live any more; absent in a deployment of one node. */
  lostNodes?(): readonly LostNodeStatus[]
  /** All living nodes with this one, by name; absent in a deployment of one node. */
  nodes?(): Promise<readonly NodeStatus[]>
}

const Size = digits('A number, as a string of digits.')

const Load = Type.Object(
  {
    at: Timestamp,
    messagesInPerSecond: Type.Number({ description: 'What clients sent.' }),
    messagesOutPerSecond: Type.Number(),
    bytesInPerSecond: Type.Number(),
    bytesOutPerSecond: Type.Number(),
    connections: Type.Integer(),
    eventLoopDelayMs: Type.Number({ description: 'How late the event loop was at most.' }),
  },
  { description: 'Of the seconds before', [NAME]: 'LoadSample' },
)

const NearBoundItem = Type.Object(
  {
    organizationID: id('Organization id.'),
    organizationName: Type.String({ description: 'Name for people; "" for an organization that is gone.' }),
    bound: BoundNameSchema,
    unit: BoundUnitSchema,
    used: Type.Number(),
    maximum: Type.Integer(),
  },
  { description: `A bound of which ${NEAR_SHARE * 100} % or more are used`, [NAME]: 'NearBound' },
)

const Part = Type.Object(
  {
    name: choice(['broker', 'messages', 'registry', 'disk'], { [NAME]: 'ServicePart' }),
    isWell: Type.Boolean(),
    reason: Type.String(),
  },
  { description: 'How one part of the service is', [NAME]: 'PartHealth' },
)

const Node = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    isReady: Type.Boolean({ description: 'False while the node takes no new clients.' }),
    startedAt: Timestamp,
    silentMs: Type.Integer({ description: 'Time since the node was heard last.' }),
    hasAnswered: Type.Boolean({ description: 'False: the node did not answer in time; its numbers are null.' }),
    parts: Type.Array(Part),
    connections: Type.Union([Type.Integer(), Type.Null()]),
    sessions: Type.Union([Type.Integer(), Type.Null()]),
  },
  { description: 'A node of the deployment', [NAME]: 'Node' },
)

const LostNode = Type.Object(
  {
    name: Type.String(),
    endedAt: Timestamp,
    isOrderly: Type.Boolean({ description: 'True: the node ended in order. False: it was lost.' }),
    heir: Type.Union([Type.String(), Type.Null()], { description: 'The node that has its Sessions; null: not yet.' }),
  },
  { description: 'A node that does not live any more', [NAME]: 'LostNode' },
)

const Numbers = Type.Object(
  {
    parts: Type.Array(Part),
    servers: Type.Array(Server, {
      description: 'The servers that keep messages and the registry; empty where the service keeps them itself.',
    }),
    lostNodes: Type.Optional(
      Type.Array(LostNode, { description: 'The nodes that ended in the last seven days and did not come back.' }),
    ),
    nodes: Type.Optional(
      Type.Array(Node, {
        description:
          'In a deployment of several nodes: all living nodes, by name. The other numbers are those of the node that answers.',
      }),
    ),
    connections: Type.Integer(),
    sessions: Type.Integer({ description: 'Awake and asleep.' }),
    subscriptions: Type.Integer(),
    storedMessages: Size,
    storedBytes: Size,
    oldestStoredAt: TimestampOrNull,
    retentionDays: Type.Union([Type.Number(), Type.Null()], {
      description: 'null where messages live as long as the process.',
    }),
    retentionBytes: Type.Union([Size, Type.Null()]),
    diskFreeBytes: Type.Union([Size, Type.Null()]),
    diskTotalBytes: Type.Union([Size, Type.Null()]),
    memoryBytes: Size,
    nearBounds: Type.Array(NearBoundItem, {
      description:
        'The organizations that are near a bound, the nearest first: 100 bounds at most, counted every ten seconds.',
    }),
    load: Type.Array(Load, { description: 'The last minutes, oldest first.' }),
  },
  { description: 'For global admins', [NAME]: 'ServiceNumbers' },
)

const Status = Type.Object(
  {
    isWell: Type.Boolean(),
    version: Type.String(),
    runtime: Type.String({ description: 'The runtime and its version: "Bun 1.4.5" or "Node 26.10.0".' }),
    startedAt: Timestamp,
    uptimeSeconds: Type.Integer(),
    numbers: Type.Union([Numbers, Type.Null()], { description: 'null for others than global admins.' }),
  },
  { description: 'Status', [NAME]: 'Status' },
)

/** The route of the status. */
export function statusRoutes(
  registry: Pick<Registry, 'organizations'>,
  status: ServiceStatus,
  clock: Pick<Clock, 'now'>,
): readonly Route[] {
  const get = route({
    method: 'GET',
    url: '/api/status',
    may: SIGNED_IN,
    schema: {
      operationId: 'getStatus',
      summary: 'How is the service',
      description:
        'Whether it is well, its version, its runtime and since when it runs; for global admins also the health of each part, throughput, ' +
        'what is stored, and how busy it is.',
      response: responses(Status),
    },
    handle: async ({ viewer }) => {
      const [parts, servers, nodes] = await Promise.all([status.health(), status.servers(), status.nodes?.()])
      const lost = status.lostNodes?.().filter(({ endedAtMs }) => endedAtMs > clock.now() - SHOWN_MS)
      const isLost = (lost ?? []).some(({ endedAtMs, isOrderly }) => !isOrderly && endedAtMs > clock.now() - ILL_MS)
      const isIll = (nodes ?? []).some(({ answer }) => answer === undefined || !areWell(answer.parts))
      return {
        isWell: areWell(parts) && areWell(servers) && !isIll && !isLost,
        version: status.version,
        runtime: status.runtime,
        startedAt: timestamp(status.startedAtMs),
        uptimeSeconds: Math.floor(status.uptimeMs() / 1000),
        numbers: viewer.isAdmin
          ? await numbersOf(registry, await status.numbers(), { parts, servers, nodes, lost })
          : null,
      }
    },
  })
  return resource('Operation', [get])
}

async function numbersOf(
  registry: Pick<Registry, 'organizations'>,
  numbers: ServiceNumbers,
  of: {
    readonly parts: readonly PartHealth[]
    readonly servers: readonly ServerStatus[]
    readonly nodes: readonly NodeStatus[] | undefined
    readonly lost: readonly LostNodeStatus[] | undefined
  },
) {
  const { parts, servers, nodes, lost } = of
  const { connections, sessions, subscriptions, stored, retention, disk, memoryBytes, load } = numbers
  return {
    parts: parts.map(partOf),
    servers: servers.map(serverOf),
    ...(nodes && { nodes: nodes.map(nodeOf) }),
    ...(lost && { lostNodes: lost.map(lostNodeOf) }),
    connections,
    sessions,
    subscriptions,
    storedMessages: String(stored.messages),
    storedBytes: String(stored.bytes),
    oldestStoredAt: stored.oldestAtMs === undefined ? null : timestamp(stored.oldestAtMs),
    retentionDays: retention?.days ?? null,
    retentionBytes: textOrNull(retention?.bytes),
    diskFreeBytes: textOrNull(disk?.freeBytes),
    diskTotalBytes: textOrNull(disk?.totalBytes),
    memoryBytes: String(memoryBytes),
    nearBounds: await namedBounds(registry, numbers.nearBounds),
    load: load.map(({ atMs, ...sample }) => Object.assign(sample, { at: timestamp(atMs) })),
  }
}

function nodeOf({ name, version, isReady, startedAtMs, silentMs, answer }: NodeStatus) {
  return {
    name,
    version,
    isReady,
    startedAt: timestamp(startedAtMs),
    silentMs: Math.round(silentMs),
    hasAnswered: answer !== undefined,
    parts: (answer?.parts ?? []).map(partOf),
    connections: answer?.connections ?? null,
    sessions: answer?.sessions ?? null,
  }
}

function lostNodeOf({ name, endedAtMs, isOrderly, heir }: LostNodeStatus) {
  return { name, endedAt: timestamp(endedAtMs), isOrderly, heir: heir ?? null }
}

function partOf({ name, isWell, reason }: PartHealth) {
  return { name, isWell, reason }
}

function areWell(parts: readonly Pick<PartHealth, 'isWell'>[]): boolean {
  return parts.every(({ isWell }) => isWell)
}

async function namedBounds({ organizations }: Pick<Registry, 'organizations'>, nearBounds: readonly NearBound[]) {
  const names = new Map<string, string>()
  for (const organizationId of new Set(nearBounds.map((near) => near.organizationId))) {
    names.set(organizationId, (await organizations.get(organizationId))?.displayName ?? '')
  }
  return nearBounds.map(({ organizationId, bound, used, maximum }) => ({
    organizationID: organizationId,
    organizationName: names.get(organizationId) ?? '',
    bound,
    unit: ORGANIZATION_BOUNDS[bound].unit,
    used,
    maximum,
  }))
}

function textOrNull(value: number | undefined): string | null {
  return value === undefined ? null : String(value)
}
