/** Plays LoRaWAN gateways and devices for a real ChirpStack, and reports the events. */
import type { Timers } from '../fleet.ts'
import { isCertificateFault } from '../network-server.ts'
import { createRandom } from '../random.ts'
import type { LorawanRecord } from './device-list.ts'
import { connectGateway } from './gateway.ts'
import type { LorawanGateway } from './gateway.ts'
import type { LorawanOptions } from './lorawan-command-line.ts'
import { LorawanPlayer } from './lorawan-player.ts'
import type { PlayerListener } from './lorawan-player.ts'
import { createStatistics, summaryOf } from './lorawan-statistics.ts'
import { keepTime } from './transmit-policy.ts'

export interface LorawanSimulationSettings {
  readonly options: LorawanOptions
  /** PEM; undefined: the system's certificate authorities. */
  readonly certificateAuthority: Buffer | undefined
  readonly records: readonly LorawanRecord[]
  readonly timers: Timers
  /** Writes a line about the progress, for people. */
  readonly say: (line: string) => void
  /** Called for a fault that another attempt would not heal. */
  readonly onFailed: (because: 'credentials' | 'certificate') => void
}

export interface LorawanSimulation {
  /** Stops the devices, disconnects from the broker, and reports the totals. */
  close(): Promise<void>
}

/** The interval of the gateways' signs of life. */
const STATS_MS = 30_000
const RECONNECT_MS = 2000
/** MQTT 3.1.1's Return Codes "bad user name or password" and "not authorized". */
const REFUSED_CODES: ReadonlySet<unknown> = new Set([4, 5])

/** Starts at once; the devices join when all gateways are connected. */
export function startLorawanSimulation(settings: LorawanSimulationSettings): LorawanSimulation {
  const { options, records, timers, say } = settings
  const statistics = createStatistics()
  const random = createRandom(options.seed)
  const gateways: LorawanGateway[] = []
  const players: LorawanPlayer[] = []
  let callOff: (() => void) | undefined
  let isClosed = false

  const sendStats = (): void => {
    for (const gateway of gateways) gateway.sendStats().catch(() => {})
    callOff = timers.after(STATS_MS, sendStats)
  }
  const begin = (): void => {
    say(
      `Connected to ${options.url}: gateways ${gateways.map(({ gatewayId }) => gatewayId).join(' ')}, ` +
        `devices ${records.length}, topics ${topicsOf(options)}`,
    )
    sendStats()
    const told = createListener(settings)
    for (const record of records) {
      const own = random.fork(record.devEui)
      const player = new LorawanPlayer({ record, options, gateways, random: own, timers, statistics, told })
      players.push(player)
      player.start()
    }
  }
  const connect = async (): Promise<void> => {
    try {
      for (const gatewayId of options.gatewayIds.slice(gateways.length)) {
        gateways.push(await connectGateway(gatewaySettings(settings, gatewayId)))
      }
    } catch (error) {
      if (isClosed) return
      const failure = failureOf(error)
      say(`${failure.isFinal ? 'Cannot work with' : 'Not connected to'} ${options.url}: ${failure.reason}`)
      if (failure.because !== undefined) settings.onFailed(failure.because)
      else callOff = timers.after(RECONNECT_MS, () => void connect())
      return
    }
    if (!isClosed) begin()
  }
  const started = connect()
  return {
    async close() {
      isClosed = true
      callOff?.()
      for (const player of players) player.stop()
      await started
      await Promise.all(gateways.map((gateway) => gateway.close()))
      for (const line of summaryOf(statistics)) say(line)
    },
  }
}

function gatewaySettings(
  { options, certificateAuthority, say }: LorawanSimulationSettings,
  gatewayId: string,
): Parameters<typeof connectGateway>[0] {
  const { url, protocol, topicPrefix, userName, password } = options
  return {
    url,
    gatewayId,
    protocol,
    topicPrefix,
    userName,
    password,
    certificateAuthority,
    policy: keepTime,
    onFault: (fault) => say(`gateway  ${gatewayId} ${fault}`),
  }
}

function topicsOf({ topicPrefix }: LorawanOptions): string {
  return `${topicPrefix === '' ? '' : `${topicPrefix}/`}gateway/...`
}

interface Failure {
  readonly reason: string
  readonly because: 'credentials' | 'certificate' | undefined
  readonly isFinal: boolean
}

function failureOf(error: unknown): Failure {
  const reason = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (REFUSED_CODES.has(code)) return { reason, because: 'credentials', isFinal: true }
  if (isCertificateFault(code)) return { reason: `${reason} (${String(code)})`, because: 'certificate', isFinal: true }
  return { reason: `${reason}; trying again`, because: undefined, isFinal: false }
}

function createListener({ options, say }: LorawanSimulationSettings): PlayerListener {
  let isAdvised = false
  return {
    joined: ({ record, device }) =>
      say(`joined   ${record.devEui} ${record.name}, DevAddr ${device.session?.devAddr.toString('hex') ?? ''}`),
    unanswered({ record }) {
      say(`join     ${record.devEui} ${record.name}: ChirpStack gave no answer`)
      if (isAdvised) return
      isAdvised = true
      for (const line of adviceOf(options)) say(line)
    },
    sent({ record }, { fCnt, fPort, bytes, isConfirmed }) {
      const kind = isConfirmed ? ', confirmed' : ''
      if (options.isVerbose)
        say(`uplink   ${record.devEui} fCnt ${fCnt}, fPort ${fPort}, ${bytes.toString('hex')}${kind}`)
    },
    received({ record }, { fCnt, fPort, payload, isConfirmed, isAcknowledgement, macCommands }) {
      const parts = [
        `fCnt ${fCnt}`,
        ...(fPort === undefined || fPort === 0 ? [] : [`fPort ${fPort}`, payload.toString('hex')]),
        ...(isConfirmed ? ['confirmed'] : []),
        ...(isAcknowledgement ? ['acknowledges'] : []),
        ...macCommands.map(({ name }) => name),
      ]
      const isCommand = fPort !== undefined && fPort > 0
      if (isCommand || options.isVerbose) {
        say(`${isCommand ? 'command ' : 'frame   '} ${record.devEui} ${parts.join(', ')}`)
      }
    },
    failed: ({ record }, reason) => say(`failed   ${record.devEui} ${reason}`),
  }
}

/** Advice to people if no answer comes; reported once. */
function adviceOf({ protocol, topicPrefix, url, gatewayIds, region }: LorawanOptions): string[] {
  const isVersion4 = protocol === 'v4'
  return [
    'ChirpStack answers a join request when all of this is so:',
    `- its gateways' broker is ${url}` +
      (isVersion4 ? `, and the topic_prefix of its region is "${topicPrefix}" (--topic-prefix)` : ''),
    `- it knows the gateway ${gatewayIds[0] ?? ''}` + (isVersion4 ? ', or allow_unknown_gateways is true' : ''),
    '- the device is there with this DevEUI and key, and a profile with OTAA and LoRaWAN 1.0.x for ' + region.id,
    "- it has not answered this very join request before: the simulator's DevNonce is random, so try again",
  ]
}
