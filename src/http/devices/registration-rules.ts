/** The rules by which devices that wait are registered. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { RegistrationRule } from '../../identity/devices/registration-rules.ts'
import type { Registry } from '../../identity/registry.ts'
import { inOrganization, onApplication } from '../api/access.ts'
import { accepted } from '../api/errors.ts'
import {
  A_LINE,
  applicationIdInBody,
  Empty,
  flag,
  id,
  listOf,
  opaqueId,
  pageOf,
  PagingQuery,
  responses,
  ruledText,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import { demandGlobalAdmin, demandUnrestricted } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'
import { WritableDevice, WrittenPairs } from './device-fields.ts'

/** The parts of the registry that rules need. */
export type RegistrationRuleRegistry = OwnershipRegistry & Pick<Registry, 'registrationRules'>

const Settings = {
  ofDeployment: Type.Optional(
    flag('The rule is for devices of network servers of the whole deployment. For global admins.'),
  ),
  networkServer: Type.Optional(ruledText(200, 'Only devices of this network server, as their list names it.', A_LINE)),
  networkServerApplicationID: Type.Optional(
    ruledText(100, 'Only devices of this application of the network server.', A_LINE),
  ),
  networkServerApplicationName: Type.Optional(
    ruledText(100, 'Only devices whose application has this name at the network server.', A_LINE),
  ),
  networkServerProfileName: Type.Optional(
    ruledText(100, 'Only devices with this device profile at the network server.', A_LINE),
  ),
  devEUIPrefix: Type.Optional(
    Type.String({
      pattern: '^[0-9a-fA-F]{0,16}$',
      description: 'Only DevEUIs that begin with these hexadecimal digits.',
      [RULE]: 'must be at most 16 hexadecimal digits',
    }),
  ),
  nameTemplate: Type.Optional(
    ruledText(200, 'Name of the devices, as in the registration of devices that wait.', A_LINE),
  ),
  deviceProfileID: WritableDevice.deviceProfileID,
  deviceProfileName: WritableDevice.deviceProfileName,
  tags: WritableDevice.tags,
}

const RuleItem = Type.Object(
  {
    id: opaqueId('Rule id.'),
    organizationID: id('Organization id.'),
    applicationID: Type.String({ description: 'The application that the devices come to.' }),
    ofDeployment: Type.Boolean({ description: 'The rule is for network servers of the whole deployment.' }),
    networkServer: Type.String(),
    networkServerApplicationID: Type.String(),
    networkServerApplicationName: Type.String(),
    networkServerProfileName: Type.String(),
    devEUIPrefix: Type.String({ description: 'In lower case.' }),
    nameTemplate: Type.String(),
    deviceProfileID: Type.String(),
    deviceProfileName: Type.String(),
    tags: WrittenPairs,
    createdAt: Timestamp,
  },
  { description: 'Registration rule', [NAME]: 'RegistrationRule' },
)

const Created = Type.Object({ id: opaqueId('Rule id.') }, { description: 'Created', [NAME]: 'CreatedRegistrationRule' })

/** The routes of registration rules. */
export function registrationRuleRoutes(registry: RegistrationRuleRegistry): readonly Route[] {
  return resource('Devices', [listRules(registry), createRule(registry), removeRule(registry)])
}

function listRules(registry: RegistrationRuleRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/registration-rules',
    may: inOrganization('application.read', 'query.organizationID'),
    schema: {
      operationId: 'listRegistrationRules',
      summary: 'List registration rules',
      description: 'In the order in which they are tried, the oldest first.',
      querystring: Type.Object({ ...PagingQuery, organizationID: id('Organization id.') }),
      response: responses(listOf(RuleItem, 'RegistrationRuleList')),
    },
    handle: async ({ viewer, organizationId }, request) => {
      demandUnrestricted(viewer)
      return written(await registry.registrationRules.list(organizationId, pageOf(request.query)), itemOf)
    },
  })
}

function createRule(registry: RegistrationRuleRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/registration-rules',
    may: onApplication('application.write', 'body.registrationRule.applicationID'),
    schema: {
      operationId: 'createRegistrationRule',
      summary: 'Create a registration rule',
      description:
        'From now on a device that is not registered, and that the rule means, becomes a device of the application. Devices ' +
        'that wait already are registered at once. The first rule that means a device is used.',
      body: Type.Object({
        registrationRule: Type.Object(
          { applicationID: applicationIdInBody('The application that the devices come to.'), ...Settings },
          { [NAME]: 'NewRegistrationRule' },
        ),
      }),
      response: responses(Created),
    },
    handle: async ({ viewer, application }, request) => {
      demandUnrestricted(viewer)
      const given = request.body.registrationRule
      if (given.ofDeployment === true) demandGlobalAdmin(viewer)
      const settings = {
        isOfDeployment: given.ofDeployment ?? false,
        networkServer: given.networkServer ?? '',
        networkServerApplicationId: given.networkServerApplicationID ?? '',
        networkServerApplicationName: given.networkServerApplicationName ?? '',
        networkServerProfileName: given.networkServerProfileName ?? '',
        devEuiPrefix: given.devEUIPrefix?.toLowerCase() ?? '',
        nameTemplate: given.nameTemplate ?? '',
        deviceProfileId: given.deviceProfileID ?? '',
        deviceProfileName: given.deviceProfileName ?? '',
        tags: given.tags ?? {},
      }
      return accepted(await registry.registrationRules.create(application.id, settings, viewer))
    },
  })
}

function removeRule(registry: RegistrationRuleRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/registration-rules/:id',
    may: inOrganization('application.write', 'query.organizationID'),
    schema: {
      operationId: 'deleteRegistrationRule',
      summary: 'Remove a registration rule',
      description: 'Devices that it has registered stay.',
      params: Type.Object({ id: opaqueId('Rule id.') }),
      querystring: Type.Object({ organizationID: id('Organization id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      demandUnrestricted(viewer)
      accepted(await registry.registrationRules.remove(organizationId, request.params.id, viewer))
      return {}
    },
  })
}

function itemOf(rule: RegistrationRule): Static<typeof RuleItem> {
  return {
    id: rule.id,
    organizationID: rule.organizationId,
    applicationID: rule.applicationId,
    ofDeployment: rule.isOfDeployment,
    networkServer: rule.networkServer,
    networkServerApplicationID: rule.networkServerApplicationId,
    networkServerApplicationName: rule.networkServerApplicationName,
    networkServerProfileName: rule.networkServerProfileName,
    devEUIPrefix: rule.devEuiPrefix,
    nameTemplate: rule.nameTemplate,
    deviceProfileID: rule.deviceProfileId,
    deviceProfileName: rule.deviceProfileName,
    tags: { ...rule.tags },
    createdAt: timestamp(rule.createdAtMs),
  }
}
