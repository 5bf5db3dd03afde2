/**
 * The right to the events and the commands of devices, as a value. These routes also take a
 * broker-access token, and answer it what its scope lets through.
 */
import type { Device } from '../../identity/devices/device.ts'
import { reachesApplication, reachesDevice } from '../../identity/tokens/scope.ts'
import type { Scope } from '../../identity/tokens/scope.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import { lastName, organizationIdOf, peopleOf, sentenceOn, textAt } from './access.ts'
import type { Access, Asked, MemberPath } from './access.ts'
import type { Caller } from './caller.ts'
import { objectNotFound, RequestRefused } from './errors.ts'
import { devEuiOf } from './fields.ts'
import { demandEventsIn, demandReached } from './ownership.ts'
import { demandRight, rightsFor } from './permissions.ts'

/** The actions that a broker-access token may do as well. */
type EventAction = 'event.read' | 'command.send'

/** The right comes before all else: a key without it learns nothing of the things it asks for. */
function demandRightFirst({ caller }: Asked, action: EventAction): void {
  if (caller?.kind === 'apiKey') demandRight(caller.viewer, action)
}

const EVENT_READERS = 'For members of its organization, and for its broker-access tokens within their scope.'

/** An application whose events the caller may read. */
interface ReadableApplication {
  readonly application: Application
  /** The limits of the caller's token or API key. Undefined: none. */
  readonly scope: Scope | undefined
}

/** A device whose events the caller may read, with its present application. */
interface ReadableDevice extends ReadableApplication {
  readonly device: Device
}

/**
 * Reading the events of an application. Where `inside` names an organization, the application must
 * belong to it.
 */
export function eventsOfApplication(
  member: MemberPath,
  inside?: MemberPath,
  action: EventAction = 'event.read',
): Access<ReadableApplication> {
  return {
    credential: 'sessionOrBrokerAccess',
    rights: rightsFor(action),
    sentence: `${EVENT_READERS} ${sentenceOn(rightsFor(action))}`,
    reads: inside === undefined ? [member] : [member, inside],
    check: async (asked) => {
      demandRightFirst(asked, action)
      const found = await readableApplication(asked, textAt(asked.request, member), inside, action)
      if (!reachesApplication(found.scope, found.application.id)) throw objectNotFound()
      return found
    },
    organizationOf: ({ application }) => application.organizationId,
  }
}

/** As `eventsOfApplication`, of a device, with its present application. */
export function eventsOfDevice(
  member: MemberPath,
  inside?: MemberPath,
  action: EventAction = 'event.read',
): Access<ReadableDevice> {
  return {
    ...eventsOfApplication(member, inside, action),
    check: async (asked) => {
      demandRightFirst(asked, action)
      const devEui = devEuiOf(lastName(member), textAt(asked.request, member))
      const found = await asked.registry.devices.get(devEui)
      if (found === undefined) throw objectNotFound()
      const readable = await readableApplication(asked, found.applicationId, inside, action)
      if (!reachesDevice(readable.scope, found)) throw objectNotFound()
      return { device: found, ...readable }
    },
  }
}

/** Reading the events of all applications of an organization. */
export function eventsOfOrganization(
  member: MemberPath,
): Access<{ readonly organizationId: string; readonly scope: Scope | undefined }> {
  return {
    credential: 'sessionOrBrokerAccess',
    rights: rightsFor('event.read'),
    sentence:
      'For members of the organization, and for its broker-access tokens that reach all applications. ' +
      sentenceOn(rightsFor('event.read')),
    reads: [member],
    check: async (asked) => {
      const { registry, request, caller } = asked
      demandRightFirst(asked, 'event.read')
      const organizationId = textAt(request, member)
      await demandEventsIn(registry, caller, organizationId, 'event.read')
      const scope = scopeOf(caller)
      if (caller?.kind === 'brokerAccess' && scope?.reachesAllApplications !== true) {
        const message = 'the token was not made with reachesAllApplications'
        throw new RequestRefused('permission_denied', message, 'token_outside_scope')
      }
      return { organizationId, scope }
    },
    organizationOf: organizationIdOf,
  }
}

/** As `eventsOfDevice`, for those who may send commands to the device. */
export function commandsOfDevice(member: MemberPath, inside: MemberPath): Access<ReadableDevice> {
  const readable = eventsOfDevice(member, inside, 'command.send')
  const people = peopleOf('command.send', 'its organization')
  const sentence = `For ${people}, and for its broker-access tokens that are not read-only.`
  return {
    ...readable,
    sentence: `${sentence} ${sentenceOn(rightsFor('command.send'))}`,
    check: async (asked) => {
      const found = await readable.check(asked)
      if (asked.caller?.kind === 'brokerAccess' && found.scope?.isReadOnly === true) {
        throw new RequestRefused('permission_denied', 'the token is for reading only', 'token_read_only')
      }
      return found
    },
  }
}

function scopeOf(caller: Caller | null): Scope | undefined {
  if (caller?.kind === 'brokerAccess') return caller.scope
  return caller?.kind === 'apiKey' ? caller.key.scope : undefined
}

async function readableApplication(
  { registry, request, caller }: Asked,
  applicationId: string,
  inside: MemberPath | undefined,
  action: EventAction,
): Promise<ReadableApplication> {
  const found = await registry.applications.get(applicationId)
  if (found === undefined) throw objectNotFound()
  if (inside !== undefined && textAt(request, inside) !== found.organizationId) throw objectNotFound()
  await demandEventsIn(registry, caller, found.organizationId, action)
  if (caller?.kind === 'apiKey') await demandReached(registry, caller.viewer, applicationId)
  return { application: found, scope: scopeOf(caller) }
}
