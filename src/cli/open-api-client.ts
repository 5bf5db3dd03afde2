/** Finds the way to a deployment: through the service that runs on its data directory, or by taking that directory itself. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Settings } from '../config.ts'
import { openDataDirectory, registryFileIn } from '../data-directory.ts'
import type { Holder } from '../data-directory.ts'
import { systemClock } from '../identity/clock.ts'
import { openRegistry } from '../identity/registry.ts'
import type { Registry } from '../identity/registry.ts'
import type { User } from '../identity/users.ts'
import { version } from '../version.ts'
import { createApiClient } from './api-client.ts'
import type { ApiClient } from './api-client.ts'
import { CommandFailure } from './command-failure.ts'
import { createRemoteCarrier } from './remote-carrier.ts'

/** How long a command waits for a service that is starting, or for another command, to be done. */
const PATIENCE_MS = 15_000
const LOOK_AGAIN_MS = 250

/**
 * A client with the session of `userName`, or of the first global admin. Whoever can read the data directory may do this: the
 * session is signed with the registry's own key. Throws CommandFailure when the directory is missing, unusable or busy.
 */
export async function openApiClient(
  settings: Settings,
  options: { readonly purpose: string; readonly userName?: string | undefined },
): Promise<ApiClient> {
  for (let waitedMs = 0; ; waitedMs += LOOK_AGAIN_MS) {
    const opened = await openDataDirectory(settings.dataDirectory, { ...options, clock: systemClock, mustExist: true })
    if (opened.ok) {
      const { dataDirectory } = opened
      return openAlone(settings, options.userName, () => dataDirectory.release())
    }
    if (opened.code !== 'in_use') throw new CommandFailure(opened.message)
    const { holder } = opened
    if (holder?.httpsAddress !== undefined) return openRunning(settings, options.userName, holder)
    if (waitedMs >= PATIENCE_MS) throw new CommandFailure(opened.message)
    await wait(LOOK_AGAIN_MS)
  }
}

async function openRunning(settings: Settings, userName: string | undefined, holder: Holder): Promise<ApiClient> {
  if (holder.version !== version) {
    const message = `The running service is Fieldgate ${holder.version}, this command is ${version}. Restart the service first.`
    throw new CommandFailure(message)
  }
  const registry = await openRegistryOf(settings)
  try {
    const { httpsAddress = '', certFile = '' } = holder
    const jwt = await sessionOf(registry, userName)
    return createApiClient(await createRemoteCarrier({ httpsAddress, certFile, jwt }))
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
    // Loaded only where no service runs: the HTTP server is most of the program.
    const { createInProcessCarrier } = await import('./in-process-carrier.ts')
    const carrier = await createInProcessCarrier(registry, settings, await sessionOf(registry, userName))
    opened.push(() => carrier.close())
    return createApiClient({ send: (...request) => carrier.send(...request), close: closeAll })
  } catch (error) {
    await closeAll()
    throw error
  }
}

function openRegistryOf(settings: Settings): Promise<Registry> {
  const file = registryFileIn(settings.dataDirectory)
  return openRegistry({ file, clock: systemClock, sessionTtlSeconds: settings.sessionTtlSeconds })
}

async function sessionOf(registry: Registry, userName: string | undefined): Promise<string> {
  const user = userName === undefined ? await firstAdmin(registry) : await registry.users.getByEmail(userName)
  if (user === undefined) {
    throw new CommandFailure(
      userName === undefined ? 'There is no active admin yet. Run `fieldgate init`.' : `There is no user ${userName}.`,
    )
  }
  return registry.tokens.issueSession(user)
}

/** Deployments have few users before their first admin; a thousand a page, and no more pages than there are users. */
async function firstAdmin(registry: Registry): Promise<User | undefined> {
  const limit = 1000
  for (let offset = 0; ; offset += limit) {
    const { items } = await registry.users.list({ limit, offset })
    const admin = items.find(({ isAdmin, isActive }) => isAdmin && isActive)
    if (admin !== undefined || items.length < limit) return admin
  }
}
