/**
 * Adds `object` to uplinks whose network server sent none. Only this member is put into the event's
 * text: numbers, their spelling and the order of members stay those of the network server.
 */
import type { Codecs, Decoded, DecodeRequest } from './codecs.ts'

/** How the uplinks of an application are decoded. */
export interface UplinkCodec extends Pick<DecodeRequest, 'applicationId' | 'codec' | 'script' | 'variables'> {
  /** When the event came in, in ms since 1970. Used when the event tells no time. */
  readonly receivedAtMs: number
  /** The device profile whose codec it is, and the FPorts that it decodes. */
  readonly profile?:
    | (NonNullable<DecodeRequest['profile']> & { readonly decodesPort: ((fPort: number) => boolean) | undefined })
    | undefined
}

/** An uplink on its way to its subscribers. */
export interface UplinkWithObject {
  /**
   * The event, with `object` if it could be decoded. When nothing is to be added, it is the very
   * payload that came in.
   */
  readonly payload: Buffer
  /**
   * The error event to be published beside an uplink that could not be decoded: in family A as
   * `error`, in family B as `log`.
   */
  readonly error: { readonly kind: 'error' | 'log'; readonly payload: Buffer } | undefined
}

/**
 * The largest event that is looked into, in bytes. Real events have 1,000 to 2,000. A larger one
 * passes unchanged.
 */
const MAXIMUM_EVENT_BYTES = 65_536

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** An event's text, and the places of its members' values in it. */
interface EventText {
  readonly text: string
  readonly members: ReadonlyMap<string, { readonly start: number; readonly end: number }>
  readonly values: Readonly<Record<string, unknown>>
}

/**
 * Decodes an uplink of family A or B. Events that already have an `object`, that carry no
 * application data (no `data`, or fPort 0), or that are no JSON objects pass unchanged. Rejects
 * only when the codecs do.
 */
export async function addObject(
  payload: Buffer,
  { applicationId, codec, script, variables, profile, receivedAtMs }: UplinkCodec,
  codecs: Pick<Codecs, 'decodeUplink'>,
): Promise<UplinkWithObject> {
  const event = codec === '' ? undefined : eventTextOf(payload)
  if (event === undefined || !lacksObject(event)) return { payload, error: undefined }
  const { data, fPort } = event.values
  if (profile?.decodesPort?.(Number(fPort)) === false) return { payload, error: undefined }
  const bytes = typeof data === 'string' ? bytesOf(data) : undefined
  if (bytes === undefined) return { payload, error: errorEvent(event, 'data: is not base64') }
  const recvTimeMs = receptionOf(event) ?? receivedAtMs
  const decoded = await codecs.decodeUplink({
    applicationId,
    codec,
    script,
    variables,
    profile,
    fPort: Number(fPort),
    bytes,
    recvTimeMs,
    mayGather: true,
  })
  if (decoded.ok) return { payload: withObject(event, decoded), error: undefined }
  const place = decoded.line === undefined ? '' : ` (line ${decoded.line})`
  return { payload, error: errorEvent(event, `${decoded.message}${place}`) }
}

/**
 * An uplink that goes on without being decoded: unchanged, with an error event beside it if it
 * lacks its object.
 */
export function withoutObject(payload: Buffer, message: string): UplinkWithObject {
  const event = eventTextOf(payload)
  return { payload, error: event !== undefined && lacksObject(event) ? errorEvent(event, message) : undefined }
}

/** The text of an event; undefined for one that is no JSON object, or too large. */
export function eventTextOf(payload: Buffer): EventText | undefined {
  if (payload.length > MAXIMUM_EVENT_BYTES) return undefined
  try {
    // A text that is not UTF-8 would not come out as it went in.
    const text = utf8.decode(payload)
    const values: unknown = JSON.parse(text)
    if (typeof values !== 'object' || values === null || Array.isArray(values)) return undefined
    return { text, members: membersOf(text), values: values as Record<string, unknown> }
  } catch {
    return undefined
  }
}

function lacksObject({ values }: EventText): boolean {
  const { data, fPort, object } = values
  const isApplicationData = typeof fPort === 'number' && Number.isInteger(fPort) && fPort > 0 && fPort <= 255
  return isApplicationData && (object ?? null) === null && data !== undefined && data !== null && data !== ''
}

/** RFC 4648 §4, with complete padding or without padding. */
function bytesOf(data: string): Buffer | undefined {
  const bytes = Buffer.from(data, 'base64')
  const canonical = bytes.toString('base64')
  return data === canonical || data === canonical.replace(/=+$/, '') ? bytes : undefined
}

/**
 * When a gateway heard the uplink: `time` in family B, the time of the first reception in family A.
 */
function receptionOf({ values }: EventText): number | undefined {
  const { time, rxInfo } = values
  const first: unknown = Array.isArray(rxInfo) ? rxInfo[0] : undefined
  const ofFirst: unknown = typeof first === 'object' && first !== null && 'time' in first ? first.time : undefined
  const text = time ?? ofFirst
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * Puts the object in the place of a null, or behind `data`. The measurements of a script that
 * normalizes come behind the object, as a list.
 */
function withObject({ text, members }: EventText, { json, normalizedJson }: Decoded): Buffer {
  const isNull = members.get('object')
  const start = isNull?.start ?? members.get('data')?.end ?? 0
  const end = isNull?.end ?? start
  const name = isNull === undefined ? ',"object":' : ''
  const isTold = normalizedJson === undefined || members.has('normalized')
  const list = normalizedJson?.startsWith('[') === true ? normalizedJson : `[${normalizedJson}]`
  const measurements = isTold ? '' : `,"normalized":${list}`
  return Buffer.from(`${text.slice(0, start)}${name}${json}${measurements}${text.slice(end)}`)
}

function errorEvent(event: EventText, message: string): NonNullable<UplinkWithObject['error']> {
  const raw = (name: string, absent: string): string => {
    const span = event.members.get(name)
    return span === undefined ? absent : event.text.slice(span.start, span.end)
  }
  const sentence = JSON.stringify(message)
  if (event.members.has('deviceInfo')) {
    const about = `"time":${raw('time', 'null')},"deviceInfo":${raw('deviceInfo', '{}')}`
    const context = `{"deduplication_id":${raw('deduplicationId', '""')}}`
    const told = `"level":"ERROR","code":"UPLINK_CODEC","description":${sentence},"context":${context}`
    return { kind: 'log', payload: Buffer.from(`{${about},${told}}`) }
  }
  const about = ['applicationID', 'applicationName', 'deviceName', 'devEUI'].map(
    (name) => `"${name}":${raw(name, '""')}`,
  )
  const told = `"tags":${raw('tags', '{}')},"type":"UPLINK_CODEC","error":${sentence},"fCnt":${raw('fCnt', '0')}`
  return { kind: 'error', payload: Buffer.from(`{${about.join(',')},${told}}`) }
}

/**
 * The places of the values of a valid JSON object's own members. If a name is there twice, its last
 * value counts, as for JSON.parse.
 */
function membersOf(text: string): EventText['members'] {
  const members = new Map<string, { readonly start: number; readonly end: number }>()
  let index = text.indexOf('{') + 1
  for (;;) {
    const keyStart = skipSpace(text, index)
    if (text.charCodeAt(keyStart) !== QUOTE) return members
    const keyEnd = endOfText(text, keyStart)
    const start = skipSpace(text, text.indexOf(':', keyEnd) + 1)
    const end = endOfValue(text, start)
    members.set(nameOf(text, keyStart, keyEnd), { start, end })
    index = skipSpace(text, end) + 1
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The name that stands between the quotes. */
function nameOf(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1)
  return name.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : name
}

function skipSpace(text: string, start: number): number {
  let index = start
  while (isSpace(text.charCodeAt(index))) index += 1
  return index
}

/** False behind the end of the text. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The index behind the closing quote: the first one behind an even number of backslashes. */
function endOfText(text: string, start: number): number {
  let quote = start
  for (;;) {
    quote = text.indexOf('"', quote + 1)
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((quote - before) % 2 === 1) return quote + 1
  }
}

function endOfValue(text: string, start: number): number {
  if (text.charCodeAt(start) === QUOTE) return endOfText(text, start)
  let depth = 0
  let index = start
  while (index < text.length) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      index = endOfText(text, index)
      continue
    }
    const isEnd = code === 0x7d || code === 0x5d
    if (depth === 0 && (isEnd || code === 0x2c || isSpace(code))) return index
    if (code === 0x7b || code === 0x5b) depth += 1
    if (isEnd) {
      depth -= 1
      if (depth === 0) return index + 1
    }
    index += 1
  }
  return index
}
