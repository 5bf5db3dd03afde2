/** Tests the codec of a device profile before it is saved. */
import type { Clock } from '../../clock.ts'
import type { DeviceProfileFields } from '../../identity/devices/device-profile.ts'
import { checkProfile } from '../../identity/devices/profile-rules.ts'
import { done } from '../../identity/store/result.ts'
import { runVectors } from '../../lorawan/codecs/test-vectors.ts'
import type { VectorOutcome } from '../../lorawan/codecs/test-vectors.ts'
import { accepted, RequestRefused } from '../api/errors.ts'
import type { CodecTrials } from './codec-trial.ts'
import { demandParsed } from './script-check.ts'

/** The codecs and the clock by which profiles are tested. Without codecs nothing is tested. */
export interface ProfileTests {
  readonly codecs: CodecTrials | undefined
  readonly clock: Pick<Clock, 'now' | 'steady'>
}

/** The outcomes of the vectors of the fields. Throws the refusal of fields that break a rule. */
export async function outcomesOf(
  { codecs, clock }: ProfileTests,
  organizationId: string,
  fields: DeviceProfileFields,
): Promise<readonly VectorOutcome[]> {
  accepted(checkProfile(fields) ?? done)
  if (codecs === undefined) return []
  return runVectors({ codecs, clock }, { ...fields, organizationId }, fields.testVectors)
}

/** Throws a refusal for a script that is no JavaScript, and for a codec that breaks a vector. */
export async function demandWorking(
  tests: ProfileTests,
  organizationId: string,
  fields: DeviceProfileFields,
  saved?: DeviceProfileFields,
): Promise<void> {
  if (tests.codecs !== undefined) {
    await demandParsed(tests.codecs, { organizationId, body: 'deviceProfile' }, fields, saved)
  }
  const failed = (await outcomesOf(tests, organizationId, fields)).filter(({ ok }) => !ok)
  const [first] = failed
  if (first === undefined) return
  const others = failed.length === 1 ? '' : `, and ${failed.length - 1} more`
  const message = `deviceProfile.testVectors: the codec breaks the test vector ${first.name}${others}: expected ${first.expected}, got ${first.got}`
  const vectors = failed.map(({ name, expected, got }) => ({ name, expected, got }))
  throw new RequestRefused('failed_precondition', message, 'codec_test_failed', { place: { vectors } })
}
