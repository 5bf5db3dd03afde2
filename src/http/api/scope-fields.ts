/**
 * The members of a scope in bodies and answers, and the check that its owner has what they name.
 */
import { Type } from 'typebox'
import { MAXIMUM_SCOPE_IDS, MAXIMUM_SCOPE_TAGS, parseScope, SCOPE_EVENT_KINDS } from '../../identity/tokens/scope.ts'
import type { Scope } from '../../identity/tokens/scope.ts'
import { accepted, objectNotFound } from './errors.ts'
import { applicationId, applicationIdInBody, choice, DevEui, DevEuiInput, flag } from './fields.ts'
import type { OwnershipRegistry } from './ownership.ts'
import { NAME } from './schema-keywords.ts'
import { RULE } from './validate.ts'

const ScopeEventKind = choice(SCOPE_EVENT_KINDS, {
  description: 'A kind of event.',
  [RULE]: `must be one of ${SCOPE_EVENT_KINDS.join(', ')}`,
  [NAME]: 'ScopeEventKind',
})

const IDS = { minItems: 1, maxItems: MAXIMUM_SCOPE_IDS }
const IDS_RULE = `must be a list of 1 to ${MAXIMUM_SCOPE_IDS}; leave it out for no limit`
const TAGS = { minProperties: 1, maxProperties: MAXIMUM_SCOPE_TAGS }
const TAGS_RULE = `must be an object of 1 to ${MAXIMUM_SCOPE_TAGS} texts; leave it out for no limit`
const WORDS = {
  applicationIds: 'Only these applications.',
  devEuis: 'Only these devices.',
  tags: 'Only devices that have all of these tags.',
  eventKinds: 'Only these kinds of event. Commands have no kind, and are not limited by it.',
  isReadOnly: 'Events alone, no commands.',
  reachesAllApplications: 'May subscribe to all applications by one Topic Filter.',
}

/** The optional members of a body that limit a token or a key; `scopeOf` reads them. */
export const ScopeInput = {
  applicationIds: Type.Optional(
    Type.Array(applicationIdInBody('Application id.'), { ...IDS, description: WORDS.applicationIds, [RULE]: IDS_RULE }),
  ),
  devEuis: Type.Optional(Type.Array(DevEuiInput, { ...IDS, description: WORDS.devEuis, [RULE]: IDS_RULE })),
  tags: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      ...TAGS,
      description: WORDS.tags,
      examples: [{ site: 'north' }],
      [RULE]: TAGS_RULE,
    }),
  ),
  eventKinds: Type.Optional(
    Type.Array(ScopeEventKind, {
      minItems: 1,
      maxItems: SCOPE_EVENT_KINDS.length,
      description: WORDS.eventKinds,
      [RULE]: `must be a list of 1 to ${SCOPE_EVENT_KINDS.length}; leave it out for no limit`,
    }),
  ),
  isReadOnly: Type.Optional(flag(WORDS.isReadOnly)),
  reachesAllApplications: Type.Optional(flag(WORDS.reachesAllApplications)),
}

/** A scope in an answer: only the limits that there are. */
export const ScopeItem = Type.Object(
  {
    applicationIds: Type.Optional(Type.Array(applicationId('Application id.'), { description: WORDS.applicationIds })),
    devEuis: Type.Optional(Type.Array(DevEui, { description: WORDS.devEuis })),
    tags: Type.Optional(Type.Record(Type.String(), Type.String(), { description: WORDS.tags })),
    eventKinds: Type.Optional(Type.Array(ScopeEventKind, { description: WORDS.eventKinds })),
    isReadOnly: Type.Optional(Type.Boolean({ description: WORDS.isReadOnly })),
    reachesAllApplications: Type.Optional(Type.Boolean({ description: WORDS.reachesAllApplications })),
  },
  { description: 'The limits of a token; a member that is missing is no limit.', [NAME]: 'Scope' },
)

/** The scope of a body; undefined for no limit. Refuses as `scope_invalid`. */
export function scopeOf(body: Readonly<Record<string, unknown>>): Scope | undefined {
  return accepted(parseScope(body))
}

/** The scope as `ScopeItem`; null for no limit. */
export function scopeItemOf(scope: Scope | undefined) {
  if (scope === undefined) return null
  const { applicationIds, devEuis, tags, eventKinds, ...flags } = scope
  return {
    ...flags,
    ...(applicationIds && { applicationIds: [...applicationIds] }),
    ...(devEuis && { devEuis: [...devEuis] }),
    ...(tags && { tags: { ...tags } }),
    ...(eventKinds && { eventKinds: [...eventKinds] }),
  }
}

/**
 * Throws unless all applications and devices of the scope are the organization's. Things of another
 * organization are answered like unknown ones.
 */
export async function demandScopeIn(
  registry: Pick<OwnershipRegistry, 'applications' | 'devices'>,
  organizationId: string,
  scope: Scope | undefined,
): Promise<void> {
  for (const named of scope?.applicationIds ?? []) {
    const application = await registry.applications.get(named)
    if (application?.organizationId !== organizationId) throw objectNotFound()
  }
  for (const named of scope?.devEuis ?? []) {
    const device = await registry.devices.get(named)
    if (device?.organizationId !== organizationId) throw objectNotFound()
  }
}
