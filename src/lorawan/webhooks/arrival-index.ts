/** Hands the events that arrive in the log to the webhooks that read their applications. */
import type { Message } from '../../broker/ports/message.ts'
import type { AnyEventKind } from '../topics.ts'
import { knownTopic } from '../uplinks/known-topic.ts'

/** A reader of an application's events. */
export interface ArrivalReader {
  /** Must not throw, nor take long. */
  arrived(message: Message, applicationId: string, devEui: string, kind: AnyEventKind): void
}

export class ArrivalIndex {
  /** By application id. The applications of organizations with webhooks bound it. */
  readonly #readers = new Map<string, Set<ArrivalReader>>()

  /** The reader hears of each event of the application from here on. */
  add(applicationId: string, reader: ArrivalReader): void {
    const readers = this.#readers.get(applicationId) ?? new Set()
    this.#readers.set(applicationId, readers.add(reader))
  }

  remove(applicationId: string, reader: ArrivalReader): void {
    const readers = this.#readers.get(applicationId)
    readers?.delete(reader)
    if (readers?.size === 0) this.#readers.delete(applicationId)
  }

  /** A message has arrived in the log. Called for each one, so it is cheap. */
  arrived(message: Message): void {
    if (this.#readers.size === 0) return
    const { parsed } = knownTopic(message.topic)
    if (parsed?.kind !== 'event') return
    const readers = this.#readers.get(parsed.applicationId)
    if (readers === undefined) return
    for (const reader of readers) reader.arrived(message, parsed.applicationId, parsed.devEui, parsed.eventKind)
  }
}
