/** Finds the programs of real network servers, and reports the missing ones. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { describe, test } from 'node:test'

/** The programs that a test needs. */
export interface Programs {
  readonly chirpStackV4: string
  readonly chirpStackV3ApplicationServer: string
  readonly chirpStackV3NetworkServer: string
  /** The folder with `initdb` and `postgres`. */
  readonly postgreSqlFolder: string
  readonly redisServer: string
  readonly mosquitto: string
}

/** The names under which a network server's program may be found; the first found one counts. */
const CHIRPSTACK = {
  chirpStackV4: ['chirpstack-v4', 'chirpstack'],
  chirpStackV3ApplicationServer: ['chirpstack-application-server'],
  chirpStackV3NetworkServer: ['chirpstack-network-server'],
} as const

const CHIRPSTACK_HINT =
  'set FIELDGATE_TEST_CHIRPSTACK to a folder with chirpstack-v4, chirpstack-application-server and ' +
  'chirpstack-network-server (each as it is or as .xz), or put them on the PATH'

/** Debian installs servers where only root looks for programs. */
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/** All programs, or a sentence that names the missing ones and says how to get them. */
type Found =
  | { readonly programs: Programs; readonly missing: undefined }
  | { readonly programs: undefined; readonly missing: string }

/** Looks for all programs, and unpacks the programs that exist as `.xz`. */
export async function findPrograms(): Promise<Found> {
  const folder = process.env['FIELDGATE_TEST_CHIRPSTACK'] ?? ''
  const chirpStack: Record<string, string | undefined> = {}
  for (const [name, files] of Object.entries(CHIRPSTACK)) chirpStack[name] = await findChirpStack(folder, files)
  const { chirpStackV4, chirpStackV3ApplicationServer, chirpStackV3NetworkServer } = chirpStack
  const postgreSqlFolder = findPostgreSql()
  const redisServer = onPath('redis-server')
  const mosquitto = onPath('mosquitto')
  const debian = [
    ...(postgreSqlFolder === undefined ? ['postgresql'] : []),
    ...(redisServer === undefined ? ['redis-server'] : []),
    ...(mosquitto === undefined ? ['mosquitto'] : []),
    ...(onPath('setpriv') === undefined ? ['util-linux'] : []),
    ...(onPath('xz') === undefined ? ['xz-utils'] : []),
  ]
  if (
    chirpStackV4 === undefined ||
    chirpStackV3ApplicationServer === undefined ||
    chirpStackV3NetworkServer === undefined ||
    postgreSqlFolder === undefined ||
    redisServer === undefined ||
    mosquitto === undefined ||
    debian.length > 0
  ) {
    const servers = Object.entries(CHIRPSTACK)
      .filter(([name]) => chirpStack[name] === undefined)
      .map(([, files]) => files[0])
    const parts = [
      ...(servers.length > 0 ? [`${servers.join(', ')} (${CHIRPSTACK_HINT})`] : []),
      ...(debian.length > 0 ? [`${debian.join(', ')} (Debian: apt-get install ${debian.join(' ')})`] : []),
    ]
    return { programs: undefined, missing: `real network servers are not here: ${parts.join('; ')}` }
  }
  const programs = {
    chirpStackV4,
    chirpStackV3ApplicationServer,
    chirpStackV3NetworkServer,
    postgreSqlFolder,
    redisServer,
    mosquitto,
  }
  return { programs, missing: undefined }
}

/**
 * A suite that needs real network servers. On a machine without them it counts as one skipped test,
 * which names the missing programs.
 */
export async function describeWithNetworkServers(
  title: string,
  options: { readonly timeout: number; readonly concurrency?: boolean },
  body: (programs: Programs) => void,
): Promise<void> {
  const { programs, missing } = await findPrograms()
  if (programs !== undefined) {
    await describe(title, options, () => body(programs))
    return
  }
  console.error(`SKIPPED: ${missing}`)
  await test(title, { skip: missing }, () => {})
}

async function findChirpStack(folder: string, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const file = join(folder, name)
    if (folder !== '' && existsSync(file)) return file
    if (folder !== '' && existsSync(`${file}.xz`)) return unpacked(`${file}.xz`)
    const found = onPath(name)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The unpacked program. It is unpacked once for each size and time of the packed file, even if many
 * tests ask at once.
 */
async function unpacked(packed: string): Promise<string> {
  const { size, mtimeMs } = statSync(packed)
  const cache = join(tmpdir(), `fieldgate-network-servers-${process.getuid?.() ?? 0}`)
  const file = join(cache, `${basename(packed, '.xz')}-${size}-${Math.floor(mtimeMs)}`)
  if (existsSync(file)) return file
  await mkdir(cache, { recursive: true, mode: 0o700 })
  const own = `${file}.${process.pid}`
  try {
    const target = await open(own, 'wx', 0o700)
    try {
      execFileSync('xz', ['--decompress', '--stdout', packed], { stdio: ['ignore', target.fd, 'inherit'] })
    } finally {
      await target.close()
    }
    await chmod(own, 0o755)
    await rename(own, file)
  } finally {
    await rm(own, { force: true })
  }
  return file
}

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return [...folders, ...SERVER_FOLDERS].map((folder) => join(folder, name)).find((file) => existsSync(file))
}

/** The reason for which no ChirpStack v4 can be started; undefined: it can. Unpacks nothing. */
export function noChirpStack(): string | undefined {
  const folder = process.env['FIELDGATE_TEST_CHIRPSTACK'] ?? ''
  const files = CHIRPSTACK.chirpStackV4.flatMap((name) => [join(folder, name), join(folder, `${name}.xz`)])
  const isHere =
    (folder !== '' && files.some((file) => existsSync(file))) ||
    CHIRPSTACK.chirpStackV4.some((name) => onPath(name) !== undefined)
  if (!isHere) return `ChirpStack v4 is not here: ${CHIRPSTACK_HINT}`
  const missing = ['redis-server', 'mosquitto'].filter((name) => onPath(name) === undefined)
  return missing.length === 0 ? undefined : `not here (Debian: apt-get install ${missing.join(' ')})`
}

/** The broker mosquitto; undefined: it is not here (Debian: apt-get install mosquitto). */
export function findMosquitto(): string | undefined {
  return onPath('mosquitto')
}

/** The folder of the programs. Debian has each version in its own folder; the newest counts. */
export function findPostgreSql(): string | undefined {
  const versions = '/usr/lib/postgresql'
  const found = existsSync(versions)
    ? readdirSync(versions)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, 'bin'))
    : []
  const initdb = onPath('initdb')
  const others = initdb === undefined ? [] : [join(initdb, '..')]
  return [...found, ...others].find((folder) => existsSync(join(folder, 'initdb')))
}
