/** The use that an organization makes of its bounds at all nodes. */
import { BOUND_NAMES } from '../organization-bounds.ts'
import type { BoundName, OrganizationUsage } from '../organization-bounds.ts'
import type { Bus } from '../nodes.ts'
import type { UsageSource } from './organization-usage.ts'

/** How long the nodes are asked: a person waits. */
const ASK_MS = 500
const KIND = 'views.usage'

/**
 * Makes the use of all nodes from that of this one, and answers the other nodes from here on. A
 * node that does not answer counts for nothing. Without a bus this node is the deployment.
 */
export function usageOfNodes(
  here: Pick<UsageSource, 'usageOf'>,
  bus: Bus | undefined,
): (organizationId: string) => OrganizationUsage | Promise<OrganizationUsage> {
  if (bus === undefined) return (organizationId) => here.usageOf(organizationId)
  bus.serve(KIND, (body) => Buffer.from(JSON.stringify(here.usageOf(body.toString()))))
  return async (organizationId) => {
    const { answers } = await bus.gather(KIND, Buffer.from(organizationId), ASK_MS)
    const others = answers.map(({ body }) => JSON.parse(body.toString()) as OrganizationUsage)
    return joined([here.usageOf(organizationId), ...others])
  }
}

/** The log and the retained messages are the same for all nodes; everything else is added up. */
const SHARED: ReadonlySet<BoundName> = new Set(['storedBytes', 'retainedMessages', 'retainedBytes'])

function joined(all: readonly OrganizationUsage[]): OrganizationUsage {
  const usage: { [Name in BoundName]?: number } = {}
  for (const bound of BOUND_NAMES) {
    const used = all.map((one) => one[bound]).filter((one) => one !== undefined)
    if (used.length === 0) continue
    usage[bound] = SHARED.has(bound) ? Math.max(...used) : used.reduce((sum, one) => sum + one, 0)
  }
  return usage
}
