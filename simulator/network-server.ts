/**
 * The network server's MQTT side: publishes events, receives commands, and keeps its Session over
 * reconnections.
 */
import { connect } from 'mqtt'
import type { IClientOptions, MqttClient, Packet } from 'mqtt'
import { eventTopic } from '../src/lorawan/topics.ts'
import type { BrokerEvent, SimulatedEventKind } from './broker-event.ts'
import type { Family } from './downlink.ts'

export interface NetworkServerSettings {
  /** `mqtts://host:port`, or `mqtt://` for a broker without TLS. */
  readonly url: string
  /** PEM certificates that verify the server's certificate; undefined: the system's. */
  readonly certificateAuthority: Buffer | undefined
  readonly userName: string | undefined
  readonly password: string | undefined
  readonly clientId: string
  /** Decides the Topic Filter of commands. */
  readonly family: Family
  /** 4 stands for MQTT 3.1.1. */
  readonly protocolVersion: 4 | 5
  /** The QoS of events. */
  readonly qos: 0 | 1 | 2
  /** The QoS of the subscription to commands. */
  readonly commandQos: 0 | 1 | 2
  /**
   * True: each connection begins a new Session, so commands that come between connections are lost.
   */
  readonly cleanSession: boolean
  /** How long an MQTT 5.0 broker keeps the Session; an MQTT 3.1.1 broker decides by itself. */
  readonly sessionExpirySeconds: number
  /**
   * The wait before the first attempt to connect again, in milliseconds; doubles up to 32 times
   * this.
   */
  readonly reconnectDelayMs: number
  readonly onCommand: (topicName: string, payload: Buffer) => void
  readonly onStatus: (status: ConnectionStatus) => void
  /** The broker has answered the event, with success or a refusal. */
  readonly onAnswered: (event: BrokerEvent) => void
  /** The first refusal with this kind and reason; further ones are only counted. */
  readonly onRefused: (event: BrokerEvent, reasonCode: number, reason: string) => void
}

/** `failed` is final: another attempt would not help. */
export type ConnectionStatus =
  | { readonly state: 'connected'; readonly sessionPresent: boolean }
  | { readonly state: 'disconnected'; readonly reason: string }
  | {
      readonly state: 'failed'
      readonly because: 'credentials' | 'certificate' | 'subscription'
      readonly reason: string
    }

/** The totals of published events since the start. */
export interface PublishStatistics {
  readonly published: Readonly<Record<SimulatedEventKind, number>>
  /** Acknowledged with a Reason Code of 0x80 and above, by "0x87 reason". */
  readonly refused: ReadonlyMap<string, number>
  /** Events that were not handed to the connection, because too many had no answer. */
  readonly dropped: number
  readonly commands: number
}

export interface NetworkServer {
  publish(event: BrokerEvent): void
  readonly statistics: PublishStatistics
  /** Waits up to two seconds for answers, then disconnects; the broker keeps the Session. */
  close(): Promise<void>
}

/**
 * The topics of commands to all devices that the credential allows; servers of family B share the
 * subscription.
 */
export const COMMAND_FILTERS: Readonly<Record<Family, string>> = {
  A: 'application/+/device/+/command/down',
  B: '$share/chirpstack/application/+/device/+/command/+',
}

/**
 * The most events without an answer. Further events are dropped and counted, so a broker that is
 * away takes no memory.
 */
const MAXIMUM_UNANSWERED = 2000

/** The Receive Maximum of a broker that names none: the number of Packet Identifiers. */
const MAXIMUM_RECEIVE_MAXIMUM = 65_535

/** The most kinds of refusal that are counted apart; further kinds are counted together. */
const MAXIMUM_REFUSAL_KINDS = 50

const CLOSE_TIMEOUT_MS = 2000

/**
 * CONNACK codes that another attempt with the same settings would get again (MQTT 3.1.1 §3.2.2.3,
 * MQTT 5.0 §3.2.2.2).
 */
const FINAL_REASON_CODES: ReadonlySet<number> = new Set([1, 2, 4, 5, 0x84, 0x85, 0x86, 0x87, 0x8a, 0x8c])

/** Connects, and keeps trying until `close`, except after faults that end in the state `failed`. */
export function createNetworkServer(settings: NetworkServerSettings): NetworkServer {
  const client = connect(settings.url, clientOptions(settings))
  const outbox = createOutbox(client, settings)
  let commands = 0
  let hasFailed = false

  const fail = (because: 'credentials' | 'certificate' | 'subscription', reason: string): void => {
    if (hasFailed) return
    hasFailed = true
    client.end(true)
    settings.onStatus({ state: 'failed', because, reason })
  }

  client.on('connect', ({ sessionPresent, properties }) => {
    client.options.reconnectPeriod = settings.reconnectDelayMs
    outbox.connected(properties?.receiveMaximum ?? MAXIMUM_RECEIVE_MAXIMUM)
    const topicFilter = COMMAND_FILTERS[settings.family]
    client.subscribe(topicFilter, { qos: settings.commandQos }, (error) => {
      if (error === null) settings.onStatus({ state: 'connected', sessionPresent })
      else if (client.connected) fail('subscription', `${topicFilter}: ${error.message}`)
    })
  })
  client.on('reconnect', () => {
    const period = client.options.reconnectPeriod ?? settings.reconnectDelayMs
    client.options.reconnectPeriod = Math.min(period * 2, settings.reconnectDelayMs * 32)
  })
  let lastReason = 'the connection was closed'
  client.on('disconnect', (packet) => {
    lastReason = packet.properties?.reasonString ?? `the broker said ${hexadecimal(packet.reasonCode ?? 0)}`
  })
  client.on('error', (error: Error & { code?: unknown }) => {
    lastReason = error.message === '' ? String(error.code) : error.message
    if (typeof error.code === 'number' && FINAL_REASON_CODES.has(error.code)) fail('credentials', lastReason)
    else if (isCertificateFault(error.code)) fail('certificate', `${lastReason} (${String(error.code)})`)
  })
  client.on('close', () => {
    if (!hasFailed && !client.disconnecting) settings.onStatus({ state: 'disconnected', reason: lastReason })
    lastReason = 'the connection was closed'
  })
  client.on('message', (topicName, payload) => {
    commands += 1
    settings.onCommand(topicName, payload)
  })
  return {
    publish: (event) => outbox.publish(event),
    get statistics() {
      return { ...outbox.statistics(), commands }
    },
    close: () => close(client, outbox),
  }
}

function clientOptions(settings: NetworkServerSettings): IClientOptions {
  const keepsSession = settings.protocolVersion === 5 && !settings.cleanSession
  return {
    protocolVersion: settings.protocolVersion,
    clientId: settings.clientId,
    ...(settings.userName === undefined ? {} : { username: settings.userName }),
    ...(settings.password === undefined ? {} : { password: settings.password }),
    ...(settings.certificateAuthority === undefined ? {} : { ca: settings.certificateAuthority }),
    rejectUnauthorized: true,
    clean: settings.cleanSession,
    ...(keepsSession ? { properties: { sessionExpiryInterval: settings.sessionExpirySeconds } } : {}),
    keepalive: 30,
    connectTimeout: 10_000,
    reconnectPeriod: settings.reconnectDelayMs,
    // A broker that is starting or full says so in CONNACK; another attempt is worthwhile.
    reconnectOnConnackError: true,
    // The code above subscribes anew with each connection.
    resubscribe: false,
  }
}

interface Outbox {
  publish(event: BrokerEvent): void
  /**
   * The broker's Receive Maximum: the most events without an answer (MQTT 5.0 §3.3.4). MQTT.js does
   * not count them.
   */
  connected(receiveMaximum: number): void
  statistics(): Omit<PublishStatistics, 'commands'>
  /** Resolves when every event has its answer. */
  drained(): Promise<void>
}

/** Holds the events between the devices and the connection, and counts their fates. */
function createOutbox(client: MqttClient, settings: NetworkServerSettings): Outbox {
  const published: Record<SimulatedEventKind, number> = {
    up: 0,
    join: 0,
    ack: 0,
    error: 0,
    log: 0,
    status: 0,
    location: 0,
    txack: 0,
  }
  const refused = new Map<string, number>()
  /** Events that wait for room at the broker, or for a connection. */
  let waiting: BrokerEvent[] = []
  let receiveMaximum = MAXIMUM_RECEIVE_MAXIMUM
  let underWay = 0
  let dropped = 0
  let unanswered = 0
  let whenDrained: (() => void) | undefined

  const answered = (event: BrokerEvent, error: Error | undefined, packet: Packet | undefined): void => {
    unanswered -= 1
    underWay -= 1
    if (unanswered === 0) whenDrained?.()
    settings.onAnswered(event)
    if (waiting.length > 0) sendWaiting()
    if (error === undefined) {
      published[event.kind] += 1
      return
    }
    const reasonCode = 'code' in error && typeof error.code === 'number' ? error.code : 0x80
    const reason = reasonStringOf(packet) ?? error.message
    const label = `${hexadecimal(reasonCode)} ${reason}`
    const key = refused.has(label) || refused.size < MAXIMUM_REFUSAL_KINDS ? label : 'others'
    const count = refused.get(key) ?? 0
    refused.set(key, count + 1)
    if (count === 0) settings.onRefused(event, reasonCode, reason)
  }

  const send = (event: BrokerEvent): void => {
    underWay += 1
    const topicName = eventTopic(event.applicationId, event.devEui, event.kind)
    client.publish(topicName, JSON.stringify(event.payload), { qos: settings.qos }, (error, packet) =>
      answered(event, error ?? undefined, packet),
    )
  }

  const sendWaiting = (): void => {
    const room = client.connected ? Math.max(0, receiveMaximum - underWay) : 0
    const next = waiting.slice(0, room)
    waiting = waiting.slice(room)
    for (const event of next) send(event)
  }

  return {
    publish(event) {
      if (unanswered >= MAXIMUM_UNANSWERED) {
        dropped += 1
        return
      }
      unanswered += 1
      if (client.connected && waiting.length === 0 && underWay < receiveMaximum) send(event)
      else waiting.push(event)
    },
    connected(maximum) {
      receiveMaximum = maximum
      sendWaiting()
    },
    statistics: () => ({ published: { ...published }, refused: new Map(refused), dropped }),
    drained: () =>
      unanswered === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            whenDrained = resolve
          }),
  }
}

async function close(client: MqttClient, outbox: Outbox): Promise<void> {
  const isDrained = client.connected && (await isSettledWithin(outbox.drained(), CLOSE_TIMEOUT_MS))
  // Without force, MQTT.js waits for the answers without a limit.
  await client.endAsync(!isDrained)
}

/** True if the promise settles in time. */
async function isSettledWithin(promise: Promise<void>, timeoutMs: number): Promise<boolean> {
  const timeout = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => timeout.resolve(false), timeoutMs)
  const isSettled = await Promise.race([promise.then(() => true), timeout.promise])
  clearTimeout(timer)
  return isSettled
}

function reasonStringOf(packet: Packet | undefined): string | undefined {
  return packet !== undefined && 'properties' in packet && packet.properties !== undefined
    ? (packet.properties as { reasonString?: string }).reasonString
    : undefined
}

/** True for OpenSSL's and Node's codes of a certificate that does not verify. */
export function isCertificateFault(code: unknown): boolean {
  return (
    typeof code === 'string' &&
    /^(?:CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ERR_TLS_CERT)/.test(code)
  )
}

function hexadecimal(code: number): string {
  return `0x${code.toString(16).padStart(2, '0')}`
}
