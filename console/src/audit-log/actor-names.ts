import { useQuery } from '@tanstack/react-query'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { useOrganization } from '../shell/organization.tsx'

/**
 * The number of users whose names are fetched. A deployment with more users shows the ids of the
 * others.
 */
const NAMED = 1000

/**
 * The names of users by their ids: of all users for a global admin, of the organization's members
 * for its admins.
 */
export function useActorNames(): ReadonlyMap<string, string> {
  const { organization, isGlobalAdmin } = useOrganization()
  const path = isGlobalAdmin ? '/api/users' : `/api/organizations/${organization.id}/users`
  const people = useQuery({
    queryKey: [path, 'names'],
    queryFn: ({ signal }) =>
      request<Listed<{ readonly id?: string; readonly userID?: string; readonly username: string }>>('GET', path, {
        query: { limit: NAMED },
        signal,
      }),
    staleTime: 60_000,
    select: ({ result }) => new Map(result.map(({ id, userID, username }) => [userID ?? id ?? '', username])),
  })
  return people.data ?? NOBODY
}

const NOBODY: ReadonlyMap<string, string> = new Map()
