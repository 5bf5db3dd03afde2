/**
 * Clients that are away: their missed messages, the speed of catching up, and the cost of their
 * Sessions meanwhile.
 */
import { encodePublish } from '../../src/mqtt/publish.ts'
import { ORGANIZATIONS, APPLICATIONS_OF_AN_ORGANIZATION, applicationTopicFilter, integrator } from '../deployment.ts'
import type { Deployment } from '../deployment.ts'
import { cpuNanoseconds } from '../process-accounting.ts'
import { Connector, openMany } from './connection.ts'
import type { Connection } from './connection.ts'
import { PAYLOAD_BYTES } from './job.ts'
import type { Client, Subscriber, Target } from './job.ts'

const CONNECTING_AT_ONCE = 32
/** Unacknowledged messages of a connection that fills the log. */
const WINDOW = 500
const FILLING_CONNECTIONS = 4
const BEAT_MS = 5
const LONGEST_WAIT_MS = 120_000

/** The result of catching up. */
export interface CaughtUp {
  readonly perSecond: number
  readonly brokerCpuNs: number
}

/**
 * Publishes `count` messages to these topics in turn, as fast as they are acknowledged; resolves
 * when all are acknowledged.
 */
export async function fill(
  target: Target,
  client: Client,
  topicNames: readonly string[],
  count: number,
): Promise<void> {
  const connector = new Connector(target)
  let sent = 0
  let acknowledged = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const connections = await openMany(FILLING_CONNECTIONS, CONNECTING_AT_ONCE, async (index) => {
    let connection: Connection | undefined = undefined
    const send = (): void => {
      if (sent === count) return
      connection?.write(packetOf(topicNames[sent % topicNames.length] as string, sent))
      sent += 1
    }
    connection = await connector.open({
      clientId: `filling-${index}`,
      credentials: client.credentials,
      handlers: {
        publish: () => reject(new Error('PUBLISH at a publisher')),
        acknowledged: () => {
          acknowledged += 1
          if (acknowledged === count) resolve()
          else send()
        },
        failed: (reason) => reject(new Error(reason)),
      },
    })
    for (let burst = 0; burst < WINDOW; burst += 1) send()
    return connection
  })
  try {
    await promise
  } finally {
    for (const connection of connections) connection.close()
  }
}

/**
 * A reader subscribes, goes away, misses `missed` messages, and comes back. Meanwhile `perSecond`
 * others come live to this reader and to a second one.
 */
export async function catchUp(
  target: Target,
  clients: { readonly publisher: Client; readonly reader: Subscriber; readonly topicNames: readonly string[] },
  { missed, perSecond }: { readonly missed: number; readonly perSecond: number },
): Promise<CaughtUp> {
  const connector = new Connector(target)
  const { publisher, reader, topicNames } = clients
  const open = (clientId: string, publish: () => void): Promise<Connection> =>
    connector.open({ clientId, keepsSession: true, credentials: reader.credentials, handlers: { ...SILENT, publish } })
  const away = await open('away', () => {})
  await away.subscribe(reader.topicFilters, 1)
  away.close()
  await fill(target, publisher, topicNames, missed)
  const beside = await open('beside', () => {})
  await beside.subscribe(reader.topicFilters, 1)
  const live = await connector.open({ clientId: 'live', credentials: publisher.credentials, handlers: SILENT })
  let number = 0
  const beat = setInterval(() => {
    for (let due = (perSecond * BEAT_MS) / 1000; due > 0; due -= 1)
      live.write(packetOf(topicNames[0] as string, (number += 1)))
  }, BEAT_MS)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = setTimeout(() => reject(new Error('the Session was not caught up')), LONGEST_WAIT_MS)
  let received = 0
  const startedAtMs = performance.now()
  const before = cpuNanoseconds(target.pid)
  const back = await open('away', () => {
    received += 1
    if (received === missed) resolve()
  })
  try {
    await promise
    const seconds = (performance.now() - startedAtMs) / 1000
    return { perSecond: missed / seconds, brokerCpuNs: cpuNanoseconds(target.pid) - before }
  } finally {
    clearTimeout(late)
    clearInterval(beat)
    for (const connection of [beside, live, back]) connection.close()
  }
}

/**
 * Leaves `count` Sessions behind. The Sessions of each organization subscribe to all events of its
 * first application at QoS 1.
 */
export async function leaveSessions(target: Target, deployment: Deployment, count: number): Promise<void> {
  const connector = new Connector(target)
  await openMany(count, CONNECTING_AT_ONCE, async (index) => {
    const application = (index % ORGANIZATIONS) * APPLICATIONS_OF_AN_ORGANIZATION
    const { credentials } = integrator(deployment, application)
    const connection = await connector.open({
      clientId: `asleep-${index}`,
      keepsSession: true,
      credentials,
      handlers: SILENT,
    })
    await connection.subscribe([applicationTopicFilter(deployment, application)], 1)
    connection.close()
    return connection
  })
}

const SILENT = {
  publish: () => {},
  acknowledged: () => {},
  failed: (reason: string) => {
    throw new Error(reason)
  },
}

/** An event of the usual length, as JSON in a PUBLISH. */
function packetOf(topicName: string, number: number): Buffer {
  const text = JSON.stringify({ fCnt: number, fPort: 2, data: 'AQIDBA==', object: { temperature: 21.5 }, note: '' })
  const payload = Buffer.from(text.replace('""', `"${'x'.repeat(PAYLOAD_BYTES - text.length)}"`))
  const { bytes, packetIdOffset } = encodePublish({ topicName, payload, qos: 1, retain: false, dup: false }, 4)
  bytes.writeUInt16BE(1 + (number % 65_535), packetIdOffset)
  return bytes
}
