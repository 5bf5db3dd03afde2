/** The bounds of an organization, and its use of them. */
import { useQuery } from '@tanstack/react-query'
import type { BoundName, BoundUnit } from '../../../src/organization-bounds.ts'
import { request } from './request.ts'

/** A bound of an organization. */
export interface Bound {
  readonly name: BoundName
  readonly unit: BoundUnit
  /** The bound in force. */
  readonly maximum: number
  /** The bound of organizations without a bound of their own. */
  readonly deploymentMaximum: number
  readonly isOverridden: boolean
  /** The present use; null where the service does not count it. */
  readonly used: number | null
}

/** A bound that an organization has nearly reached, or has reached. */
export interface NearBound {
  readonly organizationID: string
  /** The name for people; "" for an organization that is gone. */
  readonly organizationName: string
  readonly bound: BoundName
  readonly unit: BoundUnit
  readonly used: number
  readonly maximum: number
}

/** Often enough for a person who watches a use grow. */
const ASKING_MS = 10_000

/**
 * The path of an organization's bounds. It is also the first member of their key in the cache.
 */
export function boundsPath(organizationId: string): string {
  return `/api/organizations/${encodeURIComponent(organizationId)}/bounds`
}

/** The bounds and their use, asked for again while the page is visible. */
export function useBounds(organizationId: string) {
  const path = boundsPath(organizationId)
  return useQuery({
    queryKey: [path],
    queryFn: async ({ signal }) =>
      (await request<{ readonly bounds: readonly Bound[] }>('GET', path, { signal })).bounds,
    refetchInterval: ASKING_MS,
  })
}

/** Gives the organization a bound of its own. `null` goes back to the bound of the deployment. */
export function changeBound(organizationId: string, name: BoundName, maximum: number | null): Promise<unknown> {
  return request('PUT', boundsPath(organizationId), { body: { bounds: { [name]: maximum } } })
}
