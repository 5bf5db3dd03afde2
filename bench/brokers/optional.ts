/** Brokers that take part where their programs are installed: FlashMQ and the NATS server. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { anonymousDeployment } from '../deployment.ts'
import { openFilesLimit } from '../process-accounting.ts'
import { NEVER } from './broker.ts'
import type { BrokerKind, BrokerName, Workspace } from './broker.ts'

/**
 * Messages of QoS 1 that wait for a client of FlashMQ: the most that it allows, because it drops
 * the next one. Their bytes have room beside.
 */
const FLASHMQ_MESSAGES = 65_535
const FLASHMQ_BYTES = 33_554_432
/** Messages in flight to a client of NATS, which holds back the others. */
const NATS_IN_FLIGHT = 1_024
/** The default of 2 s cuts most clients of a crowd again and again. */
const NATS_HANDSHAKE_SECONDS = 30

interface Installed {
  readonly name: BrokerName
  readonly title: string
  /** The program's name on the PATH, and the variable that names its file. */
  readonly program: string
  readonly variable: string
  /** The configuration, by lines; makes the folders that it names. */
  readonly configuration: (workspace: Workspace, port: number) => readonly string[]
}

export const optionalKinds: readonly BrokerKind[] = [
  kind({
    name: 'flashmq',
    title: 'FlashMQ',
    program: 'flashmq',
    variable: 'FIELDGATE_BENCH_FLASHMQ',
    configuration: flashMqConfiguration,
  }),
  kind({
    name: 'nats',
    title: 'NATS server',
    program: 'nats-server',
    variable: 'FIELDGATE_BENCH_NATS',
    configuration: natsConfiguration,
  }),
]

function kind({ name, title, program, variable, configuration }: Installed): BrokerKind {
  const found = (): string | undefined => findProgram(process.env[variable], program)
  return {
    name,
    title,
    byDefault: NEVER,
    isOptional: true,
    isDurable: false,
    version: () =>
      /(\d+(?:\.\d+)+)/.exec(spawnSync(found() ?? program, ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? '',
    missing: () =>
      found() === undefined
        ? `${title} is left out: there is no ${process.env[variable] ?? `${program} on the PATH`}; ${variable} names its file.`
        : undefined,
    prepare: anonymousDeployment,
    command: (workspace, port) => {
      const file = join(workspace.directory, `${name}.conf`)
      writeFileSync(file, `${configuration(workspace, port).join('\n')}\n`)
      // FlashMQ has a lock in the home directory.
      const environment = { HOME: workspace.directory }
      return { program: found() ?? program, arguments: ['-c', file], environment }
    },
  }
}

/** The file that is named, or else the program on the PATH; undefined: it can't be run. */
function findProgram(named: string | undefined, program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const files = named === undefined ? folders.map((folder) => join(folder, program)) : [named]
  return files.find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** FlashMQ without persistence; no message is dropped, and each packet is sent at once. */
function flashMqConfiguration({ directory, certificate }: Workspace, port: number): readonly string[] {
  return [
    'allow_anonymous true',
    `log_file ${join(directory, 'flashmq.log')}`,
    'log_level error',
    `rlimit_nofile ${openFilesLimit()}`,
    `max_qos_msg_pending_per_client ${FLASHMQ_MESSAGES}`,
    `max_qos_bytes_pending_per_client ${FLASHMQ_BYTES}`,
    `client_max_write_buffer_size ${FLASHMQ_BYTES}`,
    'listen {',
    '  protocol mqtt',
    '  inet_protocol ip4',
    '  inet4_bind_address 127.0.0.1',
    `  port ${port}`,
    `  fullchain ${certificate.certFile}`,
    `  privkey ${certificate.keyFile}`,
    '  minimum_tls_version tlsv1.3',
    '  tcp_nodelay true',
    '}',
  ]
}

/** The NATS server, whose JetStream keeps messages of QoS 1 in files that it syncs now and then. */
function natsConfiguration({ directory, certificate }: Workspace, port: number): readonly string[] {
  const store = join(directory, 'nats')
  // Each run begins without the messages of the run before.
  rmSync(store, { recursive: true, force: true })
  mkdirSync(store)
  return [
    'server_name: bench',
    // Clients of NATS's own protocol have a port of their own, which nobody uses.
    'listen: "127.0.0.1:-1"',
    `log_file: "${join(directory, 'nats.log')}"`,
    `jetstream { store_dir: "${store}" }`,
    'mqtt {',
    `  listen: "127.0.0.1:${port}"`,
    `  max_ack_pending: ${NATS_IN_FLIGHT}`,
    '  consumer_memory_storage: true',
    `  tls { cert_file: "${certificate.certFile}", key_file: "${certificate.keyFile}", timeout: ${NATS_HANDSHAKE_SECONDS} }`,
    '}',
  ]
}
