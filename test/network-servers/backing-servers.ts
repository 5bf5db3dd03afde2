/**
 * The servers that ChirpStacks need: PostgreSQL, Redis and brokers, on free ports, with data in a
 * folder of the test.
 */
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { outputOf } from '../support/program.ts'
import { Part } from './part.ts'
import type { Programs } from './programs.ts'

/** A server that can be stopped, killed and started again on its port with its data. */
export interface BackingServer {
  readonly port: number
  readonly part: Part
}

export interface PostgreSql extends BackingServer {
  /** Makes a database with the extensions that ChirpStack wants. */
  createDatabase(name: string): Promise<void>
  /**
   * Ends every connection without a further write, as a crash does. The server can be started
   * again.
   */
  crash(): Promise<void>
}

/** PostgreSQL refuses to run as root. Debian's package has made this user. */
const POSTGRESQL_USER = 'postgres'

/**
 * An empty cluster, whose user is `postgres`. Nothing is synced: the data survives a crash of
 * PostgreSQL, but not of the machine.
 */
export async function startPostgreSql(
  programs: Pick<Programs, 'postgreSqlFolder'>,
  folder: string,
): Promise<PostgreSql> {
  const own = join(folder, 'postgresql')
  const data = join(own, 'data')
  await mkdir(own, { recursive: true })
  const isRoot = process.getuid?.() === 0
  if (isRoot) await chown(own, Number(idOf('-u')), Number(idOf('-g')))
  const as = isRoot ? [`--reuid=${POSTGRESQL_USER}`, `--regid=${POSTGRESQL_USER}`, '--init-groups'] : ['--']
  const initdb = join(programs.postgreSqlFolder, 'initdb')
  const settings = ['-D', data, '--no-sync', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  await outputOf('setpriv', [...as, initdb, ...settings])
  const { port, part } = await startPostgreSqlOn(data, {
    name: 'PostgreSQL',
    programsFolder: programs.postgreSqlFolder,
    folder: own,
    ready: /database system is ready to accept connections/,
  })
  const run = (database: string, statement: string): Promise<string> =>
    outputOf(join(programs.postgreSqlFolder, 'psql'), [
      `--dbname=postgresql://postgres@127.0.0.1:${port}/${database}`,
      '--quiet',
      '--set=ON_ERROR_STOP=1',
      `--command=${statement}`,
    ])
  return {
    port,
    part,
    createDatabase: async (name) => {
      await run('postgres', `create database ${name}`)
      for (const extension of ['pg_trgm', 'hstore']) await run(name, `create extension ${extension}`)
    },
    crash: () => part.kill('SIGQUIT'),
  }
}

/** A server of PostgreSQL whose data is there already. */
interface PostgreSqlOnData {
  readonly name: string
  readonly programsFolder: string
  /** The folder that the server starts in. */
  readonly folder: string
  /** The line of the log that says that the server is ready. */
  readonly ready: RegExp
}

/** A server on a folder of data that is there already. Nothing is synced. */
export async function startPostgreSqlOn(data: string, of: PostgreSqlOnData): Promise<BackingServer> {
  const { name, programsFolder, folder, ready } = of
  const port = await freePort()
  const options = {
    port,
    unix_socket_directories: '',
    listen_addresses: '127.0.0.1',
    fsync: 'off',
    max_connections: 500,
  }
  const part = new Part({
    name,
    command: join(programsFolder, 'postgres'),
    args: ['-D', data, ...Object.entries(options).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    ready,
    user: POSTGRESQL_USER,
    folder,
  })
  await part.start()
  return { port, part }
}

function idOf(option: '-u' | '-g'): string {
  return execFileSync('id', [option, POSTGRESQL_USER], { encoding: 'utf8' }).trim()
}

/** Redis without a disk. Each ChirpStack has its own database there, by number. */
export async function startRedis(programs: Programs, folder: string): Promise<BackingServer> {
  const own = join(folder, 'redis')
  await mkdir(own, { recursive: true })
  const port = await freePort()
  const part = new Part({
    name: 'Redis',
    command: programs.redisServer,
    args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--dir', own],
    ready: /Ready to accept connections/,
    folder: own,
  })
  await part.start()
  return { port, part }
}

/**
 * A mosquitto with its Sessions on disk; `lines` are added to its configuration, or replace the
 * open listener.
 */
export async function startBroker(
  programs: Pick<Programs, 'mosquitto'>,
  folder: string,
  name: string,
  lines?: (port: number) => readonly string[],
): Promise<BackingServer> {
  const own = join(folder, name)
  await mkdir(own, { recursive: true })
  const port = await freePort()
  const file = join(own, 'mosquitto.conf')
  const listener = lines?.(port) ?? [`listener ${port} 127.0.0.1`, 'allow_anonymous true']
  const common = ['persistence true', `persistence_location ${own}/`, 'max_queued_messages 1000000', 'log_dest stderr']
  // Otherwise it would drop its rights, and could not write into the folder.
  const user = process.getuid?.() === 0 ? ['user root'] : []
  await writeFile(file, [...listener, ...common, ...user, ''].join('\n'))
  const part = new Part({
    name: `mosquitto (${name})`,
    command: programs.mosquitto,
    args: ['-c', file],
    ready: /mosquitto version \S+ running/,
    folder: own,
  })
  await part.start()
  return { port, part }
}
