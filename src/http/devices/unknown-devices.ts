/** The devices that send without being registered: listed, registered, forgotten. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { given } from '../../given.ts'
import type { NewDevice } from '../../identity/devices/device.ts'
import { isRestricted } from '../../identity/store/reach.ts'
import type { Registry } from '../../identity/registry.ts'
import { nameOf } from '../../lorawan/unknown-devices/registration.ts'
import type { UnknownDeviceFilter } from '../../lorawan/unknown-devices/registration.ts'
import type { WaitingDevice, WaitingDevices } from '../../lorawan/unknown-devices/waiting-devices.ts'
import { inOrganizationOrDeployment, onApplication } from '../api/access.ts'
import { invalidArgument, objectNotFound } from '../api/errors.ts'
import {
  A_LINE,
  applicationIdInBody,
  DevEui,
  DevEuiInput,
  devEuiOf,
  Empty,
  flag,
  idOrNothing,
  listOfNodes,
  missingNodes,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  ruledText,
  text,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import { demandGlobalAdmin, demandReachedAfter, demandUnrestricted } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'
import { WritableDevice } from './device-fields.ts'
import { createWriter } from './import-outcomes.ts'

/** The parts of the registry that the registration needs. */
export type UnknownDeviceRegistry = OwnershipRegistry & Pick<Registry, 'devices' | 'serviceCredentials'>

/** Devices that one request registers. The next request takes the others. */
const MAXIMUM_AT_ONCE = 10_000
/** Refusals that an answer names. */
const MAXIMUM_TOLD = 100

const UnknownDeviceItem = Type.Object(
  {
    devEUI: DevEui,
    organizationID: idOrNothing('The organization of the network server; "" for the whole deployment.'),
    networkServer: Type.String({
      description: 'credential:<id> of a service credential, entry:<name> of a network server, or http.',
    }),
    networkServerName: Type.String({ description: 'The name of the service credential, or of the network server.' }),
    deviceName: Type.String({ description: 'The name at the network server; "" where the event has none.' }),
    networkServerApplicationID: Type.String({ description: 'The network server’s own id of the application.' }),
    networkServerApplicationName: Type.String(),
    deviceProfileName: Type.String({ description: 'The device profile at the network server.' }),
    eventCount: Type.Integer({ description: 'Events that are kept.' }),
    bytes: Type.Integer({ description: 'Bytes of the kept events, as they are counted against the bound.' }),
    firstAt: Timestamp,
    lastAt: Timestamp,
  },
  { description: 'Device that sends without being registered', [NAME]: 'UnknownDevice' },
)

const Filter = {
  networkServer: Type.Optional(text(200, 'Only devices of this network server, as the list names it.')),
  networkServerApplicationID: Type.Optional(text(100, 'Only devices of this application of the network server.')),
  networkServerApplicationName: Type.Optional(
    text(100, 'Only devices whose application has this name at the network server.'),
  ),
  deviceProfileName: Type.Optional(text(100, 'Only devices with this device profile at the network server.')),
  devEUIPrefix: Type.Optional(
    Type.String({
      pattern: '^[0-9a-fA-F]{0,16}$',
      description: 'Only DevEUIs that begin with these hexadecimal digits.',
      [RULE]: 'must be at most 16 hexadecimal digits',
    }),
  ),
}
const FilterSchema = Type.Object(Filter)

const Registration = Type.Object(
  {
    applicationID: applicationIdInBody('The application that the devices come to.'),
    devEUIs: Type.Optional(
      Type.Array(DevEuiInput, { minItems: 1, maxItems: 1000, description: 'The devices. Absent: all that match.' }),
    ),
    filter: Type.Optional(Type.Object({ ...Filter, search: PagingQuery.search }, { [NAME]: 'UnknownDeviceFilter' })),
    ofDeployment: Type.Optional(
      flag('Means the devices of network servers of the whole deployment. For global admins.'),
    ),
    nameTemplate: Type.Optional(
      ruledText(
        200,
        'Name, with {deviceName}, {devEUI}, {applicationName} and {deviceProfileName} as the network server has them.',
        A_LINE,
      ),
    ),
    deviceProfileID: WritableDevice.deviceProfileID,
    deviceProfileName: WritableDevice.deviceProfileName,
    tags: WritableDevice.tags,
  },
  { [NAME]: 'UnknownDeviceRegistration' },
)

const Registered = Type.Object(
  {
    registered: Type.Integer({ description: 'Devices that are registered now.' }),
    refused: Type.Integer({ description: 'Devices that could not be registered. Their events are still kept.' }),
    refusals: Type.Array(
      Type.Object({ devEUI: DevEui, code: Type.String(), message: Type.String() }, { [NAME]: 'UnknownDeviceRefusal' }),
      { description: `The first ${MAXIMUM_TOLD} of them.` },
    ),
    more: Type.Boolean({ description: `More than ${MAXIMUM_AT_ONCE} devices match: ask again.` }),
  },
  { description: 'Registered', [NAME]: 'RegisteredUnknownDevices' },
)

/** The routes of devices that are not registered. */
export function unknownDeviceRoutes(registry: UnknownDeviceRegistry, waiting: WaitingDevices): readonly Route[] {
  return resource('Devices', [list(registry, waiting), register(registry, waiting), forget(waiting)])
}

function list(registry: UnknownDeviceRegistry, waiting: WaitingDevices): Route {
  return route({
    method: 'GET',
    url: '/api/unknown-devices',
    may: inOrganizationOrDeployment('device.write', 'query.organizationID'),
    schema: {
      operationId: 'listUnknownDevices',
      summary: 'List devices that are not registered',
      description:
        'Devices whose events came without the device being registered, in the order in which they were first heard of. With ' +
        'organizationID those of the organization’s network servers, without it those of the network servers of the whole ' +
        'deployment. `search` looks into DevEUI and names.',
      querystring: Type.Object({ ...PagingQuery, ...Filter, organizationID: optionalId('Organization id.') }),
      response: responses(listOfNodes(UnknownDeviceItem, 'UnknownDeviceList')),
    },
    handle: async ({ viewer, organizationId }, request) => {
      demandUnrestricted(viewer)
      const { limit, offset, search } = pageOf(request.query)
      const meant = { owner: organizationId ?? null, filter: { ...filterOf(request.query), search } }
      const { missing, ...page } = await waiting.page(meant, offset, limit)
      const serverNames = await serverNamesOf(registry, page.items)
      return { ...written(page, (device) => itemOf(device, serverNames)), ...missingNodes(missing) }
    },
  })
}

function register(registry: UnknownDeviceRegistry, waiting: WaitingDevices): Route {
  return route({
    method: 'POST',
    url: '/api/unknown-devices/register',
    may: onApplication('device.write', 'body.applicationID'),
    schema: {
      operationId: 'registerUnknownDevices',
      summary: 'Register devices that wait',
      description:
        'Makes devices of the application. Their kept events are then delivered, in the order in which they came and before ' +
        'newer events. A device that can’t be registered is told, and goes on waiting.',
      body: Registration,
      response: responses(Registered),
    },
    handle: async ({ viewer, application }, request) => {
      const { devEUIs, filter = {}, ofDeployment, tags = {}, nameTemplate = '{deviceName}', ...body } = request.body
      if (ofDeployment === true) demandGlobalAdmin(viewer)
      const owner = ofDeployment === true ? null : application.organizationId
      const named = devEUIs?.map((devEui) => devEuiOf('devEUIs', devEui))
      const meant = { owner, filter: { ...filterOf(filter), search: filter.search }, devEuis: named }
      const { totalCount, items } = await waiting.page(meant, 0, MAXIMUM_AT_ONCE)
      if (named !== undefined && items.length === 0) throw invalidArgument('devEUIs: none of these devices waits')
      const devices = items.map((unknown): NewDevice => {
        const { devEui, names } = unknown
        demandReachedAfter(viewer, { applicationId: application.id, devEui, tags })
        const deviceProfileName = body.deviceProfileName ?? names.deviceProfileName
        const profile = { deviceProfileName, ...given({ deviceProfileId: body.deviceProfileID }) }
        return { devEui, applicationId: application.id, name: nameOf(unknown, nameTemplate), tags, ...profile }
      })
      const outcomes = await createWriter(registry, viewer)(devices, MAXIMUM_TOLD)
      const refusals = outcomes.flatMap((outcome, index) => {
        const devEUI = devices[index]?.devEui ?? ''
        return outcome.ok ? [] : [{ devEUI, code: outcome.reason, message: outcome.message }]
      })
      return {
        registered: outcomes.length - refusals.length,
        refused: refusals.length,
        refusals: refusals.slice(0, MAXIMUM_TOLD),
        more: totalCount > items.length,
      }
    },
  })
}

function forget(waiting: WaitingDevices): Route {
  return route({
    method: 'DELETE',
    url: '/api/unknown-devices/:devEui',
    may: inOrganizationOrDeployment('device.write', 'query.organizationID'),
    schema: {
      operationId: 'forgetUnknownDevice',
      summary: 'Forget a device that is not registered',
      description: 'Its kept events are gone. It comes back with its next event.',
      params: Type.Object({ devEui: DevEuiInput }),
      querystring: Type.Object({ organizationID: optionalId('Organization id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      // Nothing that waits is within the restriction of a key.
      if (isRestricted(viewer.apiKey?.scope ?? {})) throw objectNotFound()
      const devEui = devEuiOf('devEui', request.params.devEui)
      if (!(await waiting.forget(organizationId ?? null, devEui))) throw objectNotFound()
      return {}
    },
  })
}

function filterOf(query: Static<typeof FilterSchema>): UnknownDeviceFilter {
  const { networkServer, deviceProfileName, devEUIPrefix } = query
  return {
    networkServer,
    applicationId: query.networkServerApplicationID,
    applicationName: query.networkServerApplicationName,
    deviceProfileName,
    devEuiPrefix: devEUIPrefix?.toLowerCase(),
  }
}

/** The names of the network servers that brought the devices. */
async function serverNamesOf(
  { serviceCredentials }: UnknownDeviceRegistry,
  devices: readonly WaitingDevice[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const networkServer of new Set(devices.map((device) => device.networkServer))) {
    const [, kind, of = ''] = /^(credential|entry):(.*)$/s.exec(networkServer) ?? []
    if (kind === 'entry') names.set(networkServer, of)
    const credential = kind === 'credential' ? await serviceCredentials.get(of) : undefined
    if (credential !== undefined) names.set(networkServer, credential.name)
  }
  return names
}

function itemOf(device: WaitingDevice, serverNames: ReadonlyMap<string, string>): Static<typeof UnknownDeviceItem> {
  const { devEui, organizationId, networkServer, names, eventCount, bytes, firstAtMs, lastAtMs } = device
  return {
    devEUI: devEui,
    organizationID: organizationId ?? '',
    networkServer,
    networkServerName: serverNames.get(networkServer) ?? networkServer,
    deviceName: names.deviceName,
    networkServerApplicationID: names.applicationId,
    networkServerApplicationName: names.applicationName,
    deviceProfileName: names.deviceProfileName,
    eventCount,
    bytes,
    firstAt: timestamp(firstAtMs),
    lastAt: timestamp(lastAtMs),
  }
}
