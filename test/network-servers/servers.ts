/**
 * The servers that all ChirpStacks of a test process share, in a folder that is removed with them.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBroker, startPostgreSql, startRedis } from './backing-servers.ts'
import type { BackingServer, PostgreSql } from './backing-servers.ts'
import type { Programs } from './programs.ts'

export interface Servers {
  readonly programs: Programs
  readonly folder: string
  readonly postgreSql: PostgreSql
  readonly redis: BackingServer
  /** The broker to which gateways and ChirpStacks connect. */
  readonly gatewayBroker: BackingServer
  /**
   * Registers a function that is called before the servers close; the last registered one runs
   * first.
   */
  closing(close: () => Promise<unknown>): void
  close(): Promise<void>
}

export async function startServers(programs: Programs): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-network-servers-'))
  // PostgreSQL runs as another user, and has its data in this folder.
  await chmod(folder, 0o755)
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    const failures: unknown[] = []
    for (const closer of closers.splice(0).toReversed()) {
      try {
        await closer()
      } catch (error) {
        failures.push(error)
      }
    }
    await rm(folder, { recursive: true, force: true })
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed')
  }
  try {
    const [postgreSql, redis, gatewayBroker] = await Promise.all([
      startPostgreSql(programs, folder),
      startRedis(programs, folder),
      startBroker(programs, folder, 'gateways'),
    ])
    for (const { part } of [postgreSql, redis, gatewayBroker]) closers.push(() => part.stop())
    return { programs, folder, postgreSql, redis, gatewayBroker, close, closing: (closer) => void closers.push(closer) }
  } catch (error) {
    await close()
    throw error
  }
}
