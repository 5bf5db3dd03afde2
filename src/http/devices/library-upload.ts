/** `POST /api/device-library/import`: a collection of device profiles in a zip archive. */
import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { ArchiveHelper } from '../../lorawan/library/archive-helper.ts'
import { CollectionFault } from '../../lorawan/library/collection-tree.ts'
import { LIBRARY_WRITER } from '../api/access.ts'
import { invalidArgument, RequestRefused } from '../api/errors.ts'
import { responses } from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { RULE, skipBody } from '../api/validate.ts'
import { LibraryImportReport } from './library-fields.ts'
import type { LibraryImport } from './library-import.ts'
import type { ImportedCollection, LibraryImports } from './library-imports.ts'

/** Bytes of an upload. The text of the largest public collection has 20 MB when it is packed. */
const MAXIMUM_UPLOAD_BYTES = 64 * 1024 * 1024
const IMPORT_TIMEOUT_MS = 600_000
const ZIP = 'application/zip'

/** Keeps the bodies of a scope as streams. The scope takes zip archives alone. */
export function streamArchives(scope: HttpApp): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(ZIP, (_request, payload, done) => done(null, payload))
}

const wish = (description: string) => Type.Optional(Type.Boolean({ description, [RULE]: 'must be true or false' }))

/** The upload, for a scope that `streamArchives` has prepared. */
export function libraryUploadRoutes(imports: LibraryImports): readonly Route[] {
  const upload = route({
    method: 'POST',
    url: '/api/device-library/import',
    may: LIBRARY_WRITER,
    handlerTimeout: IMPORT_TIMEOUT_MS,
    validatorCompiler: skipBody,
    schema: {
      operationId: 'importLibraryArchive',
      summary: 'Import a collection into the device library',
      description:
        'A zip archive in the layout of a device repository, of ChirpStack’s device profiles or of Actility’s catalogue. It is read in a ' +
        `process of its own. At most ${MAXIMUM_UPLOAD_BYTES} bytes, and one import at a time. With dryRun=true nothing is written, and the report says ` +
        'what would be created, changed and refused.',
      consumes: [ZIP],
      querystring: Type.Object({
        dryRun: wish('Only report.'),
        update: wish('Changes profiles that the library has otherwise; when not given, they are kept.'),
        force: wish('Takes profiles whose own examples do not hold as well.'),
      }),
      body: Type.Unsafe<Readable | null | undefined>({
        type: 'string',
        format: 'binary',
        description: 'The archive.',
      }),
      response: responses(LibraryImportReport),
    },
    before: ({ headers, body }) => {
      if (Number(headers['content-length'] ?? 0) > MAXIMUM_UPLOAD_BYTES) throw archiveTooLarge()
      if (body === undefined || body === null) throw withoutArchive()
    },
    handle: async ({ viewer }, { body, query, turnsOf }) => {
      if (body === undefined || body === null) throw withoutArchive()
      const { dryRun = false, update = false, force = false } = query
      try {
        const wishes = { actor: viewer, payer: turnsOf, dryRun, update, force }
        return await imports.run(wishes, (running) => importArchive(body, running))
      } catch (error) {
        if (error instanceof CollectionFault) throw invalidArgument(error.message, 'collection_unreadable')
        // A client that went away is no fault of the service. The code of the error depends on the
        // runtime, and on whether the body was read already when it broke off.
        throw body.readableAborted ? invalidArgument('the upload broke off', 'unreadable_request') : error
      } finally {
        // A client that is still sending would not see the answer.
        body.resume()
      }
    },
  })
  return resource('Device library', [upload])
}

async function importArchive(body: Readable, running: LibraryImport): Promise<ImportedCollection> {
  const archive = await ArchiveHelper.start()
  try {
    let bytes = 0
    // Destroying the request would cut the connection before the answer is out.
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAXIMUM_UPLOAD_BYTES) throw archiveTooLarge()
      await archive.take(chunk)
    }
    const { layout, problems } = await archive.open()
    const imported = []
    for (let told = await archive.next(); told !== undefined; told = await archive.next()) {
      imported.push(await running.take(told))
    }
    return { imported, layout, problems }
  } finally {
    await archive.close()
  }
}

function withoutArchive(): RequestRefused {
  return invalidArgument(`the upload is missing: send a zip archive (${ZIP})`)
}

function archiveTooLarge(): RequestRefused {
  const message = `an archive has at most ${MAXIMUM_UPLOAD_BYTES} bytes; import a larger one with fieldgate codecs import`
  return new RequestRefused('resource_exhausted', message, 'body_too_large', {
    statusCode: 413,
    headers: { connection: 'close' },
  })
}
