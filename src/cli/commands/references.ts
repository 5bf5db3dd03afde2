/** Ids by names: people give names, the API takes ids. An id is all digits, or a UUID. */
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** The id of an organization that is named by its id or its name. */
export async function organizationIdOf(client: ApiClient, reference: string): Promise<string> {
  return idOf(client, { path: '/api/organizations', kind: 'organization', member: 'name' }, reference)
}

/** The id of a user that is named by its id or its user name. */
export async function userIdOf(client: ApiClient, reference: string): Promise<string> {
  return idOf(client, { path: '/api/users', kind: 'user', member: 'email' }, reference)
}

/**
 * The id of an application that is named by its id, by its name, or by `organization/name` when two
 * organizations have an application of that name.
 */
export async function applicationIdOf(client: ApiClient, reference: string): Promise<string> {
  const [organization, name] = reference.includes('/') ? reference.split('/', 2) : [undefined, reference]
  const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
  const where = { path: '/api/applications', kind: 'application', member: 'name', query: { organizationID } }
  return idOf(client, where, name ?? '')
}

/** The id of a metrics token that is named by its id or its name. */
export async function metricsTokenIdOf(client: ApiClient, reference: string): Promise<string> {
  return idOf(client, { path: '/api/metrics-tokens', kind: 'metrics token', member: 'name' }, reference)
}

/** The id of an API key of the owner whose keys are at the path, named by its id or its name. */
export async function apiKeyIdOf(client: ApiClient, path: string, reference: string): Promise<string> {
  if (API_KEY_ID.test(reference)) {
    // A name may look like an id. The list of an owner has a hundred keys at most.
    const { result } = await listPage(client, path, { limit: 1000 })
    if (result.some((key) => textOf(key, 'id') === reference)) return reference
  }
  return idOf(client, { path, kind: 'API key', member: 'name' }, reference)
}

const API_KEY_ID = /^[0-9A-Za-z]{12}$/

/** The id of a webhook that is named by its id or its name. `path` lists the organization's. */
export async function webhookIdOf(client: ApiClient, path: string, reference: string): Promise<string> {
  return idOf(client, { path, kind: 'webhook', member: 'name' }, reference)
}

/** The id of a device profile of the organization that is named by its id or its name. */
export async function deviceProfileIdOf(client: ApiClient, organizationID: string, reference: string): Promise<string> {
  return idOf(
    client,
    { path: '/api/device-profiles', kind: 'device profile', member: 'name', query: { organizationID } },
    reference,
  )
}

interface Where {
  readonly path: string
  readonly kind: string
  /** The member with the name. */
  readonly member: string
  readonly query?: Readonly<Record<string, string | undefined>>
}

/** The form of an id that a network server gave to an application. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

async function idOf(client: ApiClient, where: Where, reference: string): Promise<string> {
  if (/^\d+$/.test(reference) || UUID.test(reference)) return reference
  // The search finds all names that contain this one; there are rarely a thousand of them.
  const query = { ...where.query, search: reference, limit: 1000 }
  const { result } = await listPage(client, where.path, query)
  const wanted = reference.toLowerCase()
  const found = result.filter((item) => textOf(item, where.member).toLowerCase() === wanted)
  if (found.length > 1) {
    const ids = found.map((item) => textOf(item, 'id')).join(', ')
    throw new CommandFailure(`There are several ${where.kind}s named ${reference}: give one of the ids ${ids}.`)
  }
  const [only] = found
  if (only === undefined) throw new CommandFailure(`There is no ${where.kind} ${reference}.`)
  return textOf(only, 'id')
}

function textOf(item: JsonObject, member: string): string {
  const value = item[member]
  return typeof value === 'string' ? value : ''
}
