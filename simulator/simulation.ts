/**
 * A running simulator: devices, the air between, their network server and its connection, by the
 * settings.
 */
import { parseTopic } from '../src/lorawan/topics.ts'
import { brokerEvent } from './broker-event.ts'
import type { CommandJournal } from './command-journal.ts'
import type { SimulatorOptions } from './command-line.ts'
import type { DeviceRecord } from './device-file.ts'
import { createFleet } from './fleet.ts'
import type { Timers } from './fleet.ts'
import { createGateways } from './gateways.ts'
import type { NetworkEvent } from './network-event.ts'
import type { CommandFate } from './network-side.ts'
import { createNetworkServer } from './network-server.ts'
import type { ConnectionStatus, PublishStatistics } from './network-server.ts'
import { createRandom } from './random.ts'
import { SimulatedDevice } from './simulated-device.ts'

export interface SimulationSettings {
  readonly options: SimulatorOptions
  /** PEM; undefined: the system's certificate authorities. */
  readonly certificateAuthority: Buffer | undefined
  readonly records: readonly DeviceRecord[]
  readonly timers: Timers
  /** Keeps commands over the end of the process; undefined: they are lost with it. */
  readonly journal: CommandJournal | undefined
  /** Writes a line about the progress, for people. */
  readonly say: (line: string) => void
  /** Called for a fault that another attempt would not heal. */
  readonly onFailed: (because: FailedStatus['because']) => void
}

type FailedStatus = Extract<ConnectionStatus, { state: 'failed' }>

export interface Simulation {
  /** Stops the devices, waits for the broker's answers, and reports the totals. */
  close(): Promise<void>
}

/** The wait before the first attempt to connect again. */
const RECONNECT_DELAY_MS = 1000

/** Connects. The devices begin with the first connection, and go on even if it is lost. */
export function startSimulation(settings: SimulationSettings): Simulation {
  const { options, records, timers, say, journal } = settings
  const ignored = new Map<string, number>()
  let isStarted = false
  const publish = (event: NetworkEvent): void => {
    const spelled = brokerEvent(event, options.family, options.carriesIds)
    if (options.isVerbose) say(`${spelled.kind.padEnd(8)} ${spelled.devEui} ${event.device.record.deviceName}`)
    server.publish(spelled)
  }
  const fleet = createFleet({ devices: createDevices(options, records, timers.nowMs()), timers, publish })
  const receive = (topicName: string, payload: Buffer): CommandFate => {
    const fate = fleet.receive(topicName, payload)
    // The reasons are fixed sentences, so the map stays small.
    if (fate.outcome === 'ignored') ignored.set(fate.reason, (ignored.get(fate.reason) ?? 0) + 1)
    if (options.isVerbose) say(`command  ${topicName} ${fate.outcome === 'ignored' ? fate.reason : fate.outcome}`)
    return fate
  }
  const server = createNetworkServer({
    ...options,
    certificateAuthority: settings.certificateAuthority,
    reconnectDelayMs: RECONNECT_DELAY_MS,
    onCommand(topicName, payload) {
      const fate = receive(topicName, payload)
      if (fate.outcome === 'queued') journal?.add(devEuiOf(topicName), fate.queueItemId, { topicName, payload })
    },
    onAnswered({ devEui, settles }) {
      if (settles !== undefined) journal?.done(devEui, settles)
    },
    onStatus(status) {
      say(describe(status, options, records))
      if (status.state === 'failed') settings.onFailed(status.because)
      if (status.state !== 'connected' || isStarted) return
      isStarted = true
      fleet.start()
    },
    onRefused(event, reasonCode, reason) {
      say(`The broker refused ${event.kind} of ${event.devEui}: 0x${reasonCode.toString(16)} ${reason}`)
    },
  })
  journal?.resume(({ topicName, payload }) => {
    const fate = receive(topicName, payload)
    return fate.outcome === 'queued' ? fate.queueItemId : undefined
  })
  return {
    async close() {
      fleet.stop()
      await server.close()
      for (const line of summary(server.statistics, ignored)) say(line)
    },
  }
}

function devEuiOf(topicName: string): string {
  return parseTopic(topicName)?.devEui ?? ''
}

function createDevices(
  options: SimulatorOptions,
  records: readonly DeviceRecord[],
  startMs: number,
): SimulatedDevice[] {
  const { radio, family, startWindowMs } = options
  const random = createRandom(options.seed)
  const locations = records.map((record) => record.location)
  const gateways = createGateways(locations, random.fork('gateways'))
  const intervalMs = options.intervalMs ?? (records.length * 1000) / (options.ratePerSecond ?? 1)
  return records.map((record) => {
    const own = random.fork(record.devEUI)
    return new SimulatedDevice({ record, radio, family, gateways, random: own, intervalMs, startMs, startWindowMs })
  })
}

function describe(status: ConnectionStatus, options: SimulatorOptions, records: readonly DeviceRecord[]): string {
  switch (status.state) {
    case 'connected': {
      const applications = new Set(records.map((record) => record.applicationID)).size
      return (
        `Connected to ${options.url} as ${options.clientId}${status.sessionPresent ? ', Session resumed' : ''}: ` +
        `family ${options.family}, devices ${records.length}, applications ${applications}`
      )
    }
    case 'disconnected':
      return `Not connected to ${options.url}: ${status.reason}; trying again`
    case 'failed':
      return `Cannot work with ${options.url}: ${status.reason}`
    default:
      return status satisfies never
  }
}

function summary(statistics: PublishStatistics, ignored: ReadonlyMap<string, number>): string[] {
  const kinds = Object.entries(statistics.published).map(([kind, count]) => `${kind} ${count}`)
  return [
    `Published: ${kinds.join(', ')}`,
    `Commands received: ${statistics.commands}`,
    ...[...ignored].map(([reason, count]) => `Commands ignored: ${count}, ${reason}`),
    ...[...statistics.refused].map(([reason, count]) => `Refused: ${count} with ${reason}`),
    ...(statistics.dropped > 0 ? [`Dropped while the broker did not answer: ${statistics.dropped}`] : []),
  ]
}
