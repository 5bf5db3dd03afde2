/**
 * The command `fieldgate cluster-demo`: several nodes with their servers and a load on this
 * machine, to be killed by hand.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPinoLogger } from '../../pino-logger.ts'
import type { PinoLogger } from '../../pino-logger.ts'
import { checkSettings, readEnvironment } from '../../settings/settings.ts'
import { pathWith } from '../api/api-client.ts'
import { openApiClient } from '../api/open-api-client.ts'
import { DEMONSTRATION_PASSWORD, seedDemonstration } from '../demo/demonstration-seed.ts'
import type { Demonstration } from '../demo/demonstration-seed.ts'
import { startSimulator } from '../demo/simulator-process.ts'
import type { KeptProcess } from '../demo/simulator-process.ts'
import { listenForStop } from '../serve/stop-signal.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { clusterGreeting } from './cluster-greeting.ts'
import { DemoLoad } from './demo-load.ts'
import { startDemoNode } from './demo-node.ts'
import type { DemoNode } from './demo-node.ts'
import type { DemoProcess } from './demo-process.ts'
import { startNats, startPostgreSql } from './demo-servers.ts'
import { findParts } from './find-parts.ts'
import type { Parts } from './find-parts.ts'

/** The ports of the first node; the others have the next ones. */
const HTTPS_PORT = '8443'
const MQTTS_PORT = '8883'
/** The time between two lines with counts. */
const TELL_MS = 5_000
/** The place of the load in the demonstration deployment. */
const SHOWN = {
  organization: 'alpine-valley-water',
  application: 'water-network',
  device: 'valve-north-main',
  user: 'anna',
}

/** Everything that was started, for the end. */
interface Started {
  readonly processes: DemoProcess[]
  readonly ends: (() => Promise<void>)[]
  /** True: nothing more may be started. */
  isOver: boolean
}

/** Runs so many nodes until a signal. Resolves with the exit code. */
export async function clusterDemo(terminal: Terminal, count: number): Promise<number> {
  const parts = findParts(terminal.environment)
  const log = createPinoLogger({ level: 'warn', format: 'text' })
  const stop = listenForStop(log)
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-cluster-demo-'))
  // PostgreSQL may run as another user, and has its data in this folder.
  await chmod(folder, 0o755)
  const started: Started = { processes: [], ends: [], isOver: false }
  const running = start(terminal, count, parts, folder, started, log)
  try {
    await Promise.race([running, stop.received])
    await stop.received
    terminal.error('\nEnding ...\n')
    return 0
  } finally {
    started.isOver = true
    await endAll(started)
    // A start that was interrupted fails, and has perhaps begun one more process.
    await running.catch(() => {})
    await endAll(started)
    stop.ignore()
    await rm(folder, { recursive: true, force: true })
  }
}

async function start(
  terminal: Terminal,
  count: number,
  parts: Parts,
  folder: string,
  started: Started,
  log: PinoLogger,
): Promise<void> {
  terminal.error('Starting three servers of NATS and PostgreSQL ...\n')
  const nats = await startNats(parts.natsServer, folder, started.processes)
  const databaseUrl = await startPostgreSql(parts.postgreSqlFolder, folder, started.processes)
  const nodes: DemoNode[] = []
  for (let number = 0; number < count && !started.isOver; number += 1) {
    const name = `node${number + 1}`
    terminal.error(`Starting ${name} ...\n`)
    const httpsPort = portOf(terminal, 'FIELDGATE_HTTPS_PORT', HTTPS_PORT, number)
    const mqttsPort = portOf(terminal, 'FIELDGATE_MQTTS_PORT', MQTTS_PORT, number)
    const options = { name, folder, nats, databaseUrl, httpsPort, mqttsPort, started: started.processes }
    nodes.push(await startDemoNode(options))
  }
  if (!started.isOver) await demonstrate(terminal, nodes, folder, started, log)
}

/** The port of a node: as many above the first one's, or any free one where that is 0. */
function portOf(terminal: Terminal, name: string, usual: string, number: number): number {
  const given = terminal.environment[name] ?? ''
  const first = Number(given === '' ? usual : given)
  if (!Number.isInteger(first) || first < 0) throw new CommandFailure(`${name} is ${given}; it must be a port.`, 2)
  return first === 0 ? 0 : first + number
}

/** Starts the simulator and the load, and tells how to use them. */
async function demonstrate(
  terminal: Terminal,
  nodes: readonly DemoNode[],
  folder: string,
  started: Started,
  log: PinoLogger,
): Promise<void> {
  const [first] = nodes as readonly [DemoNode, ...DemoNode[]]
  const { demonstration, token, topicName } = await seed(first)
  started.ends.push(simulate(nodes, demonstration, log))
  const publisher = demonstration.serviceCredential
  const load = await DemoLoad.start({ nodes, publisher, token, topicName })
  started.ends.push(() => load.stop())
  terminal.out(
    clusterGreeting({
      nodes,
      processes: started.processes,
      folder,
      userName: SHOWN.user,
      password: DEMONSTRATION_PASSWORD,
      topicName,
      token,
    }),
  )
  for (const one of started.processes) {
    // After the end of the demonstration this is no news.
    void one.ended.then(() => {
      if (!started.isOver) terminal.error(`${one.name} has ended. Its log: ${one.logFile}\n`)
    })
  }
  const timer = setInterval(() => {
    const { acknowledged, read, onTheirWay } = load.counts
    terminal.error(`${acknowledged} events acknowledged, ${read} read, ${onTheirWay} on their way to the reader\n`)
  }, TELL_MS)
  started.ends.push(() => Promise.resolve(clearInterval(timer)))
}

/** Sets the demonstration deployment up, with a token of its reader and the topic of the load. */
async function seed(
  node: DemoNode,
): Promise<{ readonly demonstration: Demonstration; readonly token: string; readonly topicName: string }> {
  const result = checkSettings(readEnvironment(node.settings), {})
  if (!result.ok) throw new CommandFailure(`The settings of ${node.name} can’t be used.`)
  const admin = await openApiClient(result.settings, { purpose: 'cluster-demo' })
  let demonstration: Demonstration
  try {
    demonstration = await seedDemonstration(admin, node.dataDirectory)
  } finally {
    await admin.close()
  }
  const user = await openApiClient(result.settings, { purpose: 'cluster-demo', userName: SHOWN.user })
  try {
    const organizationId = demonstration.organizationIds[SHOWN.organization]
    const issued = await user.request('POST', '/api/mosquitto-auth/login', { organizationId, ttlInSeconds: '86400' })
    const devEui = demonstration.deployment.organizations
      .flatMap(({ applications }) => applications.flatMap(({ devices }) => devices))
      .find(({ name }) => name === SHOWN.device)?.devEui
    const path = pathWith('/api/mosquitto-auth/send-command', { devEui, organizationId })
    const { topic } = await user.request('GET', path)
    const [command = ''] = /(?<=')[^']+(?=')/.exec(String(topic)) ?? []
    return {
      demonstration,
      token: String(issued['jwtMqttAuth']),
      topicName: command.replace('/command/down', '/event/status'),
    }
  } finally {
    await user.close()
  }
}

/** Keeps a simulator at a living node. Returns the function that ends it. */
function simulate(nodes: readonly DemoNode[], demonstration: Demonstration, log: PinoLogger): () => Promise<void> {
  let simulator: KeptProcess | undefined
  let isOver = false
  const startAtLiving = (): void => {
    const node = nodes.find(({ process: one }) => !one.hasEnded)
    if (node === undefined || isOver) return
    const { caFile, mqttsPort } = node
    const url = `mqtts://localhost:${mqttsPort}`
    const { devicesFile, serviceCredential } = demonstration
    const own = startSimulator({ url, caFile, devicesFile, ...serviceCredential, log })
    simulator = own
    void node.process.ended.then(async () => {
      await own.stop()
      startAtLiving()
    })
  }
  startAtLiving()
  return async () => {
    isOver = true
    await simulator?.stop()
  }
}

/** Ends the load first, then the nodes, then their servers. */
async function endAll({ processes, ends }: Started): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end()
  // SIGINT ends PostgreSQL without waiting for its clients.
  for (const one of processes.toReversed()) await one.stop(one.name === 'postgresql' ? 'SIGINT' : 'SIGTERM')
}
