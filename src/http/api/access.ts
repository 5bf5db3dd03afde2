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
import type { Viewer } from '../../identity/store/result.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import type { Organization } from '../../identity/tenants/organizations.ts'
import type { Caller, Credential } from './caller.ts'
import { objectNotFound } from './errors.ts'
import { devEuiOf, givenId } from './fields.ts'
import {
  applicationFor,
  demandEventsIn,
  demandGlobalAdmin,
  demandIn,
  deviceFor,
  organizationFor,
  roleIn,
} from './ownership.ts'
import type { OwnershipRegistry } from './ownership.ts'
import { demand, leastRoleOf, mayDo } from './permissions.ts'
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

/** The person behind a session. */
export interface Person {
  readonly viewer: Viewer
}

/** The route needs no credential. */
export const OPEN: Access<null> = {
  credential: 'none',
  sentence: 'For everyone, without a credential.',
  reads: [],
  check: async () => null,
}

/**
 * For people who are signed in. `look` throws a refusal, or returns what the handler gets beside
 * the person.
 */
function forPeople<Found extends object>(
  sentence: string,
  reads: readonly MemberPath[],
  look: (viewer: Viewer, asked: Asked) => Promise<Found>,
  organizationOf: (found: Found) => string | null | undefined = () => undefined,
): Access<Person & Found> {
  return {
    credential: 'session',
    sentence,
    reads,
    organizationOf,
    check: async (asked) => {
      assert(asked.caller?.kind === 'session', 'the route must take a session')
      const { viewer } = asked.caller
      return { viewer, ...(await look(viewer, asked)) }
    },
  }
}

/**
 * Everybody who is signed in. The route is about the person itself, or lists only what it may see.
 */
export const SIGNED_IN: Access<Person> = forPeople('For everyone who is signed in.', [], async () => ({}))

export const GLOBAL_ADMIN: Access<Person> = forPeople('For global admins.', [], async (viewer) => {
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
  sentence:
    'For global admins, for programs with a metrics token, and without a credential for peers on the loopback interface ' +
    '(a request that a proxy forwarded does not count as one).',
  reads: [],
  check: async ({ caller }) => {
    if (caller?.kind === 'session') demandGlobalAdmin(caller.viewer)
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

function organizationIdOf({ organizationId }: { readonly organizationId: string | undefined }): string | undefined {
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
  return forPeople(`For ${peopleOf(action, 'the organization')}.`, [member], look, organizationIdOf)
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
  return forPeople(sentence, [member], look, ({ organization }) => organization.id)
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
  return forPeople(sentence, [member], look, ({ application }) => application.organizationId)
}

/** The device that the member names by its DevEUI, in any spelling. */
export function onDevice(action: Action, member: MemberPath): Access<Person & { readonly device: Device }> {
  const look = async (viewer: Viewer, { registry, request }: Asked) => {
    const devEui = devEuiOf(lastName(member), textAt(request, member))
    return { device: await deviceFor(registry, viewer, devEui, action) }
  }
  const sentence = `For ${peopleOf(action, 'its organization')}.`
  return forPeople(sentence, [member], look, ({ device }) => device.organizationId)
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
  return forPeople(sentence, [member], look, organizationIdOf)
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
    const found =
      applicationId === undefined ? undefined : await applicationFor(registry, viewer, applicationId, action)
    return { organizationId, applicationId, owner: organizationId ?? found?.organizationId, role }
  }
  return forPeople(sentence, reads, look, ({ owner }) => owner)
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
  return forPeople(sentence, [member], look, organizationIdOf)
}

/**
 * The user that the member names: for that user, and for global admins. The handler looks it up.
 */
export function onUser(member: MemberPath): Access<Person & { readonly userId: string; readonly isOwn: boolean }> {
  return forPeople('For global admins, and for the user itself.', [member], async (viewer, { request }) => {
    const userId = textAt(request, member)
    const isOwn = viewer.userId === userId
    if (!isOwn && !viewer.isAdmin) throw objectNotFound()
    return { userId, isOwn }
  })
}

const EVENT_READERS = 'For members of its organization, and for its broker-access tokens.'

/**
 * Reading the events of an application. Where `inside` names an organization, the application must
 * belong to it.
 */
export function eventsOfApplication(
  member: MemberPath,
  inside?: MemberPath,
): Access<{ readonly application: Application }> {
  return {
    credential: 'sessionOrBrokerAccess',
    sentence: EVENT_READERS,
    reads: inside === undefined ? [member] : [member, inside],
    check: async (asked) => ({ application: await readableApplication(asked, textAt(asked.request, member), inside) }),
    organizationOf: ({ application }) => application.organizationId,
  }
}

/** As `eventsOfApplication`, of a device, with its present application. */
export function eventsOfDevice(
  member: MemberPath,
  inside?: MemberPath,
): Access<{ readonly device: Device; readonly application: Application }> {
  return {
    ...eventsOfApplication(member, inside),
    check: async (asked) => {
      const devEui = devEuiOf(lastName(member), textAt(asked.request, member))
      const found = await asked.registry.devices.get(devEui)
      if (found === undefined) throw objectNotFound()
      return { device: found, application: await readableApplication(asked, found.applicationId, inside) }
    },
  }
}

async function readableApplication(
  { registry, request, caller }: Asked,
  applicationId: string,
  inside: MemberPath | undefined,
): Promise<Application> {
  const found = await registry.applications.get(applicationId)
  if (found === undefined) throw objectNotFound()
  if (inside !== undefined && textAt(request, inside) !== found.organizationId) throw objectNotFound()
  await demandEventsIn(registry, caller, found.organizationId)
  return found
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
    if (viewer.isAdmin || thing.ownerOf?.(found) === viewer.userId) return { found }
    const organizationId = thing.organizationIdOf(found) ?? undefined
    const role = organizationId === undefined ? 'none' : await roleIn(registry, viewer, organizationId)
    if (!mayDo(role, action)) throw objectNotFound()
    return { found }
  }
  return forPeople(sentence, [thing.named], look, ({ found }) => thing.organizationIdOf(found))
}

const PEOPLE: Readonly<Record<Exclude<Role, 'none' | 'globalAdmin'>, string>> = {
  member: 'members',
  deviceAdmin: 'device admins and admins',
  organizationAdmin: 'admins',
}

/** The people with the least role of the action, in words. */
function peopleOf(action: Action, owner: string): string {
  const role = leastRoleOf(action)
  return role === 'globalAdmin' ? 'global admins' : `${PEOPLE[role]} of ${owner}`
}

/** The member's name without its place: `organizationID`. */
function lastName(member: MemberPath): string {
  return member.slice(member.lastIndexOf('.') + 1)
}

/** The id that the request names, in its one spelling; `""` where the member is left out. */
function textAt(request: Asked['request'], member: MemberPath): string {
  let value: unknown = request
  for (const name of member.split('.')) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
