/** The library of device profiles of the deployment: `/api/device-library`. */
import { Type } from 'typebox'
import type { DeviceLibrary } from '../../identity/devices/library-profile.ts'
import { given } from '../../given.ts'
import { LIBRARY_READER, LIBRARY_WRITER } from '../api/access.ts'
import { accepted, objectNotFound } from '../api/errors.ts'
import { flag, listOf, opaqueId, pageOf, PagingQuery, responses, text, written } from '../api/fields.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import {
  GivenLibraryProfile,
  givenProfile,
  libraryDetails,
  libraryItem,
  LibraryImportReport,
  LibraryOverview,
  LibraryProfileDetails,
  LibraryProfileItem,
  LibraryVendorItem,
  sourceItem,
} from './library-fields.ts'
import type { LibraryImports } from './library-imports.ts'

/** The part of the registry that the library needs. */
export type LibraryRegistry = OwnershipRegistry & { readonly deviceLibrary: DeviceLibrary }

/** Profiles of one request. Each may have two scripts of 524,288 characters. */
const MAXIMUM_PROFILES = 100
const BODY_LIMIT_BYTES = 16 * 1024 * 1024
/** The examples of all profiles of a request may take some minutes. */
const IMPORT_TIMEOUT_MS = 600_000

const Choice = {
  vendor: Type.Optional(text(200, 'Only profiles of this vendor.')),
  model: Type.Optional(text(200, 'Only profiles of this model.')),
  region: Type.Optional(text(100, 'Only profiles for this region, as its collection writes it.')),
  source: Type.Optional(text(200, 'Only profiles of this source.')),
}

/** The routes whose bodies are JSON. */
export function deviceLibraryRoutes(registry: LibraryRegistry, imports: LibraryImports): readonly Route[] {
  const { deviceLibrary: library } = registry
  return resource('Device library', [
    getLibrary(library),
    listVendors(library),
    listLibraryProfiles(library),
    getLibraryProfile(library),
    importProfiles(imports),
    removeSource(library),
  ])
}

function getLibrary(library: DeviceLibrary): Route {
  return route({
    method: 'GET',
    url: '/api/device-library',
    may: LIBRARY_READER,
    schema: {
      operationId: 'getDeviceLibrary',
      summary: 'Get the device library',
      description: 'Its size, its regions, and its sources with their licences.',
      response: responses(LibraryOverview),
    },
    handle: async () => {
      const [{ totalCount }, regions, sources] = await Promise.all([
        library.list({}, { limit: 0, offset: 0 }),
        library.regions(),
        library.sources(),
      ])
      return { profileCount: totalCount, regions: [...regions], sources: sources.map(sourceItem) }
    },
  })
}

function listVendors(library: DeviceLibrary): Route {
  const { region, source } = Choice
  return route({
    method: 'GET',
    url: '/api/device-library/vendors',
    may: LIBRARY_READER,
    schema: {
      operationId: 'listLibraryVendors',
      summary: 'List the vendors of the device library',
      description:
        'Sorted by name, with the number of their profiles. `search` looks into vendor, model and description.',
      querystring: Type.Object({ ...PagingQuery, region, source }),
      response: responses(listOf(LibraryVendorItem, 'LibraryVendorList')),
    },
    handle: async (_, { query }) => {
      const listed = await library.vendors(given({ region: query.region, source: query.source }), pageOf(query))
      return written(listed, ({ vendor, profiles }) => ({ vendor, profileCount: profiles }))
    },
  })
}

function listLibraryProfiles(library: DeviceLibrary): Route {
  return route({
    method: 'GET',
    url: '/api/device-library/profiles',
    may: LIBRARY_READER,
    schema: {
      operationId: 'listLibraryProfiles',
      summary: 'List the profiles of the device library',
      description:
        'Sorted by vendor, model and firmware, without scripts and examples. `search` looks into vendor, model and description.',
      querystring: Type.Object({ ...PagingQuery, ...Choice }),
      response: responses(listOf(LibraryProfileItem, 'LibraryProfileList')),
    },
    handle: async (_, { query }) => {
      const { vendor, model, region, source } = query
      return written(await library.list(given({ vendor, model, region, source }), pageOf(query)), libraryItem)
    },
  })
}

function getLibraryProfile(library: DeviceLibrary): Route {
  return route({
    method: 'GET',
    url: '/api/device-library/profiles/:id',
    may: LIBRARY_READER,
    schema: {
      operationId: 'getLibraryProfile',
      summary: 'Get a profile of the device library',
      description: 'With its scripts and its examples.',
      params: Type.Object({ id: opaqueId('Library profile id.') }),
      response: responses(LibraryProfileDetails),
    },
    handle: async (_, { params }) => {
      const profile = await library.get(params.id)
      if (profile === undefined) throw objectNotFound()
      return libraryDetails(profile)
    },
  })
}

function importProfiles(imports: LibraryImports): Route {
  return route({
    method: 'POST',
    url: '/api/device-library/profiles',
    bodyLimit: BODY_LIMIT_BYTES,
    handlerTimeout: IMPORT_TIMEOUT_MS,
    may: LIBRARY_WRITER,
    schema: {
      operationId: 'importLibraryProfiles',
      summary: 'Import profiles into the device library',
      description:
        'A profile of the same source, vendor, model and firmware that has one of the regions is the same profile. The examples ' +
        'of each new or changed profile are run before it is saved. Every profile is taken or refused by itself.',
      body: Type.Object(
        {
          profiles: Type.Array(GivenLibraryProfile, { maxItems: MAXIMUM_PROFILES }),
          dryRun: Type.Optional(flag('Only report.')),
          update: Type.Optional(
            flag('Changes profiles that the library has otherwise; when not given, they are kept.'),
          ),
          force: Type.Optional(flag('Takes profiles whose own examples do not hold as well.')),
        },
        { [NAME]: 'LibraryProfiles' },
      ),
      response: responses(LibraryImportReport),
    },
    handle: async ({ viewer }, { body, turnsOf }) => {
      const { dryRun = false, update = false, force = false, profiles } = body
      return imports.run({ actor: viewer, payer: turnsOf, dryRun, update, force }, async (running) => {
        const imported = []
        for (const profile of profiles) imported.push(await running.take(givenProfile(profile)))
        return { imported, layout: '', problems: [] }
      })
    },
  })
}

function removeSource(library: DeviceLibrary): Route {
  return route({
    method: 'DELETE',
    url: '/api/device-library/sources',
    may: LIBRARY_WRITER,
    schema: {
      operationId: 'deleteLibrarySource',
      summary: 'Delete a source of the device library',
      description: 'All its profiles are deleted. Device profiles that were made of them stay as they are.',
      querystring: Type.Object({ name: text(200, 'The name of the source.') }),
      response: responses(
        Type.Object(
          { profileCount: Type.Integer({ minimum: 1, description: 'The profiles that were deleted.' }) },
          { description: 'Deleted', [NAME]: 'DeletedLibrarySource' },
        ),
      ),
    },
    handle: async ({ viewer }, { query }) => {
      const { removed } = accepted(await library.removeSource(query.name, viewer))
      return { profileCount: removed }
    },
  })
}
