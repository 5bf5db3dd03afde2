/** The administration of devices. Their import is a file of its own. */
import { Type } from 'typebox'
import { viewerOf } from '../api/authenticate.ts'
import { deviceChanges, DeviceDetail, deviceDetail, DeviceItem, deviceItem, WritableDevice } from './device-fields.ts'
import type { GivenDevice } from './device-fields.ts'
import { accepted, objectNotFound } from '../api/errors.ts'
import {
  A_NAME_OR_NOTHING,
  applicationIdInBody,
  DevEui,
  DevEuiInput,
  devEuiOf,
  Empty,
  givenId,
  idText,
  listOf,
  optionalApplicationId,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  ruledText,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { applicationFor, demandIn, deviceFor } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'

const Parameters = Type.Object({ devEui: DevEuiInput })

/** Registers the routes of devices. */
export function addDeviceRoutes(app: HttpApp, registry: OwnershipRegistry): void {
  listDevices(app, registry)
  createDevice(app, registry)
  getDevice(app, registry)
  changeDevice(app, registry)
  deleteDevice(app, registry)
}

const CreatedDevice = Type.Object({ devEUI: DevEui }, { description: 'Created', [NAME]: 'CreatedDevice' })

const config = { credential: 'session' } as const
const common = { tags: ['Devices'], security: SESSION_SECURITY }

function listDevices(app: HttpApp, registry: OwnershipRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/devices',
    config,
    schema: {
      ...common,
      operationId: 'listDevices',
      summary: 'List devices',
      description:
        'The devices of an application, of an organization, or (with neither) of all of the caller’s organizations, sorted ' +
        'by name. `search` looks into name and DevEUI.',
      querystring: Type.Object({
        ...PagingQuery,
        applicationID: optionalApplicationId('Application id.'),
        organizationID: optionalId('Organization id.'),
      }),
      response: responses(listOf(DeviceItem, 'DeviceList')),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const applicationId = givenId(request.query.applicationID)
      const organizationId = givenId(request.query.organizationID)
      if (organizationId !== undefined) await demandIn(registry, viewer, organizationId, 'device.read')
      if (applicationId !== undefined) await applicationFor(registry, viewer, applicationId, 'device.read')
      const page = {
        ...pageOf(request.query),
        ...(applicationId === undefined ? {} : { applicationId }),
        ...(organizationId === undefined ? {} : { organizationId }),
      }
      return written(await registry.devices.list(viewer, page), deviceItem)
    },
  })
}

function createDevice(app: HttpApp, registry: OwnershipRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/devices',
    config,
    schema: {
      ...common,
      operationId: 'createDevice',
      summary: 'Create a device',
      description:
        'For device admins and admins of the organization. A DevEUI belongs to one device in the whole deployment.',
      body: Type.Object({
        device: Type.Object(
          {
            devEUI: DevEuiInput,
            ...WritableDevice,
            name: Type.Optional(ruledText(100, 'Name; the DevEUI when not given.', A_NAME_OR_NOTHING)),
            applicationID: applicationIdInBody('Application id.'),
          },
          { [NAME]: 'NewDevice' },
        ),
      }),
      response: responses(CreatedDevice),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const { device } = request.body
      const devEui = devEuiOf('device.devEUI', device.devEUI)
      const { id: applicationId } = await applicationFor(registry, viewer, idText(device.applicationID), 'device.write')
      const name = device.name === undefined || device.name === '' ? devEui : device.name
      const created = accepted(
        await registry.devices.create({ ...deviceChanges(device), devEui, name, applicationId }, viewer),
      )
      return { devEUI: created.devEui }
    },
  })
}

function getDevice(app: HttpApp, registry: OwnershipRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/devices/:devEui',
    config,
    schema: {
      ...common,
      operationId: 'getDevice',
      summary: 'Get a device',
      description: 'For members of its organization.',
      params: Parameters,
      response: responses(DeviceDetail),
    },
    handler: async (request) => {
      const devEui = devEuiOf('devEui', request.params.devEui)
      return deviceDetail(await deviceFor(registry, viewerOf(request), devEui, 'device.read'))
    },
  })
}

function changeDevice(app: HttpApp, registry: OwnershipRegistry): void {
  app.route({
    method: 'PUT',
    url: '/api/devices/:devEui',
    config,
    schema: {
      ...common,
      operationId: 'updateDevice',
      summary: 'Change a device',
      description:
        'For device admins and admins of the organization. Members that are left out stay; tags and variables are replaced ' +
        'as a whole. A device may move to another application of its organization.',
      params: Parameters,
      body: Type.Object({ device: Type.Object(WritableDevice, { [NAME]: 'DeviceChanges' }) }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const devEui = devEuiOf('devEui', request.params.devEui)
      const device = await deviceFor(registry, viewer, devEui, 'device.write')
      await demandSameOrganization(registry, device.organizationId, request.body.device)
      accepted(await registry.devices.update(devEui, deviceChanges(request.body.device), viewer))
      return {}
    },
  })
}

function deleteDevice(app: HttpApp, registry: OwnershipRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/devices/:devEui',
    config,
    schema: {
      ...common,
      operationId: 'deleteDevice',
      summary: 'Delete a device',
      description: 'For device admins and admins of the organization. Its events and commands end at once.',
      params: Parameters,
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const devEui = devEuiOf('devEui', request.params.devEui)
      await deviceFor(registry, viewer, devEui, 'device.write')
      accepted(await registry.devices.remove(devEui, viewer))
      return {}
    },
  })
}

/**
 * A device never changes its organization: another's application answers like one that does not
 * exist.
 */
async function demandSameOrganization(
  registry: OwnershipRegistry,
  organizationId: string,
  given: GivenDevice,
): Promise<void> {
  if (given.applicationID === undefined) return
  const target = await registry.applications.get(idText(given.applicationID))
  if (target === undefined || target.organizationId !== organizationId) throw objectNotFound()
}
