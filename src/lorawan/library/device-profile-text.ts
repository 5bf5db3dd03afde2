/** The profile of a collection in the form of an organization's device profile. */
import type { LibraryProfile, TestVector } from './library-profile.ts'

/**
 * The members of a device profile, as `POST /api/device-profiles` takes them. `region` chooses one
 * of the profile's regions; without it the first one counts, and a profile without regions has
 * none.
 */
export function deviceProfileOf(profile: LibraryProfile, region?: string): Readonly<Record<string, unknown>> {
  const { vendor, model, description, firmwareVersion, source, testVectors } = profile
  const chosen = profile.regions.find((one) => region === undefined || one.region === region)
  return {
    name: nameOf(profile),
    description,
    vendor,
    model,
    firmwareVersion,
    region: chosen?.region ?? '',
    deviceClass: chosen?.deviceClass ?? 'A',
    payloadCodec: profile.payloadCodec,
    payloadDecoderScript: profile.payloadDecoderScript,
    payloadEncoderScript: profile.payloadEncoderScript,
    testVectors: testVectors.map(memberOf),
    source,
  }
}

/** Vendor, model and firmware. Many models have the name of their vendor in theirs already. */
function nameOf({ vendor, model, firmwareVersion }: LibraryProfile): string {
  const namesVendor = `${model} `.toLowerCase().startsWith(`${vendor} `.toLowerCase())
  return [namesVendor ? '' : vendor, model, firmwareVersion].filter((part) => part !== '').join(' ')
}

function memberOf(vector: TestVector): Readonly<Record<string, unknown>> {
  const { direction: _, ...members } = vector
  return members
}
