/** The parts that a diagnosis looks at, and the bounds of looking. */
import type { Clock } from '../../clock.ts'
import type { Registry } from '../../identity/registry.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import type { EventHistory, EventQuery, StoredEvent } from '../../lorawan/uplinks/event-history.ts'
import type { KnownThings } from '../../lorawan/nearest-topic-filter.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import type { BrokerViews, KeptRefusal } from '../operation/broker-views.ts'
import type { SessionViews } from '../operation/session-views.ts'

/** The parts of the registry that a diagnosis needs. */
export type DiagnosisRegistry = OwnershipRegistry & Pick<Registry, 'directory' | 'tokens' | 'networkServers'>

export interface DiagnosisParts {
  readonly registry: DiagnosisRegistry
  readonly views: BrokerViews
  readonly sessions: SessionViews
  readonly history: Pick<EventHistory, 'pages'>
  readonly clock: Pick<Clock, 'now'>
}

/** The things that the asker may be told of. */
export interface Circle {
  /** Undefined: the whole deployment, for a global admin. */
  readonly organizationId: string | undefined
  /** Set for a member who sees its own clients only. */
  readonly userId: string | undefined
}

/**
 * Pages of stored events that are looked through for a few events of a device. A device without
 * them has an index of nothing to look at; the bound stops a search through a long log.
 */
const MAXIMUM_PAGES = 16

/** The newest stored events that are meant, at most `maximumEvents`. */
export async function newestEvents(
  { history }: Pick<DiagnosisParts, 'history'>,
  { id, createdAtMs }: Pick<Application, 'id' | 'createdAtMs'>,
  { fromMs = 0, ...meant }: Pick<EventQuery, 'devEui' | 'kinds' | 'maximumEvents'> & { readonly fromMs?: number },
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = []
  const range = { fromMs: Math.max(createdAtMs, fromMs), toMs: Infinity, after: undefined, order: 'newest' } as const
  let pages = 0
  for await (const { events } of history.pages({ applicationId: id, ...meant, ...range })) {
    found.push(...events)
    pages += 1
    if (found.length >= meant.maximumEvents || pages >= MAXIMUM_PAGES) break
  }
  return found
}

/** The refusals that the asker may see, the newest first. */
export async function refusalsIn(
  { views }: Pick<DiagnosisParts, 'views'>,
  { organizationId, userId }: Circle,
): Promise<readonly KeptRefusal[]> {
  return (await views.refusals({ organizationId, userId })).items
}

/** The applications and devices of the organization, for the judgement of Topic Filters. */
export async function knownThingsOf(
  { registry: { directory } }: Pick<DiagnosisParts, 'registry'>,
  organizationId: string,
): Promise<KnownThings> {
  return {
    applicationIds: await directory.applicationsOf(organizationId),
    applicationOf: async (devEui) => {
      const place = await directory.device(devEui)
      return place?.organizationId === organizationId ? place.applicationId : undefined
    },
  }
}
