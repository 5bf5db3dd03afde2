/** The latest refusals of the broker, for the people whom they concern. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { matches, namesOf, searchNames, searchTexts } from './broker-views.ts'
import type { BrokerViews, HolderNames, KeptRefusal, NamesRegistry } from './broker-views.ts'
import {
  choice,
  idOrNothing,
  listOfNodes,
  missingNodes,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import { narrowed } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { mayDo } from '../api/permissions.ts'
import { NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** The parts of the registry that refusals need. */
export type RefusalRegistry = OwnershipRegistry & NamesRegistry

const WHAT = {
  kind: choice(['connect', 'subscribe', 'publish', 'will', 'notice'], {
    description: 'What was refused. notice: nothing was; events of a network server went on, and nobody can read them.',
    [NAME]: 'RefusalKind',
  }),
  code: Type.String({ description: 'Stable code, see docs/errors.md.' }),
  message: Type.String({
    description: 'The sentence that the client was told, where the protocol has a place for it.',
  }),
  clientID: Type.String({ description: 'Client Identifier; "" where none was sent.' }),
  address: Type.String({ description: '"" for a Will Message: its connection is over.' }),
  topic: Type.String({ description: 'Topic Name or Topic Filter; "" for connect.' }),
  at: Timestamp,
  firstAt: Timestamp,
  count: Type.Integer({ description: 'How often since `firstAt`: repetitions are told once.' }),
}

/** A refusal without the ids of the client. */
export const RefusalOfClient = Type.Object(WHAT, {
  description: 'Refusal, without saying whose',
  [NAME]: 'ClientRefusal',
})

const RefusalItem = Type.Object(
  {
    ...WHAT,
    organizationID: idOrNothing('"" where nobody has proved who they are, or for the whole deployment.'),
    organizationName: Type.String(),
    userID: idOrNothing('"" for a network server, and where nobody has proved who they are.'),
    userName: Type.String(),
    serviceCredentialID: Type.String(),
    serviceCredentialName: Type.String(),
    apiKeyID: Type.String({ description: 'The API key that made the token; "" where a person did.' }),
    apiKeyName: Type.String(),
    tokenID: Type.String({ description: 'Also of a token that has expired or was revoked, where it is one of ours.' }),
  },
  { description: 'Refusal', [NAME]: 'Refusal' },
)

const TokenIdQuery = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{0,64}$',
    description: 'Only refusals to clients with this broker-access token.',
    [RULE]: 'must be letters, digits, _ and -',
  }),
)

/** The list of refusals. */
export function refusalRoutes(registry: RefusalRegistry, views: BrokerViews): readonly Route[] {
  const list = route({
    method: 'GET',
    url: '/api/refusals',
    may: narrowed('refusal.list', { organization: 'query.organizationID' }),
    schema: {
      operationId: 'listRefusals',
      summary: 'List what the broker refused',
      description:
        'The newest refusals since the service started, some 200 of each organization: of connections, subscriptions, ' +
        'messages and Will Messages. With organizationID an admin sees all refusals of the organization, and another member its ' +
        'own. Without it everybody sees their own, and a global admin sees all, also of clients without an accepted credential. ' +
        '`search` looks into codes, sentences, Client Identifiers, addresses, topics and names.',
      querystring: Type.Object({
        ...PagingQuery,
        organizationID: optionalId('Organization id.'),
        tokenID: TokenIdQuery,
      }),
      response: responses(listOfNodes(RefusalItem, 'RefusalList')),
    },
    handle: async ({ viewer, organizationId, role }, request) => {
      const { limit, offset, search } = pageOf(request.query)
      const tokenId = request.query.tokenID ?? ''
      const seesAll = role === undefined ? viewer.isAdmin : mayDo(role, 'refusal.read')
      const searched = seesAll ? await searchNames(registry, search, organizationId) : searchTexts(search)
      const seen = await views.refusals({ organizationId, userId: seesAll ? undefined : viewer.userId })
      const meant = seen.items.filter(
        (refusal) =>
          (tokenId === '' || refusal.holder.tokenId === tokenId) &&
          (searched === undefined || matches(searched, refusal.holder, textsOf(refusal))),
      )
      const page = meant.slice(offset, offset + limit)
      const nameOf = await namesOf(
        registry,
        page.map(({ holder }) => holder),
      )
      const shown = written({ totalCount: meant.length, items: page }, (refusal) =>
        itemOf(refusal, nameOf(refusal.holder)),
      )
      return { ...shown, ...missingNodes(seen.missing) }
    },
  })
  return resource('Operation', [list])
}

/** The answer's form of a refusal, without the ids of the client. */
export function refusalOfClient(refusal: KeptRefusal): Static<typeof RefusalOfClient> {
  return {
    kind: refusal.kind,
    code: refusal.code,
    message: refusal.reason,
    clientID: refusal.clientId ?? '',
    address: refusal.address,
    topic: refusal.topic ?? '',
    at: timestamp(refusal.atMs),
    firstAt: timestamp(refusal.firstAtMs),
    count: refusal.count,
  }
}

function textsOf({ kind, code, reason, clientId = '', address, topic = '' }: KeptRefusal): readonly string[] {
  return [kind, code, reason, clientId, address, topic]
}

function itemOf(refusal: KeptRefusal, names: HolderNames) {
  const { holder } = refusal
  return {
    ...refusalOfClient(refusal),
    organizationID: holder.organizationId ?? '',
    userID: holder.userId ?? '',
    serviceCredentialID: holder.serviceCredentialId ?? '',
    apiKeyID: holder.apiKeyId ?? '',
    ...names,
    tokenID: holder.tokenId ?? '',
  }
}
