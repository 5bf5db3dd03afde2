/** The members of a device profile in bodies and answers. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type {
  DeviceProfile,
  DeviceProfileFields,
  ListedDeviceProfile,
  ProfileVersion,
} from '../../identity/devices/device-profile.ts'
import { PROFILE_BOUNDS } from '../../identity/devices/profile-rules.ts'
import { given } from '../../given.ts'
import {
  A_LINE,
  A_NAME,
  A_PARAGRAPH,
  choice,
  id,
  opaqueId,
  PayloadCodecSchema,
  ruledText,
  timestamp,
  Times,
  timesOf,
} from '../api/fields.ts'
import { NAME } from '../api/schema-keywords.ts'
import { Pairs, WrittenPairs } from './device-fields.ts'

const Port = (description: string) => Type.Integer({ minimum: 1, maximum: 255, description })
const Hex = (description: string) =>
  Type.String({ maxLength: 2 * PROFILE_BOUNDS.vectorBytes, pattern: '^(?:[0-9a-fA-F]{2})*$', description })
/** A text on one line, with the bound of a profile. */
export const Line = (description: string) => ruledText(PROFILE_BOUNDS.line, description, A_LINE)

/** Rules for FPorts. */
export const PortRules = Type.Array(
  Type.Object(
    {
      fPort: Port('The FPort of the rule.'),
      use: choice(['DECODE', 'PASS'], { description: 'PASS: uplinks on the FPort go on as they came.' }),
    },
    { [NAME]: 'PortRule' },
  ),
  {
    maxItems: 255,
    description:
      'Where one has the use DECODE, only the FPorts with this use are decoded; else all but those with PASS.',
  },
)

/** The collection of a profile. */
export const ProfileSourceFields = Type.Object(
  {
    name: Line('Name of the collection.'),
    licence: Line('Its licence.'),
    url: Line('Its address.'),
    version: Line('Its version.'),
  },
  { description: 'Where the profile comes from', [NAME]: 'DeviceProfileSource' },
)

const Source = Type.Union([ProfileSourceFields, Type.Null()], {
  description: 'Where the profile comes from; null when it was written here.',
})

const Vectors = Type.Array(
  Type.Object(
    {
      name: ruledText(PROFILE_BOUNDS.name, 'For people.', A_NAME),
      fPort: Type.Optional(Port('The FPort of the uplink, or of the command; 1 when not given.')),
      bytes: Type.Optional(Hex('Of an uplink: its bytes, in hexadecimal digits.')),
      recvTime: Type.Optional(Type.String({ maxLength: 64, description: 'Of an uplink: when it came, RFC 3339.' })),
      variables: Type.Optional(Pairs('Values for the codec, over those of the profile.')),
      expected: Type.Optional(
        Type.Object(
          {
            data: Type.Optional(Type.Unsafe<unknown>({ description: 'The object.' })),
            errors: Type.Optional(Type.Array(Type.String(), { description: 'In the place of `data`: it must fail.' })),
          },
          { description: 'Of an uplink: the outcome.', [NAME]: 'ExpectedUplink' },
        ),
      ),
      object: Type.Optional(Type.Unsafe<unknown>({ description: 'Of a command: its object.' })),
      expectedBytes: Type.Optional(Hex('Of a command: the bytes that the encoder must give.')),
      expectedFPort: Type.Optional(Port('Of a command: the FPort that the encoder must choose.')),
    },
    { [NAME]: 'TestVector' },
  ),
  { maxItems: PROFILE_BOUNDS.vectors, description: 'Samples with the outcome that the codec must give.' },
)

/** The outcomes of test vectors. */
export function VectorOutcomes(description: string) {
  return Type.Array(
    Type.Object(
      { name: Type.String(), ok: Type.Boolean(), expected: Type.String(), got: Type.String() },
      { [NAME]: 'VectorOutcome' },
    ),
    { description },
  )
}

const Limit = (minimum: number, maximum: number, description: string) =>
  Type.Union([Type.Integer({ minimum, maximum }), Type.Null()], { description })

const LISTED = {
  description: ruledText(PROFILE_BOUNDS.description, 'For people.', A_PARAGRAPH),
  vendor: Line('The maker of the devices.'),
  model: Line('Their model.'),
  firmwareVersion: Line('Their firmware.'),
  region: Line('Their region, as information.'),
  deviceClass: Line('Their class, as information.'),
  payloadCodec: PayloadCodecSchema,
  expectedIntervalSeconds: Type.Integer({
    minimum: 0,
    maximum: PROFILE_BOUNDS.intervalSeconds,
    description: 'The time between two uplinks; 0: none is expected.',
  }),
  batteryLimitPercent: Limit(0, 100, 'A battery level below it is low; null: 20 percent.'),
  marginLimitDb: Limit(
    -32,
    31,
    'A mean SNR that is less than this above the need of the spreading factor is weak, in dB; null: 5 dB.',
  ),
  fPortRules: PortRules,
  source: Source,
}

/** The members that may be long; lists leave them out. */
export const LONG = {
  payloadDecoderScript: ruledText(PROFILE_BOUNDS.script, 'JavaScript of CUSTOM_JS.', A_PARAGRAPH),
  payloadEncoderScript: ruledText(PROFILE_BOUNDS.script, 'JavaScript of CUSTOM_JS.', A_PARAGRAPH),
  testVectors: Vectors,
}

/** The members that a body may set, beside the name. */
export const WritableProfile = Type.Partial(
  Type.Object({
    ...LISTED,
    ...LONG,
    tags: Pairs('Labels of all devices of the profile; those of the device itself go over them.'),
    variables: Pairs('Values for the codec; those of the device itself go over them.'),
  }),
).properties

/** The name in a body. */
export const ProfileName = ruledText(PROFILE_BOUNDS.name, 'Name, unique within the organization.', A_NAME)

const Members = {
  id: opaqueId('Device profile id: a UUID.'),
  libraryProfileID: Type.String({ description: 'The profile of the library that it was made of; "" for none.' }),
  libraryRevision: Type.Integer({ minimum: 0, description: 'The revision of that profile that it has; 0 for none.' }),
  hasLibraryUpdate: Type.Boolean({ description: 'The library has a newer revision of that profile.' }),
  organizationID: id('Organization id.'),
  name: Type.String({ examples: ['Water meter'] }),
  ...LISTED,
  tags: WrittenPairs,
  variables: WrittenPairs,
  codecVersion: Type.Integer({ minimum: 1, description: 'The number of the newest version of the codec.' }),
  ...Times,
}

/** A profile in a list. */
export const DeviceProfileItem = Type.Object(Members, { description: 'Device profile', [NAME]: 'DeviceProfile' })

/** A profile by itself. */
export const DeviceProfileDetails = Type.Object(
  {
    deviceProfile: Type.Object({ ...Members, ...LONG }, { [NAME]: 'DeviceProfileFields' }),
    deviceCount: Type.Integer({ minimum: 0, description: 'How many devices have the profile.' }),
  },
  { description: 'A device profile by itself', [NAME]: 'DeviceProfileDetails' },
)

/** A version of a codec. */
export const ProfileVersionItem = Type.Object(
  {
    version: Type.Integer({ minimum: 1 }),
    payloadCodec: PayloadCodecSchema,
    characters: Type.Integer({ description: 'The length of both scripts together.' }),
    userID: Type.String({ description: 'The user who saved it; "" for none.' }),
    apiKeyID: Type.String({ description: 'The API key that saved it; "" for none.' }),
    createdAt: Times.createdAt,
  },
  { description: 'A version of the codec of a device profile', [NAME]: 'DeviceProfileVersion' },
)

const WritableSchema = Type.Object({ name: Type.Optional(ProfileName), ...WritableProfile })

/** Exactly the members that a body may set, as the registry takes them. */
export function profileChanges(body: Static<typeof WritableSchema>): Partial<DeviceProfileFields> {
  const { name, description, vendor, model, firmwareVersion, region, deviceClass, tags, variables, source } = body
  const { payloadCodec, payloadDecoderScript, payloadEncoderScript, fPortRules } = body
  const { expectedIntervalSeconds, batteryLimitPercent, marginLimitDb } = body
  const about = { name, description, vendor, model, firmwareVersion, region, deviceClass, tags, variables, source }
  const codec = { payloadCodec, payloadDecoderScript, payloadEncoderScript, fPortRules }
  const limits = { expectedIntervalSeconds, batteryLimitPercent, marginLimitDb }
  // The rules of the registry say of each vector what it must have.
  const testVectors = body.testVectors as DeviceProfileFields['testVectors'] | undefined
  return given({ ...about, ...codec, ...limits, testVectors })
}

/** The newest revisions of the library's profiles, by their ids. */
export type LibraryRevisions = ReadonlyMap<string, number>

/** A profile as a list writes it. */
export function profileItem(
  profile: ListedDeviceProfile,
  revisions: LibraryRevisions,
): Static<typeof DeviceProfileItem> {
  const { createdAtMs: _, updatedAtMs: __, organizationId, fPortRules, library, ...members } = profile
  return {
    ...members,
    libraryProfileID: library?.profileId ?? '',
    libraryRevision: library?.revision ?? 0,
    hasLibraryUpdate: library !== null && (revisions.get(library.profileId) ?? 0) > library.revision,
    organizationID: organizationId,
    fPortRules: [...fPortRules],
    ...timesOf(profile),
  }
}

/** A profile as it is written by itself. */
export function profileDetails(
  profile: DeviceProfile,
  deviceCount: number,
  revisions: LibraryRevisions,
): Static<typeof DeviceProfileDetails> {
  const { payloadDecoderScript, payloadEncoderScript, testVectors, ...listed } = profile
  const vectors = testVectors as unknown as Static<typeof Vectors>
  const long = { payloadDecoderScript, payloadEncoderScript, testVectors: vectors }
  return { deviceProfile: { ...profileItem(listed, revisions), ...long }, deviceCount }
}

/** A version as a list writes it. */
export function versionItem(version: ProfileVersion): Static<typeof ProfileVersionItem> {
  return {
    version: version.version,
    payloadCodec: version.payloadCodec,
    characters: version.size,
    userID: version.actorUserId ?? '',
    apiKeyID: version.actorApiKeyId ?? '',
    createdAt: timestamp(version.createdAtMs),
  }
}
