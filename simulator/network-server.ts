/**
 * The network server's MQTT side: publishes events, takes commands, and keeps its Session over
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
  /**
   * The certificates that the server's is verified against, in PEM; the system's where undefined.
   */
  readonly certificateAuthority: Buffer | undefined
  readonly userName: string | undefined
  readonly password: string | undefined
  readonly clientId: string
  /** Decides the Topic Filter of commands. */
  readonly family: Family
  /** 4 is MQTT 3.1.1. */
  readonly protocolVersion: 4 | 5
  /** Of the events. */
  readonly qos: 0 | 1 | 2
  /** Of the subscription to commands. */
  readonly commandQos: 0 | 1 | 2
  /**
   * True for a new Session with each connection: commands that come meanwhile are not kept for it.
   */
  readonly cleanSession: boolean
  /** How long MQTT 5 brokers keep the Session; those of MQTT 3.1.1 decide it by themselves. */
  readonly sessionExpirySeconds: number
  /**
   * The wait before the first new attempt to connect, in milliseconds; doubles up to 32 times this.
   */
  readonly reconnectDelayMs: number
  readonly onCommand: (topicName: string, payload: Buffer) => void
  readonly onStatus: (status: ConnectionStatus) => void
  /** The broker has answered for the event, whatever it said. */
  readonly onAnswered: (event: BrokerEvent) => void
  /** The first refusal of its kind and reason; further ones are counted. */
  readonly onRefused: (event: BrokerEvent, reasonCode: number, reason: string) => void
}

/** `failed` is final: trying again would not help. */
export type ConnectionStatus =
  | { readonly state: 'connected'; readonly sessionPresent: boolean }
  | { readonly state: 'disconnected'; readonly reason: string }
  | {
      readonly state: 'failed'
      readonly because: 'credentials' | 'certificate' | 'subscription'
      readonly reason: string
    }

/** What was published since the start. */
export interface PublishStatistics {
  readonly published: Readonly<Record<SimulatedEventKind, number>>
  /** Acknowledged with a Reason Code of 0x80 and above, by "0x87 reason". */
  readonly refused: ReadonlyMap<string, number>
  /** Not handed to the connection, since too many were without an answer. */
  readonly dropped: number
  readonly commands: number
}

export interface NetworkServer {
  publish(event: BrokerEvent): void
  readonly statistics: PublishStatistics
  /** Waits up to two seconds for answers, then disconnects; the Session stays with the broker. */
  close(): Promise<void>
}

/**
 * The topics of commands to all devices that the credential allows; servers of family B share them.
 */
export const COMMAND_FILTERS: Readonly<Record<Family, string>> = {
  A: 'application/+/device/+/command/down',
  B: '$share/chirpstack/application/+/device/+/command/+',
}

/**
 * Events without an answer; beyond it they are dropped and counted, so that a broker that is away
 * takes no memory.
 */
const MAXIMUM_UNANSWERED = 2000

/** What a broker that says nothing takes: as many as there are Packet Identifiers. */
const MAXIMUM_RECEIVE_MAXIMUM = 65_535

/** Kinds of refusal that are told apart; more are counted as others. */
const MAXIMUM_REFUSAL_KINDS = 50

const CLOSE_TIMEOUT_MS = 2000

/**
 * CONNACK codes that a further attempt with the same settings would get again (MQTT 3.1.1 §3.2.2.3,
 * MQTT 5.0 §3.2.2.2).
 */
const FINAL_REASON_CODES: ReadonlySet<number> = new Set([1, 2, 4, 5, 0x84, 0x85, 0x86, 0x87, 0x8a, 0x8c])

/**
 * Connects, and goes on trying until `close`, but for the faults that end in the state `failed`.
 */
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
    // A broker that is starting or full says so in CONNACK; it is worth another attempt.
    reconnectOnConnackError: true,
    // The subscription is made anew with each connection, above.
    resubscribe: false,
  }
}

interface Outbox {
  publish(event: BrokerEvent): void
  /**
   * The broker takes so many events without an answer (MQTT 5.0 §3.3.4), which MQTT.js does not
   * count.
   */
  connected(receiveMaximum: number): void
  statistics(): Omit<PublishStatistics, 'commands'>
  /** Resolved when every event has its answer. */
  drained(): Promise<void>
}

/** Events between the devices and the connection, with what became of them. */
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
  /** Events that the broker has no room for now, or that wait for a connection. */
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
  // Without force, MQTT.js waits for the answers for as long as they take.
  await client.endAsync(!isDrained)
}

/** True when the promise is resolved in time. */
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

/** OpenSSL's and Node's codes for a certificate that doesn't verify. */
export function isCertificateFault(code: unknown): boolean {
  return (
    typeof code === 'string' &&
    /^(?:CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ERR_TLS_CERT)/.test(code)
  )
}

function hexadecimal(code: number): string {
  return `0x${code.toString(16).padStart(2, '0')}`
}
