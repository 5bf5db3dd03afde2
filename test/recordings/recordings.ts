/**
 * What real ChirpStacks have told and answered, as `node test/network-servers/record.ts` has
 * written it down.
 */
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

/** The bytes of an event that integrators can't read. */
export interface RecordedForm {
  readonly form: 'protobuf' | 'base64-ids'
  readonly kind: string
  readonly devEui: string
  readonly hex: string
}

/** The first events of a version that is set to write Protocol Buffers, or ids in base64. */
export function recordedForms(version: RecordedVersion): readonly RecordedForm[] {
  return JSON.parse(readFileSync(recordingUrl(version, 'forms'), 'utf8')) as RecordedForm[]
}

/** Where a recording stands. */
export function recordingUrl(version: RecordedVersion, name: 'events' | 'forms' | 'grpc'): URL {
  return new URL(`chirpstack-${version}/${name}.json`, import.meta.url)
}
