/** Names in the place of ids, for the tables that people read. */
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'

/** The lists that have names, and the member with the name. */
const MEMBERS = { organizations: 'name', applications: 'name', users: 'email' } as const

/** The names of one page are read; objects after it are shown by their ids. */
const MAXIMUM_NAMES = 1000

/** Returns a function from ids to names. The function returns an unknown id, or "", as it is. */
export async function namesOf(client: ApiClient, kind: keyof typeof MEMBERS): Promise<(id: unknown) => unknown> {
  const { result } = await listPage(client, `/api/${kind}`, { limit: MAXIMUM_NAMES })
  const names = new Map(result.map((item) => [item['id'], item[MEMBERS[kind]]]))
  return (id) => names.get(id) ?? id
}
