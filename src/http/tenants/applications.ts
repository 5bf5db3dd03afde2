/** Endpoint 3 of the specification, and the administration of applications. */
import { Type } from 'typebox'
import type { ApplicationFields, ListedApplication } from '../../identity/tenants/applications.ts'
import type { Registry } from '../../identity/registry.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import {
  A_LINE,
  A_NAME,
  A_PARAGRAPH,
  applicationId,
  applicationIdInBody,
  Empty,
  EventShapeSchema,
  id,
  idInBody,
  idText,
  listOf,
  ObjectCommandsSchema,
  RetainsLastEventsSchema,
  optionalId,
  pageOf,
  PagingQuery,
  PayloadCodecSchema,
  responses,
  ruledText,
  Times,
  timesOf,
  written,
} from '../api/fields.ts'
import { given } from '../../given.ts'
import { inOrganization, narrowed, onApplication } from '../api/access.ts'
import { demandRight } from '../api/permissions.ts'
import { resource, route, SCRIPTS_LIMIT_BYTES } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { demandGlobalAdmin, demandUnrestricted } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'
import { demandParsed } from '../devices/script-check.ts'
import type { ScriptChecks } from '../devices/script-check.ts'

/** The parts of the registry that applications need. */
export type ApplicationRegistry = OwnershipRegistry & Pick<Registry, 'applications'>

const Members = {
  id: applicationId('Application id.'),
  name: Type.String({ examples: ['meters'] }),
  description: Type.String(),
  organizationID: id('Organization id.'),
  serviceProfileID: Type.String(),
  serviceProfileName: Type.String(),
}
const ApplicationItem = Type.Object(Members, { description: 'Application', [NAME]: 'Application' })
const ApplicationDetails = Type.Object(
  {
    application: Type.Object(
      {
        ...Members,
        eventShape: EventShapeSchema,
        objectCommands: ObjectCommandsSchema,
        retainsLastEvents: RetainsLastEventsSchema,
        payloadCodec: PayloadCodecSchema,
        payloadEncoderScript: Type.String(),
        payloadDecoderScript: Type.String(),
      },
      { [NAME]: 'ApplicationFields' },
    ),
    ...Times,
  },
  { description: 'An application by itself', [NAME]: 'ApplicationDetails' },
)

/** The longest script of a tenant; the codec's sandbox has bounds of its own. */
const SCRIPT_LENGTH = 512 * 1024

const Writable = {
  description: Type.Optional(ruledText(1000, 'For people.', A_PARAGRAPH)),
  serviceProfileID: Type.Optional(ruledText(64, 'Service profile of the network server.', A_LINE)),
  serviceProfileName: Type.Optional(ruledText(100, 'Name of the service profile.', A_LINE)),
  payloadCodec: Type.Optional(PayloadCodecSchema),
  payloadEncoderScript: Type.Optional(ruledText(SCRIPT_LENGTH, 'JavaScript of CUSTOM_JS.', A_PARAGRAPH)),
  payloadDecoderScript: Type.Optional(ruledText(SCRIPT_LENGTH, 'JavaScript of CUSTOM_JS.', A_PARAGRAPH)),
  eventShape: Type.Optional(EventShapeSchema),
  objectCommands: Type.Optional(ObjectCommandsSchema),
  retainsLastEvents: Type.Optional(RetainsLastEventsSchema),
}

const CreatedApplication = Type.Object(
  { id: applicationId('The id of the application.') },
  { description: 'Created', [NAME]: 'CreatedApplication' },
)

const Name = ruledText(100, 'Name, unique within the organization.', A_NAME)

const Parameters = Type.Object({ id: applicationId('Application id.') })

/** The routes of applications. Without `checks` scripts are saved as they come. */
export function applicationRoutes(registry: ApplicationRegistry, checks?: ScriptChecks): readonly Route[] {
  return resource('Applications', [
    listApplications(registry),
    createApplication(registry, checks),
    getApplication(),
    changeApplication(registry, checks),
    deleteApplication(registry),
  ])
}

function listApplications(registry: ApplicationRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/applications',
    may: narrowed('application.read', { organization: 'query.organizationID' }),
    schema: {
      operationId: 'listApplications',
      summary: 'List applications',
      description:
        'The applications of the organization, sorted by name. Without organizationID the applications of all organizations ' +
        'of the caller.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(ApplicationItem, 'ApplicationList')),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const page = { ...pageOf(request.query), ...given({ organizationId }) }
      return written(await registry.applications.list(viewer, page), itemOf)
    },
  })
}

function createApplication(registry: ApplicationRegistry, checks: ScriptChecks | undefined): Route {
  return route({
    method: 'POST',
    url: '/api/applications',
    bodyLimit: SCRIPTS_LIMIT_BYTES,
    may: inOrganization('application.write', 'body.application.organizationID'),
    schema: {
      operationId: 'createApplication',
      summary: 'Create an application',
      description:
        'A global admin may ask for an id, as a network server with ids of its own needs ' +
        'it: a UUID in lower case, or digits up to 999999999. Nobody else may, for the events of an application go by its id.',
      body: Type.Object({
        application: Type.Object(
          {
            id: Type.Optional(
              applicationIdInBody('The id that it is to have, for global admins: see the description.'),
            ),
            name: Name,
            organizationID: idInBody('Organization id.'),
            ...Writable,
          },
          { [NAME]: 'NewApplication' },
        ),
      }),
      response: responses(CreatedApplication),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { application } = request.body
      demandUnrestricted(viewer)
      if (isAboutCodec(application)) demandRight(viewer, 'codec.write')
      if (application.id !== undefined) demandGlobalAdmin(viewer)
      if (checks !== undefined) await demandParsed(checks, { organizationId }, application)
      const created = {
        ...given({ id: application.id === undefined ? undefined : idText(application.id) }),
        organizationId,
        name: application.name,
        description: application.description ?? '',
        serviceProfileId: application.serviceProfileID ?? '',
        serviceProfileName: application.serviceProfileName ?? '',
        payloadCodec: application.payloadCodec ?? '',
        payloadEncoderScript: application.payloadEncoderScript ?? '',
        payloadDecoderScript: application.payloadDecoderScript ?? '',
        eventShape: application.eventShape ?? '',
        objectCommands: application.objectCommands ?? '',
        retainsLastEvents: application.retainsLastEvents ?? false,
      } as const
      return accepted(await registry.applications.create(created, viewer))
    },
  })
}

function getApplication(): Route {
  return route({
    method: 'GET',
    url: '/api/applications/:id',
    may: onApplication('application.read', 'params.id'),
    schema: {
      operationId: 'getApplication',
      summary: 'Get an application',
      params: Parameters,
      response: responses(ApplicationDetails),
    },
    handle: async ({ application }) => {
      return {
        application: {
          ...itemOf(application),
          eventShape: application.eventShape,
          objectCommands: application.objectCommands,
          retainsLastEvents: application.retainsLastEvents,
          payloadCodec: application.payloadCodec,
          payloadEncoderScript: application.payloadEncoderScript,
          payloadDecoderScript: application.payloadDecoderScript,
        },
        ...timesOf(application),
      }
    },
  })
}

function changeApplication(registry: ApplicationRegistry, checks: ScriptChecks | undefined): Route {
  return route({
    method: 'PUT',
    url: '/api/applications/:id',
    bodyLimit: SCRIPTS_LIMIT_BYTES,
    may: onApplication('application.change', 'params.id'),
    schema: {
      operationId: 'updateApplication',
      summary: 'Change an application',
      description:
        'Members that are left out stay. The application stays with its organization for life. A script ' +
        'that is no JavaScript is refused, with its line and column; one that was saved before may be sent again. An API key ' +
        'needs codecs.write for the codec and its scripts, and applications.write for all else.',
      params: Parameters,
      body: Type.Object({
        application: Type.Object(
          {
            name: Type.Optional(Name),
            organizationID: Type.Optional(idInBody('Organization id; must be the present one.')),
            ...Writable,
          },
          { [NAME]: 'ApplicationChanges' },
        ),
      }),
      response: responses(Empty),
    },
    handle: async ({ viewer, application }, request) => {
      const { organizationID, serviceProfileID, ...named } = request.body.application
      demandRightsOf(viewer, request.body.application)
      if (organizationID !== undefined && idText(organizationID) !== application.organizationId) {
        throw invalidArgument('application.organizationID: an application stays with its organization')
      }
      if (checks !== undefined) await demandParsed(checks, application, named, application)
      accepted(await registry.applications.update(application.id, changesOf(named, serviceProfileID), viewer))
      return {}
    },
  })
}

function deleteApplication(registry: ApplicationRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/applications/:id',
    may: onApplication('application.write', 'params.id'),
    schema: {
      operationId: 'deleteApplication',
      summary: 'Delete an application',
      description: 'Takes its devices along and ends what subscriptions to it deliver.',
      params: Parameters,
      response: responses(Empty),
    },
    handle: async ({ viewer, application }) => {
      accepted(await registry.applications.remove(application.id, viewer))
      return {}
    },
  })
}

const CODEC_MEMBERS = ['payloadCodec', 'payloadEncoderScript', 'payloadDecoderScript']

function isAboutCodec(members: object): boolean {
  return CODEC_MEMBERS.some((member) => Object.hasOwn(members, member))
}

/** A key changes only the members that its rights are for. */
function demandRightsOf(viewer: Viewer, members: object): void {
  if (isAboutCodec(members)) demandRight(viewer, 'codec.write')
  if (Object.keys(members).some((member) => !CODEC_MEMBERS.includes(member))) demandRight(viewer, 'application.write')
}

type ApplicationChanges = Partial<Omit<ApplicationFields, 'serviceProfileId'>>

/** Exactly the members that may change. Other members of a body are dropped here. */
function changesOf(changes: ApplicationChanges, serviceProfileId: string | undefined) {
  const { name, description, serviceProfileName, payloadCodec, payloadEncoderScript, payloadDecoderScript } = changes
  const { eventShape, objectCommands, retainsLastEvents } = changes
  const fields = { name, description, serviceProfileId, serviceProfileName, payloadCodec, eventShape, objectCommands }
  return given({ ...fields, retainsLastEvents, payloadEncoderScript, payloadDecoderScript })
}

function itemOf(application: ListedApplication) {
  return {
    id: application.id,
    name: application.name,
    description: application.description,
    organizationID: application.organizationId,
    serviceProfileID: application.serviceProfileId,
    serviceProfileName: application.serviceProfileName,
  }
}
