/** API keys as bodies and answers have them. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { API_KEY_RIGHTS } from '../../identity/store/api-key-rights.ts'
import type { ApiKey } from '../../identity/tokens/api-key-rows.ts'
import { MAXIMUM_API_KEY_NAME, MAXIMUM_OVERLAP_SECONDS } from '../../identity/tokens/api-key-rules.ts'
import type { ApiKeyFields } from '../../identity/tokens/api-keys.ts'
import { given } from '../../given.ts'
import { invalidArgument } from '../api/errors.ts'
import {
  A_NAME,
  choice,
  idOrNothing,
  opaqueId,
  ruledText,
  timestamp,
  Timestamp,
  TimestampOrNull,
} from '../api/fields.ts'
import { ScopeInput, ScopeItem, scopeItemOf, scopeOf } from '../api/scope-fields.ts'
import { NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

const Right = choice(API_KEY_RIGHTS, {
  description: 'A right of a key.',
  [RULE]: `must be one of ${API_KEY_RIGHTS.join(', ')}`,
  [NAME]: 'ApiKeyRight',
})

/** A key in an answer, without its secret. */
export const ApiKeyItem = Type.Object(
  {
    id: opaqueId('API key id; the key begins with `fg_` and this id.'),
    organizationID: idOrNothing('"" for a key of the whole deployment.'),
    name: Type.String({ examples: ['Bridge to the data lake'] }),
    rights: Type.Array(Right, { description: 'All that the key may do.' }),
    scope: Type.Union([ScopeItem, Type.Null()], { description: 'The restriction of the key; null for none.' }),
    expiresAt: TimestampOrNull,
    state: choice(['in_force', 'expired', 'without_maker', 'maker_role_too_small'], {
      description:
        'without_maker: its maker was removed, is inactive, or no member any more. maker_role_too_small: the role of its ' +
        'maker no longer covers its rights. Both end when an admin takes the key over.',
      [NAME]: 'ApiKeyState',
    }),
    makerUserID: idOrNothing('The user who made it, or took it over; "" when that user was removed.'),
    makerName: Type.String(),
    createdAt: Timestamp,
    rotatedAt: TimestampOrNull,
    oldSecretUntil: TimestampOrNull,
    lastUsedAt: TimestampOrNull,
    lastUsedAddress: Type.String({ description: 'Address of the client that used it last; "" for never.' }),
  },
  { description: 'API key; the key itself is not kept.', [NAME]: 'ApiKey' },
)

const { applicationIds, devEuis, tags } = ScopeInput
const Name = ruledText(MAXIMUM_API_KEY_NAME, 'Name for people, unique in any case among the keys of its owner.', A_NAME)
const Rights = Type.Array(Right, {
  minItems: 1,
  maxItems: API_KEY_RIGHTS.length,
  uniqueItems: true,
  description: 'All that the key may do.',
  [RULE]: `must be a list of some of ${API_KEY_RIGHTS.join(', ')}`,
})
const ExpiresAt = Type.Union([Type.String({ format: 'date-time', maxLength: 40 }), Type.Null()], {
  description: 'When it ends; null, and leaving it out, mean never.',
  examples: ['2027-01-15T12:00:00.000Z'],
  [RULE]: 'must be a time as in RFC 3339, or null',
})

/** The members of a new key. */
export const NewApiKeyBody = Type.Object(
  {
    apiKey: Type.Object(
      { name: Name, rights: Rights, expiresAt: Type.Optional(ExpiresAt), applicationIds, devEuis, tags },
      { [NAME]: 'NewApiKey' },
    ),
  },
  {
    examples: [{ apiKey: { name: 'Bridge to the data lake', rights: ['events.read'], tags: { site: 'north' } } }],
  },
)

/** The members of a change; those that are left out stay. */
export const ApiKeyChangesBody = Type.Object({
  apiKey: Type.Object(
    {
      name: Type.Optional(Name),
      rights: Type.Optional(Rights),
      expiresAt: Type.Optional(ExpiresAt),
      applicationIds,
      devEuis,
      tags,
      isUnrestricted: Type.Optional(Type.Boolean({ description: 'true takes the restriction away.' })),
    },
    { [NAME]: 'ApiKeyChanges' },
  ),
})

/** How long the old secret stays good. */
export const RotationBody = Type.Object({
  overlapSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAXIMUM_OVERLAP_SECONDS,
      description: 'How long the old secret stays good: 86400 by default, and 0 for not at all.',
      [RULE]: `must be a whole number from 0 to ${MAXIMUM_OVERLAP_SECONDS}`,
    }),
  ),
})

/** The fields of a new key. */
export function fieldsOf({
  name,
  rights,
  expiresAt,
  ...restriction
}: Static<typeof NewApiKeyBody>['apiKey']): ApiKeyFields {
  return { name, rights, expiresAtMs: timeOf(expiresAt) ?? null, scope: scopeOf(restriction) }
}

/**
 * The fields that a change gives. A restriction is replaced as a whole: a member of it that is left
 * out is no limit.
 */
export function changesOf(body: Static<typeof ApiKeyChangesBody>['apiKey']): Partial<ApiKeyFields> {
  const { name, rights, expiresAt, isUnrestricted = false, ...restriction } = body
  const scope = scopeOf(restriction)
  if (isUnrestricted && scope !== undefined) {
    throw invalidArgument('apiKey.isUnrestricted: can’t be true together with a restriction')
  }
  return {
    ...given({ name, rights, expiresAtMs: timeOf(expiresAt) }),
    ...(isUnrestricted || scope !== undefined ? { scope } : {}),
  }
}

/** A key as `ApiKeyItem`. */
export function apiKeyItem(key: ApiKey): Static<typeof ApiKeyItem> {
  return {
    id: key.id,
    organizationID: key.organizationId ?? '',
    name: key.name,
    rights: [...key.rights],
    scope: scopeItemOf(key.scope),
    expiresAt: timestampOrNull(key.expiresAtMs),
    state: key.state,
    makerUserID: key.makerUserId ?? '',
    makerName: key.makerEmail,
    createdAt: timestamp(key.createdAtMs),
    rotatedAt: timestampOrNull(key.rotatedAtMs),
    oldSecretUntil: timestampOrNull(key.oldSecretUntilMs),
    lastUsedAt: timestampOrNull(key.lastUsedAtMs),
    lastUsedAddress: key.lastUsedAddress ?? '',
  }
}

function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

/** RFC 3339 §5.6, as strict as the members of a query. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

function timeOf(text: string | null | undefined): number | null | undefined {
  if (text === undefined || text === null) return text
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw invalidArgument('apiKey.expiresAt: must be a time as in RFC 3339, or null')
  return ms
}
