/**
 * A client of the bare peers: the least work between two sockets that a load of these scenarios
 * can't distinguish from a broker. It reads the fixed header and the Topic Name, copies the rest,
 * and keeps, limits and checks nothing. The sockets are the peer's own.
 */

const CONNECT = 1
const PUBLISH = 3
const SUBSCRIBE = 8
/** A buffer with more bytes is written before the end of the turn. */
const FLUSH_BYTES = 65_536

const subscribers = new Map<string, BareClient[]>()
/** The receivers by Topic Name; forgotten at each SUBSCRIBE. */
const routes = new Map<string, readonly BareClient[]>()
let flushing: BareClient[] = []

export class BareClient {
  readonly #write: (bytes: Buffer) => void
  #rest: Buffer | undefined = undefined
  #parts: Buffer[] = []
  #bytes = 0
  #packetId = 0

  /** `write` sends these bytes to the client. */
  constructor(write: (bytes: Buffer) => void) {
    this.#write = write
  }

  nextPacketId(): number {
    this.#packetId = (this.#packetId % 65_535) + 1
    return this.#packetId
  }

  send(packet: Buffer): void {
    if (this.#parts.length === 0) {
      if (flushing.length === 0) setImmediate(flushAll)
      flushing.push(this)
    }
    this.#parts.push(packet)
    this.#bytes += packet.length
    if (this.#bytes >= FLUSH_BYTES) this.flush()
  }

  flush(): void {
    const parts = this.#parts
    const [first] = parts
    if (first === undefined) return
    const bytes = parts.length === 1 ? first : Buffer.concat(parts, this.#bytes)
    this.#parts = []
    this.#bytes = 0
    this.#write(bytes)
  }

  /** Takes the client's bytes in their order; the chunk is the client's. */
  received(bytes: Buffer): void {
    const chunk = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    let start = 0
    for (let body = bodyOf(chunk, start); body !== undefined; body = bodyOf(chunk, start)) {
      this.#handle(chunk, start, body)
      start = body.end
    }
    this.#rest = start < chunk.length ? chunk.subarray(start) : undefined
  }

  #handle(chunk: Buffer, start: number, body: Body): void {
    const firstByte = chunk[start] as number
    const type = firstByte >> 4
    if (type === PUBLISH) this.#publish(chunk, start, body, (firstByte & 6) !== 0)
    else if (type === SUBSCRIBE) this.#subscribe(chunk, body)
    else if (type === CONNECT) this.send(Buffer.from([0x20, 2, 0, 0]))
  }

  #publish(chunk: Buffer, start: number, body: Body, isAcknowledged: boolean): void {
    const topicEnd = body.start + 2 + chunk.readUInt16BE(body.start)
    for (const receiver of routeOf(chunk.toString('latin1', body.start + 2, topicEnd))) {
      const packet = Buffer.allocUnsafe(body.end - start)
      chunk.copy(packet, 0, start, body.end)
      if (isAcknowledged) packet.writeUInt16BE(receiver.nextPacketId(), topicEnd - start)
      receiver.send(packet)
    }
    if (isAcknowledged) this.send(Buffer.from([0x40, 2, chunk[topicEnd] as number, chunk[topicEnd + 1] as number]))
  }

  #subscribe(chunk: Buffer, body: Body): void {
    const codes: number[] = []
    for (let at = body.start + 2; at < body.end;) {
      const filterEnd = at + 2 + chunk.readUInt16BE(at)
      const topicFilter = chunk.toString('latin1', at + 2, filterEnd)
      const known = subscribers.get(topicFilter)
      if (known === undefined) subscribers.set(topicFilter, [this])
      else known.push(this)
      codes.push(chunk[filterEnd] as number)
      at = filterEnd + 1
    }
    routes.clear()
    const packetId = chunk.subarray(body.start, body.start + 2)
    this.send(Buffer.from([0x90, 2 + codes.length, ...packetId, ...codes]))
  }
}

interface Body {
  readonly start: number
  readonly end: number
}

/** The position of the packet's body; undefined while the packet is incomplete. */
function bodyOf(chunk: Buffer, packetStart: number): Body | undefined {
  let length = 0
  for (let at = packetStart + 1, shift = 0; at < chunk.length; at += 1, shift += 7) {
    const byte = chunk[at] as number
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) return at + 1 + length <= chunk.length ? { start: at + 1, end: at + 1 + length } : undefined
  }
  return undefined
}

/**
 * The load's Topic Filters are Topic Names, or have a `+` in place of the DevEUI, the event's kind
 * or both.
 */
function routeOf(topicName: string): readonly BareClient[] {
  const known = routes.get(topicName)
  if (known !== undefined) return known
  const levels = topicName.split('/')
  const filters = [topicName, levels.with(3, '+').join('/'), levels.with(5, '+').join('/')]
  const route = filters.flatMap((topicFilter) => subscribers.get(topicFilter) ?? [])
  routes.set(topicName, route)
  return route
}

function flushAll(): void {
  const clients = flushing
  flushing = []
  for (const client of clients) client.flush()
}
