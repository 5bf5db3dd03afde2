/** The bounds of an organization and its use of them: `/api/organizations/{id}/bounds`. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { BOUND_NAMES, NEAR_SHARE, ORGANIZATION_BOUNDS, usedShare } from '../../organization-bounds.ts'
import type { BoundName, BoundOverrides, OrganizationBounds, OrganizationUsage } from '../../organization-bounds.ts'
import { inOrganization } from '../api/access.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import { BoundNameSchema, BoundUnitSchema, Empty, flag, id, responses } from '../api/fields.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** The parts of the registry that the bounds need. */
export type BoundsRegistry = OwnershipRegistry & Pick<Registry, 'organizationBounds'>

/** The bounds and the use of them, in the running service. */
export interface OrganizationBoundsView {
  /** The bounds of each organization without others. */
  readonly deployment: OrganizationBounds
  /** The present use, by bound. A bound that no part of the service counts is left out. */
  usageOf(organizationId: string): OrganizationUsage | Promise<OrganizationUsage>
}

const BoundItem = Type.Object(
  {
    name: BoundNameSchema,
    unit: BoundUnitSchema,
    description: Type.String({ description: 'Says what the bound counts.' }),
    maximum: Type.Integer({ description: 'The bound in force.' }),
    deploymentMaximum: Type.Integer({ description: 'The bound of organizations that were given no other one.' }),
    isOverridden: flag('Whether a global admin has given this organization a bound of its own.'),
    used: Type.Union([Type.Number(), Type.Null()], {
      description:
        'The present use; of a rate to one decimal. null where nothing counts it, and where the service does not run.',
    }),
    isNear: flag(`Whether ${NEAR_SHARE * 100} % of the bound or more are used.`),
  },
  { description: 'A bound of an organization', [NAME]: 'OrganizationBound' },
)

const Changes = Type.Object(
  // The registry has the rule, and its refusal names the range.
  Object.fromEntries(BOUND_NAMES.map((name) => [name, changeOf(name)])) as Record<
    BoundName,
    ReturnType<typeof changeOf>
  >,
  { description: 'New bounds. Bounds that are left out stay.', [NAME]: 'OrganizationBoundChanges' },
)

function changeOf(name: BoundName) {
  const { minimum, maximum, description } = ORGANIZATION_BOUNDS[name]
  return Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: `${description} null for the deployment’s bound.`,
      [RULE]: `must be an integer from ${minimum} to ${maximum}, or null for the deployment’s bound`,
      [DOCUMENTED]: { type: ['integer', 'null'], minimum, maximum },
    }),
  )
}

const Parameters = Type.Object({ id: id('Organization id.') })

/** The routes of an organization's bounds. */
export function organizationBoundRoutes(registry: BoundsRegistry, view: OrganizationBoundsView): readonly Route[] {
  return resource('Organizations', [getBounds(registry, view), changeBounds(registry)])
}

function getBounds(registry: BoundsRegistry, view: OrganizationBoundsView): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id/bounds',
    may: inOrganization('organization.read', 'params.id'),
    schema: {
      operationId: 'getOrganizationBounds',
      summary: 'Get the bounds of an organization',
      description: 'All bounds of the organization, and how much of each bound it uses now.',
      params: Parameters,
      response: responses(Type.Object({ bounds: Type.Array(BoundItem) }, { [NAME]: 'OrganizationBounds' })),
    },
    handle: async ({ organizationId }) => {
      const overrides = await registry.organizationBounds.of(organizationId)
      const usage = await view.usageOf(organizationId)
      return { bounds: BOUND_NAMES.map((name) => itemOf(name, view.deployment[name], overrides, usage)) }
    },
  })
}

function changeBounds(registry: BoundsRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/organizations/:id/bounds',
    may: inOrganization('organization.govern', 'params.id'),
    schema: {
      operationId: 'updateOrganizationBounds',
      summary: 'Change the bounds of an organization',
      description:
        'Bounds that are left out stay; null goes back to the bound of the deployment. A change is in force at once. A ' +
        'lower bound takes nothing away that the organization already has, except stored messages.',
      params: Parameters,
      body: Type.Object({ bounds: Changes }),
      response: responses(Empty),
    },
    before: ({ body }) => {
      // Elsewhere unknown members are ignored. Here a typing error would leave an organization
      // without the bound that its admin believes in.
      if (Object.keys(body.bounds).some((name) => !Object.hasOwn(ORGANIZATION_BOUNDS, name))) {
        throw invalidArgument(`bounds: must have no other members than ${BOUND_NAMES.join(', ')}`)
      }
    },
    handle: async ({ viewer, organizationId }, request) => {
      accepted(await registry.organizationBounds.change(organizationId, request.body.bounds, viewer))
      return {}
    },
  })
}

function itemOf(name: BoundName, deploymentMaximum: number, overrides: BoundOverrides, usage: OrganizationUsage) {
  const { unit, description } = ORGANIZATION_BOUNDS[name]
  const maximum = overrides[name] ?? deploymentMaximum
  const exact = usage[name]
  // A rate is an average: more digits would tell nothing.
  const used = exact === undefined ? null : Math.round(exact * 10) / 10
  const isNear = used !== null && usedShare(used, maximum) >= NEAR_SHARE
  const isOverridden = overrides[name] !== undefined
  return { name, unit, description, maximum, deploymentMaximum, isOverridden, used, isNear }
}
