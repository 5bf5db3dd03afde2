/** The administration of device profiles: `/api/device-profiles`. */
import { Type } from 'typebox'
import type { DeviceProfileFields } from '../../identity/devices/device-profile.ts'
import type { DeviceLibrary } from '../../identity/devices/library-profile.ts'
import { deviceFieldsOf } from '../../identity/devices/library-rules.ts'
import { inOrganization, onDeviceProfile } from '../api/access.ts'
import { accepted, invalidArgument, objectNotFound } from '../api/errors.ts'
import { Empty, flag, id, idInBody, listOf, opaqueId, pageOf, PagingQuery, responses, written } from '../api/fields.ts'
import { demandUnrestricted } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route, SCRIPTS_LIMIT_BYTES } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import type { LibraryRegistry } from './device-library.ts'
import type { CodecTrials } from './codec-trial.ts'
import {
  DeviceProfileDetails,
  DeviceProfileItem,
  profileChanges,
  profileDetails,
  profileItem,
  ProfileName,
  ProfileVersionItem,
  VectorOutcomes,
  versionItem,
  WritableProfile,
} from './device-profile-fields.ts'
import type { LibraryRevisions } from './device-profile-fields.ts'
import { demandWorking, outcomesOf } from './profile-tests.ts'
import type { ProfileTests } from './profile-tests.ts'

const Parameters = Type.Object({ id: opaqueId('Device profile id.') })
const Force = Type.Optional(flag('Saves a codec that is no JavaScript, or that breaks a test vector, all the same.'))

const CreatedProfile = Type.Object(
  { id: opaqueId('The id of the device profile.') },
  { description: 'Created', [NAME]: 'CreatedDeviceProfile' },
)

const TestResult = Type.Object(
  { outcomes: VectorOutcomes('In the order of the vectors; `expected` and `got` are JSON, or a sentence.') },
  { description: 'The outcomes of test vectors', [NAME]: 'DeviceProfileTestResult' },
)

/** The routes of device profiles. */
export function deviceProfileRoutes(
  registry: LibraryRegistry,
  codecs: CodecTrials | undefined,
  clock: ProfileTests['clock'],
): readonly Route[] {
  const tests = { codecs, clock }
  return resource('Device profiles', [
    listProfiles(registry),
    createProfile(registry, tests),
    getProfile(registry),
    changeProfile(registry, tests),
    deleteProfile(registry),
    listVersions(registry),
    restoreVersion(registry, tests),
    testProfile(tests),
  ])
}

function listProfiles(registry: LibraryRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/device-profiles',
    may: inOrganization('deviceProfile.read', 'query.organizationID'),
    schema: {
      operationId: 'listDeviceProfiles',
      summary: 'List device profiles',
      description: 'Sorted by name, without scripts and test vectors. `search` looks into name, vendor and model.',
      querystring: Type.Object({ ...PagingQuery, organizationID: id('Organization id.') }),
      response: responses(listOf(DeviceProfileItem, 'DeviceProfileList')),
    },
    handle: async ({ organizationId }, request) => {
      const listed = await registry.deviceProfiles.list(organizationId, pageOf(request.query))
      const revisions = await revisionsOf(registry, listed.items)
      return written(listed, (profile) => profileItem(profile, revisions))
    },
  })
}

function createProfile(registry: LibraryRegistry, tests: ProfileTests): Route {
  return route({
    method: 'POST',
    url: '/api/device-profiles',
    bodyLimit: SCRIPTS_LIMIT_BYTES,
    may: inOrganization('deviceProfile.write', 'body.deviceProfile.organizationID'),
    schema: {
      operationId: 'createDeviceProfile',
      summary: 'Create a device profile',
      description:
        'Its scripts are parsed and its test vectors are run before it is saved. With `libraryProfileID`, `region` chooses one of the ' +
        'regions of the library profile; without it the first one counts.',
      body: Type.Object({
        deviceProfile: Type.Object(
          {
            name: ProfileName,
            organizationID: idInBody('Organization id.'),
            libraryProfileID: Type.Optional(
              opaqueId('The profile of the library whose members it gets, but those that are given here.'),
            ),
            ...WritableProfile,
          },
          { [NAME]: 'NewDeviceProfile' },
        ),
        force: Force,
      }),
      response: responses(CreatedProfile),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { deviceProfile, force } = request.body
      demandUnrestricted(viewer)
      const { libraryProfileID, name, region } = deviceProfile
      const ofLibrary = await membersOfLibrary(registry.deviceLibrary, libraryProfileID, region)
      const fields = { ...NEW_PROFILE, ...ofLibrary, ...profileChanges(deviceProfile), name }
      if (force !== true) await demandWorking(tests, organizationId, fields)
      return accepted(await registry.deviceProfiles.create(organizationId, fields, viewer))
    },
  })
}

function getProfile(registry: LibraryRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/device-profiles/:id',
    may: onDeviceProfile('deviceProfile.read', 'params.id'),
    schema: {
      operationId: 'getDeviceProfile',
      summary: 'Get a device profile',
      params: Parameters,
      response: responses(DeviceProfileDetails),
    },
    handle: async ({ profile }) => {
      const deviceCount = await registry.deviceProfiles.deviceCount(profile.id)
      return profileDetails(profile, deviceCount, await revisionsOf(registry, [profile]))
    },
  })
}

function changeProfile(registry: OwnershipRegistry, tests: ProfileTests): Route {
  return route({
    method: 'PUT',
    url: '/api/device-profiles/:id',
    bodyLimit: SCRIPTS_LIMIT_BYTES,
    may: onDeviceProfile('deviceProfile.write', 'params.id'),
    schema: {
      operationId: 'updateDeviceProfile',
      summary: 'Change a device profile',
      description:
        'Members that are left out stay; tags, variables, rules and test vectors are replaced as a whole. The next uplink of ' +
        'its devices is decoded by the new codec.',
      params: Parameters,
      body: Type.Object({
        deviceProfile: Type.Object(
          { name: Type.Optional(ProfileName), ...WritableProfile },
          { [NAME]: 'DeviceProfileChanges' },
        ),
        force: Force,
      }),
      response: responses(Empty),
    },
    handle: async ({ viewer, profile }, request) => {
      const { deviceProfile, force } = request.body
      demandUnrestricted(viewer)
      const changes = profileChanges(deviceProfile)
      if (force !== true && isAboutCodec(changes)) {
        await demandWorking(tests, profile.organizationId, { ...profile, ...changes }, profile)
      }
      accepted(await registry.deviceProfiles.update(profile.id, changes, viewer))
      return {}
    },
  })
}

function deleteProfile(registry: OwnershipRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/device-profiles/:id',
    may: onDeviceProfile('deviceProfile.write', 'params.id'),
    schema: {
      operationId: 'deleteDeviceProfile',
      summary: 'Delete a device profile',
      description: 'Refused while devices have it, unless `detach` is true: these devices then have no profile.',
      params: Parameters,
      querystring: Type.Object({ detach: Type.Optional(flag('Takes the profile from its devices first.')) }),
      response: responses(Empty),
    },
    handle: async ({ viewer, profile }, request) => {
      demandUnrestricted(viewer)
      const { detach = false } = request.query
      accepted(await registry.deviceProfiles.remove(profile.id, { detach }, viewer))
      return {}
    },
  })
}

function listVersions(registry: OwnershipRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/device-profiles/:id/versions',
    may: onDeviceProfile('deviceProfile.read', 'params.id'),
    schema: {
      operationId: 'listDeviceProfileVersions',
      summary: 'List the versions of the codec of a device profile',
      description: 'The newest first. The last 20 are kept.',
      params: Parameters,
      response: responses(listOf(ProfileVersionItem, 'DeviceProfileVersionList')),
    },
    handle: async ({ profile }) => {
      const items = await registry.deviceProfiles.versions(profile.id)
      return written({ totalCount: items.length, items }, versionItem)
    },
  })
}

function restoreVersion(registry: OwnershipRegistry, tests: ProfileTests): Route {
  return route({
    method: 'POST',
    url: '/api/device-profiles/:id/restore',
    may: onDeviceProfile('deviceProfile.write', 'params.id'),
    schema: {
      operationId: 'restoreDeviceProfileVersion',
      summary: 'Restore a version of the codec of a device profile',
      description: 'The codec and both scripts become those of the version, as a new version.',
      params: Parameters,
      body: Type.Object(
        { version: Type.Integer({ minimum: 1, description: 'The number of the version.' }), force: Force },
        { [NAME]: 'DeviceProfileRestoration' },
      ),
      response: responses(Empty),
    },
    handle: async ({ viewer, profile }, request) => {
      const { version, force } = request.body
      demandUnrestricted(viewer)
      const codec = await registry.deviceProfiles.version(profile.id, version)
      if (codec === undefined) throw objectNotFound()
      if (force !== true) await demandWorking(tests, profile.organizationId, { ...profile, ...codec }, profile)
      accepted(await registry.deviceProfiles.update(profile.id, codec, viewer))
      return {}
    },
  })
}

function testProfile(tests: ProfileTests): Route {
  return route({
    method: 'POST',
    url: '/api/device-profiles/:id/test',
    bodyLimit: SCRIPTS_LIMIT_BYTES,
    may: onDeviceProfile('deviceProfile.write', 'params.id'),
    schema: {
      operationId: 'testDeviceProfile',
      summary: 'Run the test vectors of a device profile',
      description: 'Members of the body go in the place of those of the profile. Nothing is stored.',
      params: Parameters,
      body: Type.Object({
        deviceProfile: Type.Optional(Type.Object(WritableProfile, { [NAME]: 'DeviceProfileDraft' })),
      }),
      response: responses(TestResult),
    },
    handle: async ({ profile }, request) => {
      const draft = { ...profile, ...profileChanges(request.body.deviceProfile ?? {}) }
      const outcomes = await outcomesOf(tests, profile.organizationId, draft)
      return { outcomes: [...outcomes] }
    },
  })
}

/** The newest revisions of the library's profiles that the device profiles were made of. */
function revisionsOf(
  { deviceLibrary }: LibraryRegistry,
  profiles: readonly Pick<DeviceProfileFields, 'library'>[],
): Promise<LibraryRevisions> {
  return deviceLibrary.revisions(profiles.flatMap(({ library }) => (library === null ? [] : [library.profileId])))
}

/** The members that a new profile gets of the library; none without an id. */
async function membersOfLibrary(
  library: DeviceLibrary,
  profileId: string | undefined,
  region: string | undefined,
): Promise<Partial<DeviceProfileFields>> {
  if (profileId === undefined) return {}
  const profile = await library.get(profileId)
  if (profile === undefined) {
    throw invalidArgument('deviceProfile.libraryProfileID: the library has no such profile', 'library_profile_unknown')
  }
  if (region !== undefined && !profile.regions.some((one) => one.region === region)) {
    const names = profile.regions.map((one) => one.region).join(', ')
    const message = `deviceProfile.region: the library profile is for ${names === '' ? 'no region' : names}`
    throw invalidArgument(message, 'library_region_unknown')
  }
  return { ...deviceFieldsOf(profile, region), library: { profileId, revision: profile.revision } }
}

/** The members of a new profile that the body leaves out. */
const NEW_PROFILE: Omit<DeviceProfileFields, 'name'> = {
  description: '',
  vendor: '',
  model: '',
  firmwareVersion: '',
  region: '',
  deviceClass: '',
  payloadCodec: '',
  payloadDecoderScript: '',
  payloadEncoderScript: '',
  expectedIntervalSeconds: 0,
  batteryLimitPercent: null,
  marginLimitDb: null,
  tags: {},
  variables: {},
  fPortRules: [],
  testVectors: [],
  source: null,
  library: null,
}

const CODEC_MEMBERS = ['payloadCodec', 'payloadDecoderScript', 'payloadEncoderScript', 'testVectors', 'variables']

function isAboutCodec(changes: object): boolean {
  return CODEC_MEMBERS.some((member) => Object.hasOwn(changes, member))
}
