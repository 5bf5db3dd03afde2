/** The port through which administrators see the running broker, and the names behind its ids. */
import type { Registry } from '../../identity/registry.ts'
import { given } from '../../given.ts'
import type { Page } from '../../identity/store/result.ts'

/** The ids behind a client. An id that does not apply or is not known is undefined. */
export interface HolderIds {
  /**
   * Undefined for a network server of the whole deployment, and for a client without an accepted
   * credential.
   */
  readonly organizationId: string | undefined
  readonly userId: string | undefined
  readonly serviceCredentialId: string | undefined
  readonly tokenId: string | undefined
}

/** A client that is connected. */
export interface LiveConnection {
  /** Names this connection alone: no other one has the id, also after a restart of the service. */
  readonly id: string
  readonly holder: HolderIds
  readonly facts: {
    readonly clientId: string
    readonly peer: { readonly address: string; readonly listener: 'tls' | 'websocket' | 'tcp' }
    /** 4 is MQTT 3.1.1. */
    readonly protocolVersion: number
    readonly openedAtMs: number
    readonly keepAliveSeconds: number
    readonly topicFilters: readonly string[]
    /**
     * The filters among its first `maximum` Topic Filters that nothing can match at present. The
     * answer looks devices up, so it is asked only for the connections of one page.
     */
    unmatchedFilters(maximum: number): Promise<readonly UnmatchedFilter[]>
    readonly carried: Readonly<Record<'messagesIn' | 'messagesOut' | 'bytesIn' | 'bytesOut', number>>
    readonly rates: Readonly<
      Record<'messagesInPerSecond' | 'messagesOutPerSecond' | 'bytesInPerSecond' | 'bytesOutPerSecond', number>
    >
  }
}

/** A Topic Filter to which nothing can come at present. */
export interface UnmatchedFilter {
  readonly topicFilter: string
  /** Stable: docs/errors.md has a paragraph for each. */
  readonly code: string
  readonly reason: string
}

/** A refusal of the broker, once or several times. */
export interface KeptRefusal {
  readonly holder: HolderIds
  readonly kind: 'connect' | 'subscribe' | 'publish' | 'will' | 'notice'
  readonly code: string
  readonly reason: string
  readonly clientId: string | undefined
  readonly address: string
  readonly topic: string | undefined
  readonly firstAtMs: number
  readonly atMs: number
  readonly count: number
}

/** The running broker, as the HTTP interface sees it. Nothing here waits. */
export interface BrokerViews {
  /** Newest first: of an organization, or all. */
  connections(organizationId?: string): readonly LiveConnection[]
  connection(id: string): LiveConnection | undefined
  /** Ends a connection; false when it is gone. */
  endConnection(id: string): boolean
  /** How many connections live by the token. */
  connectionsWith(tokenId: string): number
  /**
   * The newest first: of an organization or of all, of a user or of all. Without both, refusals to
   * unknown clients are among them.
   */
  refusals(of: {
    readonly organizationId?: string | undefined
    readonly userId?: string | undefined
  }): readonly KeptRefusal[]
}

/** The parts of the registry in which names are looked up. */
export type NamesRegistry = Pick<Registry, 'users' | 'members' | 'organizations' | 'serviceCredentials'>

/** Names of holders; "" for a user, organization or credential that is gone. */
export interface HolderNames {
  readonly userName: string
  readonly organizationName: string
  readonly serviceCredentialName: string
}

/** Looks up each user, organization and credential of a page once. */
export async function namesOf(
  registry: NamesRegistry,
  holders: readonly HolderIds[],
): Promise<(holder: HolderIds) => HolderNames> {
  const userIds = new Set(holders.map(({ userId }) => userId ?? ''))
  const users = await registry.users.emailsOf([...userIds])
  const organizations = await named(
    holders,
    'organizationId',
    async (id) => (await registry.organizations.get(id))?.displayName,
  )
  const credentials = await named(
    holders,
    'serviceCredentialId',
    async (id) => (await registry.serviceCredentials.get(id))?.name,
  )
  return ({ userId = '', organizationId = '', serviceCredentialId = '' }) => ({
    userName: users.get(userId) ?? '',
    organizationName: organizations.get(organizationId) ?? '',
    serviceCredentialName: credentials.get(serviceCredentialId) ?? '',
  })
}

async function named(
  holders: readonly HolderIds[],
  key: 'organizationId' | 'serviceCredentialId',
  nameOf: (id: string) => Promise<string | undefined>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const id of new Set(holders.map((holder) => holder[key]))) {
    if (id !== undefined) names.set(id, (await nameOf(id)) ?? '')
  }
  return names
}

/** The most users, and the most credentials, whose names are searched: one page of the registry. */
const SEARCHED_NAMES: Omit<Page, 'search'> = { limit: 1000, offset: 0 }

/**
 * Whether a search matches a thing: by one of its texts, or by the name of its user or credential,
 * in any case.
 */
export type Matcher = (holder: HolderIds, texts: readonly string[]) => boolean

/** Matches by texts alone, for a person who must not hear the names of others. */
export function textMatcher(search: string | undefined): Matcher {
  const wanted = (search ?? '').toLowerCase()
  return (_holder, texts) => wanted === '' || texts.some((text) => text.toLowerCase().includes(wanted))
}

/**
 * Matches by texts and names. For an organization only the names of its members and credentials are
 * searched.
 */
export async function nameMatcher(
  registry: NamesRegistry,
  search: string | undefined,
  organizationId: string | undefined,
): Promise<Matcher> {
  const hasText = textMatcher(search)
  if (search === undefined) return hasText
  const page = { ...SEARCHED_NAMES, search }
  const userIds = new Set(
    organizationId === undefined
      ? (await registry.users.list(page)).items.map(({ id }) => id)
      : (await registry.members.list(organizationId, page)).items.map(({ userId }) => userId),
  )
  const credentials = await registry.serviceCredentials.list({ ...page, ...given({ organizationId }) })
  const credentialIds = new Set(credentials.items.map(({ id }) => id))
  return (holder, texts) =>
    hasText(holder, texts) || userIds.has(holder.userId ?? '') || credentialIds.has(holder.serviceCredentialId ?? '')
}
