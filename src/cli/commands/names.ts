/** People read names, the API writes ids. */
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'

/** What lists name by id, and the member that has the name. */
const MEMBERS = { organizations: 'name', applications: 'name', users: 'email' } as const

/** As many as one page has. What comes after is shown by its id. */
const MAXIMUM_NAMES = 1000

/**
 * A function that knows the names of things of one kind by their ids. It leaves an id that it does
 * not know as it is, and "" too.
 */
export async function namesOf(client: ApiClient, kind: keyof typeof MEMBERS): Promise<(id: unknown) => unknown> {
  const { result } = await listPage(client, `/api/${kind}`, { limit: MAXIMUM_NAMES })
  const names = new Map(result.map((item) => [item['id'], item[MEMBERS[kind]]]))
  return (id) => names.get(id) ?? id
}
