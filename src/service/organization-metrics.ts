/** The use and the bounds of the organizations that are nearest to a bound, as metrics. */
import { Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import { BOUND_NAMES } from '../organization-bounds.ts'
import type { BoundName } from '../organization-bounds.ts'
import type { Parts } from './parts.ts'

/** Registers the two gauges. Their labels are the organization's id and the name of the bound. */
export function registerOrganizationBounds(registry: MetricsRegistry, parts: MeasuredParts): void {
  const { usage, bounds } = parts
  registry.registerMetric(
    byOrganization('fieldgate_organization_usage', 'The use that an organization makes of a bound.', parts, usedOf),
  )
  registry.registerMetric(
    byOrganization('fieldgate_organization_bound', 'The bound of an organization.', parts, boundsOf),
  )

  function* usedOf(organizationId: string): Generator<Value> {
    const uses = usage.usageOf(organizationId)
    for (const bound of BOUND_NAMES) {
      const used = uses[bound]
      if (used !== undefined) yield { bound, value: used }
    }
  }

  function* boundsOf(organizationId: string): Generator<Value> {
    const maximums = bounds.of(organizationId)
    for (const { bound } of usedOf(organizationId)) yield { bound, value: maximums[bound] }
  }
}

interface MeasuredParts {
  readonly usage: Pick<Parts['usage'], 'usageOf'>
  readonly bounds: Pick<Parts['bounds'], 'of'>
  /** Names the organizations of which there are metrics. */
  readonly nearBounds: Pick<Parts['nearBounds'], 'measured'>
}

interface Value {
  readonly bound: BoundName
  readonly value: number
}

function byOrganization(
  name: string,
  help: string,
  { nearBounds }: Pick<MeasuredParts, 'nearBounds'>,
  valuesOf: (organizationId: string) => Iterable<Value>,
): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: ['organization', 'bound'],
    registers: [],
    collect() {
      this.reset()
      for (const organization of nearBounds.measured) {
        for (const { bound, value } of valuesOf(organization)) this.set({ organization, bound }, value)
      }
    },
  })
}
