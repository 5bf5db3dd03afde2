/** The rules for the fields of device profiles, and their bounds. */
import { areEntries, MAXIMUM_ENTRIES, MAXIMUM_ENTRY_VALUE } from './device-rows.ts'
import type { DeviceProfileFields, TestVector } from './device-profile.ts'
import { refuse } from '../store/result.ts'
import type { Refusal } from '../store/result.ts'
import { isLine, isName, isParagraph } from '../store/text-rules.ts'

/** The bounds of profiles. They stop an organization from filling the disk. */
export const PROFILE_BOUNDS = {
  perOrganization: 1_000,
  /** All profiles of an organization together, in characters. */
  charactersPerOrganization: 33_554_432,
  /** Versions of one profile. */
  versions: 20,
  /** The older versions of one profile, in characters of their scripts. */
  charactersOfVersions: 2_097_152,
  /** The older versions of all profiles of an organization. */
  charactersOfAllVersions: 33_554_432,
  name: 100,
  line: 200,
  description: 1_000,
  /** The longest script, in characters: none of 2,225 scripts of makers of sensors is longer. */
  script: 524_288,
  vectors: 100,
  /** All vectors of one profile, as JSON. */
  charactersOfVectors: 262_144,
  /** Bytes of one vector. */
  vectorBytes: 1_024,
  intervalSeconds: 31_536_000,
} as const

const HEX = /^(?:[0-9a-fA-F]{2})*$/

/** The refusal of wrong fields; undefined if the fields are right. */
export function checkProfile(fields: DeviceProfileFields): Refusal | undefined {
  if (!isName(fields.name, PROFILE_BOUNDS.name)) {
    const rule = `name must have 1 to ${PROFILE_BOUNDS.name} characters on one line`
    return refuse('invalid_argument', 'invalid_name', rule)
  }
  return checkTexts(fields) ?? checkCodec(fields) ?? checkNumbers(fields) ?? checkPorts(fields) ?? checkVectors(fields)
}

function wrong(message: string): Refusal {
  return refuse('invalid_argument', 'invalid_device_profile', message)
}

function checkTexts(fields: DeviceProfileFields): Refusal | undefined {
  if (!isParagraph(fields.description, PROFILE_BOUNDS.description)) {
    return wrong(`description must have at most ${PROFILE_BOUNDS.description} characters`)
  }
  for (const member of ['vendor', 'model', 'firmwareVersion', 'region', 'deviceClass'] as const) {
    if (!isLine(fields[member], 0, PROFILE_BOUNDS.line)) {
      return wrong(`${member} must have at most ${PROFILE_BOUNDS.line} characters on one line`)
    }
  }
  for (const member of ['name', 'licence', 'url', 'version'] as const) {
    if (fields.source !== null && !isLine(fields.source[member], 0, PROFILE_BOUNDS.line)) {
      return wrong(`source.${member} must have at most ${PROFILE_BOUNDS.line} characters on one line`)
    }
  }
  for (const kind of ['tags', 'variables'] as const) {
    if (areEntries(fields[kind])) continue
    const rule = `${kind} must be at most ${MAXIMUM_ENTRIES} texts of at most ${MAXIMUM_ENTRY_VALUE} characters`
    return refuse('invalid_argument', `invalid_${kind}`, rule)
  }
  return undefined
}

function checkCodec(fields: DeviceProfileFields): Refusal | undefined {
  if (!['', 'CAYENNE_LPP', 'CUSTOM_JS'].includes(fields.payloadCodec)) {
    return refuse('invalid_argument', 'invalid_payload_codec', 'payloadCodec must be "", "CAYENNE_LPP" or "CUSTOM_JS"')
  }
  for (const script of [fields.payloadDecoderScript, fields.payloadEncoderScript]) {
    if (isParagraph(script, PROFILE_BOUNDS.script)) continue
    const rule = `a payload script must have at most ${PROFILE_BOUNDS.script} characters and no control characters`
    return refuse('invalid_argument', 'invalid_payload_script', rule)
  }
  return undefined
}

function checkNumbers(fields: DeviceProfileFields): Refusal | undefined {
  const { expectedIntervalSeconds, batteryLimitPercent, marginLimitDb } = fields
  if (!isWithin(expectedIntervalSeconds, 0, PROFILE_BOUNDS.intervalSeconds)) {
    return wrong(`expectedIntervalSeconds must be an integer from 0 to ${PROFILE_BOUNDS.intervalSeconds}`)
  }
  if (batteryLimitPercent !== null && !isWithin(batteryLimitPercent, 0, 100)) {
    return wrong('batteryLimitPercent must be null or an integer from 0 to 100')
  }
  // The margin of DevStatusAns is a signed number of six bits (LoRaWAN 1.0.4 §5.5).
  if (marginLimitDb !== null && !isWithin(marginLimitDb, -32, 31)) {
    return wrong('marginLimitDb must be null or an integer from -32 to 31')
  }
  return undefined
}

function checkPorts({ fPortRules }: DeviceProfileFields): Refusal | undefined {
  const ports = new Set(fPortRules.map(({ fPort }) => fPort))
  if (ports.size !== fPortRules.length) return wrong('fPortRules must name each fPort once')
  const areRight = fPortRules.every(({ fPort, use }) => isWithin(fPort, 1, 255) && (use === 'DECODE' || use === 'PASS'))
  return areRight ? undefined : wrong('fPortRules must have an fPort from 1 to 255, and the use DECODE or PASS')
}

function checkVectors({ testVectors }: DeviceProfileFields): Refusal | undefined {
  if (testVectors.length > PROFILE_BOUNDS.vectors) {
    return wrong(`testVectors must be at most ${PROFILE_BOUNDS.vectors}`)
  }
  if (JSON.stringify(testVectors).length > PROFILE_BOUNDS.charactersOfVectors) {
    return wrong(`testVectors must have at most ${PROFILE_BOUNDS.charactersOfVectors} characters together`)
  }
  for (const [index, vector] of testVectors.entries()) {
    const fault = vectorFault(vector)
    if (fault !== undefined) return wrong(`testVectors[${index}].${fault}`)
  }
  return undefined
}

function vectorFault(vector: TestVector): string | undefined {
  if (!isName(vector.name, PROFILE_BOUNDS.name)) return 'name must have 1 to 100 characters on one line'
  if (vector.variables !== undefined && !areEntries(vector.variables)) return 'variables must be an object of strings'
  if ('bytes' in vector) {
    if (!isHex(vector.bytes)) return 'bytes must be pairs of hexadecimal digits'
    if (!isWithin(vector.fPort, 1, 255)) return 'fPort must be an integer from 1 to 255'
    if (!hasOneOutcome(vector.expected)) return 'expected must have either data or errors'
    const isTime = vector.recvTime === undefined || !Number.isNaN(Date.parse(vector.recvTime))
    return isTime ? undefined : 'recvTime must be a time as RFC 3339 has it'
  }
  if (!('object' in vector)) return 'bytes is missing, and object as well'
  if (!isHex(vector.expectedBytes)) return 'expectedBytes must be pairs of hexadecimal digits'
  for (const member of ['fPort', 'expectedFPort'] as const) {
    const fPort = vector[member]
    if (fPort !== undefined && !isWithin(fPort, 1, 255)) return `${member} must be an integer from 1 to 255`
  }
  return undefined
}

function hasOneOutcome(expected: object | undefined): boolean {
  return expected !== undefined && 'data' in expected !== 'errors' in expected
}

function isHex(text: unknown): boolean {
  return typeof text === 'string' && text.length <= 2 * PROFILE_BOUNDS.vectorBytes && HEX.test(text)
}

function isWithin(value: number, minimum: number, maximum: number): boolean {
  return Number.isInteger(value) && value >= minimum && value <= maximum
}
