/** Stored events: events from before the page was opened, or from a time without a connection. */
import type { EventMessage } from '../broker/live-event.ts'
import { request } from './request.ts'

interface StoredEvent {
  readonly id: string
  readonly time: string
  readonly applicationID: string
  readonly devEUI: string
  readonly kind: string
  /** The published JSON. A payload that is not JSON is in `payload`, as base64. */
  readonly event?: unknown
  readonly payload?: string
}

/** Selects stored events: the events of a device, or of applications. */
export type HistoryOf = { readonly devEui: string } | { readonly applicationIds: readonly string[] }

/** The newest stored events, at most `limit`, the oldest of them first. */
export async function newestEvents(of: HistoryOf, limit: number): Promise<EventMessage[]> {
  const paths =
    'devEui' in of
      ? [`/api/devices/${of.devEui}/events`]
      : of.applicationIds.map((id) => `/api/applications/${encodeURIComponent(id)}/events`)
  const query = { limit: Math.max(1, Math.floor(limit / Math.max(1, paths.length))) }
  const stored: StoredEvent[] = []
  // One request after the other: the service lets an organization read few histories at the same
  // time.
  for (const path of paths) {
    stored.push(
      ...(await request<{ readonly result: readonly StoredEvent[] }>('GET', path, { query })).result.toReversed(),
    )
  }
  const messages = stored.map(messageOf)
  return paths.length === 1 ? messages : messages.toSorted((a, b) => a.receivedAtMs - b.receivedAtMs)
}

function messageOf({ id, time, applicationID, devEUI, kind, event, payload }: StoredEvent): EventMessage {
  return {
    id,
    topicName: `application/${applicationID}/device/${devEUI}/event/${kind}`,
    text: event === undefined ? textOf(payload ?? '') : JSON.stringify(event),
    receivedAtMs: Date.parse(time),
  }
}

function textOf(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))
}
