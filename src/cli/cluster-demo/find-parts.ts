/** Finds the programs that a demonstration of several nodes needs, on this machine. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isCurrentServer } from '../../engine/nats/server-version.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface Parts {
  /** The program of the servers of NATS. */
  readonly natsServer: string
  /** The folder with `initdb` and `postgres`. */
  readonly postgreSqlFolder: string
}

/** Debian puts PostgreSQL's programs here, in a folder for each version. */
const DEBIAN_POSTGRESQL = '/usr/lib/postgresql'
/** Folders of servers, which the PATH of a user may lack. */
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin']

const NATS_HINT =
  'nats-server 2.15 or newer is not here: get one from https://github.com/nats-io/nats-server/releases, and put it on the PATH or name its file in FIELDGATE_NATS_SERVER'
const POSTGRESQL_HINT =
  'PostgreSQL is not here: install it (Debian: apt-get install postgresql), or put initdb on the PATH'

/** Throws CommandFailure with a sentence for each part that is missing. */
export function findParts(environment: Environment): Parts {
  const natsServer = findNatsServer(environment)
  const postgreSqlFolder = findPostgreSql(environment)
  if (natsServer !== undefined && postgreSqlFolder !== undefined) return { natsServer, postgreSqlFolder }
  const missing = [
    ...(natsServer === undefined ? [NATS_HINT] : []),
    ...(postgreSqlFolder === undefined ? [POSTGRESQL_HINT] : []),
  ]
  throw new CommandFailure(`Several nodes need other programs.\n  ${missing.join('.\n  ')}.`)
}

/** The first current one; a program that is named in the environment must be current. */
function findNatsServer(environment: Environment): string | undefined {
  const given = environment['FIELDGATE_NATS_SERVER'] ?? ''
  const candidates =
    given === '' ? [...foldersOf(environment), ...SERVER_FOLDERS].map((folder) => join(folder, 'nats-server')) : [given]
  return candidates.find((file) => existsSync(file) && isCurrent(file))
}

function isCurrent(program: string): boolean {
  const { stdout } = spawnSync(program, ['-v'], { encoding: 'utf8' })
  return isCurrentServer(/v(\d\S*)/.exec(stdout ?? '')?.[1] ?? '')
}

/** The newest of Debian's, or the one on the PATH. */
function findPostgreSql(environment: Environment): string | undefined {
  const versions = existsSync(DEBIAN_POSTGRESQL) ? readdirSync(DEBIAN_POSTGRESQL) : []
  const debian = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_POSTGRESQL, version, 'bin'))
  return [...foldersOf(environment), ...debian].find(hasPostgreSql)
}

function hasPostgreSql(folder: string): boolean {
  return ['initdb', 'postgres'].every((name) => existsSync(join(folder, name)))
}

function foldersOf(environment: Environment): string[] {
  return (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}
