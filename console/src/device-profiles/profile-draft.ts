/** A device profile while a person edits it. */
import type { CodecKind } from '../api/codecs.ts'
import type { DeviceProfileFields } from '../api/device-profiles.ts'
import { pairsOf, recordOf } from '../devices/pairs.ts'
import type { Pair } from '../devices/pairs.ts'

/** The names of the codecs, for people. */
export const CODEC_NAMES: Readonly<Record<CodecKind, string>> = {
  '': 'None',
  CAYENNE_LPP: 'Cayenne LPP',
  CUSTOM_JS: 'JavaScript',
}

/** The fields as they are typed. */
export interface ProfileDraft extends Omit<DeviceProfileFields, 'tags' | 'variables' | 'testVectors'> {
  readonly tags: readonly Pair[]
  readonly variables: readonly Pair[]
  /** A JSON array. */
  readonly vectors: string
}

/** The fields of a draft, or the fault of its test vectors. */
export type DraftResult =
  | { readonly ok: true; readonly fields: DeviceProfileFields }
  | { readonly ok: false; readonly message: string }

/** The draft of a saved profile. */
export function draftOf(saved: DeviceProfileFields): ProfileDraft {
  return {
    name: saved.name,
    description: saved.description,
    vendor: saved.vendor,
    model: saved.model,
    firmwareVersion: saved.firmwareVersion,
    region: saved.region,
    deviceClass: saved.deviceClass,
    payloadCodec: saved.payloadCodec,
    payloadDecoderScript: saved.payloadDecoderScript,
    payloadEncoderScript: saved.payloadEncoderScript,
    expectedIntervalSeconds: saved.expectedIntervalSeconds,
    batteryLimitPercent: saved.batteryLimitPercent,
    marginLimitDb: saved.marginLimitDb,
    tags: pairsOf(saved.tags),
    variables: pairsOf(saved.variables),
    vectors: vectorsText(saved.testVectors),
  }
}

/** Reads the draft. */
export function fieldsOf({ vectors, tags, variables, ...fields }: ProfileDraft): DraftResult {
  const read = vectorsOf(vectors)
  if (!read.ok) return read
  const name = fields.name.trim()
  const testVectors = read.vectors
  return { ok: true, fields: { ...fields, name, tags: recordOf(tags), variables: recordOf(variables), testVectors } }
}

/** The vectors with another one at their end; the same text where it is no JSON array. */
export function withVector(text: string, vector: object): string {
  const read = vectorsOf(text)
  return read.ok ? vectorsText([...read.vectors, vector]) : text
}

function vectorsText(vectors: readonly unknown[]): string {
  return JSON.stringify(vectors, null, 2)
}

function vectorsOf(
  text: string,
): { readonly ok: true; readonly vectors: readonly unknown[] } | { readonly ok: false; readonly message: string } {
  try {
    const vectors: unknown = text.trim() === '' ? [] : JSON.parse(text)
    if (Array.isArray(vectors)) return { ok: true, vectors }
    return { ok: false, message: 'Test vectors are a JSON array, like [].' }
  } catch (error) {
    return { ok: false, message: `This is not JSON: ${error instanceof Error ? error.message : ''}` }
  }
}
