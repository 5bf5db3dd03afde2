/** Opens a stream of envelopes for a node: from here on only this process writes in its name. */
import type { Clock } from '../../clock.ts'
import { firstOffset, readEnvelopeHead, writeEnvelope } from './envelope.ts'
import type { EnvelopeHead } from './envelope.ts'
import type { NatsLink, StoredEnvelope } from './nats-link.ts'
import type { NodeStream } from './nats-streams.ts'
import { PartitionLog } from './partition-log.ts'
import { StreamFollower } from './stream-follower.ts'
import { StreamWriter } from './stream-writer.ts'

const ANSWER_MS = 2_000
const ATTEMPTS = 15
const AGAIN_MS = 200

export interface OpenedStream {
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
}

/** Throws a sentence when the servers do not take the first envelope within 30 s. */
export async function openStream(options: OpenStreamOptions): Promise<OpenedStream> {
  const { link, clock, name, incarnation, gatherMs, tailBytes, arrived, fenced } = options
  const follower = new StreamFollower({ link, clock, stream: name.name, tailSubject: name.tailSubject, arrived })
  const before = await lastPlace(link, name)
  const head = { incarnation, number: 0, messagesBefore: before.total, tail: before.tail }
  // An envelope without requests: it fences the process that wrote in this name before.
  const sequence = await publishFirst(options, head)
  const place = await placeAt(link, clock, name, before, sequence)
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
  })
  return { log, writer, follower }
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

async function publishFirst(
  { link, clock, name, incarnation }: OpenStreamOptions,
  head: EnvelopeHead,
): Promise<number> {
  const bytes = writeEnvelope(head, [], 0)
  let reason = ''
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const answer = await link.publish(name.subject, bytes, { id: `${name.subject} ${incarnation} 0` }, ANSWER_MS)
    if ('sequence' in answer) return answer.sequence
    reason = answer.reason
    await wait(clock, AGAIN_MS)
  }
  throw new Error(`The stream ${name.name} can’t be written. ${reason}`)
}

/** Adds the envelopes that other nodes wrote between the place and the sequence. */
async function placeAt(
  link: NatsLink,
  clock: Clock,
  { name }: NodeStream,
  from: Place,
  sequence: number,
): Promise<Place> {
  let place = from
  // A server that has the envelope has all earlier ones.
  while (place.sequence < sequence) {
    const found = await link.read(name, place.sequence + 1, 256)
    for (const { sequence: at, bytes } of found) {
      if (at > sequence) return place
      place = behind(place, at, readEnvelopeHead(bytes))
    }
    if (found.length === 0) await wait(clock, AGAIN_MS)
  }
  return place
}

function wait(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}
