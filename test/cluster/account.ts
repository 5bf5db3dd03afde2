/**
 * The account of all messages of a load: the promises that its publishers got, and the messages
 * that came to each reader.
 */
import { placeOfId } from '../../src/broker/ports/message.ts'
import type { FaultsFound } from './faults-found.ts'
import { GrowingBytes, GrowingNumbers } from './growing-array.ts'

/** A message, by the number of its publisher and its number there. */
export interface MessageKey {
  readonly publisher: number
  readonly sequence: number
}

/** A message as it came to a reader. */
export interface Arrival extends MessageKey {
  readonly topicName: string
  /** The event's id; undefined for readers of MQTT 3.1.1. */
  readonly id: string | undefined
  readonly isDup: boolean
}

const ACKNOWLEDGED = 1
const RESENT = 2
/** Above all offsets of a partition: an offset has at most 49 bits. */
const PARTITION = 2 ** 49
/** Above all numbers of a publisher's messages in an order. */
const PUBLISHER = 2 ** 32

/** The messages of one publisher. */
class Published {
  readonly name: string
  readonly qos: 1 | 2
  readonly marks = new GrowingBytes()
  /** The places of the messages in the log, plus one. */
  readonly places = new GrowingNumbers()
  acknowledged = 0
  /** The number of the next message. */
  next = 0

  constructor(name: string, qos: 1 | 2) {
    this.name = name
    this.qos = qos
  }
}

/** The messages that came to one reader, or to the members of one shared subscription. */
export class Received {
  readonly name: string
  readonly qos: 1 | 2
  /** By publisher: how often each message came. */
  readonly #times = new Map<number, GrowingBytes>()
  /** By publisher: all messages below this number are settled. */
  readonly settled = new Map<number, number>()
  /** By publisher and Topic Name: the highest number that came. */
  readonly highest = new Map<string, number>()
  /** By Topic Name and QoS: the messages as they came first, packed; not checked yet. */
  readonly orders = new Map<string, number[]>()
  /** By Topic Name and QoS: the place of the last message whose order was checked. */
  readonly lastPlaces = new Map<string, number>()
  /** A shared subscription has no order over its members. */
  readonly isShared: boolean

  constructor(name: string, qos: 1 | 2, isShared: boolean) {
    this.name = name
    this.qos = qos
    this.isShared = isShared
  }

  times({ publisher, sequence }: MessageKey): number {
    return this.#times.get(publisher)?.get(sequence) ?? 0
  }

  count({ publisher, sequence }: MessageKey): void {
    let times = this.#times.get(publisher)
    if (times === undefined) this.#times.set(publisher, (times = new GrowingBytes()))
    times.set(sequence, Math.min(255, times.get(sequence) + 1))
  }
}

export class Account {
  readonly faults: FaultsFound
  /** Repeats of QoS 1 to readers that can tell them from new messages, or need not. */
  repeats = 0
  readonly #published: Published[] = []
  readonly #received: Received[] = []

  constructor(faults: FaultsFound) {
    this.faults = faults
  }

  /** Returns the number of the publisher. */
  addPublisher(name: string, qos: 1 | 2): number {
    return this.#published.push(new Published(name, qos)) - 1
  }

  addReader(name: string, qos: 1 | 2, isShared = false): Received {
    const received = new Received(name, qos, isShared)
    // A reader owes nothing that was published before it.
    for (const [publisher, { next }] of this.#published.entries()) received.settled.set(publisher, next)
    this.#received.push(received)
    return received
  }

  get acknowledged(): number {
    return this.#published.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  /** The numbers that the publishers' next messages get. */
  get sent(): readonly number[] {
    return this.#published.map(({ next }) => next)
  }

  /** Returns the number of the publisher's next message, which is sent now. */
  sends(publisher: number): number {
    const published = this.#publisher(publisher)
    published.next += 1
    return published.next - 1
  }

  acknowledges({ publisher, sequence }: MessageKey): void {
    const published = this.#publisher(publisher)
    const marks = published.marks.get(sequence)
    if ((marks & ACKNOWLEDGED) !== 0) return
    published.marks.set(sequence, marks | ACKNOWLEDGED)
    published.acknowledged += 1
  }

  /** The publisher has sent the message again. At QoS 1 this may make a second event of it. */
  sendsAgain({ publisher, sequence }: MessageKey): void {
    const { marks } = this.#publisher(publisher)
    marks.set(sequence, marks.get(sequence) | RESENT)
  }

  receives(reader: Received, arrival: Arrival): void {
    const published = this.#published[arrival.publisher]
    if (published === undefined) {
      this.faults.add('foreign', `${reader.name} got ${JSON.stringify(arrival)}`)
      return
    }
    const isRepeat = reader.times(arrival) > 0
    reader.count(arrival)
    if (isRepeat) this.#repeat(reader, published, arrival)
    else this.#first(reader, published, arrival)
  }

  /** Acknowledged messages below these numbers, by publisher, that a reader does not have. */
  missing(upTo: readonly number[]): { readonly reader: Received; readonly key: MessageKey }[] {
    const missing: { readonly reader: Received; readonly key: MessageKey }[] = []
    for (const reader of this.#received) {
      for (const [publisher, end] of upTo.entries()) {
        const { marks } = this.#publisher(publisher)
        let isSettled = true
        for (let sequence = reader.settled.get(publisher) ?? 0; sequence < end; sequence += 1) {
          const key = { publisher, sequence }
          if ((marks.get(sequence) & ACKNOWLEDGED) !== 0 && reader.times(key) === 0) {
            isSettled = false
            missing.push({ reader, key })
          }
          if (isSettled) reader.settled.set(publisher, sequence + 1)
        }
      }
    }
    return missing
  }

  /**
   * Counts what is missing below these numbers as lost, and checks the order of what has come. The
   * publishers must have an answer for all messages below.
   */
  settle(upTo: readonly number[]): void {
    for (const { reader, key } of this.missing(upTo)) {
      const { name } = this.#publisher(key.publisher)
      this.faults.add('lost', `${reader.name} misses ${name}:${key.sequence}`)
    }
    for (const reader of this.#received) {
      for (const [publisher, end] of upTo.entries()) reader.settled.set(publisher, end)
      for (const [ordered, order] of reader.orders) this.#checkOrder(reader, ordered, order)
    }
  }

  #first(reader: Received, published: Published, arrival: Arrival): void {
    const { publisher, sequence, topicName, id } = arrival
    if (id !== undefined) {
      const place = packedPlace(id)
      const known = published.places.get(sequence)
      // A publisher's own repetition at QoS 1 is another event, and comes to any member.
      const mayBeOther = reader.isShared && published.qos === 1 && (published.marks.get(sequence) & RESENT) !== 0
      if (known === 0) published.places.set(sequence, place)
      else if (known !== place && !mayBeOther) {
        this.faults.add(
          'unequalIds',
          `${reader.name} got ${published.name}:${sequence} as ${id}, others as ${idOf(known)}`,
        )
      }
    }
    if (reader.isShared) return
    const stream = `${publisher} ${topicName}`
    const highest = reader.highest.get(stream) ?? -1
    if (sequence < highest) {
      this.faults.add('disorder', `${reader.name} got ${published.name}:${sequence} after ${highest} on ${topicName}`)
    } else reader.highest.set(stream, sequence)
    // MQTT orders the messages of a topic that are delivered at one QoS [MQTT-4.6.0-6].
    const ordered = `${topicName} at QoS ${Math.min(reader.qos, published.qos)}`
    const order = reader.orders.get(ordered)
    const packed = publisher * PUBLISHER + sequence
    if (order === undefined) reader.orders.set(ordered, [packed])
    else order.push(packed)
  }

  #repeat(reader: Received, published: Published, { sequence, isDup, id }: Arrival): void {
    const words = `${reader.name} got ${published.name}:${sequence} again`
    if (reader.qos === 2 && published.qos === 2) {
      this.faults.add('twice', words)
      return
    }
    this.repeats += 1
    const isOther = id !== undefined && packedPlace(id) !== published.places.get(sequence)
    // A publisher's own repetition at QoS 1 is another event.
    const mayBeOther = published.qos === 1 && (published.marks.get(sequence) & RESENT) !== 0
    if (!isDup && isOther && !mayBeOther) this.faults.add('bareRepeats', `${words}, as ${id}`)
  }

  /** All readers must get these messages in one order: that of the messages' places. */
  #checkOrder(reader: Received, ordered: string, order: number[]): void {
    let checked = 0
    for (const packed of order) {
      const [publisher, sequence] = [Math.floor(packed / PUBLISHER), packed % PUBLISHER]
      const { name, places } = this.#publisher(publisher)
      const place = places.get(sequence)
      // No reader of MQTT 5 has got it yet.
      if (place === 0) break
      checked += 1
      const last = reader.lastPlaces.get(ordered) ?? 0
      if (place <= last)
        this.faults.add('disorder', `${reader.name} got ${name}:${sequence} (${idOf(place)}) after ${idOf(last)}`)
      else reader.lastPlaces.set(ordered, place)
    }
    order.splice(0, checked)
  }

  #publisher(number: number): Published {
    return this.#published[number] as Published
  }
}

/** The place that an event's id names, as one number above 0. */
function packedPlace(id: string): number {
  const place = placeOfId(id)
  if (place === undefined) throw new Error(`“${id}” is no id of an event`)
  return place.partition * PARTITION + place.offset + 1
}

function idOf(place: number): string {
  return `${Math.floor(place / PARTITION)}-${(place % PARTITION) - 1}`
}
