/**
 * Opens the client of a deployment: through the service that runs on its data directory, or over
 * the registry of that directory when no service runs.
 */
import type { Settings } from '../../settings/settings.ts'
import { registryPlaceOf } from '../../service/registry-place.ts'
import { systemClock } from '../../clock.ts'
import { openRegistry } from '../../identity/registry.ts'
import type { Registry } from '../../identity/registry.ts'
import { RegistryError } from '../../identity/store/migrations.ts'
import type { User } from '../../identity/people/users.ts'
import { createApiClient } from './api-client.ts'
import type { ApiClient } from './api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { reachDeployment } from './reach-deployment.ts'
import type { ServiceAddress } from './reach-deployment.ts'
import { createRemoteCarrier } from './remote-carrier.ts'
import type { AuthorizedService } from './remote-carrier.ts'

/**
 * Opens a client with the session of `userName`, or of the first global admin. Everybody who can
 * read the data directory may do this: the session is signed with the registry's own key. Throws
 * CommandFailure when the directory is missing, unusable or busy.
 */
export async function openApiClient(
  settings: Settings,
  options: { readonly purpose: string; readonly userName?: string | undefined },
): Promise<ApiClient> {
  const reached = await reachDeployment(settings, options.purpose)
  return reached.kind === 'alone'
    ? openAlone(settings, options.userName, () => reached.dataDirectory.release())
    : openRunning(settings, options.userName, reached.service)
}

async function openRunning(
  settings: Settings,
  userName: string | undefined,
  service: ServiceAddress,
): Promise<ApiClient> {
  return createApiClient(await createRemoteCarrier(await authorize(settings, service, userName)))
}

/**
 * Makes a session of `userName`, or of the first global admin, for the running service. Throws
 * CommandFailure when there is no such user.
 */
export async function authorize(
  settings: Settings,
  service: ServiceAddress,
  userName: string | undefined,
): Promise<AuthorizedService> {
  const registry = await openRegistryOf(settings)
  try {
    return { ...service, jwt: await sessionOf(registry, userName) }
  } finally {
    await registry.close()
  }
}

async function openAlone(
  settings: Settings,
  userName: string | undefined,
  release: () => Promise<void>,
): Promise<ApiClient> {
  const opened: (() => Promise<void>)[] = [release]
  const closeAll = async () => {
    for (const close of opened.toReversed()) await close()
  }
  try {
    const registry = await openRegistryOf(settings)
    opened.push(() => registry.close())
    // The HTTP server is most of the program, so it is loaded only when no service runs.
    const { createInProcessCarrier } = await import('./in-process-carrier.ts')
    const carrier = await createInProcessCarrier(registry, settings, await sessionOf(registry, userName))
    opened.push(() => carrier.close())
    return createApiClient({ send: (...request) => carrier.send(...request), close: closeAll })
  } catch (error) {
    await closeAll()
    throw error
  }
}

const USERS_PER_PAGE = 1000

async function openRegistryOf(settings: Settings): Promise<Registry> {
  const { sessionTtlSeconds } = settings
  try {
    return await openRegistry({ ...registryPlaceOf(settings), clock: systemClock, sessionTtlSeconds })
  } catch (error) {
    throw error instanceof RegistryError ? new CommandFailure(`${error.message}.`) : error
  }
}

async function sessionOf(registry: Registry, userName: string | undefined): Promise<string> {
  const user = userName === undefined ? await firstAdmin(registry) : await registry.users.getByEmail(userName)
  if (user === undefined) {
    throw new CommandFailure(
      userName === undefined ? 'There is no active admin yet. Run `fieldgate init`.' : `There is no user ${userName}.`,
    )
  }
  return registry.tokens.issueOperatorSession(user)
}

/** Reads users by pages until the first active admin; few users come before that admin. */
async function firstAdmin(registry: Registry): Promise<User | undefined> {
  const limit = USERS_PER_PAGE
  for (let offset = 0; ; offset += limit) {
    const { items } = await registry.users.list({ limit, offset })
    const admin = items.find(({ isAdmin, isActive }) => isAdmin && isActive)
    if (admin !== undefined || items.length < limit) return admin
  }
}
