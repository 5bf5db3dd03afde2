/** The brokers that are compared: how each is started, and how its version is found. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseRuntime } from '../bin/runtime.mjs'
import type { BrokerCommand } from './broker-process.ts'
import type { Certificate } from './certificate.ts'
import { anonymousDeployment } from './deployment.ts'
import type { Deployment } from './deployment.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/**
 * The program from the sources: the build runs the same code without its types, and profiles name
 * the lines of the sources.
 */
const fieldgateProgram = join(root, 'src', 'main.ts')
const runtime = chooseRuntime(root)
const nodeRuntime = chooseRuntime(root, 'node')
const aedesProgram = fileURLToPath(new URL('peers/aedes.ts', import.meta.url))
const bareNodeProgram = fileURLToPath(new URL('peers/bare-node.ts', import.meta.url))
const serviceProgram = fileURLToPath(new URL('peers/product-service.ts', import.meta.url))
const MOSQUITTO = '/usr/sbin/mosquitto'

/** The folder with a comparison's files. */
export interface Workspace {
  readonly directory: string
  readonly certificate: Certificate
}

export type BrokerName =
  | 'fieldgate'
  | 'fieldgate-service'
  | 'fieldgate-durable'
  | 'mosquitto'
  | 'mosquitto-persistent'
  | 'aedes'
  | 'bare-node'

export interface BrokerKind {
  readonly name: BrokerName
  /** True if the broker takes part when the command line names none. */
  readonly byDefault: boolean
  /** True if it syncs each message of QoS 1 to the disk before it acknowledges it. */
  readonly isDurable: boolean
  /** The name for people. */
  readonly title: string
  readonly version: () => string
  /** The reason why the broker can't be started here, as a sentence; undefined: it can. */
  readonly missing: () => string | undefined
  /** Called once before the first start; returns the credentials. */
  readonly prepare: (workspace: Workspace) => Deployment
  readonly command: (workspace: Workspace, port: number) => BrokerCommand
}

/** The brokers, in the order of the tables. */
export const BROKERS: readonly BrokerKind[] = [
  {
    name: 'fieldgate',
    title: 'Fieldgate’s core',
    byDefault: false,
    isDurable: false,
    version: fieldgateVersion,
    missing: () => undefined,
    prepare: anonymousDeployment,
    command: ({ certificate: { certFile, keyFile } }, port) => ({
      program: runtime.program,
      arguments: [
        ...runtime.flags,
        fieldgateProgram,
        'bare-broker',
        '--tls-port',
        String(port),
        '--cert',
        certFile,
        '--key',
        keyFile,
      ],
    }),
  },
  {
    name: 'fieldgate-service',
    title: 'Fieldgate’s service, in memory',
    byDefault: true,
    isDurable: false,
    version: fieldgateVersion,
    missing: () => undefined,
    prepare: (workspace) => prepareService(workspace, 'populate'),
    command: (workspace, port) => ({
      program: runtime.program,
      arguments: [...runtime.flags, serviceProgram, 'serve'],
      environment: { ...serviceEnvironment(workspace, port), FIELDGATE_ENGINE: 'memory' },
    }),
  },
  {
    name: 'fieldgate-durable',
    title: 'Fieldgate’s service, durable',
    byDefault: true,
    isDurable: true,
    version: fieldgateVersion,
    missing: () => undefined,
    prepare: (workspace) => prepareService(workspace, 'populate'),
    command: durableServiceCommand,
  },
  {
    name: 'mosquitto',
    title: 'mosquitto',
    byDefault: true,
    isDurable: false,
    version: () => /version (\S+)/.exec(spawnSync(MOSQUITTO, ['-h'], { encoding: 'utf8' }).stdout)?.[1] ?? '',
    missing: () =>
      existsSync(MOSQUITTO) ? undefined : `${MOSQUITTO} is not there; on Debian: apt-get install mosquitto`,
    prepare: anonymousDeployment,
    command: (workspace, port) => ({
      program: MOSQUITTO,
      arguments: ['-c', writeMosquittoConfiguration(workspace, port, ['persistence false'])],
    }),
  },
  {
    name: 'mosquitto-persistent',
    title: 'mosquitto, persistent',
    byDefault: false,
    isDurable: false,
    version: () => /version (\S+)/.exec(spawnSync(MOSQUITTO, ['-h'], { encoding: 'utf8' }).stdout)?.[1] ?? '',
    missing: () =>
      existsSync(MOSQUITTO) ? undefined : `${MOSQUITTO} is not there; on Debian: apt-get install mosquitto`,
    prepare: anonymousDeployment,
    command: (workspace, port) => {
      const persistence = ['persistence true', `persistence_location ${workspace.directory}/`, 'autosave_interval 60']
      return { program: MOSQUITTO, arguments: ['-c', writeMosquittoConfiguration(workspace, port, persistence)] }
    },
  },
  {
    name: 'aedes',
    title: 'aedes',
    byDefault: true,
    isDurable: false,
    version: () => versionIn(join(root, 'node_modules', 'aedes', 'package.json')),
    missing: () => undefined,
    prepare: anonymousDeployment,
    command: ({ certificate: { certFile, keyFile } }, port) => ({
      program: process.execPath,
      arguments: [aedesProgram, String(port), certFile, keyFile],
    }),
  },
  {
    name: 'bare-node',
    title: 'Node’s TLS alone',
    byDefault: true,
    isDurable: false,
    version: () => process.versions.node,
    missing: () => undefined,
    prepare: anonymousDeployment,
    command: ({ certificate: { certFile, keyFile } }, port) => ({
      program: process.execPath,
      arguments: [...nodeRuntime.flags, bareNodeProgram, String(port), certFile, keyFile],
    }),
  },
]

function fieldgateVersion(): string {
  return versionIn(join(root, 'package.json'))
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version
}

/** The whole service with its default engine. */
export function durableServiceCommand(workspace: Workspace, port: number): BrokerCommand {
  return {
    program: runtime.program,
    arguments: [...runtime.flags, serviceProgram, 'serve'],
    environment: { ...serviceEnvironment(workspace, port), FIELDGATE_ENGINE: 'embedded' },
  }
}

/**
 * Fills the service's data directory, in a process that ends before the first measurement. There
 * are two plans.
 */
export function prepareService(workspace: Workspace, plan: 'populate' | 'populate-codecs'): Deployment {
  const file = join(workspace.directory, 'deployment.json')
  if (!existsSync(file)) {
    const result = spawnSync(process.execPath, [serviceProgram, plan, file], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...serviceEnvironment(workspace, 0), FIELDGATE_LOG_LEVEL: 'warn' },
    })
    if (result.status !== 0) throw new Error('the deployment of the comparison could not be made')
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Deployment
}

/**
 * The whole service keeps its defaults; only the bounds on connections are raised to the needs of
 * the scenarios, and no rate is bounded: the scenarios measure how fast the service is.
 */
function serviceEnvironment({ directory, certificate }: Workspace, port: number): Record<string, string> {
  return {
    FIELDGATE_DATA_DIR: join(directory, 'service'),
    FIELDGATE_HOST: '127.0.0.1',
    FIELDGATE_PUBLIC_HOST: 'localhost',
    FIELDGATE_HTTPS_PORT: '0',
    FIELDGATE_MQTTS_PORT: String(port),
    FIELDGATE_TLS_CERT_FILE: certificate.certFile,
    FIELDGATE_TLS_KEY_FILE: certificate.keyFile,
    FIELDGATE_MAXIMUM_CONNECTIONS_PER_ORGANIZATION: '20000',
    FIELDGATE_MAXIMUM_CONNECTIONS_PER_USER: '20000',
    FIELDGATE_MAXIMUM_SESSIONS_PER_ORGANIZATION: '20000',
    FIELDGATE_MAXIMUM_SUBSCRIPTIONS_PER_ORGANIZATION: '1000000',
    FIELDGATE_MAXIMUM_CONNECTS_PER_SECOND_PER_ORGANIZATION: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_ORGANIZATION: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_ORGANIZATION: '68719476736',
    FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_NETWORK_SERVER: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_NETWORK_SERVER: '68719476736',
  }
}

/** Mosquitto at its quickest: nothing is dropped, and each packet is sent at once. */
function writeMosquittoConfiguration(
  { directory, certificate }: Workspace,
  port: number,
  persistence: readonly string[],
): string {
  const file = join(directory, 'mosquitto.conf')
  const lines = [
    // As root it would become the user mosquitto, who can't read this directory.
    `user ${userInfo().username}`,
    `listener ${port} 127.0.0.1`,
    `certfile ${certificate.certFile}`,
    `keyfile ${certificate.keyFile}`,
    'tls_version tlsv1.3',
    'allow_anonymous true',
    ...persistence,
    'set_tcp_nodelay true',
    'max_connections -1',
    'max_inflight_messages 1024',
    'max_queued_messages 0',
    'sys_interval 0',
    'log_dest none',
    'connection_messages false',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}
