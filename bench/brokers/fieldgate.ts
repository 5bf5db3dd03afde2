/**
 * Fieldgate as a broker of the comparison: the core, and the service with each of its engines. Both
 * are the built program that operators start.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programFor } from '../../bin/launch.mjs'
import type { BrokerCommand } from '../broker-process.ts'
import { anonymousDeployment } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import { ALWAYS, NEVER } from './broker.ts'
import type { BrokerKind, Workspace } from './broker.ts'
import { missingRuntime, onRuntime, ROOT, RUNTIME_TITLES, runtimeVersion } from './runtimes.ts'
import type { RuntimeName } from './runtimes.ts'

const populateProgram = fileURLToPath(new URL('../populate-service.ts', import.meta.url))

/** On Bun, which is the runtime of the service, and on Node when the command line names it. */
export const fieldgateKinds: readonly BrokerKind[] = [
  core('bun'),
  service('bun', 'memory'),
  service('bun', 'embedded'),
  core('node'),
  service('node', 'memory'),
  service('node', 'embedded'),
]

function core(runtime: RuntimeName): BrokerKind {
  return {
    name: runtime === 'bun' ? 'fieldgate' : 'fieldgate-node',
    title: titleOf('Fieldgate’s core', runtime),
    byDefault: NEVER,
    isDurable: false,
    references: { bare: `bare-${runtime}` },
    version: () => versionOn(runtime),
    missing: () => missingRuntime(runtime),
    prepare: anonymousDeployment,
    command: ({ certificate: { certFile, keyFile } }, port) =>
      onRuntime(runtime, [
        programFor(runtime, ROOT),
        'bare-broker',
        '--tls-port',
        String(port),
        '--cert',
        certFile,
        '--key',
        keyFile,
      ]),
  }
}

function service(runtime: RuntimeName, engine: 'memory' | 'embedded'): BrokerKind {
  const isDurable = engine === 'embedded'
  const name = isDurable ? 'fieldgate-durable' : 'fieldgate-service'
  return {
    name: runtime === 'bun' ? name : `${name}-node`,
    title: titleOf(`Fieldgate’s service, ${isDurable ? 'durable' : 'in memory'}`, runtime),
    byDefault: runtime === 'bun' ? ALWAYS : NEVER,
    isDurable,
    references: { bare: `bare-${runtime}`, core: runtime === 'bun' ? 'fieldgate' : 'fieldgate-node' },
    version: () => versionOn(runtime),
    missing: () => missingRuntime(runtime),
    prepare: (workspace) => prepareService(workspace, 'populate'),
    command: (workspace, port) => serviceCommand(workspace, port, runtime, engine),
  }
}

/** The whole service with its default engine, on its default runtime. */
export function durableServiceCommand(workspace: Workspace, port: number): BrokerCommand {
  return serviceCommand(workspace, port, 'bun', 'embedded')
}

function serviceCommand(workspace: Workspace, port: number, runtime: RuntimeName, engine: string): BrokerCommand {
  const command = onRuntime(runtime, [programFor(runtime, ROOT), 'serve'])
  const settings = { ...serviceEnvironment(workspace, port), FIELDGATE_ENGINE: engine }
  return { ...command, environment: { ...command.environment, ...settings } }
}

function titleOf(name: string, runtime: RuntimeName): string {
  return runtime === 'bun' ? name : `${name}, on ${RUNTIME_TITLES[runtime]}`
}

function versionOn(runtime: RuntimeName): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
  return `${version} on ${RUNTIME_TITLES[runtime]} ${runtimeVersion(runtime)}`
}

/**
 * Fills the service's data directory, in a process that ends before the first measurement. There
 * are two plans.
 */
export function prepareService(workspace: Workspace, plan: 'populate' | 'populate-codecs'): Deployment {
  const file = join(workspace.directory, 'deployment.json')
  if (!existsSync(file)) {
    const result = spawnSync(process.execPath, [populateProgram, plan, file], {
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
    FIELDGATE_MAXIMUM_SUBSCRIPTIONS_PER_ORGANIZATION: '1100000',
    FIELDGATE_MAXIMUM_TOPIC_FILTER_BYTES_PER_ORGANIZATION: '1073741824',
    FIELDGATE_MAXIMUM_CONNECTS_PER_SECOND_PER_ORGANIZATION: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_ORGANIZATION: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_ORGANIZATION: '68719476736',
    FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_NETWORK_SERVER: '10000000',
    FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_NETWORK_SERVER: '68719476736',
  }
}
