/**
 * The events and answers of real ChirpStacks that `node test/network-servers/record.ts` has
 * recorded.
 */
import { readFileSync } from 'node:fs'

export type RecordedVersion = 'v3' | 'v4'

export interface RecordedEvent {
  /** The event's kind, as in the topic: `up`, `join` ... */
  readonly kind: string
  readonly devEui: string
  readonly payload: object
}

/** All recorded events of a version. */
export function recordedEvents(version: RecordedVersion): readonly RecordedEvent[] {
  return JSON.parse(readFileSync(recordingUrl(version, 'events'), 'utf8')) as RecordedEvent[]
}

/** The bytes of an event in a form that integrators can't read. */
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

/** The place of a recording. */
export function recordingUrl(version: RecordedVersion, name: 'events' | 'forms' | 'grpc'): URL {
  return new URL(`chirpstack-${version}/${name}.json`, import.meta.url)
}
