/**
 * API keys of organizations (`/api/organizations/{id}/api-keys`) and of the deployment
 * (`/api/api-keys`). Only people make them: no key can make a key.
 */
import { Type } from 'typebox'
import type { TProperties } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import type { ApiKey } from '../../identity/tokens/api-key-rows.ts'
import { GLOBAL_ADMIN, inOrganization } from '../api/access.ts'
import type { Access, Person } from '../api/access.ts'
import { accepted, objectNotFound } from '../api/errors.ts'
import {
  Empty,
  id,
  idInBody,
  idText,
  listOf,
  opaqueId,
  pageOf,
  PagingQuery,
  responses,
  written,
} from '../api/fields.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import {
  apiKeyItem,
  ApiKeyChangesBody,
  ApiKeyItem,
  changesOf,
  fieldsOf,
  NewApiKeyBody,
  RotationBody,
} from './api-key-fields.ts'

/** The parts of the registry that API keys need. */
export type ApiKeyRegistry = OwnershipRegistry & Pick<Registry, 'apiKeys'>

const DEFAULT_OVERLAP_SECONDS = 86_400

const IssuedApiKey = Type.Object(
  {
    id: opaqueId('API key id.'),
    key: Type.String({
      description: 'Told only here.',
      pattern: '^fg_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$',
      examples: ['fg_0123456789ab_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA3bDqQs'],
    }),
  },
  { description: 'An API key with what it is', [NAME]: 'IssuedApiKey' },
)

/** The organization in whose keys a route works, or the deployment. */
interface Owner {
  readonly url: string
  /** For the names of operations: `Deployment`, or nothing. */
  readonly word: string
  readonly parameters: TProperties
  readonly may: Access<Person & { readonly organizationId?: string }>
  /** The part of the descriptions that says whose keys they are. */
  readonly whose: string
}

const ORGANIZATION: Owner = {
  url: '/api/organizations/:id/api-keys',
  word: '',
  parameters: { id: id('Organization id.') },
  may: inOrganization('apiKey.manage', 'params.id'),
  whose: 'of the organization',
}

const DEPLOYMENT: Owner = {
  url: '/api/api-keys',
  word: 'Deployment',
  parameters: {},
  may: GLOBAL_ADMIN,
  whose: 'of the whole deployment, which reach every organization',
}

const KeyId = { keyId: opaqueId('API key id.') }

/** The routes of API keys. */
export function apiKeyRoutes(registry: ApiKeyRegistry): readonly Route[] {
  return resource(
    'API keys',
    [ORGANIZATION, DEPLOYMENT].flatMap((owner) => [
      listKeys(registry, owner),
      createKey(registry, owner),
      getKey(registry, owner),
      changeKey(registry, owner),
      rotateKey(registry, owner),
      takeOverKey(registry, owner),
      revokeKey(registry, owner),
    ]),
  )
}

function listKeys(registry: ApiKeyRegistry, { url, word, parameters, may, whose }: Owner): Route {
  return route({
    method: 'GET',
    url,
    may,
    schema: {
      operationId: `list${word}ApiKeys`,
      summary: 'List API keys',
      description: `The keys ${whose}, sorted by name. The keys themselves are never told again.`,
      params: Type.Object(parameters),
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(ApiKeyItem, 'ApiKeyList')),
    },
    handle: async ({ organizationId }, request) =>
      written(await registry.apiKeys.list(organizationId ?? null, pageOf(request.query)), apiKeyItem),
  })
}

function createKey(registry: ApiKeyRegistry, { url, word, parameters, may, whose }: Owner): Route {
  return route({
    method: 'POST',
    url,
    may,
    schema: {
      operationId: `create${word}ApiKey`,
      summary: 'Make an API key',
      description:
        `A key ${whose}. It is told here and never again. It stands as long as its maker, the caller, has a role that covers ` +
        'its rights. applicationIds, devEuis and tags restrict it; members.write and metrics.read can’t be restricted, and ' +
        'applications.write and codecs.write to applications alone.',
      params: Type.Object(parameters),
      body: NewApiKeyBody,
      response: responses(IssuedApiKey),
    },
    before: ({ body }) => void fieldsOf(body.apiKey),
    handle: async ({ viewer, organizationId }, { body }) => {
      const key = { ...fieldsOf(body.apiKey), organizationId: organizationId ?? null, makerUserId: viewer.userId }
      return accepted(await registry.apiKeys.create(key, viewer))
    },
  })
}

function getKey(registry: ApiKeyRegistry, { url, word, parameters, may }: Owner): Route {
  return route({
    method: 'GET',
    url: `${url}/:keyId`,
    may,
    schema: {
      operationId: `get${word}ApiKey`,
      summary: 'Get an API key',
      params: Type.Object({ ...parameters, ...KeyId }),
      response: responses(ApiKeyItem),
    },
    handle: async ({ organizationId }, { params }) => apiKeyItem(await ownKey(registry, organizationId, params.keyId)),
  })
}

function changeKey(registry: ApiKeyRegistry, { url, word, parameters, may }: Owner): Route {
  return route({
    method: 'PUT',
    url: `${url}/:keyId`,
    may,
    schema: {
      operationId: `update${word}ApiKey`,
      summary: 'Change an API key',
      description:
        'Members that are left out stay; the restriction is replaced as a whole. It counts at once. A change that takes a ' +
        'right away, changes the restriction or ends the key earlier ends the broker-access tokens of the key: its programs ' +
        'take new ones, and go on with their Sessions.',
      params: Type.Object({ ...parameters, ...KeyId }),
      body: ApiKeyChangesBody,
      response: responses(Empty),
    },
    before: ({ body }) => void changesOf(body.apiKey),
    handle: async ({ viewer, organizationId }, { params, body }) => {
      const key = await ownKey(registry, organizationId, params.keyId)
      accepted(await registry.apiKeys.update(key.id, changesOf(body.apiKey), viewer))
      return {}
    },
  })
}

function rotateKey(registry: ApiKeyRegistry, { url, word, parameters, may }: Owner): Route {
  return route({
    method: 'POST',
    url: `${url}/:keyId/rotate`,
    may,
    schema: {
      operationId: `rotate${word}ApiKey`,
      summary: 'Give an API key a new secret',
      description:
        'The new key is told here and never again. The old one stays good for the overlap. With overlapSeconds 0 it ends at ' +
        'once, and the broker-access tokens of the key with it.',
      params: Type.Object({ ...parameters, ...KeyId }),
      body: RotationBody,
      response: responses(IssuedApiKey),
    },
    handle: async ({ viewer, organizationId }, { params, body }) => {
      const { id: keyId } = await ownKey(registry, organizationId, params.keyId)
      const overlapSeconds = body.overlapSeconds ?? DEFAULT_OVERLAP_SECONDS
      const { key } = accepted(await registry.apiKeys.rotate(keyId, overlapSeconds, viewer))
      return { id: keyId, key }
    },
  })
}

function takeOverKey(registry: ApiKeyRegistry, { url, word, parameters, may }: Owner): Route {
  return route({
    method: 'POST',
    url: `${url}/:keyId/hand-over`,
    may,
    schema: {
      operationId: `handOver${word}ApiKey`,
      summary: 'Give an API key another maker',
      description:
        'The key then stands with the role of that admin. Programs that hold the key go on; rotate it if a person who has ' +
        'left may know it.',
      params: Type.Object({ ...parameters, ...KeyId }),
      body: Type.Object({
        userID: Type.Optional(idInBody('The admin who gets it; the caller when not given.')),
      }),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, { params, body }) => {
      const key = await ownKey(registry, organizationId, params.keyId)
      const heir = body.userID === undefined ? viewer.userId : idText(body.userID)
      accepted(await registry.apiKeys.handOver(key.id, heir, viewer))
      return {}
    },
  })
}

function revokeKey(registry: ApiKeyRegistry, { url, word, parameters, may }: Owner): Route {
  return route({
    method: 'DELETE',
    url: `${url}/:keyId`,
    may,
    schema: {
      operationId: `revoke${word}ApiKey`,
      summary: 'Revoke an API key',
      description: 'Ends the key at once, with its broker-access tokens, their connections and its Sessions.',
      params: Type.Object({ ...parameters, ...KeyId }),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, { params }) => {
      const key = await ownKey(registry, organizationId, params.keyId)
      accepted(await registry.apiKeys.revoke(key.id, viewer))
      return {}
    },
  })
}

/** The key of this owner. One of another owner answers like one that does not exist. */
async function ownKey(registry: ApiKeyRegistry, organizationId: string | undefined, keyId: string): Promise<ApiKey> {
  const key = await registry.apiKeys.get(keyId)
  if (key === undefined || key.organizationId !== (organizationId ?? null)) throw objectNotFound()
  return key
}
