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
  /** The key that made the client's token. There is no user then. */
  readonly apiKeyId?: string | undefined
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
    /** The first 50 alone for a connection of another node. */
    readonly topicFilters: readonly string[]
    readonly topicFilterCount: number
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

/** The connections that are meant, and the page of them that is shown. */
export interface ConnectionsAsked {
  /** Absent: those of all organizations. */
  readonly organizationId?: string | undefined
  /** Absent: those of all tokens. */
  readonly tokenId?: string | undefined
  /** Absent: all. */
  readonly search?: Searched | undefined
  readonly offset: number
  readonly limit: number
}

/** Things of all nodes, the newest first. */
export interface OfNodes<Item> {
  readonly items: readonly Item[]
  /** The names of the nodes that did not answer in time; empty in a deployment of one node. */
  readonly missing: readonly string[]
}

/** The running brokers of all nodes, as the HTTP interface sees them. */
export interface BrokerViews {
  /** A page of the connections that are meant. */
  connections(asked: ConnectionsAsked): Promise<OfNodes<LiveConnection> & { readonly totalCount: number }>
  connection(id: string): Promise<LiveConnection | undefined>
  /** Ends a connection; false when it is gone. */
  endConnection(id: string): Promise<boolean>
  /** How many connections live by each of the tokens; a token without one may be left out. */
  connectionsWith(
    tokenIds: readonly string[],
  ): Promise<{ readonly counts: ReadonlyMap<string, number>; readonly missing: OfNodes<never>['missing'] }>
  /**
   * The newest first: of an organization or of all, of a user or of all. Without both, refusals to
   * unknown clients are among them.
   */
  refusals(of: {
    readonly organizationId?: string | undefined
    readonly userId?: string | undefined
  }): Promise<OfNodes<KeptRefusal>>
}

/** The page of connections that is meant, of those of one broker, the newest first. */
export function pickConnections(
  all: readonly LiveConnection[],
  { tokenId, search, offset, limit }: ConnectionsAsked,
): { readonly totalCount: number; readonly items: readonly LiveConnection[] } {
  const meant =
    tokenId === undefined && search === undefined
      ? all
      : all.filter(
          ({ holder, facts }) =>
            (tokenId === undefined || holder.tokenId === tokenId) &&
            (search === undefined || matches(search, holder, textsOf(facts))),
        )
  return { totalCount: meant.length, items: meant.slice(offset, offset + limit) }
}

function textsOf({ clientId, peer, topicFilters }: LiveConnection['facts']): readonly string[] {
  return [clientId, peer.address, ...topicFilters]
}

/** The parts of the registry in which names are looked up. */
export type NamesRegistry = Pick<Registry, 'users' | 'members' | 'organizations' | 'serviceCredentials' | 'apiKeys'>

/** Names of holders; "" for a user, organization, credential or key that is gone. */
export interface HolderNames {
  readonly userName: string
  readonly organizationName: string
  readonly serviceCredentialName: string
  readonly apiKeyName: string
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
  const keys = await registry.apiKeys.namesOf([...new Set(holders.flatMap(({ apiKeyId }) => apiKeyId ?? []))])
  return ({ userId = '', organizationId = '', serviceCredentialId = '', apiKeyId = '' }) => ({
    userName: users.get(userId) ?? '',
    organizationName: organizations.get(organizationId) ?? '',
    serviceCredentialName: credentials.get(serviceCredentialId) ?? '',
    apiKeyName: keys.get(apiKeyId) ?? '',
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

/** A search: for a text in any case, and for the users and credentials whose names have it. */
export interface Searched {
  readonly text: string
  readonly userIds: readonly string[]
  readonly credentialIds: readonly string[]
}

/** True when one of the texts has the searched text, or when the holder is searched. */
export function matches(
  { text, userIds, credentialIds }: Searched,
  holder: HolderIds,
  texts: readonly string[],
): boolean {
  const wanted = text.toLowerCase()
  return (
    texts.some((one) => one.toLowerCase().includes(wanted)) ||
    userIds.includes(holder.userId ?? '') ||
    credentialIds.includes(holder.serviceCredentialId ?? '')
  )
}

/** A search by texts alone, for a person who must not hear the names of others. */
export function searchTexts(text: string | undefined): Searched | undefined {
  return text === undefined ? undefined : { text, userIds: [], credentialIds: [] }
}

/**
 * A search by texts and names. For an organization only the names of its members and credentials
 * are searched.
 */
export async function searchNames(
  registry: NamesRegistry,
  text: string | undefined,
  organizationId: string | undefined,
): Promise<Searched | undefined> {
  if (text === undefined) return undefined
  const page = { ...SEARCHED_NAMES, search: text }
  const userIds =
    organizationId === undefined
      ? (await registry.users.list(page)).items.map(({ id }) => id)
      : (await registry.members.list(organizationId, page)).items.map(({ userId }) => userId)
  const credentials = await registry.serviceCredentials.list({ ...page, ...given({ organizationId }) })
  return { text, userIds, credentialIds: credentials.items.map(({ id }) => id) }
}
