/**
 * `fieldgate bare-broker`: the broker core alone on loopback, for conformance suites and
 * comparisons of brokers.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { Broker } from '../../broker/broker.ts'
import { systemClock } from '../../clock.ts'
import type { Engine } from '../../broker/ports/engine.ts'
import { DEFAULT_LIMITS } from '../../broker/ports/limits.ts'
import type { Limits } from '../../broker/ports/limits.ts'
import { MemoryEngine } from '../../engine/memory/memory.ts'
import { AddressLimiter } from '../../listeners/address-limiter.ts'
import type { Listener } from '../../listeners/listen.ts'
import { listenTcp } from '../../listeners/tcp.ts'
import { listenTls } from '../../listeners/tls.ts'
import { BarePolicy } from './bare-broker-policy.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** Only this machine may connect, because there are no tenants and no tokens. */
const LOOPBACK = '127.0.0.1'
const TICK_MS = 1_000

interface BareBrokerOptions {
  readonly engine: 'memory' | 'embedded'
  readonly dataDir?: string
  readonly port?: number
  readonly tlsPort?: number
  readonly cert?: string
  readonly key?: string
  readonly user?: string
  readonly password?: string
  readonly maxInflight: number
  readonly maxQueuedMessages: number
  readonly maxQueuedBytes: number
  readonly maxPacketSize: number
  readonly maxKeepAlive: number
  readonly maxQos: 0 | 1 | 2
  readonly retain: boolean
  readonly topicAliasMaximum: number
  readonly receiveMaximum: number
  readonly sessionExpiryMax: number
  readonly denySubscribe: readonly string[]
}

/** Makes the command for the program. The command resolves when the broker has shut down. */
export function bareBrokerCommand(): Command {
  const command = new Command('bare-broker')
    .description('run the MQTT broker core alone on 127.0.0.1: no tenants, no tokens, every topic allowed')
    .addHelpText(
      'after',
      '\nExamples:\n  fieldgate bare-broker --port 1883\n  fieldgate bare-broker --port 1883 --engine embedded --data-dir ./broker\n',
    )
    .action(run)
  addSetUpOptions(command)
  addLimitOptions(command)
  return command.option(
    '--deny-subscribe <filter>',
    'refuse subscriptions that this Topic Filter covers; may be repeated',
    collect,
    [],
  )
}

function addSetUpOptions(command: Command): void {
  command
    .option('--port <number>', 'plain TCP port', wholeNumber(0, 65_535))
    .option('--tls-port <number>', 'TLS port; needs --cert and --key', wholeNumber(0, 65_535))
    .option('--cert <file>', 'certificate chain, PEM')
    .option('--key <file>', 'private key, PEM')
    .addOption(
      new Option('--engine <name>', 'where messages of QoS 1 and 2 are kept')
        .choices(['memory', 'embedded'])
        .default('memory'),
    )
    .option('--data-dir <directory>', 'for --engine embedded; made when it is missing')
    .option('--user <name>', 'user name that every client must send')
    .option('--password <text>', 'password that goes with --user')
}

function addLimitOptions(command: Command): void {
  const bytes = wholeNumber(2, 268_435_455)
  const count16 = wholeNumber(1, 65_535)
  command
    .option(
      '--max-inflight <count>',
      'QoS 1 and 2 messages unacknowledged by a client',
      count16,
      DEFAULT_LIMITS.maximumInflight,
    )
    .option(
      '--max-queued-messages <count>',
      'messages a Session may be behind with',
      wholeNumber(1),
      DEFAULT_LIMITS.maximumQueuedMessages,
    )
    .option(
      '--max-queued-bytes <bytes>',
      'bytes a Session may be behind with',
      wholeNumber(1),
      DEFAULT_LIMITS.maximumQueuedBytes,
    )
    .option('--max-packet-size <bytes>', 'largest packet taken', bytes, DEFAULT_LIMITS.maximumPacketSizeBytes)
    .option(
      '--max-keep-alive <seconds>',
      'longest Keep Alive; 0: any',
      wholeNumber(0, 65_535),
      DEFAULT_LIMITS.maximumKeepAliveSeconds,
    )
    .option('--max-qos <0|1|2>', 'highest QoS', wholeNumber(0, 2), DEFAULT_LIMITS.maximumQoS)
    .option('--no-retain', 'refuse retained messages')
    .option(
      '--topic-alias-maximum <count>',
      'Topic Aliases a client may set; 0: none',
      wholeNumber(0, 65_535),
      DEFAULT_LIMITS.topicAliasMaximum,
    )
    .option(
      '--receive-maximum <count>',
      'QoS 1 and 2 messages a client may have unacknowledged',
      count16,
      DEFAULT_LIMITS.receiveMaximum,
    )
    .option(
      '--session-expiry-max <seconds>',
      'longest Session Expiry Interval',
      wholeNumber(0, 0xffff_ffff),
      DEFAULT_LIMITS.maximumSessionExpirySeconds,
    )
}

async function run(options: BareBrokerOptions, command: Command): Promise<void> {
  if (options.port === undefined && options.tlsPort === undefined)
    command.error('error: --port or --tls-port is needed')
  const opened = await openEngine(options, command)
  const broker = new Broker({
    policy: new BarePolicy({ user: options.user, password: options.password, denySubscribe: options.denySubscribe }),
    engine: opened.engine,
    limits: limitsOf(options),
  })
  await started(broker)
  const listeners = await openListeners(broker, options, command)
  const ticking = setInterval(() => broker.tick(), TICK_MS)
  console.log(
    `fieldgate bare-broker: listening on ${listeners.map(({ name, port }) => `${name} ${LOOPBACK}:${port}`).join(', ')}`,
  )
  await new Promise<void>((stop) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop())
  })
  clearInterval(ticking)
  const closed = listeners.map((listener) => listener.close())
  await broker.close()
  await Promise.all(closed)
  await opened.release()
}

/** Starts the broker. A log that can't be opened is reported in a sentence, without a stack. */
async function started(broker: Broker): Promise<void> {
  try {
    await broker.start()
  } catch (error) {
    throw new CommandFailure(error instanceof Error ? error.message : String(error))
  }
}

interface OpenedEngine {
  readonly engine: Engine
  /** Releases the data directory. */
  release(): Promise<void>
}

/**
 * Opens the engine. Modules of the embedded engine are loaded only for it: the core starts fast.
 */
async function openEngine({ engine, dataDir }: BareBrokerOptions, command: Command): Promise<OpenedEngine> {
  if (engine === 'memory') {
    if (dataDir !== undefined) command.error('error: --data-dir goes with --engine embedded')
    return { engine: new MemoryEngine(), release: async () => {} }
  }
  if (dataDir === undefined) command.error('error: --engine embedded needs --data-dir')
  const { messagesIn, openDataDirectory } = await import('../../data/data-directory.ts')
  const { EmbeddedEngine } = await import('../../engine/embedded.ts')
  const { nodeDisk } = await import('../../engine/ports/node-disk.ts')
  const path = resolve(dataDir)
  const opened = await openDataDirectory(path, { purpose: 'bare-broker', clock: systemClock })
  if (!opened.ok) throw new CommandFailure(opened.message)
  return {
    engine: new EmbeddedEngine({ disk: nodeDisk, directory: messagesIn(path) }),
    release: () => opened.dataDirectory.release(),
  }
}

type NamedListener = Listener & { readonly name: string }

async function openListeners(
  broker: Broker,
  options: BareBrokerOptions,
  command: Command,
): Promise<readonly NamedListener[]> {
  const open: NamedListener[] = []
  try {
    if (options.port !== undefined) {
      open.push({ name: 'mqtt', ...(await listenTcp(broker, { host: LOOPBACK, port: options.port })) })
    }
    if (options.tlsPort !== undefined) {
      if (options.cert === undefined || options.key === undefined)
        command.error('error: --tls-port needs --cert and --key')
      const context = { cert: readFileSync(options.cert), key: readFileSync(options.key) }
      const limiter = new AddressLimiter({ attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 })
      open.push({
        name: 'mqtts',
        ...(await listenTls(broker, context, limiter, { host: LOOPBACK, port: options.tlsPort })),
      })
    }
  } catch (error) {
    command.error(`error: ${error instanceof Error ? error.message : String(error)}`)
  }
  return open
}

function limitsOf(options: BareBrokerOptions): Partial<Limits> {
  return {
    maximumInflight: options.maxInflight,
    maximumQueuedMessages: options.maxQueuedMessages,
    maximumQueuedBytes: options.maxQueuedBytes,
    maximumPacketSizeBytes: options.maxPacketSize,
    maximumKeepAliveSeconds: options.maxKeepAlive,
    maximumQoS: options.maxQos,
    retainAvailable: options.retain,
    topicAliasMaximum: options.topicAliasMaximum,
    receiveMaximum: options.receiveMaximum,
    maximumSessionExpirySeconds: options.sessionExpiryMax,
    maximumTopicBytes: 65_535,
    maximumTopicLevels: 256,
    maximumClientIdBytes: 65_535,
    maximumSubscriptionsPerSession: 1_000_000,
    maximumSubscriptionsPerTenant: Infinity,
    maximumTopicFilterBytesPerTenant: Infinity,
    maximumRetainedMessagesPerTenant: Infinity,
    maximumRetainedBytesPerTenant: Infinity,
    maximumSessionsPerIdentity: 1_000_000,
    maximumSessionsPerTenant: 1_000_000,
    maximumConnectionsPerTenant: 1_000_000,
    maximumConnectionsPerIdentity: 1_000_000,
    maximumBytesPerSecond: Infinity,
  }
}

function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < minimum || value > maximum) {
      throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`)
    }
    return value
  }
}

function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}
