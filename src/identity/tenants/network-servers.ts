/** The network servers that global admins set up while the service runs. */
import { alreadyExists, done, notFound, refuse } from '../store/result.ts'
import type { Actor, Result } from '../store/result.ts'
import type { Store } from '../store/store.ts'

/** A network server that was set up here. */
export interface SetUpNetworkServer {
  readonly name: string
  /**
   * The settings of its kind, with the API key. The registry does not read them, and nobody is told
   * them.
   */
  readonly settings: Readonly<Record<string, unknown>>
  readonly createdAtMs: number
}

/** The network servers that were set up here; a file of settings may name others. */
export interface NetworkServers {
  /** Refusals: network_server_exists, too_many_network_servers. */
  add(
    networkServer: { readonly name: string; readonly settings: Readonly<Record<string, unknown>> },
    actor: Actor,
  ): Promise<Result<void>>
  /** Sorted by time. */
  list(): Promise<readonly SetUpNetworkServer[]>
  /** Refusal: network_server_not_found. */
  remove(name: string, actor: Actor): Promise<Result<void>>
}

/** The most network servers: each has a connection and a synchronisation of its own. */
const MAXIMUM_NETWORK_SERVERS = 100

/** The network servers of a store. */
export function createNetworkServers(store: Store): NetworkServers {
  const { db } = store
  return {
    add: ({ name, settings }, actor) =>
      store.change(actor, async ({ trx, nowMs, audit }) => {
        const known = await trx.selectFrom('network_servers').select('name').execute()
        if (known.some((one) => one.name === name)) return alreadyExists('network_server_exists')
        if (known.length >= MAXIMUM_NETWORK_SERVERS) {
          const message = `there are ${MAXIMUM_NETWORK_SERVERS} network servers already`
          return refuse('resource_exhausted', 'too_many_network_servers', message)
        }
        const row = { name, settings: JSON.stringify(settings), created_at: nowMs }
        await trx.insertInto('network_servers').values(row).execute()
        await audit('network_server.added', name, null, {})
        return done
      }),

    async list() {
      const rows = await db.selectFrom('network_servers').selectAll().orderBy('created_at').orderBy('name').execute()
      return rows.map(({ name, settings, created_at: createdAtMs }) => ({
        name,
        settings: JSON.parse(settings) as Readonly<Record<string, unknown>>,
        createdAtMs,
      }))
    },

    remove: (name, actor) =>
      store.change(actor, async ({ trx, audit }) => {
        const removed = await trx
          .deleteFrom('network_servers')
          .where('name', '=', name)
          .returning('name')
          .executeTakeFirst()
        if (removed === undefined) return notFound('network_server_not_found')
        await audit('network_server.removed', name, null, {})
        return done
      }),
  }
}
