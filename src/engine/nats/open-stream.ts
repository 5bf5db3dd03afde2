/** Opens a stream of envelopes for a node: from here on only this process writes in its name. */
import type { Clock } from '../../clock.ts'
import { completeRead } from './complete-read.ts'
import type { Span } from './complete-read.ts'
import { firstOffset, readEnvelopeHead, writeEnvelope } from './envelope.ts'
import type { EnvelopeHead } from './envelope.ts'
import type { NatsLink, StoredEnvelope } from './nats-link.ts'
import type { NodeStream } from './nats-streams.ts'
import { PartitionLog } from './partition-log.ts'
import { publishSurely } from './publish-surely.ts'
import { StreamFollower } from './stream-follower.ts'
import { StreamWriter } from './stream-writer.ts'

export interface OpenedStream {
  /** The subject of the node's envelopes. */
  readonly subject: string
  readonly log: PartitionLog
  readonly writer: StreamWriter
  /** Call its `begin` when arrivals may come. */
  readonly follower: StreamFollower
}

export interface OpenStreamOptions {
  readonly link: NatsLink
  readonly clock: Clock
  readonly name: NodeStream
  readonly incarnation: string
  readonly gatherMs: number
  readonly tailBytes: number
  readonly arrived: (envelope: StoredEnvelope) => void
  readonly fenced: (sequence: number) => void
  readonly isInPlace: () => Promise<boolean>
}

/** Throws a sentence when the servers do not take the first envelope, or do not answer, in time. */
export async function openStream(options: OpenStreamOptions): Promise<OpenedStream> {
  const { link, clock, name, incarnation, gatherMs, tailBytes, arrived, fenced, isInPlace } = options
  const follower = new StreamFollower({ link, clock, stream: name.name, tailSubject: name.tailSubject, arrived })
  const before = await lastPlace(link, name)
  const head = { incarnation, number: 0, messagesBefore: before.total, tail: before.tail }
  // An envelope without requests: it fences the process that wrote in this name before.
  const { subject } = name
  const bytes = writeEnvelope(head, [], 0)
  const sequence = await publishSurely({ link, clock, subject, bytes, id: `${subject} ${incarnation} 0` })
  const place = await placeAt(link, clock, before, { stream: name.name, from: before.sequence + 1, upTo: sequence })
  const log = new PartitionLog({ ...place, sequence }, tailBytes)
  const writer = new StreamWriter({
    clock,
    link,
    stream: name.name,
    subject: name.subject,
    incarnation,
    lastSequence: sequence,
    nextNumber: 1,
    gatherMs,
    arrived: () => ({ messagesBefore: log.total, tail: log.tail }),
    acknowledged: (last) => follower.expect(last),
    fenced: (last) => {
      follower.expect(last)
      fenced(last)
    },
    isInPlace,
  })
  return { subject, log, writer, follower }
}

interface Place {
  readonly sequence: number
  readonly tail: number
  readonly total: number
}

/** The place behind the last envelope of any node. */
async function lastPlace(link: NatsLink, { name, subjects }: NodeStream): Promise<Place> {
  const last = await link.lastOf(name, subjects)
  if (last !== undefined) return behind({ tail: 0, total: 0, sequence: 0 }, last.sequence, last.head)
  const { state } = await link.manager.streams.info(name)
  return { sequence: state.last_seq, tail: state.last_seq === 0 ? 0 : firstOffset(state.last_seq + 1), total: 0 }
}

/** The place behind an envelope. */
function behind(before: Place, sequence: number, head: EnvelopeHead & { readonly messages: number }): Place {
  const { messages, messagesBefore, tail } = head
  const total = Math.max(before.total, messagesBefore) + messages
  if (messages > 0) return { sequence, tail: firstOffset(sequence) + messages, total }
  return { sequence, tail: Math.max(before.tail, tail), total }
}

/** Adds the envelopes that other nodes wrote between the place and the sequence. */
async function placeAt(link: NatsLink, clock: Clock, from: Place, span: Span): Promise<Place> {
  let place = from
  for await (const { sequence, bytes } of completeRead(link, clock, span)) {
    place = behind(place, sequence, readEnvelopeHead(bytes))
  }
  return place
}
