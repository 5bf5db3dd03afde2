/**
 * The right to use a route, as a value. Each route has one (`may`). `addRoutes` checks it before it
 * calls the handler, hands the handler the owner that the check looked up, and writes its sentence
 * into the OpenAPI document. The owner is the organization, application, device or user that the
 * request is about. A person without a role in the owning organization gets the same answer as for
 * an unknown id.
 */
import type { FastifyRequest } from 'fastify'
import assert from 'node:assert/strict'
import type { Device } from '../../identity/devices/device.ts'
import type { DeviceProfile } from '../../identity/devices/device-profile.ts'
import type { ApiKeyRight } from '../../identity/store/api-key-rights.ts'
import type { Viewer } from '../../identity/store/result.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import type { ApiKeyInForce } from '../../identity/tokens/api-key-standing.ts'
import type { Organization } from '../../identity/tenants/organizations.ts'
import type { Caller, Credential } from './caller.ts'
import { objectNotFound } from './errors.ts'
import { devEuiOf, givenId } from './fields.ts'
import {
  applicationFor,
  demandGlobalAdmin,
  demandIn,
  demandUnrestricted,
  deviceFor,
  deviceProfileFor,
  organizationFor,
  roleIn,
} from './ownership.ts'
import type { OwnershipRegistry } from './ownership.ts'
import { demand, demandOneOf, demandRight, leastRoleOf, mayDo, rightsFor } from './permissions.ts'
import type { Action, Role } from './permissions.ts'

/** A request, its sender, and the registry in which the owner is looked up. */
export interface Asked {
  readonly registry: OwnershipRegistry
  readonly request: Pick<FastifyRequest, 'params' | 'query' | 'body'>
  /** Null on routes that take no credential. */
  readonly caller: Caller | null
}

/**
 * Where a request names its owner: `params.id`, `query.organizationID`,
 * `body.device.applicationID`.
 */
export type MemberPath = `${'params' | 'query' | 'body'}.${string}`

/** The right to use a route. */
export interface Access<Found = unknown> {
  readonly credential: Credential
  /**
   * An API key needs one of these rights, where a session is taken; empty where no key is taken.
   * Absent: the same.
   */
  readonly rights?: readonly ApiKeyRight[]
  /** For the OpenAPI document: `For admins of its organization.` */
  readonly sentence: string
  /** The members that the check reads; the schema of the route must have them. */
  readonly reads: readonly MemberPath[]
  /** Throws a refusal, or returns the owner and the person for the handler. */
  check(asked: Asked): Promise<Found>
  /**
   * The organization that the request is about, of what the check has found; its share of requests
   * is used. Absent, null or undefined: the request is about no organization.
   */
  organizationOf?(found: Found): string | null | undefined
}

/** The person behind a session, or behind an API key. */
export interface Person {
  readonly viewer: Viewer
  /** The API key that is used in the place of a session. */
  readonly key: ApiKeyInForce | undefined
}

/** The route needs no credential. */
export const OPEN: Access<null> = {
  credential: 'none',
  sentence: 'For everyone, without a credential.',
  reads: [],
  check: async () => null,
}

/** The people and the keys that a route is for. */
interface PeopleOptions<Found> {
  readonly reads?: readonly MemberPath[]
  /** The rights of which an API key needs one; none by default. */
  readonly rights?: readonly ApiKeyRight[]
  readonly organizationOf?: (found: Found) => string | null | undefined
}

/**
 * For people who are signed in, and for API keys with a right. `look` throws a refusal, or returns
 * what the handler gets beside the person.
 */
function forPeople<Found extends object>(
  sentence: string,
  look: (viewer: Viewer, asked: Asked) => Promise<Found>,
  { reads = [], rights = [], organizationOf = () => undefined }: PeopleOptions<Found> = {},
): Access<Person & Found> {
  return {
    credential: 'session',
    rights,
    sentence: `${sentence} ${sentenceOn(rights)}`,
    reads,
    organizationOf,
    check: async (asked) => {
      const { caller } = asked
      assert(caller?.kind === 'session' || caller?.kind === 'apiKey', 'the route must take a session')
      const { viewer } = caller
      // The right comes before all else: a key without it learns nothing of the things it asks for.
      if (caller.kind === 'apiKey') demandOneOf(caller.key.rights, rights)
      const found = await look(viewer, asked)
      return { viewer, key: caller.kind === 'apiKey' ? caller.key : undefined, ...found }
    },
  }
}

/** The part of the sentence that is about API keys. */
export function sentenceOn(rights: readonly ApiKeyRight[]): string {
  if (rights.length === 0) return 'Not for API keys.'
  return `An API key needs ${rights.join(', or ')}.`
}

/** Everybody who is signed in. The route is about the person itself: API keys are none. */
export const SIGNED_IN: Access<Person> = forPeople('For everyone who is signed in.', async () => ({}))

/** Everybody who is signed in, and every API key but those of the metrics alone. */
export const SIGNED_IN_OR_KEY: Access<Person> = forPeople('For everyone who is signed in.', async () => ({}), {
  rights: rightsFor('organization.read'),
})

/** Everybody who is signed in, and every API key that may read device profiles. */
export const LIBRARY_READER: Access<Person> = forPeople('For everyone who is signed in.', async () => ({}), {
  rights: rightsFor('deviceProfile.read'),
})

/** Global admins, and API keys of the whole deployment that may write codecs. */
export const LIBRARY_WRITER: Access<Person> = forPeople(
  'For global admins.',
  async (viewer) => {
    demandGlobalAdmin(viewer)
    demandUnrestricted(viewer)
    return {}
  },
  { rights: rightsFor('deviceProfile.write') },
)

export const GLOBAL_ADMIN: Access<Person> = forPeople('For global admins.', async (viewer) => {
  demandGlobalAdmin(viewer)
  return {}
})

/** A user whose password was right and whose one-time code is still missing. */
export const SECOND_FACTOR_STEP: Access<{ readonly userId: string }> = {
  credential: 'secondFactorStep',
  sentence: 'For a user who has passed the first step of the login.',
  reads: [],
  check: async ({ caller }) => {
    if (caller?.kind !== 'secondFactorStep') throw objectNotFound()
    return { userId: caller.userId }
  },
}

/** Programs that collect metrics, and global admins. */
export const METRICS_READER: Access<null> = {
  credential: 'metrics',
  rights: ['metrics.read'],
  sentence:
    'For global admins, for programs with a metrics token or an API key with metrics.read, and without a credential for peers on the loopback interface ' +
    '(a request that a proxy forwarded does not count as one).',
  reads: [],
  check: async ({ caller }) => {
    if (caller?.kind === 'session') demandGlobalAdmin(caller.viewer)
    if (caller?.kind === 'apiKey') demandOneOf(caller.key.rights, ['metrics.read'])
    return null
  },
}

/** A network server. `organizationId` is null for a credential of the whole deployment. */
export const NETWORK_SERVER: Access<{ readonly organizationId: string | null }> = {
  credential: 'serviceCredential',
  sentence: 'For network servers, with a service credential.',
  reads: [],
  check: async ({ caller }) => {
    assert(caller?.kind === 'networkServer', 'the route must take a service credential')
    return { organizationId: caller.organizationId }
  },
}

/** A broker of another project that asks about its clients. */
export const BROKER_HOOK: Access<null> = {
  credential: 'brokerHook',
  sentence:
    'For brokers with the secret of the hooks (`FIELDGATE_BROKER_HOOK_SECRETS`). Where none is set, for peers on the ' +
    'loopback interface.',
  reads: [],
  check: async () => null,
}

/** The organization that the check has found. */
export function organizationIdOf({
  organizationId,
}: {
  readonly organizationId: string | undefined
}): string | undefined {
  return organizationId
}

/** The organization that the member names. */
export function inOrganization(
  action: Action,
  member: MemberPath,
): Access<Person & { readonly organizationId: string }> {
  const look = async (viewer: Viewer, { registry, request }: Asked) => {
    const organizationId = textAt(request, member)
    await demandIn(registry, viewer, organizationId, action)
    return { organizationId }
  }
  return forPeople(`For ${peopleOf(action, 'the organization')}.`, look, {
    reads: [member],
    rights: rightsFor(action),
    organizationOf: organizationIdOf,
  })
}

/** As `inOrganization`, with the organization looked up. */
export function onOrganization(
  action: Action,
  member: MemberPath,
): Access<Person & { readonly organization: Organization }> {
  const look = async (viewer: Viewer, { registry, request }: Asked) => ({
    organization: await organizationFor(registry, viewer, textAt(request, member), action),
  })
  const sentence = `For ${peopleOf(action, 'the organization')}.`
  const rights = rightsFor(action)
  return forPeople(sentence, look, { reads: [member], rights, organizationOf: ({ organization }) => organization.id })
}

function ownerOfApplication({ application }: { readonly application: Application }): string {
  return application.organizationId
}

/** The application that the member names. */
export function onApplication(
  action: Action,
  member: MemberPath,
): Access<Person & { readonly application: Application }> {
  const look = async (viewer: Viewer, { registry, request }: Asked) => ({
    application: await applicationFor(registry, viewer, textAt(request, member), action),
  })
  const sentence = `For ${peopleOf(action, 'its organization')}.`
  const rights = rightsFor(action)
  return forPeople(sentence, look, { reads: [member], rights, organizationOf: ownerOfApplication })
}

/** The device that the member names by its DevEUI, in any spelling. */
export function onDevice(action: Action, member: MemberPath): Access<Person & { readonly device: Device }> {
  const look = async (viewer: Viewer, { registry, request }: Asked) => {
    const devEui = devEuiOf(lastName(member), textAt(request, member))
    return { device: await deviceFor(registry, viewer, devEui, action) }
  }
  const sentence = `For ${peopleOf(action, 'its organization')}.`
  const rights = rightsFor(action)
  return forPeople(sentence, look, { reads: [member], rights, organizationOf: ({ device }) => device.organizationId })
}

/** The device profile that the member names. */
export function onDeviceProfile(
  action: Action,
  member: MemberPath,
): Access<Person & { readonly profile: DeviceProfile }> {
  const look = async (viewer: Viewer, { registry, request }: Asked) => ({
    profile: await deviceProfileFor(registry, viewer, textAt(request, member), action),
  })
  const sentence = `For ${peopleOf(action, 'its organization')}.`
  const rights = rightsFor(action)
  return forPeople(sentence, look, { reads: [member], rights, organizationOf: ({ profile }) => profile.organizationId })
}

/** The organization. Where the member names none: the whole deployment, for global admins. */
export function inOrganizationOrDeployment(
  action: Action,
  member: MemberPath,
): Access<Person & { readonly organizationId: string | undefined }> {
  const sentence = `With ${lastName(member)} for ${peopleOf(action, 'the organization')}, without it for global admins.`
  const look = async (viewer: Viewer, { registry, request }: Asked) => {
    const given = textAt(request, member)
    // In a body only "" means the whole deployment: a 0 that was a client's empty value must not.
    const organizationId = member.startsWith('body.') ? (given === '' ? undefined : given) : givenId(given)
    if (organizationId === undefined) demandGlobalAdmin(viewer)
    else await demandIn(registry, viewer, organizationId, action)
    return { organizationId }
  }
  return forPeople(sentence, look, { reads: [member], rights: rightsFor(action), organizationOf: organizationIdOf })
}

/** The organization or the application to which a list is narrowed. */
interface Narrowed {
  readonly organizationId: string | undefined
  readonly applicationId: string | undefined
  /** The organization that is named, or the organization of the application that is named. */
  readonly owner: string | undefined
  /** The person's role in the organization; undefined where no organization is named. */
  readonly role: Role | undefined
}

/**
 * A list that may be narrowed to an organization or to an application. With neither, the handler
 * lists only what the person may see.
 */
export function narrowed(
  action: Action,
  members: { readonly organization: MemberPath; readonly application?: MemberPath },
): Access<Person & Narrowed> {
  const { organization, application } = members
  const reads = application === undefined ? [organization] : [organization, application]
  const people = peopleOf(action, 'the organization')
  const sentence = `With ${reads.map(lastName).join(' or ')} for ${people}, otherwise for everyone who is signed in.`
  const look = async (viewer: Viewer, { registry, request }: Asked): Promise<Narrowed> => {
    const organizationId = givenId(textAt(request, organization))
    const applicationId = application === undefined ? undefined : givenId(textAt(request, application))
    const role = organizationId === undefined ? undefined : await roleIn(registry, viewer, organizationId)
    if (role !== undefined) demand(role, action)
    demandRight(viewer, action)
    const found =
      applicationId === undefined ? undefined : await applicationFor(registry, viewer, applicationId, action)
    return { organizationId, applicationId, owner: organizationId ?? found?.organizationId, role }
  }
  return forPeople(sentence, look, { reads, rights: rightsFor(action), organizationOf: ({ owner }) => owner })
}

/**
 * The rows of an upload. The member may name the application of the rows that name none; the
 * handler checks the application of each row.
 */
export function rowsOfUpload(
  action: Action,
  member: MemberPath,
): Access<Person & { readonly applicationId: string | undefined; readonly organizationId: string | undefined }> {
  const sentence = `For ${peopleOf(action, 'the organization of each row')}.`
  const look = async (viewer: Viewer, { registry, request }: Asked) => {
    const applicationId = givenId(textAt(request, member))
    const found =
      applicationId === undefined ? undefined : await applicationFor(registry, viewer, applicationId, action)
    return { applicationId, organizationId: found?.organizationId }
  }
  return forPeople(sentence, look, { reads: [member], rights: rightsFor(action), organizationOf: organizationIdOf })
}

/**
 * The user that the member names: for that user, and for global admins. The handler looks it up.
 */
export function onUser(member: MemberPath): Access<Person & { readonly userId: string; readonly isOwn: boolean }> {
  const look = async (viewer: Viewer, { request }: Asked) => {
    const userId = textAt(request, member)
    const isOwn = viewer.userId === userId
    if (!isOwn && !viewer.isAdmin) throw objectNotFound()
    return { userId, isOwn }
  }
  return forPeople('For global admins, and for the user itself.', look, { reads: [member] })
}

/** How a thing that is hidden from most members is found, and to whom it belongs. */
export interface HiddenThing<Thing> {
  /** The member that names the thing. */
  readonly named: MemberPath
  find(id: string): Promise<Thing | undefined>
  /** Null or undefined where the thing belongs to the whole deployment. */
  organizationIdOf(thing: Thing): string | null | undefined
  /** The person who owns the thing may do the action as well. */
  ownerOf?(thing: Thing): string
  /** The API key that made the thing may do the action, with one of the rights. */
  readonly ofKey?: { readonly rights: readonly ApiKeyRight[]; idOf(thing: Thing): string | null }
}

/**
 * A thing whose existence is hidden from everybody who may not do the action with it, members of
 * its organization included.
 */
export function onHidden<Thing>(action: Action, thing: HiddenThing<Thing>): Access<Person & { readonly found: Thing }> {
  const people = peopleOf(action, 'its organization')
  const sentence = thing.ownerOf === undefined ? `For ${people}.` : `For its owner, and for ${people}.`
  const look = async (viewer: Viewer, { registry, request }: Asked) => {
    const found = await thing.find(textAt(request, thing.named))
    if (found === undefined) throw objectNotFound()
    if (viewer.apiKey !== undefined) {
      if (thing.ofKey?.idOf(found) !== viewer.apiKey.id) throw objectNotFound()
      return { found }
    }
    if (viewer.isAdmin || thing.ownerOf?.(found) === viewer.userId) return { found }
    const organizationId = thing.organizationIdOf(found) ?? undefined
    const role = organizationId === undefined ? 'none' : await roleIn(registry, viewer, organizationId)
    if (!mayDo(role, action)) throw objectNotFound()
    return { found }
  }
  return forPeople(sentence, look, {
    reads: [thing.named],
    rights: thing.ofKey?.rights ?? [],
    organizationOf: ({ found }) => thing.organizationIdOf(found),
  })
}

const PEOPLE: Readonly<Record<Exclude<Role, 'none' | 'globalAdmin'>, string>> = {
  reader: 'members',
  member: 'members who are not read-only',
  deviceAdmin: 'device admins and admins',
  organizationAdmin: 'admins',
}

/** The people with the least role of the action, in words. */
export function peopleOf(action: Action, owner: string): string {
  const role = leastRoleOf(action)
  return role === 'globalAdmin' ? 'global admins' : `${PEOPLE[role]} of ${owner}`
}

/** The member's name without its place: `organizationID`. */
export function lastName(member: MemberPath): string {
  return member.slice(member.lastIndexOf('.') + 1)
}

/** The id that the request names, in its one spelling; `""` where the member is left out. */
export function textAt(request: Asked['request'], member: MemberPath): string {
  let value: unknown = request
  for (const name of member.split('.')) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
