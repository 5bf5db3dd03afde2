/** The administration of devices. Their import is a file of its own. */
import { Type } from 'typebox'
import type { DeviceFields } from '../../identity/devices/device.ts'
import { DEVICE_FLAGS, DEVICE_ORDERS, DEVICE_STATES } from '../../identity/devices/device.ts'
import { MAXIMUM_SORTED } from '../../identity/devices/device-list.ts'
import { deviceChanges, DeviceDetail, deviceDetail, DeviceItem, deviceItem, WritableDevice } from './device-fields.ts'
import type { GivenDevice } from './device-fields.ts'
import { accepted, invalidArgument, objectNotFound } from '../api/errors.ts'
import {
  A_NAME_OR_NOTHING,
  applicationIdInBody,
  choice,
  DevEui,
  DevEuiInput,
  devEuiOf,
  Empty,
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
import { given } from '../../given.ts'
import { narrowed, onApplication, onDevice } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { demandReachedAfter } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import type { Turns } from '../shares/work-turns.ts'
import { NAME } from '../api/schema-keywords.ts'

const Parameters = Type.Object({ devEui: DevEuiInput })

/** The routes of devices. Long lists are made in turns. */
export function deviceRoutes(registry: OwnershipRegistry, turns: Turns): readonly Route[] {
  return resource('Devices', [
    listDevices(registry, turns),
    createDevice(registry),
    getDevice(),
    changeDevice(registry),
    deleteDevice(registry),
  ])
}

const CreatedDevice = Type.Object({ devEUI: DevEui }, { description: 'Created', [NAME]: 'CreatedDevice' })

const Flag = choice(DEVICE_FLAGS, { description: 'Only devices with this flag.', [NAME]: 'DeviceFlag' })
const OrderBy = choice(DEVICE_ORDERS, {
  description:
    '`state`: silent devices first, then late ones. `lastSeenAt`: those that were not heard for the longest time first. `battery`: the emptiest first. Devices of which it is not known come last.',
  [NAME]: 'DeviceOrder',
})

const TOO_LONG = `orderBy must be name for a list of more than ${MAXIMUM_SORTED} devices: ask for one application`

function listDevices(registry: OwnershipRegistry, turns: Turns): Route {
  return route({
    method: 'GET',
    url: '/api/devices',
    may: narrowed('device.read', { organization: 'query.organizationID', application: 'query.applicationID' }),
    schema: {
      operationId: 'listDevices',
      summary: 'List devices',
      description:
        'The devices of the application, of the organization, or (with neither) of all organizations of the caller, sorted ' +
        'by name. `search` looks into name and DevEUI. `state` and `flag` keep the devices that need somebody. With ' +
        '`orderBy`, the devices that need somebody first come first; the list may then have at most 16,384 devices ' +
        'before `state`, `flag` and `search`.',
      querystring: Type.Object({
        ...PagingQuery,
        applicationID: optionalApplicationId('Application id.'),
        organizationID: optionalId('Organization id.'),
        state: Type.Optional(choice(DEVICE_STATES, { description: 'Only devices in this state.' })),
        flag: Type.Optional(Flag),
        orderBy: Type.Optional(OrderBy),
      }),
      response: responses(listOf(DeviceItem, 'DeviceList')),
    },
    handle: async ({ viewer, organizationId, applicationId }, request) => {
      const { state, flag, orderBy } = request.query
      const page = { ...pageOf(request.query), ...given({ applicationId, organizationId, state, flag, orderBy }) }
      const list = await turns.run(request.turnsOf, () => registry.devices.list(viewer, page))
      if (list.isTooLong === true) throw invalidArgument(TOO_LONG, 'too_many_to_sort')
      return written(list, deviceItem)
    },
  })
}

function createDevice(registry: OwnershipRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/devices',
    may: onApplication('device.write', 'body.device.applicationID'),
    schema: {
      operationId: 'createDevice',
      summary: 'Create a device',
      description: 'A DevEUI belongs to one device in the whole deployment.',
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
    handle: async ({ viewer, application }, request) => {
      const { device } = request.body
      const devEui = devEuiOf('device.devEUI', device.devEUI)
      const name = device.name === undefined || device.name === '' ? devEui : device.name
      demandReachedAfter(viewer, { applicationId: application.id, devEui, tags: device.tags ?? {} })
      const created = accepted(
        await registry.devices.create(
          {
            ...(await withProfileName(registry, application.organizationId, deviceChanges(device))),
            devEui,
            name,
            applicationId: application.id,
          },
          viewer,
        ),
      )
      return { devEUI: created.devEui }
    },
  })
}

function getDevice(): Route {
  return route({
    method: 'GET',
    url: '/api/devices/:devEui',
    may: onDevice('device.read', 'params.devEui'),
    schema: {
      operationId: 'getDevice',
      summary: 'Get a device',
      params: Parameters,
      response: responses(DeviceDetail),
    },
    handle: async ({ device }) => {
      return deviceDetail(device)
    },
  })
}

function changeDevice(registry: OwnershipRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/devices/:devEui',
    may: onDevice('device.write', 'params.devEui'),
    schema: {
      operationId: 'updateDevice',
      summary: 'Change a device',
      description:
        'Members that are left out stay; tags and variables are replaced ' +
        'as a whole. A device may move to another application of its organization.',
      params: Parameters,
      body: Type.Object({ device: Type.Object(WritableDevice, { [NAME]: 'DeviceChanges' }) }),
      response: responses(Empty),
    },
    handle: async ({ viewer, device }, request) => {
      await demandSameOrganization(registry, device.organizationId, request.body.device)
      const body = deviceChanges(request.body.device)
      const changes = await withProfileName(registry, device.organizationId, body)
      demandReachedAfter(viewer, { ...device, ...given({ applicationId: changes.applicationId, tags: changes.tags }) })
      accepted(await registry.devices.update(device.devEui, changes, viewer))
      return {}
    },
  })
}

function deleteDevice(registry: OwnershipRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/devices/:devEui',
    may: onDevice('device.write', 'params.devEui'),
    schema: {
      operationId: 'deleteDevice',
      summary: 'Delete a device',
      description: 'Its events and commands end at once.',
      params: Parameters,
      response: responses(Empty),
    },
    handle: async ({ viewer, device }) => {
      accepted(await registry.devices.remove(device.devEui, viewer))
      return {}
    },
  })
}

/**
 * A device that is given a profile of its organization gets the name of the profile as well, unless
 * a name was given.
 */
async function withProfileName(
  registry: OwnershipRegistry,
  organizationId: string,
  changes: Partial<DeviceFields>,
): Promise<Partial<DeviceFields>> {
  const { deviceProfileId = '', deviceProfileName } = changes
  if (deviceProfileId === '' || deviceProfileName !== undefined) return changes
  const profile = await registry.deviceProfiles.get(deviceProfileId)
  return profile?.organizationId === organizationId ? { ...changes, deviceProfileName: profile.name } : changes
}

/**
 * A device never changes its organization: another's application answers like one that does not
 * exist.
 */
async function demandSameOrganization(
  registry: OwnershipRegistry,
  organizationId: string,
  changes: GivenDevice,
): Promise<void> {
  if (changes.applicationID === undefined) return
  const target = await registry.applications.get(idText(changes.applicationID))
  if (target === undefined || target.organizationId !== organizationId) throw objectNotFound()
}
