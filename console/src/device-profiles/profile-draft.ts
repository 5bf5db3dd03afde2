/** A device profile while a person edits it. */
import type { CodecKind } from '../api/codecs.ts'
import type { DeviceProfileFields, FPortRule } from '../api/device-profiles.ts'
import { pairsOf, recordOf } from '../devices/pairs.ts'
import type { Pair } from '../devices/pairs.ts'
import { portsOf, portsText } from './port-list.ts'

/** The names of the codecs, for people. */
export const CODEC_NAMES: Readonly<Record<CodecKind, string>> = {
  '': 'None',
  CAYENNE_LPP: 'Cayenne LPP',
  CUSTOM_JS: 'JavaScript',
}

/** The fields as they are typed. */
export interface ProfileDraft extends Omit<DeviceProfileFields, 'tags' | 'variables' | 'testVectors' | 'fPortRules'> {
  readonly tags: readonly Pair[]
  readonly variables: readonly Pair[]
  /** A JSON array. */
  readonly vectors: string
  /** The FPorts with a rule: `1, 5-8`. */
  readonly decodedPorts: string
  readonly passedPorts: string
}

/** The fields of a draft, or the fault of its test vectors or of its FPorts. */
export type DraftResult =
  | { readonly ok: true; readonly fields: DeviceProfileFields }
  | { readonly ok: false; readonly of: 'vectors' | 'ports'; readonly message: string }

const WRONG_PORTS = 'FPorts are numbers from 1 to 255, like 1, 5-8.'

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
    decodedPorts: portsText(saved.fPortRules, 'DECODE'),
    passedPorts: portsText(saved.fPortRules, 'PASS'),
  }
}

/** Reads the draft. */
export function fieldsOf(draft: ProfileDraft): DraftResult {
  const { vectors, tags, variables, decodedPorts, passedPorts, ...fields } = draft
  const read = vectorsOf(vectors)
  if (!read.ok) return { ...read, of: 'vectors' }
  const [decoded, passed] = [portsOf(decodedPorts), portsOf(passedPorts)]
  if (decoded === undefined || passed === undefined) return { ok: false, of: 'ports', message: WRONG_PORTS }
  const twice = decoded.find((fPort) => passed.includes(fPort))
  if (twice !== undefined) return { ok: false, of: 'ports', message: `FPort ${twice} is in both lists.` }
  const name = fields.name.trim()
  const testVectors = read.vectors
  const fPortRules = [...rulesOf(decoded, 'DECODE'), ...rulesOf(passed, 'PASS')]
  const pairs = { tags: recordOf(tags), variables: recordOf(variables) }
  return { ok: true, fields: { ...fields, name, ...pairs, testVectors, fPortRules } }
}

/** The vectors with another one at their end; the same text where it is no JSON array. */
export function withVector(text: string, vector: object): string {
  const read = vectorsOf(text)
  return read.ok ? vectorsText([...read.vectors, vector]) : text
}

function rulesOf(fPorts: readonly number[], use: FPortRule['use']): readonly FPortRule[] {
  return fPorts.map((fPort) => ({ fPort, use }))
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
