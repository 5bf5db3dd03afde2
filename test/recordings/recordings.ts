/** What real ChirpStacks have told and answered, as `node test/network-servers/record.ts` has written it down. */
import { readFileSync } from 'node:fs'

export type RecordedVersion = 'v3' | 'v4'

export interface RecordedEvent {
  /** The topic's: `up`, `join` ... */
  readonly kind: string
  readonly devEui: string
  readonly payload: object
}

/** All events that were recorded of a version. */
export function recordedEvents(version: RecordedVersion): readonly RecordedEvent[] {
  return JSON.parse(readFileSync(recordingUrl(version, 'events'), 'utf8')) as RecordedEvent[]
}

/** Where a recording stands. */
export function recordingUrl(version: RecordedVersion, name: 'events' | 'grpc'): URL {
  return new URL(`chirpstack-${version}/${name}.json`, import.meta.url)
}
