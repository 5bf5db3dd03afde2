/**
 * Makes an event that people can read from a message's topic and JSON. Both families of network
 * servers are understood.
 */

/** The kinds of event that the console knows. */
export const EVENT_KINDS = ['up', 'join', 'ack', 'txack', 'status', 'location', 'error', 'log'] as const

/** One event. */
export interface LiveEvent {
  /** Rises by one from event to event. It is the key of the event's row. */
  readonly serial: number
  /**
   * The service's id of the event, the same in the live and in the stored event; undefined where
   * the message has none.
   */
  readonly id: string | undefined
  readonly receivedAtMs: number
  readonly applicationId: string
  readonly devEui: string
  readonly deviceName: string
  readonly kind: string
  readonly topicName: string
  /** The payload as text. */
  readonly text: string
  /** The frame's bytes in base64; undefined where the event has none. */
  readonly data: string | undefined
  /** The object that the codec made of the bytes. */
  readonly object: unknown
  readonly fPort: number | undefined
  readonly fCnt: number | undefined
  /** RSSI in dBm and SNR in dB, of the gateway that received the frame best. */
  readonly rssi: number | undefined
  readonly snr: number | undefined
  /** The level in percent, of a status event. */
  readonly battery: number | undefined
  /** One line about the event. */
  readonly summary: string
  /** The event reports a fault. */
  readonly isFault: boolean
}

type Members = Readonly<Record<string, unknown>>

/** A message, live or stored. */
export interface EventMessage {
  readonly id: string | undefined
  readonly topicName: string
  readonly text: string
  readonly receivedAtMs: number
}

let lastSerial = 0

/**
 * Reads a message. Never throws: a message that is not JSON, or that lacks members, is shown as far
 * as it can be read.
 */
export function readEvent(message: EventMessage): LiveEvent {
  const { topicName, text } = message
  const [, applicationId = '', , devEui = '', , kind = ''] = topicName.split('/')
  lastSerial += 1
  const event = membersOf(parsed(text))
  const info = membersOf(event['deviceInfo'])
  const best = bestReception(event['rxInfo'])
  const facts = {
    data: textOf(event['data']),
    object: event['object'] ?? undefined,
    fPort: numberOf(event['fPort']),
    fCnt: numberOf(event['fCnt']) ?? numberOf(event['fCntDown']),
    ...best,
    battery: event['batteryLevelUnavailable'] === true ? undefined : numberOf(event['batteryLevel']),
  }
  const deviceName = textOf(event['deviceName']) ?? textOf(info['deviceName']) ?? ''
  // An error event without a level comes from a network server. The service's own error events have
  // the level INFO where a person wanted the end of a command: the command was cancelled.
  const level = textOf(event['level']) ?? (kind === 'error' ? 'ERROR' : '')
  const isFault = level === 'ERROR' || (kind === 'ack' && event['acknowledged'] === false)
  const summary = summaryOf(kind, event, facts)
  return { serial: lastSerial, ...message, applicationId, devEui, deviceName, kind, ...facts, summary, isFault }
}

interface Facts {
  readonly data: string | undefined
  readonly object: unknown
  readonly fPort: number | undefined
  readonly fCnt: number | undefined
}

function summaryOf(kind: string, event: Members, { data, object, fPort, fCnt }: Facts): string {
  const frame = fCnt === undefined ? '' : `frame ${fCnt}`
  switch (kind) {
    case 'up':
      return object === undefined ? joined([data === undefined ? 'no data' : data, port(fPort)]) : briefly(object)
    case 'join':
      return joined([`joined as ${textOf(event['devAddr']) ?? '?'}`])
    case 'ack':
      return joined([
        event['acknowledged'] === false ? 'the device did not acknowledge' : 'acknowledged by the device',
        frame,
      ])
    case 'txack':
      return joined(['sent by the gateway', textOf(event['gatewayID']) ?? textOf(event['gatewayId']) ?? '', frame])
    case 'status':
      return joined([battery(event), `margin ${numberOf(event['margin']) ?? '?'} dB`])
    case 'location':
      return place(membersOf(event['location']))
    case 'error':
    case 'log': {
      const type = textOf(event['type']) ?? textOf(event['code']) ?? ''
      // The type UNKNOWN says only that nobody gave a type.
      return joined([type === 'UNKNOWN' ? '' : type, textOf(event['error']) ?? textOf(event['description']) ?? ''])
    }
    default:
      return ''
  }
}

/** A part of an object that fits one line: its numbers and words, with their names. */
function briefly(object: unknown): string {
  const parts: string[] = []
  for (const [name, value] of leavesOf(object)) {
    parts.push(`${name.replace(/Sensor$/, '')} ${String(value)}`)
    if (parts.length === MAXIMUM_PARTS) break
  }
  return parts.join('  ·  ')
}

const MAXIMUM_PARTS = 6

/** Bounds the work for an object that is very large, or made to be. */
const MAXIMUM_LEAVES = 64
const MAXIMUM_DEPTH = 6

/**
 * The leaves of an object with their paths, such as `temperatureSensor.1`. Where a sensor has one
 * channel, the channel is left out.
 */
export function leavesOf(object: unknown): [name: string, value: string | number | boolean][] {
  const leaves: [string, string | number | boolean][] = []
  const visit = (value: unknown, path: string, depth: number): void => {
    if (leaves.length >= MAXIMUM_LEAVES) return
    if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') leaves.push([path, value])
    if (typeof value !== 'object' || value === null || depth >= MAXIMUM_DEPTH) return
    const entries = Object.entries(value)
    const isOneChannel = entries.length === 1 && /^\d+$/.test(entries[0]?.[0] ?? '') && path !== ''
    for (const [name, member] of entries)
      visit(member, isOneChannel ? path : path === '' ? name : `${path}.${name}`, depth + 1)
  }
  visit(object, '', 0)
  return leaves
}

function bestReception(receptions: unknown): { readonly rssi: number | undefined; readonly snr: number | undefined } {
  let best: { rssi: number | undefined; snr: number | undefined } = { rssi: undefined, snr: undefined }
  if (!Array.isArray(receptions)) return best
  for (const one of receptions) {
    const reception = membersOf(one)
    const rssi = numberOf(reception['rssi'])
    const snr = numberOf(reception['loRaSNR']) ?? numberOf(reception['snr'])
    if (rssi !== undefined && (best.rssi === undefined || rssi > best.rssi)) best = { rssi, snr }
  }
  return best
}

function battery(event: Members): string {
  if (event['externalPowerSource'] === true) return 'external power'
  const level = numberOf(event['batteryLevel'])
  return event['batteryLevelUnavailable'] === true || level === undefined
    ? 'battery unknown'
    : `battery ${Math.round(level)} %`
}

function place(location: Members): string {
  const latitude = numberOf(location['latitude'])
  const longitude = numberOf(location['longitude'])
  return latitude === undefined || longitude === undefined ? '' : `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`
}

function port(fPort: number | undefined): string {
  return fPort === undefined ? '' : `port ${fPort}`
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('  ·  ')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
