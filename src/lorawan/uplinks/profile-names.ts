/**
 * Puts the name and the id of a device's profile into its events where the network server sent
 * none, or empty ones: into `deviceInfo` in family B, into the event itself in family A. Names that
 * the network server gave stay. No other bytes of the event change.
 */
import { findMember, MAXIMUM_EVENT_BYTES, skipSpace, spliced } from './event-tags.ts'

const DEVICE_INFO = Buffer.from('"deviceInfo"')
const EMPTY = '""'
const NULL = 'null'
const OPEN = 0x7b
const CLOSE = 0x7d

/** A member that events are to have. */
interface Label {
  readonly name: Buffer
  readonly value: Buffer
  readonly member: Buffer
}

/** The name and the id of a profile, prepared for events. */
export class ProfileNames {
  readonly #ofFamilyA: readonly Label[]
  readonly #ofFamilyB: readonly Label[]

  constructor({ id, name }: { readonly id: string; readonly name: string }) {
    const named = labelOf('deviceProfileName', name)
    this.#ofFamilyA = [labelOf('deviceProfileID', id), named]
    this.#ofFamilyB = [labelOf('deviceProfileId', id), named]
  }

  /** The memory that the names take, roughly, in bytes. */
  get size(): number {
    return this.#ofFamilyA.concat(this.#ofFamilyB).reduce((sum, { member }) => sum + 2 * member.length, 200)
  }

  /** Returns the very payload that came in when nothing is added, or when it is no JSON object. */
  into(payload: Buffer): Buffer {
    if (payload.length > MAXIMUM_EVENT_BYTES) return payload
    const begin = skipSpace(payload, 0)
    if (payload[begin] !== OPEN) return payload
    const info = findMember(payload, begin, DEVICE_INFO)
    if (info === undefined) return payload
    if (info === 'none') return withLabels(payload, begin, this.#ofFamilyA)
    return payload[info.start] === OPEN ? withLabels(payload, info.start, this.#ofFamilyB) : payload
  }
}

function labelOf(name: string, value: string): Label {
  const [asName, asValue] = [Buffer.from(JSON.stringify(name)), Buffer.from(JSON.stringify(value))]
  return { name: asName, value: asValue, member: Buffer.concat([asName, Buffer.from(':'), asValue]) }
}

function withLabels(payload: Buffer, begin: number, labels: readonly Label[]): Buffer {
  let labelled = payload
  for (const label of labels) labelled = withLabel(labelled, begin, label)
  return labelled
}

function withLabel(payload: Buffer, begin: number, { name, value, member }: Label): Buffer {
  const place = findMember(payload, begin, name)
  // The text breaks off.
  if (place === undefined) return payload
  if (place === 'none') {
    const isAlone = payload[skipSpace(payload, begin + 1)] === CLOSE
    return spliced(payload, begin + 1, begin + 1, isAlone ? member : Buffer.concat([member, Buffer.from(',')]))
  }
  const sent = payload.toString('latin1', place.start, place.end)
  return sent === EMPTY || sent === NULL ? spliced(payload, place.start, place.end, value) : payload
}
