/**
 * `node bench/durability.ts [rounds]`: the cost of durability, beside mosquitto's persistence,
 * which syncs nothing. Measures CPU time and PUBACK at 20,000 messages/s. Then one deployment
 * fills: a Session that was away catches up, history is read by HTTP, 10,000 Sessions sleep, and
 * the service starts again.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startBroker } from './broker-process.ts'
import { BROKERS } from './brokers.ts'
import type { BrokerKind, BrokerName } from './brokers/broker.ts'
import { makeCertificate } from './certificate.ts'
import {
  applicationTopicFilter,
  DEVICES_OF_AN_APPLICATION,
  eventTopic,
  integrator,
  networkServer,
} from './deployment.ts'
import type { Deployment } from './deployment.ts'
import { catchUp, fill, leaveSessions } from './load/absence.ts'
import { runFlow } from './load/flow.ts'
import type { Job, Target } from './load/job.ts'
import { cpuNanoseconds } from './process-accounting.ts'
import { runJob } from './run-job.ts'
import { flowJob } from './scenarios/flows.ts'
import type { FlowParts } from './scenarios/flows.ts'
import { ROWS } from './scenarios/rows.ts'

const [rounds = 3] = process.argv.slice(2).map(Number)
const FIELDGATE = fileURLToPath(new URL('../bin/fieldgate.mjs', import.meta.url))
const TIMING = { warmUpMs: 3_000, measureMs: 5_000, latencyMs: 5_000 }
const PER_SECOND = 20_000
const PUBLISHERS = 100
/**
 * Messages of a publisher on their way. A broker that is further behind gets less than the rate.
 */
const PACED_WINDOW = 64
const MISSED = 100_000
/** The application that is caught up with and read; no other part publishes for it. */
const READ = 1
const SLEEPING = 10_000
const SETTLE_MS = 15_000
const STORED = 1_000_000
const LIVE_PER_SECOND = 2_000
const AT_EASE_PER_SECOND = 4_000

const directory = mkdtempSync(join(tmpdir(), 'fieldgate-durability-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, () => process.exit(status))
}
const workspace = { directory, certificate: await makeCertificate(directory) }
const durable = brokerNamed('fieldgate-durable')
await atAFixedRate()
await oneDeployment()

/**
 * 20,000 messages a second at QoS 1, in two shapes: S3 of the comparison, and 100 publishers with
 * one subscriber, where one commit and one write hold many messages.
 */
async function atAFixedRate(): Promise<void> {
  const pairs = ROWS.find(({ scenario, qos }) => scenario === 's3' && qos === 1)
  if (pairs === undefined) throw new Error('there is no row S3 at QoS 1')
  for (let round = 1; round <= rounds; round += 1) {
    for (const kind of [durable, brokerNamed('mosquitto-persistent')]) {
      const deployment = kind.prepare(workspace)
      await atRate(kind, '200 pairs', pairs.job(deployment, TIMING))
      await atRate(kind, '100 to 1', flowJob(fanIn(deployment), 1, TIMING))
    }
  }
}

async function atRate(kind: BrokerKind, name: string, job: Job): Promise<void> {
  const answer = await runJob(kind, workspace, job)
  if (answer.kind !== 'result' || answer.result.kind !== 'flow') throw new Error(JSON.stringify(answer))
  const { brokerCpuNs, published, seconds, acknowledgement } = answer.result
  say(
    `${name}, ${kind.name} at ${Math.round(published / seconds)}/s: ${micros(brokerCpuNs, published)}, ` +
      `PUBACK p50 ${acknowledgement.p50.toFixed(1)} ms, p99 ${acknowledgement.p99.toFixed(1)} ms`,
  )
}

function fanIn(deployment: Deployment): FlowParts {
  return {
    publishers: Array.from({ length: PUBLISHERS }, () => networkServer(deployment)),
    receivers: [{ ...integrator(deployment, 0), topicFilters: [applicationTopicFilter(deployment, 0)] }],
    streams: Array.from({ length: PUBLISHERS }, (_, device) => ({
      publisher: device,
      receivers: [0],
      topicNames: [eventTopic(deployment, 0, device)],
    })),
    pace: { window: PACED_WINDOW, perSecond: PER_SECOND },
  }
}

async function oneDeployment(): Promise<void> {
  const deployment = durable.prepare(workspace)
  const broker = await startBroker((port) => durable.command(workspace, port))
  const target = { port: broker.port, pid: broker.pid, certificate: workspace.certificate.pem }
  const topicNames = Array.from({ length: DEVICES_OF_AN_APPLICATION }, (_, device) =>
    eventTopic(deployment, READ, device),
  )
  const publisher = networkServer(deployment)
  const reader = { ...integrator(deployment, READ), topicFilters: [applicationTopicFilter(deployment, READ)] }
  const away = { missed: MISSED, perSecond: LIVE_PER_SECOND }
  const { perSecond, brokerCpuNs } = await catchUp(target, { publisher, reader, topicNames }, away)
  say(
    `a Session that was away for ${MISSED} messages: ${Math.round(perSecond)}/s, ${micros(brokerCpuNs, MISSED)}, with ${LIVE_PER_SECOND}/s live`,
  )
  await history(deployment)
  const before = await atEase(target, deployment)
  await leaveSessions(target, deployment, SLEEPING)
  // Ten thousand connections left memory to be collected and data to be saved. This work must not
  // count as the cost of a sleeping Session.
  await sleep(SETTLE_MS)
  say(
    `a message that 1 reads: ${before}; that 1,000 more Sessions of ${SLEEPING} will read, who are away: ${await atEase(target, deployment)}`,
  )
  await fill(target, publisher, topicNames, STORED)
  await broker.stop()
  await startAgain('a shutdown', 'SIGTERM')
  await startAgain('a shutdown', 'SIGKILL')
  await startAgain('a kill', 'SIGTERM')
}

/** Reads all stored messages of the application, as JSON lines. */
async function history({ applicationIds, integrators }: Deployment): Promise<void> {
  const instance: unknown = JSON.parse(readFileSync(join(directory, 'service', 'instance.json'), 'utf8'))
  if (typeof instance !== 'object' || instance === null || !('httpsAddress' in instance)) throw new Error('no address')
  const url = new URL(`/api/applications/${applicationIds[READ]}/events`, String(instance.httpsAddress))
  const headers = { authorization: `Bearer ${integrators[0]?.userName}`, accept: 'application/x-ndjson' }
  const startedAtMs = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  get(url, { headers, ca: workspace.certificate.pem, servername: 'localhost' }, resolve).on('error', reject)
  let events = 0
  for await (const bytes of (await promise) as AsyncIterable<Buffer>)
    for (const byte of bytes) if (byte === 0x0a) events += 1
  say(`${events} stored events of an application by HTTP: ${((performance.now() - startedAtMs) / 1000).toFixed(2)} s`)
}

/**
 * Publishes at a rate that leaves the machine idle half of the time, so that only requests that
 * would meet anyway share a batch.
 */
async function atEase(target: Target, deployment: Deployment): Promise<string> {
  const { brokerCpuNs, published } = await runFlow([target], {
    kind: 'flow',
    qos: 1,
    publishers: [networkServer(deployment)],
    receivers: [{ ...integrator(deployment, 0), topicFilters: [applicationTopicFilter(deployment, 0)] }],
    streams: [{ publisher: 0, receivers: [0], topicNames: [eventTopic(deployment, 0, 0)] }],
    bystanders: undefined,
    pace: { window: 500, perSecond: AT_EASE_PER_SECOND },
    warmUpMessages: 0,
    ...TIMING,
    latencyMs: 0,
  })
  return micros(brokerCpuNs, published)
}

/** Starts the built service, reports how long the start took, and ends the service. */
async function startAgain(after: string, end: NodeJS.Signals): Promise<void> {
  const startedAtMs = performance.now()
  const broker = await startBroker((port) => ({
    ...durable.command(workspace, port),
    arguments: [FIELDGATE, 'serve'],
  }))
  const ms = Math.round(performance.now() - startedAtMs)
  const cpuMs = Math.round(cpuNanoseconds(broker.pid) / 1e6)
  say(
    `a start after ${after}, with ${STORED} stored events and ${SLEEPING} Sessions: ${ms} ms until it takes connections, ${cpuMs} ms of CPU`,
  )
  process.kill(broker.pid, end)
  await broker.stop()
}

function brokerNamed(name: BrokerName): BrokerKind {
  const kind = BROKERS.find((one) => one.name === name)
  const missing = kind === undefined ? `there is no ${name}` : kind.missing()
  if (kind === undefined || missing !== undefined) throw new Error(missing)
  return kind
}

function micros(cpuNs: number, messages: number): string {
  return `${(cpuNs / messages / 1000).toFixed(1)} µs CPU each`
}

function say(line: string): void {
  console.log(line)
}
