/** The inventories of network servers: looked at, imported, and kept in step. */
import type { Actor, Result } from '../../identity/store/result.ts'
import type { ImportReport, ImportSettings } from '../../lorawan/inventory/import-settings.ts'
import type { InventoryStep } from '../../lorawan/inventory/inventory-steps.ts'
import { OUTCOMES, PROFILE_MODES } from '../../lorawan/inventory/import-settings.ts'
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { Viewer } from '../../identity/store/result.ts'
import { inOrganization } from '../api/access.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import { choice, DevEui, Empty, flag, id, responses, timestamp, TimestampOrNull } from '../api/fields.ts'
import { demandGlobalAdmin } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import { WritableDevice } from '../devices/device-fields.ts'

/** A network server whose inventory an organization may import. */
export interface InventoryView {
  readonly networkServer: string
  readonly kind: string
  /** Whether it belongs to the whole deployment: only global admins read its inventory. */
  readonly isOfDeployment: boolean
  readonly step: InventoryStep | null
}

/** An import that somebody asks for. */
export interface AskedImport {
  readonly networkServer: string
  readonly isOfDeployment: boolean
  readonly settings: ImportSettings
}

/** The inventories of the deployment, as far as this interface needs them. */
export interface Inventories {
  list(organizationId: string, options: { readonly ofDeployment: boolean }): Promise<readonly InventoryView[]>
  /** Refusals: inventory_not_found, inventory_busy, and the codes of an unreadable inventory. */
  run(asked: AskedImport, options: { readonly isDryRun: boolean }, actor: Actor): Promise<Result<ImportReport>>
  /** Refusals: inventory_not_found, too_many_inventory_steps. */
  keepInStep(step: Omit<InventoryStep, 'organizationId' | 'last'>, actor: Actor): Promise<Result<void>>
  /** Refusal: inventory_step_not_found. */
  endStep(step: Pick<InventoryStep, 'networkServer' | 'organizationId'>, actor: Actor): Promise<Result<void>>
}

/** A reading takes five minutes at most, and the writing of 20,000 devices one. */
const IMPORT_TIMEOUT_MS = 600_000
const MAXIMUM_APPLICATIONS = 1_000
/** 5 minutes, and 7 days. */
const INTERVAL_SECONDS = [300, 604_800] as const
const SHORTEST_INTERVAL_SECONDS = INTERVAL_SECONDS[0]

const ProfileModeSchema = choice(PROFILE_MODES, {
  description:
    'IMPORT (when not given): device profiles are made of those of the network server, with their codecs. BY_NAME: devices get the profile here that has the same name. NONE: devices get no profile.',
  [NAME]: 'InventoryProfileMode',
})

const Settings = {
  applications: Type.Optional(
    Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 64 }), {
      maxProperties: MAXIMUM_APPLICATIONS,
      description:
        'Applications of the network server to applications here: {"<their id>": "<our id>"}. No others are imported. When not given, each goes to the application with the same id, or else with the same name. An empty object is good for a look alone, which then only lists the applications.',
    }),
  ),
  createApplications: Type.Optional(flag('Makes an application for each that has none here.')),
  profiles: Type.Optional(ProfileModeSchema),
  tags: WritableDevice.tags,
  ofDeployment: Type.Optional(
    flag('Reads a network server of the whole deployment with all its tenants. For global admins.'),
  ),
}

const Body = Type.Object({
  organizationID: id('The organization that the devices come to.'),
  dryRun: Type.Optional(flag('Only looks, and writes nothing.')),
  inventoryImport: Type.Object(Settings, { [NAME]: 'InventoryImport' }),
})

const StepBody = Type.Object({
  organizationID: id('The organization that is kept in step.'),
  inventoryStep: Type.Object(
    {
      ...Settings,
      intervalSeconds: Type.Optional(
        Type.Integer({
          minimum: SHORTEST_INTERVAL_SECONDS,
          maximum: INTERVAL_SECONDS[1],
          description: 'From one import to the next; 3600 when not given.',
        }),
      ),
      removeMissing: Type.Optional(
        flag(
          'Removes devices that an import made, and that the network server misses in two imports in a row. Devices of a missing application stay.',
        ),
      ),
    },
    { [NAME]: 'NewInventoryStep' },
  ),
})

const Outcome = choice(OUTCOMES, {
  description:
    'What happened, or with dryRun would happen. leftOut: it has no place here. missing: an application that `applications` names, and that the network server does not have.',
  [NAME]: 'InventoryOutcome',
})

const Said = {
  outcome: Outcome,
  reason: Type.String({ description: 'A stable code; "" for none.' }),
  message: Type.String(),
}

const Members = Type.Array(Type.String(), { description: 'The members that change.' })

const Report = Type.Object(
  {
    dryRun: Type.Boolean(),
    createdCount: Type.Integer({
      description: 'Devices that were created, or with dryRun would be; the others alike.',
    }),
    updatedCount: Type.Integer(),
    unchangedCount: Type.Integer(),
    refusedCount: Type.Integer(),
    missingCount: Type.Integer({
      description:
        'Devices that an earlier import made, and that the network server has no longer. They stay. Devices of a missing application are among them.',
    }),
    removedCount: Type.Integer({ description: 'Missing devices that were removed.' }),
    applications: Type.Array(
      Type.Object(
        {
          networkServerApplicationID: Type.String(),
          name: Type.String({ description: 'The id for a missing application.' }),
          applicationID: Type.String({ description: 'Here; "" for none.' }),
          ...Said,
        },
        { [NAME]: 'ImportedApplication' },
      ),
    ),
    deviceProfiles: Type.Array(
      Type.Object(
        {
          networkServerProfileID: Type.String(),
          name: Type.String(),
          deviceProfileID: Type.String({ description: 'Here; "" for none.' }),
          members: Members,
          ...Said,
        },
        { [NAME]: 'ImportedDeviceProfile' },
      ),
    ),
    devices: Type.Array(
      Type.Object(
        {
          devEUI: DevEui,
          joinEUI: Type.String({ description: '"" where the network server names none.' }),
          name: Type.String(),
          applicationID: Type.String(),
          members: Members,
          ...Said,
        },
        { [NAME]: 'ImportedDevice' },
      ),
      { description: 'The first 1000 devices that are created, updated or refused.' },
    ),
    missingDevEUIs: Type.Array(Type.String(), { description: 'The first 1000 missing devices.' }),
  },
  { description: 'What came of an import, or would come of it', [NAME]: 'InventoryReport' },
)

const Step = Type.Object(
  {
    intervalSeconds: Type.Integer(),
    removeMissing: Type.Boolean(),
    applications: Type.Record(Type.String(), Type.String(), { description: 'Empty: by ids and names.' }),
    createApplications: Type.Boolean(),
    profiles: ProfileModeSchema,
    tags: Type.Record(Type.String(), Type.String()),
    lastRunAt: TimestampOrNull,
    lastCode: Type.String({ description: 'The code of the fault of the last import; "" for none.' }),
    lastMessage: Type.String(),
    lastReport: Type.Union([Report, Type.Null()]),
  },
  { [NAME]: 'InventoryStep' },
)

const Item = Type.Object(
  {
    networkServer: Type.String({ description: 'The name of the network server.' }),
    kind: Type.String({ description: '"" where the network server of a step is there no more.' }),
    ofDeployment: Type.Boolean({ description: 'It belongs to the whole deployment: only global admins read it.' }),
    step: Type.Union([Step, Type.Null()], { description: 'Null: the organization is not kept in step with it.' }),
  },
  { description: 'A network server with an inventory', [NAME]: 'Inventory' },
)

const Named = Type.Object({ networkServer: Type.String({ maxLength: 40 }) })

/** The routes of inventories. */
export function inventoryRoutes(inventories: Inventories): readonly Route[] {
  return resource('Network servers', [
    listInventories(inventories),
    importInventory(inventories),
    setStep(inventories),
    removeStep(inventories),
  ])
}

function listInventories(inventories: Inventories): Route {
  return route({
    method: 'GET',
    url: '/api/inventories',
    may: inOrganization('inventory.manage', 'query.organizationID'),
    schema: {
      operationId: 'listInventories',
      summary: 'List the network servers with an inventory',
      description: 'The network servers whose inventory the organization may import.',
      querystring: Type.Object({ organizationID: id('Organization id.') }),
      response: responses(
        Type.Object({ totalCount: Type.String(), result: Type.Array(Item) }, { [NAME]: 'InventoryList' }),
      ),
    },
    handle: async ({ viewer, organizationId }) => {
      const items = await inventories.list(organizationId, { ofDeployment: viewer.isAdmin })
      return { totalCount: String(items.length), result: items.map(itemOf) }
    },
  })
}

function importInventory(inventories: Inventories): Route {
  return route({
    method: 'POST',
    url: '/api/inventories/:networkServer/import',
    may: inOrganization('inventory.manage', 'body.organizationID'),
    handlerTimeout: IMPORT_TIMEOUT_MS,
    schema: {
      operationId: 'importInventory',
      summary: 'Import the inventory of a network server',
      description:
        'Reads applications, devices and device profiles by the API of the network server. Devices are created, and devices of ' +
        'the organization change in the members that differ. With dryRun nothing is written. One import of an organization at a time.',
      params: Named,
      body: Body,
      response: responses(Report),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { dryRun = false, inventoryImport } = request.body
      if (inventoryImport.ofDeployment === true) demandGlobalAdmin(viewer)
      if (!dryRun) demandChoice(inventoryImport, 'inventoryImport')
      const { networkServer } = request.params
      const { ofDeployment = false } = inventoryImport
      const settings = settingsOf(inventoryImport, organizationId, viewer)
      const asked = { networkServer, isOfDeployment: ofDeployment, settings }
      return reportItem(accepted(await inventories.run(asked, { isDryRun: dryRun }, viewer)))
    },
  })
}

function setStep(inventories: Inventories): Route {
  return route({
    method: 'PUT',
    url: '/api/inventories/:networkServer/step',
    may: inOrganization('inventory.manage', 'body.organizationID'),
    schema: {
      operationId: 'setInventoryStep',
      summary: 'Keep an organization in step with a network server',
      description: 'Imports the inventory now, and then at the interval, until the step is removed.',
      params: Named,
      body: StepBody,
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const given = request.body.inventoryStep
      if (given.ofDeployment === true) demandGlobalAdmin(viewer)
      demandChoice(given, 'inventoryStep')
      const { intervalSeconds = 3600, removeMissing = false, ofDeployment = false } = given
      const step = {
        networkServer: request.params.networkServer,
        isOfDeployment: ofDeployment,
        settings: settingsOf(given, organizationId, viewer),
        intervalSeconds,
        removesMissing: removeMissing,
      }
      accepted(await inventories.keepInStep(step, viewer))
      return {}
    },
  })
}

function removeStep(inventories: Inventories): Route {
  return route({
    method: 'DELETE',
    url: '/api/inventories/:networkServer/step',
    may: inOrganization('inventory.manage', 'query.organizationID'),
    schema: {
      operationId: 'deleteInventoryStep',
      summary: 'Keep an organization in step no longer',
      description: 'Devices, profiles and applications that were imported stay.',
      params: Named,
      querystring: Type.Object({ organizationID: id('Organization id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { networkServer } = request.params
      accepted(await inventories.endStep({ networkServer, organizationId }, viewer))
      return {}
    },
  })
}

type Given = Static<typeof Body>['inventoryImport']

/** Refuses a choice of no application: a step with it would import nothing, for ever. */
function demandChoice({ applications }: Given, member: string): void {
  if (applications === undefined || Object.keys(applications).length > 0) return
  const rule = 'must name an application, or be left out for all by their ids and names'
  throw invalidArgument(`${member}.applications: ${rule}`)
}

/** Only global admins give an application its id, as when they create one by hand. */
function settingsOf(
  { applications, createApplications = false, profiles = 'IMPORT', tags = {} }: Given,
  organizationId: string,
  { isAdmin }: Viewer,
): ImportSettings {
  return { organizationId, applications, createsApplications: createApplications, givesIds: isAdmin, profiles, tags }
}

function itemOf({ networkServer, kind, isOfDeployment, step }: InventoryView): Static<typeof Item> {
  return { networkServer, kind, ofDeployment: isOfDeployment, step: step === null ? null : stepItem(step) }
}

function stepItem({ settings, intervalSeconds, removesMissing, last }: InventoryStep): Static<typeof Step> {
  return {
    intervalSeconds,
    removeMissing: removesMissing,
    applications: { ...settings.applications },
    createApplications: settings.createsApplications,
    profiles: settings.profiles,
    tags: { ...settings.tags },
    lastRunAt: last === null ? null : timestamp(last.ranAtMs),
    lastCode: last?.code ?? '',
    lastMessage: last?.message ?? '',
    lastReport: last === null || last.report === null ? null : reportItem(last.report),
  }
}

function reportItem(report: ImportReport): Static<typeof Report> {
  return {
    dryRun: report.isDryRun,
    createdCount: report.created,
    updatedCount: report.updated,
    unchangedCount: report.unchanged,
    refusedCount: report.refused,
    missingCount: report.missing,
    removedCount: report.removed,
    applications: report.applications.map(({ id: theirs, applicationId, ...said }) => ({
      ...said,
      networkServerApplicationID: theirs,
      applicationID: applicationId,
    })),
    deviceProfiles: report.profiles.map(({ id: theirs, deviceProfileId, members, ...said }) => ({
      ...said,
      networkServerProfileID: theirs,
      deviceProfileID: deviceProfileId,
      members: [...members],
    })),
    devices: report.devices.map(({ devEui, joinEui, applicationId, members, ...said }) => ({
      ...said,
      devEUI: devEui,
      joinEUI: joinEui,
      applicationID: applicationId,
      members: [...members],
    })),
    missingDevEUIs: [...report.missingDevEuis],
  }
}
