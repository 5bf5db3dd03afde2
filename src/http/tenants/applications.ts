/** Endpoint 3 of the specification, and the administration of applications. */
import { Type } from 'typebox'
import type { Application } from '../../identity/tenants/applications.ts'
import type { Registry } from '../../identity/registry.ts'
import { viewerOf } from '../api/authenticate.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import {
  A_LINE,
  A_NAME,
  A_PARAGRAPH,
  applicationId,
  applicationIdInBody,
  Empty,
  givenId,
  id,
  idInBody,
  idText,
  listOf,
  optionalId,
  pageOf,
  PagingQuery,
  PayloadCodecSchema,
  responses,
  ruledText,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { applicationFor, demandGlobalAdmin, demandIn } from '../api/ownership.ts'
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
        payloadCodec: PayloadCodecSchema,
        payloadEncoderScript: Type.String(),
        payloadDecoderScript: Type.String(),
      },
      { [NAME]: 'ApplicationFields' },
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { description: 'An application by itself', [NAME]: 'ApplicationDetails' },
)

/** Bounds a tenant's script; the codec's sandbox has its own. */
const SCRIPT_LENGTH = 64 * 1024

const Writable = {
  description: Type.Optional(ruledText(1000, 'For people.', A_PARAGRAPH)),
  serviceProfileID: Type.Optional(ruledText(64, 'Service profile of the network server.', A_LINE)),
  serviceProfileName: Type.Optional(ruledText(100, 'Name of the service profile.', A_LINE)),
  payloadCodec: Type.Optional(PayloadCodecSchema),
  payloadEncoderScript: Type.Optional(ruledText(SCRIPT_LENGTH, 'JavaScript of CUSTOM_JS.', A_PARAGRAPH)),
  payloadDecoderScript: Type.Optional(ruledText(SCRIPT_LENGTH, 'JavaScript of CUSTOM_JS.', A_PARAGRAPH)),
}

const CreatedApplication = Type.Object(
  { id: applicationId('The id of the application.') },
  { description: 'Created', [NAME]: 'CreatedApplication' },
)

const Name = ruledText(100, 'Name, unique within the organization.', A_NAME)

const Parameters = Type.Object({ id: applicationId('Application id.') })

/** Registers the routes of applications. Without `checks` scripts are saved as they come. */
export function addApplicationRoutes(app: HttpApp, registry: ApplicationRegistry, checks?: ScriptChecks): void {
  listApplications(app, registry)
  createApplication(app, registry, checks)
  getApplication(app, registry)
  changeApplication(app, registry, checks)
  deleteApplication(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Applications'], security: SESSION_SECURITY }

function listApplications(app: HttpApp, registry: ApplicationRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/applications',
    config,
    schema: {
      ...common,
      operationId: 'listApplications',
      summary: 'List applications',
      description:
        'The applications of the organization, sorted by name; without organizationID those of all of the caller’s ' +
        'organizations.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(ApplicationItem, 'ApplicationList')),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const organizationId = givenId(request.query.organizationID)
      if (organizationId !== undefined) await demandIn(registry, viewer, organizationId, 'application.read')
      const page = { ...pageOf(request.query), ...(organizationId === undefined ? {} : { organizationId }) }
      return written(await registry.applications.list(viewer, page), itemOf)
    },
  })
}

function createApplication(app: HttpApp, registry: ApplicationRegistry, checks: ScriptChecks | undefined): void {
  app.route({
    method: 'POST',
    url: '/api/applications',
    config,
    schema: {
      ...common,
      operationId: 'createApplication',
      summary: 'Create an application',
      description:
        'For admins of the organization. A global admin may ask for an id, as a network server with ids of its own needs ' +
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
    handler: async (request) => {
      const viewer = viewerOf(request)
      const { application } = request.body
      const organizationId = idText(application.organizationID)
      await demandIn(registry, viewer, organizationId, 'application.write')
      if (application.id !== undefined) demandGlobalAdmin(viewer)
      if (checks !== undefined) await demandParsed(checks, organizationId, application)
      const created = {
        ...(application.id === undefined ? {} : { id: idText(application.id) }),
        organizationId,
        name: application.name,
        description: application.description ?? '',
        serviceProfileId: application.serviceProfileID ?? '',
        serviceProfileName: application.serviceProfileName ?? '',
        payloadCodec: application.payloadCodec ?? '',
        payloadEncoderScript: application.payloadEncoderScript ?? '',
        payloadDecoderScript: application.payloadDecoderScript ?? '',
      } as const
      return accepted(await registry.applications.create(created, viewer))
    },
  })
}

function getApplication(app: HttpApp, registry: ApplicationRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/applications/:id',
    config,
    schema: {
      ...common,
      operationId: 'getApplication',
      summary: 'Get an application',
      description: 'For members of its organization.',
      params: Parameters,
      response: responses(ApplicationDetails),
    },
    handler: async (request) => {
      const application = await applicationFor(registry, viewerOf(request), request.params.id, 'application.read')
      return {
        application: {
          ...itemOf(application),
          payloadCodec: application.payloadCodec,
          payloadEncoderScript: application.payloadEncoderScript,
          payloadDecoderScript: application.payloadDecoderScript,
        },
        createdAt: timestamp(application.createdAtMs),
        updatedAt: timestamp(application.updatedAtMs),
      }
    },
  })
}

function changeApplication(app: HttpApp, registry: ApplicationRegistry, checks: ScriptChecks | undefined): void {
  app.route({
    method: 'PUT',
    url: '/api/applications/:id',
    config,
    schema: {
      ...common,
      operationId: 'updateApplication',
      summary: 'Change an application',
      description:
        'For admins of its organization. Members that are left out stay. It stays with its organization for life. A script ' +
        'that is no JavaScript is refused, with its line and column; one that was saved before may be sent again.',
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
    handler: async (request) => {
      const viewer = viewerOf(request)
      const application = await applicationFor(registry, viewer, request.params.id, 'application.write')
      const { organizationID, serviceProfileID, ...named } = request.body.application
      if (organizationID !== undefined && idText(organizationID) !== application.organizationId) {
        throw invalidArgument('application.organizationID: an application stays with its organization')
      }
      if (checks !== undefined) await demandParsed(checks, application.organizationId, named, application)
      accepted(await registry.applications.update(application.id, changesOf(named, serviceProfileID), viewer))
      return {}
    },
  })
}

function deleteApplication(app: HttpApp, registry: ApplicationRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/applications/:id',
    config,
    schema: {
      ...common,
      operationId: 'deleteApplication',
      summary: 'Delete an application',
      description: 'For admins of its organization. Takes its devices along and ends what subscriptions to it deliver.',
      params: Parameters,
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const application = await applicationFor(registry, viewer, request.params.id, 'application.write')
      accepted(await registry.applications.remove(application.id, viewer))
      return {}
    },
  })
}

interface ApplicationChanges {
  readonly name?: string
  readonly description?: string
  readonly serviceProfileName?: string
  readonly payloadCodec?: Application['payloadCodec']
  readonly payloadEncoderScript?: string
  readonly payloadDecoderScript?: string
}

/** Exactly the members that may change; whatever else a body carries stays behind here. */
function changesOf(given: ApplicationChanges, serviceProfileId: string | undefined) {
  const { name, description, serviceProfileName, payloadCodec, payloadEncoderScript, payloadDecoderScript } = given
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(serviceProfileId === undefined ? {} : { serviceProfileId }),
    ...(serviceProfileName === undefined ? {} : { serviceProfileName }),
    ...(payloadCodec === undefined ? {} : { payloadCodec }),
    ...(payloadEncoderScript === undefined ? {} : { payloadEncoderScript }),
    ...(payloadDecoderScript === undefined ? {} : { payloadDecoderScript }),
  }
}

function itemOf(application: Application) {
  return {
    id: application.id,
    name: application.name,
    description: application.description,
    organizationID: application.organizationId,
    serviceProfileID: application.serviceProfileId,
    serviceProfileName: application.serviceProfileName,
  }
}
