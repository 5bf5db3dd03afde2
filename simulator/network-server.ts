/**
 * The network server's MQTT side: publishes events, receives commands, and keeps its Session over
 * reconnections.
 */
import { connect } from 'mqtt'
import type { IClientOptions, MqttClient } from 'mqtt'
import { given } from '../src/given.ts'
import type { BrokerEvent } from './broker-event.ts'
import type { Family } from './downlink.ts'
import { Outbox, hexadecimal } from './outbox.ts'
import type { OutboxSettings, PublishTotals } from './outbox.ts'

export interface NetworkServerSettings extends OutboxSettings {
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

/** The totals since the start. */
export interface PublishStatistics extends PublishTotals {
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

const CLOSE_TIMEOUT_MS = 2000

/**
 * CONNACK codes that another attempt with the same settings would get again (MQTT 3.1.1 §3.2.2.3,
 * MQTT 5.0 §3.2.2.2).
 */
const FINAL_REASON_CODES: ReadonlySet<number> = new Set([1, 2, 4, 5, 0x84, 0x85, 0x86, 0x87, 0x8a, 0x8c])

/** Connects, and keeps trying until `close`, except after faults that end in the state `failed`. */
export function createNetworkServer(settings: NetworkServerSettings): NetworkServer {
  const client = connect(settings.url, clientOptions(settings))
  const outbox = new Outbox(client, settings)
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
    outbox.connected(properties?.receiveMaximum)
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
      return { ...outbox.statistics, commands }
    },
    close: () => close(client, outbox),
  }
}

function clientOptions(settings: NetworkServerSettings): IClientOptions {
  const keepsSession = settings.protocolVersion === 5 && !settings.cleanSession
  return {
    protocolVersion: settings.protocolVersion,
    clientId: settings.clientId,
    ...given({ username: settings.userName, password: settings.password, ca: settings.certificateAuthority }),
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

/** True for OpenSSL's and Node's codes of a certificate that does not verify. */
export function isCertificateFault(code: unknown): boolean {
  return (
    typeof code === 'string' &&
    /^(?:CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ERR_TLS_CERT)/.test(code)
  )
}
