/** The members of library profiles in bodies and answers. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type {
  LibraryProfile,
  LibraryProfileFields,
  LibrarySourceCount,
  ListedLibraryProfile,
} from '../../identity/devices/library-profile.ts'
import { LIBRARY_BOUNDS } from '../../identity/devices/library-rules.ts'
import { PROFILE_BOUNDS } from '../../identity/devices/profile-rules.ts'
import {
  A_LINE,
  A_PARAGRAPH,
  choice,
  opaqueId,
  PayloadCodecSchema,
  ruledText,
  timestamp,
  Times,
  timesOf,
} from '../api/fields.ts'
import { NAME } from '../api/schema-keywords.ts'
import { Line, LONG, PortRules, ProfileSourceFields } from './device-profile-fields.ts'
import type { ImportedProfile, LibraryOutcome } from './library-import.ts'

const Told = {
  vendor: Line('The maker.'),
  model: Line('The model.'),
  firmwareVersion: Line('The version of the firmware; "" where the collection knows none.'),
  description: ruledText(PROFILE_BOUNDS.description, 'For people.', A_PARAGRAPH),
  regions: Type.Array(
    Type.Object(
      {
        region: ruledText(LIBRARY_BOUNDS.region, 'As the collection writes it: `EU868`, `EU863-870`.', A_LINE),
        deviceClass: Line('The class of the device there: `A`, `B` or `C`.'),
      },
      { [NAME]: 'LibraryRegion' },
    ),
    { maxItems: LIBRARY_BOUNDS.regions, description: 'Empty where the collection knows none.' },
  ),
  payloadCodec: PayloadCodecSchema,
  source: ProfileSourceFields,
}

/** A profile in the body of an import. */
export const GivenLibraryProfile = Type.Object(
  {
    ...Told,
    ...LONG,
    fPortRules: Type.Optional(PortRules),
  },
  { [NAME]: 'NewLibraryProfile' },
)

const Members = {
  id: opaqueId('Library profile id: a UUID, which stays when the profile changes.'),
  ...Told,
  fPortRules: PortRules,
  revision: Type.Integer({ minimum: 1, description: 'Each change adds 1.' }),
  failedExamples: Type.Integer({ minimum: 0, description: 'Its own examples that the codec breaks.' }),
  vectorCount: Type.Integer({ minimum: 0, description: 'The number of its examples.' }),
  ...Times,
}

/** A profile in a list. */
export const LibraryProfileItem = Type.Object(Members, {
  description: 'Library profile',
  [NAME]: 'LibraryProfile',
})

/** A profile by itself. */
export const LibraryProfileDetails = Type.Object(
  { libraryProfile: Type.Object({ ...Members, ...LONG }, { [NAME]: 'LibraryProfileFields' }) },
  { description: 'A library profile by itself', [NAME]: 'LibraryProfileDetails' },
)

/** A vendor in a list. */
export const LibraryVendorItem = Type.Object(
  { vendor: Type.String(), profileCount: Type.Integer({ minimum: 1 }) },
  { description: 'A vendor of the library', [NAME]: 'LibraryVendor' },
)

/** The library as a whole. */
export const LibraryOverview = Type.Object(
  {
    profileCount: Type.Integer({ minimum: 0 }),
    regions: Type.Array(Type.String(), {
      description: 'The regions of all profiles, as their collections write them.',
    }),
    sources: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          licence: Type.String({ description: 'Of the newest profile; "" where there is no file of it.' }),
          version: Type.String({ description: 'Of the newest profile; "" where it is not known.' }),
          profileCount: Type.Integer({ minimum: 1 }),
          updatedAt: Times.updatedAt,
        },
        { [NAME]: 'LibrarySource' },
      ),
    ),
  },
  { description: 'The device library', [NAME]: 'DeviceLibrary' },
)

const OUTCOMES = ['created', 'changed', 'unchanged', 'kept', 'refused'] as const satisfies readonly LibraryOutcome[]

/** The report of an import. */
export const LibraryImportReport = Type.Object(
  {
    dryRun: Type.Boolean(),
    layout: Type.String({ description: 'The layout of the archive; "" where the profiles came as JSON.' }),
    createdCount: Type.Integer({ minimum: 0, description: 'Profiles that were created, or with dryRun would be.' }),
    changedCount: Type.Integer({ minimum: 0, description: 'Profiles that were changed, or with dryRun would be.' }),
    unchangedCount: Type.Integer({ minimum: 0 }),
    keptCount: Type.Integer({ minimum: 0, description: 'Profiles that `update` would change.' }),
    refusedCount: Type.Integer({ minimum: 0 }),
    profiles: Type.Array(
      Type.Object(
        {
          vendor: Type.String(),
          model: Type.String(),
          firmwareVersion: Type.String(),
          regions: Type.Array(Type.String()),
          outcome: choice(OUTCOMES, { description: 'What became of it.' }),
          members: Type.Optional(
            Type.Array(Type.String(), { description: 'The members that the collection has otherwise.' }),
          ),
          reason: Type.Optional(Type.String({ description: 'Of a refused profile: a stable code.' })),
          message: Type.Optional(Type.String({ description: 'Of a refused profile: the reason in words.' })),
        },
        { [NAME]: 'ImportedLibraryProfile' },
      ),
      { description: 'All but the unchanged ones, in their order.' },
    ),
    problems: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }, { [NAME]: 'CollectionProblem' }), {
      description: 'Files of the archive that could not be used.',
    }),
  },
  { description: 'Report of an import into the device library', [NAME]: 'LibraryImportReport' },
)

/** A profile as a list writes it. */
export function libraryItem(profile: ListedLibraryProfile): Static<typeof LibraryProfileItem> {
  const { createdAtMs: _, updatedAtMs: __, regions, fPortRules, ...members } = profile
  return { ...members, regions: [...regions], fPortRules: [...fPortRules], ...timesOf(profile) }
}

/** A profile as it is written by itself. */
export function libraryDetails(profile: LibraryProfile): Static<typeof LibraryProfileDetails> {
  const { payloadDecoderScript, payloadEncoderScript, testVectors, ...listed } = profile
  const vectors = testVectors as unknown as Static<(typeof LONG)['testVectors']>
  const long = { payloadDecoderScript, payloadEncoderScript, testVectors: vectors }
  return { libraryProfile: { ...libraryItem(listed), ...long } }
}

/** A source as the overview writes it. */
export function sourceItem({ profiles, updatedAtMs, ...source }: LibrarySourceCount) {
  return { ...source, profileCount: profiles, updatedAt: timestamp(updatedAtMs) }
}

/** A profile as a report writes it. */
export function importedItem({ regions, members, ...profile }: ImportedProfile) {
  return { ...profile, regions: [...regions], ...(members === undefined ? {} : { members: [...members] }) }
}

/** A profile of a body, as the registry takes it. */
export function givenProfile(body: Static<typeof GivenLibraryProfile>): LibraryProfileFields {
  const { fPortRules = [], testVectors, ...members } = body
  // The rules of the registry say of each vector what it must have.
  return { ...members, fPortRules, testVectors: testVectors as unknown as LibraryProfileFields['testVectors'] }
}
