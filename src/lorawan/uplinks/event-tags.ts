/**
 * Puts the tags that a device has in the registry into its events: into `deviceInfo.tags` in family
 * B, into `tags` in family A. No other bytes of the event change, and only the tags that the
 * network server sent are parsed.
 */

/** The tags that a device has in the registry, prepared for its events. */
export class DeviceTags {
  readonly #tags: Readonly<Record<string, string>>
  readonly #json: Buffer
  /**
   * The last tags that the network server sent, and the tags that they became. Successive events of
   * a device have the same tags.
   */
  #sent: Buffer | undefined = undefined
  #merged: Buffer | undefined = undefined

  constructor(tags: Readonly<Record<string, string>>) {
    this.#tags = tags
    this.#json = Buffer.from(JSON.stringify(tags))
  }

  /** The memory that the tags take, roughly, in bytes. */
  get size(): number {
    return 2 * this.#json.length + 2 * MAXIMUM_REMEMBERED_BYTES
  }

  /**
   * The event with these tags. If the network server has a tag of the same name, the registry's
   * value counts. Returns the very payload that came in when it is no JSON object, or larger than
   * real events are.
   */
  into(payload: Buffer): Buffer {
    if (payload.length > MAXIMUM_EVENT_BYTES) return payload
    const place = usualPlace(payload) ?? placeOfTags(payload)
    if (place === undefined) return payload
    const { start, end } = place
    if (start === end) {
      const comma = place.isAlone ? '' : ','
      return spliced(payload, start, end, Buffer.concat([NAME, this.#json, Buffer.from(comma)]))
    }
    const sent = payload.subarray(start, end)
    const merged = this.#mergedWith(sent)
    return merged === undefined || merged.equals(sent) ? payload : spliced(payload, start, end, merged)
  }

  #mergedWith(sent: Buffer): Buffer | undefined {
    if (this.#sent?.equals(sent) === true) return this.#merged
    const merged = merge(sent, this.#tags)
    if (merged !== undefined && Math.max(sent.length, merged.length) <= MAXIMUM_REMEMBERED_BYTES) {
      this.#sent = Buffer.from(sent)
      this.#merged = merged
    }
    return merged
  }
}

/** The largest event that is looked into, in bytes. Real events have 500 to 2,000. */
export const MAXIMUM_EVENT_BYTES = 65_536
/** The longest tags of an event that are remembered, in bytes. */
const MAXIMUM_REMEMBERED_BYTES = 512

const NAME = Buffer.from('"tags":')
const TAGS = Buffer.from('"tags"')
const DEVICE_INFO = Buffer.from('"deviceInfo"')
const TAGS_OBJECT = Buffer.from('"tags":{')
const DEVICE_INFO_OBJECT = Buffer.from('"deviceInfo":{')
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN = 0x7b
const CLOSE = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

/**
 * The span of a value. An empty span is the place where a member is to be put in; `isAlone` is true
 * when no other member follows it.
 */
interface Place {
  readonly start: number
  readonly end: number
  readonly isAlone?: boolean
}

/** The payload with other bytes in the place of a span. */
export function spliced(payload: Buffer, start: number, end: number, between: Buffer): Buffer {
  const result = Buffer.allocUnsafe(payload.length - (end - start) + between.length)
  payload.copy(result, 0, 0, start)
  between.copy(result, start)
  payload.copy(result, start + between.length, end)
  return result
}

/** Undefined when the network server sent something else than an object. */
function merge(sent: Buffer, tags: Readonly<Record<string, string>>): Buffer | undefined {
  try {
    const value: unknown = JSON.parse(sent.toString())
    if (typeof value !== 'object' || Array.isArray(value)) return undefined
    return Buffer.from(JSON.stringify({ ...value, ...tags }))
  } catch {
    return undefined
  }
}

/**
 * The place of the tags where real network servers write them, found without reading the event byte
 * by byte. Undefined when the place is not certain. Quotes within a text are escaped, so a match is
 * the name of a member. A brace within a text only makes the place uncertain.
 */
function usualPlace(payload: Buffer): Place | undefined {
  const info = payload.indexOf(DEVICE_INFO_OBJECT)
  const start = payload.indexOf(TAGS_OBJECT, Math.max(info, 0)) + NAME.length
  // A longer text that ends like the name has an escaped quote before it.
  if (start < NAME.length || payload[info - 1] === BACKSLASH || payload[start - NAME.length - 1] === BACKSLASH) {
    return undefined
  }
  const end = endOfValue(payload, start)
  if (info < 0) {
    // Only the event itself ends behind the tags.
    const isLastLevel = payload.indexOf(CLOSE, end) === payload.length - 1
    return isLastLevel && payload.indexOf(OPEN, end) < 0 && payload.indexOf(CLOSE_LIST, end) < 0
      ? { start, end }
      : undefined
  }
  // No other object begins before the tags, and none ends.
  const inner = info + DEVICE_INFO_OBJECT.length
  const isOfEvent = payload[0] === OPEN && payload.indexOf(OPEN, 1) === inner - 1
  const isOfInfo = payload.indexOf(OPEN, inner) === start && payload.indexOf(CLOSE, inner) > start
  return isOfEvent && isOfInfo ? { start, end } : undefined
}

/** Undefined when the event is no JSON object, as far as it is read. */
function placeOfTags(payload: Buffer): Place | undefined {
  const begin = skipSpace(payload, 0)
  if (payload[begin] !== OPEN) return undefined
  const member = findMember(payload, begin, DEVICE_INFO, TAGS)
  if (member === undefined) return undefined
  // No known network server sends an event without either member. The tags go first.
  if (member === 'none') return insertion(payload, begin)
  if (!member.isFirst) return member
  if (payload[member.start] !== OPEN) return undefined
  const inner = findMember(payload, member.start, TAGS)
  return inner === 'none' ? insertion(payload, member.start) : inner
}

function insertion(payload: Buffer, begin: number): Place {
  return { start: begin + 1, end: begin + 1, isAlone: payload[skipSpace(payload, begin + 1)] === CLOSE }
}

/**
 * The value of the first member with one of the names, in the object at `begin`. Undefined when the
 * text breaks off.
 */
export function findMember(
  payload: Buffer,
  begin: number,
  name: Buffer,
  otherName?: Buffer,
): (Place & { readonly isFirst: boolean }) | 'none' | undefined {
  let index = skipSpace(payload, begin + 1)
  while (payload[index] === QUOTE) {
    const nameEnd = endOfText(payload, index)
    const colon = skipSpace(payload, nameEnd)
    if (payload[colon] !== COLON) return undefined
    const start = skipSpace(payload, colon + 1)
    const end = endOfValue(payload, start)
    const isFirst = isAt(payload, index, nameEnd, name)
    if (isFirst || (otherName !== undefined && isAt(payload, index, nameEnd, otherName))) return { start, end, isFirst }
    index = skipSpace(payload, end)
    if (payload[index] !== COMMA) break
    index = skipSpace(payload, index + 1)
  }
  return payload[index] === CLOSE ? 'none' : undefined
}

function isAt(payload: Buffer, start: number, end: number, name: Buffer): boolean {
  return end - start === name.length && name.compare(payload, start, end) === 0
}

/** The index of the first byte from `start` on that is no white space of JSON. */
export function skipSpace(payload: Buffer, start: number): number {
  let index = start
  for (let byte = payload[index]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;) {
    index += 1
    byte = payload[index]
  }
  return index
}

/** The index behind the closing quote. */
function endOfText(payload: Buffer, start: number): number {
  let index = start + 1
  while (index < payload.length && payload[index] !== QUOTE) index += payload[index] === BACKSLASH ? 2 : 1
  return index + 1
}

function endOfValue(payload: Buffer, start: number): number {
  if (payload[start] === QUOTE) return endOfText(payload, start)
  let depth = 0
  let index = start
  while (index < payload.length) {
    const byte = payload[index] as number
    if (byte === QUOTE) {
      index = endOfText(payload, index)
      continue
    }
    if (depth === 0 && (byte === COMMA || byte === CLOSE || byte <= 0x20)) return index
    if (byte === OPEN || byte === OPEN_LIST) depth += 1
    if (byte === CLOSE || byte === CLOSE_LIST) {
      depth -= 1
      if (depth === 0) return index + 1
    }
    index += 1
  }
  return index
}
