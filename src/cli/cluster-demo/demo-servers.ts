/** Three servers of NATS and a PostgreSQL, with fresh data, on this machine alone. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { CommandFailure } from '../terminal/command-failure.ts'
import { DemoProcess } from './demo-process.ts'

const SERVERS = 3
const READY_MS = 60_000
const LOOK_AGAIN_MS = 100
/** PostgreSQL refuses to run as root. Its package has made this user. */
const POSTGRESQL_USER = 'postgres'

export interface DemoNats {
  readonly servers: readonly DemoProcess[]
  readonly urls: readonly string[]
  readonly monitoringUrls: readonly string[]
}

/** Starts the servers, each of which is added to `started` at once. Resolves when they answer. */
export async function startNats(program: string, folder: string, started: DemoProcess[]): Promise<DemoNats> {
  const ports = await freePorts(3 * SERVERS)
  const [clients, monitors, routes] = [0, 1, 2].map((part) => ports.slice(part * SERVERS, (part + 1) * SERVERS)) as [
    number[],
    number[],
    number[],
  ]
  const servers: DemoProcess[] = []
  for (let number = 0; number < SERVERS; number += 1) {
    const name = `nats${number + 1}`
    const configuration = join(folder, `${name}.conf`)
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${clients[number]}"`,
      `http: "127.0.0.1:${monitors[number]}"`,
      `jetstream { store_dir: ${JSON.stringify(join(folder, name))}, sync_interval: always }`,
      `cluster { name: demonstration, listen: "127.0.0.1:${routes[number]}", routes: ${JSON.stringify(routes.map((port) => `nats://127.0.0.1:${port}`))} }`,
    ]
    await writeFile(configuration, `${lines.join('\n')}\n`)
    const server = new DemoProcess({ name, command: program, args: ['-c', configuration], folder })
    servers.push(server)
    started.push(server)
  }
  const monitoringUrls = monitors.map((port) => `http://127.0.0.1:${port}`)
  await healthy(servers, monitoringUrls)
  return { servers, urls: clients.map((port) => `nats://127.0.0.1:${port}`), monitoringUrls }
}

/** Resolves when each server takes streams. */
async function healthy(servers: readonly DemoProcess[], monitoringUrls: readonly string[]): Promise<void> {
  for (let waitedMs = 0; waitedMs < READY_MS; waitedMs += LOOK_AGAIN_MS) {
    const ended = servers.find(({ hasEnded }) => hasEnded)
    if (ended !== undefined) throw new CommandFailure(`${ended.name} did not start: see ${ended.logFile}.`)
    const answers = monitoringUrls.map(async (url) => (await fetch(`${url}/healthz`)).ok)
    if ((await Promise.allSettled(answers)).every((one) => one.status === 'fulfilled' && one.value)) return
    await wait(LOOK_AGAIN_MS)
  }
  throw new CommandFailure('The servers of NATS did not find one another.')
}

/** Starts PostgreSQL, which is added to `started` at once. Resolves with the URL of a database. */
export async function startPostgreSql(programs: string, folder: string, started: DemoProcess[]): Promise<string> {
  const own = join(folder, 'postgresql')
  const data = join(own, 'data')
  await mkdir(own)
  const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined
  if (owner !== undefined) await chown(own, owner.uid, owner.gid)
  const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  const made = spawnSync(join(programs, 'initdb'), options, { encoding: 'utf8', cwd: own, ...owner })
  if (made.status !== 0) throw new CommandFailure(`initdb failed: ${made.error?.message ?? made.stderr}`)
  const [port] = await freePorts(1)
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '' }
  const args = ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])]
  const server = new DemoProcess({ name: 'postgresql', command: join(programs, 'postgres'), args, owner, folder: own })
  started.push(server)
  await server.says(/database system is ready to accept connections/)
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}

function idOf(option: '-u' | '-g'): number {
  const { status, stdout } = spawnSync('id', [option, POSTGRESQL_USER], { encoding: 'utf8' })
  if (status !== 0) {
    throw new CommandFailure(`PostgreSQL does not run as root, and there is no user ${POSTGRESQL_USER} for it.`)
  }
  return Number(stdout)
}

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(holders.map((holder) => once(holder, 'listening')))
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port)
  await Promise.all(holders.map((holder) => once(holder.close(), 'close')))
  return ports
}
