/** The way of a change of the library to the device profiles that were made of it. */
import { Type } from 'typebox'
import type { DeviceProfile, DeviceProfileFields } from '../../identity/devices/device-profile.ts'
import type { LibraryProfile } from '../../identity/devices/library-profile.ts'
import { toldChanges } from '../../identity/devices/library-rules.ts'
import type { ToldMembers } from '../../identity/devices/library-rules.ts'
import { onDeviceProfile } from '../api/access.ts'
import { accepted, RequestRefused } from '../api/errors.ts'
import { Empty, flag, opaqueId, responses } from '../api/fields.ts'
import { demandUnrestricted } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import type { CodecTrials } from './codec-trial.ts'
import type { LibraryRegistry } from './device-library.ts'
import { ProfileSourceFields, VectorOutcomes } from './device-profile-fields.ts'
import { demandWorking, outcomesOf } from './profile-tests.ts'
import type { ProfileTests } from './profile-tests.ts'

const Parameters = Type.Object({ id: opaqueId('Device profile id.') })
const URL = '/api/device-profiles/:id/library-update'

const Update = Type.Object(
  {
    isThere: Type.Boolean({ description: 'The library has a newer revision of the profile.' }),
    revision: Type.Integer({ minimum: 0, description: 'The revision in the library; 0 where it has no such profile.' }),
    members: Type.Array(Type.String(), { description: 'The members that would change.' }),
    breaks: VectorOutcomes('The test vectors of today that the new codec breaks.'),
    source: Type.Union([ProfileSourceFields, Type.Null()], { description: 'The source in the library.' }),
  },
  { description: 'What the library has newer', [NAME]: 'DeviceProfileLibraryUpdate' },
)

/** The routes by which a device profile follows the library. */
export function libraryUpdateRoutes(
  registry: LibraryRegistry,
  codecs: CodecTrials | undefined,
  clock: ProfileTests['clock'],
): readonly Route[] {
  const tests = { codecs, clock }
  return resource('Device profiles', [getUpdate(registry, tests), takeUpdate(registry, tests)])
}

interface FoundUpdate {
  readonly libraryProfile: LibraryProfile
  readonly changes: Partial<ToldMembers>
}

/** The newer revision; undefined where the profile has the newest one, or is of no library. */
async function findUpdate(
  { deviceLibrary }: LibraryRegistry,
  profile: DeviceProfile,
): Promise<FoundUpdate | undefined> {
  const { library } = profile
  const libraryProfile = library === null ? undefined : await deviceLibrary.get(library.profileId)
  if (libraryProfile === undefined || libraryProfile.revision === library?.revision) return undefined
  return { libraryProfile, changes: toldChanges(profile, libraryProfile) }
}

function getUpdate(registry: LibraryRegistry, tests: ProfileTests): Route {
  return route({
    method: 'GET',
    url: URL,
    may: onDeviceProfile('deviceProfile.write', 'params.id'),
    schema: {
      operationId: 'getDeviceProfileLibraryUpdate',
      summary: 'Look for an update of a device profile in the library',
      description: 'Runs the test vectors of today by the codec of the library. Nothing is stored.',
      params: Parameters,
      response: responses(Update),
    },
    handle: async ({ profile }) => {
      const update = await findUpdate(registry, profile)
      if (update === undefined) {
        const { library } = profile
        const revisions = await registry.deviceLibrary.revisions(library === null ? [] : [library.profileId])
        const revision = revisions.get(library?.profileId ?? '') ?? 0
        return { isThere: false, revision, members: [], breaks: [], source: null }
      }
      const { libraryProfile, changes } = update
      const { testVectors: _, ...codec } = changes
      const isOther = CODEC.some((member) => member in codec)
      const outcomes = isOther ? await outcomesOf(tests, profile.organizationId, { ...profile, ...codec }) : []
      return {
        isThere: true,
        revision: libraryProfile.revision,
        members: Object.keys(changes),
        breaks: outcomes.filter(({ ok }) => !ok),
        source: libraryProfile.source,
      }
    },
  })
}

function takeUpdate(registry: LibraryRegistry, tests: ProfileTests): Route {
  return route({
    method: 'POST',
    url: URL,
    may: onDeviceProfile('deviceProfile.write', 'params.id'),
    schema: {
      operationId: 'takeDeviceProfileLibraryUpdate',
      summary: 'Take the update of a device profile from the library',
      description:
        'Description, class, codec, scripts and source become those of the library, and its examples the test vectors. The name, ' +
        'tags, variables, limits and rules stay, and so do test vectors whose name the library does not have.',
      params: Parameters,
      body: Type.Object(
        {
          force: Type.Optional(
            flag('Takes a codec that is no JavaScript, or that breaks a test vector, all the same.'),
          ),
        },
        { [NAME]: 'DeviceProfileLibraryUpdateRequest' },
      ),
      response: responses(Empty),
    },
    handle: async ({ viewer, profile }, request) => {
      demandUnrestricted(viewer)
      const update = await findUpdate(registry, profile)
      if (update === undefined) {
        const message = 'the library has no newer revision of the device profile'
        throw new RequestRefused('failed_precondition', message, 'library_update_missing')
      }
      const { libraryProfile, changes } = update
      const library = { profileId: libraryProfile.id, revision: libraryProfile.revision }
      const fields: Partial<DeviceProfileFields> = { ...changes, library }
      if (request.body.force !== true) {
        await demandWorking(tests, profile.organizationId, { ...profile, ...fields }, profile)
      }
      accepted(await registry.deviceProfiles.update(profile.id, fields, viewer))
      return {}
    },
  })
}

/** The members that can make a test vector fail. */
const CODEC = ['payloadCodec', 'payloadDecoderScript', 'payloadEncoderScript'] as const
