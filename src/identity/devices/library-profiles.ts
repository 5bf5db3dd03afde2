/** The library of device profiles in a store: listed, compared, saved, and removed by source. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely, Selectable, SelectQueryBuilder } from 'kysely'
import { listPage } from '../store/list-page.ts'
import { boundedPage, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { contains, foldText, parseSearch } from '../store/text-rules.ts'
import type { PayloadCodec } from './device-profile.ts'
import type {
  DeviceLibrary,
  LibraryChoice,
  LibraryProfile,
  LibraryProfileFields,
  LibraryRegion,
  ListedLibraryFields,
  ListedLibraryProfile,
} from './library-profile.ts'
import { checkLibraryProfile, LIBRARY_BOUNDS, plain } from './library-rules.ts'
import { forgetScripts, hashOf, isKept, keepScript, scriptOf } from './library-scripts.ts'

/** Profiles that one transaction removes. */
const REMOVE_BATCH = 100

/** The library of a store. */
export function createDeviceLibrary(store: Store): DeviceLibrary {
  const { db } = store
  return {
    list: (choice, page) =>
      listPage(chosenBy(db, choice), page, {
        searched: 'search_text',
        sorted: (rows) => rows.select(LISTED_COLUMNS).orderBy('sort_key').orderBy('id'),
        itemOf: listedOf,
      }),

    async vendors(choice, page) {
      const search = parseSearch(page.search)
      if (search === null) return { totalCount: 0, items: [] }
      const all = chosenBy(db, choice)
      const found = search === undefined ? all : all.where(contains(sql.ref<string>('search_text'), search))
      const rows = await found
        .select((eb) => ['vendor', eb.fn.countAll<number>().as('profiles')])
        .groupBy('vendor')
        .orderBy('vendor')
        .execute()
      const { limit, offset } = boundedPage(page)
      return {
        totalCount: rows.length,
        items: rows.slice(offset, offset + limit).map(({ vendor, profiles }) => ({ vendor, profiles })),
      }
    },

    async regions() {
      const rows = await db.selectFrom('library_profiles').select('regions').distinct().execute()
      return [...new Set(rows.flatMap(({ regions }) => regions.split('\n')))].filter((name) => name !== '').toSorted()
    },

    async sources() {
      const rows = await db
        .selectFrom('library_profiles')
        .select((eb) => ['source', eb.fn.countAll<number>().as('profiles'), eb.fn.max('updated_at').as('at')])
        .groupBy('source')
        .orderBy('source')
        .execute()
      return Promise.all(
        rows.map(async ({ source: name, profiles, at }) => {
          const { licence, version } = await newestOf(db, name)
          return { name, licence, version, profiles, updatedAtMs: at }
        }),
      )
    },

    get: (id) => findProfile(db, id),

    async revisions(ids) {
      if (ids.length === 0) return new Map()
      const rows = await db.selectFrom('library_profiles').select(['id', 'revision']).where('id', 'in', ids).execute()
      return new Map(rows.map(({ id, revision }) => [id, revision]))
    },

    async compare(fields) {
      const row = await findSame(db, fields)
      if (row === undefined) return undefined
      const saved = await profileOf(db, row)
      return {
        id: row.id,
        members: otherMembers(saved, fields),
        isOtherVersion: saved.source.version !== fields.source.version,
        failedExamples: saved.failedExamples,
      }
    },

    save: (fields, failedExamples, actor) => store.change(actor, (unit) => saveProfile(unit, fields, failedExamples)),

    removeSource: (name, actor) => removeSource(store, name, actor),
  }
}

type Row = Selectable<Schema['library_profiles']>

const LISTED_COLUMNS = [
  'id',
  'vendor',
  'model',
  'firmware_version',
  'settings',
  'payload_codec',
  'revision',
  'failed_examples',
  'vector_count',
  'created_at',
  'updated_at',
] as const

/** The members that a comparison names. */
const MEMBERS = [
  'description',
  'regions',
  'fPortRules',
  'payloadCodec',
  'payloadDecoderScript',
  'payloadEncoderScript',
  'testVectors',
  'source',
] as const satisfies readonly (keyof LibraryProfileFields)[]

function chosenBy(
  db: Store['db'],
  { vendor, model, region, source }: LibraryChoice,
): SelectQueryBuilder<Schema, 'library_profiles', object> {
  let rows: SelectQueryBuilder<Schema, 'library_profiles', object> = db.selectFrom('library_profiles')
  if (vendor !== undefined) rows = rows.where('vendor', '=', vendor)
  if (model !== undefined) rows = rows.where('model', '=', model)
  if (source !== undefined) rows = rows.where('source', '=', source)
  if (region !== undefined) rows = rows.where(contains(sql.ref<string>('regions'), `\n${region}\n`))
  return rows
}

/** The members that differ. The version of the source is none of them. */
function otherMembers(saved: LibraryProfileFields, fields: LibraryProfileFields): readonly string[] {
  const same = { ...saved, source: { ...saved.source, version: fields.source.version } }
  return MEMBERS.filter((member) => !isDeepStrictEqual(plain(same[member]), plain(fields[member])))
}

/** The text in the column `regions`: each name between line feeds. */
function namesOf(regions: readonly LibraryRegion[]): string {
  return ['', ...regions.map(({ region }) => region), ''].join('\n')
}

function keyOf({ source, vendor, model, firmwareVersion }: LibraryProfileFields): string {
  return hashOf(JSON.stringify([source.name, vendor, model, firmwareVersion]))
}

/** A firmware may have another codec in each region. Then it has a profile for each of them. */
async function findSame(db: Kysely<Schema>, fields: LibraryProfileFields): Promise<Row | undefined> {
  const rows = await db
    .selectFrom('library_profiles')
    .selectAll()
    .where('profile_key', '=', keyOf(fields))
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const names = fields.regions.map(({ region }) => region)
  return rows.find(({ regions }) => {
    const own = regions.split('\n').filter((name) => name !== '')
    return own.some((name) => names.includes(name)) || (own.length === 0 && names.length === 0)
  })
}

async function findProfile(db: Kysely<Schema>, id: string): Promise<LibraryProfile | undefined> {
  const row = await db.selectFrom('library_profiles').selectAll().where('id', '=', id).executeTakeFirst()
  return row && profileOf(db, row)
}

function listedOf(row: Pick<Row, (typeof LISTED_COLUMNS)[number]>): ListedLibraryProfile {
  const settings = JSON.parse(row.settings) as Pick<
    ListedLibraryFields,
    'description' | 'regions' | 'fPortRules' | 'source'
  >
  return {
    ...settings,
    id: row.id,
    vendor: row.vendor,
    model: row.model,
    firmwareVersion: row.firmware_version,
    payloadCodec: row.payload_codec as PayloadCodec,
    revision: row.revision,
    failedExamples: row.failed_examples,
    vectorCount: row.vector_count,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

async function profileOf(db: Kysely<Schema>, row: Row): Promise<LibraryProfile> {
  return {
    ...listedOf(row),
    payloadDecoderScript: await scriptOf(db, row.decoder_hash),
    payloadEncoderScript: await scriptOf(db, row.encoder_hash),
    testVectors: JSON.parse(row.test_vectors) as LibraryProfile['testVectors'],
  }
}

async function newestOf(db: Store['db'], source: string): Promise<LibraryProfileFields['source']> {
  const row = await db
    .selectFrom('library_profiles')
    .select(LISTED_COLUMNS)
    .where('source', '=', source)
    .orderBy('updated_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? { name: source, licence: '', url: '', version: '' } : listedOf(row).source
}

/** The columns that a change writes, without those of the scripts. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- columns are the schema's
function columnsOf(fields: LibraryProfileFields) {
  const { vendor, model, firmwareVersion, description, regions, fPortRules, source } = fields
  const settings = JSON.stringify({ description, regions, fPortRules, source })
  const vectors = JSON.stringify(fields.testVectors)
  return {
    source: source.name,
    vendor,
    model,
    firmware_version: firmwareVersion,
    sort_key: foldText(`${vendor}\n${model}\n${firmwareVersion}`),
    search_text: foldText(`${vendor}\n${model}\n${description}`),
    regions: namesOf(regions),
    settings,
    payload_codec: fields.payloadCodec,
    size: settings.length + vectors.length,
    vector_count: fields.testVectors.length,
    test_vectors: vectors,
  }
}

async function saveProfile(
  { trx, nowMs }: Unit,
  fields: LibraryProfileFields,
  failedExamples: number,
): Promise<Result<{ readonly id: string }>> {
  const refusal = checkLibraryProfile(fields)
  if (refusal !== undefined) return refusal
  const before = await findSame(trx, fields)
  const id = before?.id ?? randomUUID()
  const columns = columnsOf(fields)
  const scripts = [fields.payloadDecoderScript, fields.payloadEncoderScript] as const
  const unfit = await refuseFull(trx, before, columns.size, scripts)
  if (unfit !== undefined) return unfit
  const [decoder, encoder] = scripts
  const isChanged = before === undefined || otherMembers(await profileOf(trx, before), fields).length > 0
  const row = {
    ...columns,
    id,
    profile_key: keyOf(fields),
    revision: (before?.revision ?? 0) + Number(isChanged),
    failed_examples: failedExamples,
    created_at: before?.created_at ?? nowMs,
    updated_at: nowMs,
    decoder_hash: await keepScript(trx, decoder),
    encoder_hash: await keepScript(trx, encoder),
  }
  if (before === undefined) await trx.insertInto('library_profiles').values(row).execute()
  else {
    await trx.updateTable('library_profiles').set(row).where('id', '=', id).execute()
    await forgetScripts(trx, [before.decoder_hash, before.encoder_hash])
  }
  return granted({ id })
}

/**
 * The refusal of a profile for which the library has no room. `before` is the profile that it
 * replaces.
 */
async function refuseFull(
  trx: Kysely<Schema>,
  before: Row | undefined,
  size: number,
  scripts: readonly string[],
): Promise<Refusal | undefined> {
  const all = await trx
    .selectFrom('library_profiles')
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.sum<number | null>('size').as('sum')])
    .executeTakeFirstOrThrow()
  const { profiles, characters } = LIBRARY_BOUNDS
  if (before === undefined && all.count >= profiles) {
    return refuse('resource_exhausted', 'too_many_library_profiles', `the library has ${profiles} profiles already`)
  }
  const kept = await trx
    .selectFrom('library_scripts')
    .select((eb) => eb.fn.sum<number | null>('size').as('sum'))
    .executeTakeFirstOrThrow()
  let sum = (all.sum ?? 0) - (before?.size ?? 0) + (kept.sum ?? 0) + size
  for (const script of new Set(scripts)) if (!(await isKept(trx, script))) sum += script.length
  if (sum <= characters) return undefined
  const message = `the library would have more than ${characters} characters`
  return refuse('resource_exhausted', 'library_too_large', message)
}

async function removeSource(store: Store, name: string, actor: Actor): Promise<Result<{ readonly removed: number }>> {
  let done = { removed: 0, isLast: false, entryId: undefined as number | undefined }
  while (!done.isLast) {
    const before = done
    done = await store.change(actor, async (unit) => {
      const some = await removeSome(unit, name)
      const removed = before.removed + some
      const isLast = some < REMOVE_BATCH
      if (some === 0) return { ...before, isLast }
      const detail = { profiles: removed }
      const entryId = await unit.audit('device_library.source_removed', name, null, detail, before.entryId)
      return { removed, isLast, entryId }
    })
    await nextTurn()
  }
  const { removed } = done
  return removed === 0 ? notFound('library_source_not_found') : granted({ removed })
}

/** Removes some profiles of the source. Returns their number. */
async function removeSome({ trx }: Unit, source: string): Promise<number> {
  const rows = await trx
    .selectFrom('library_profiles')
    .select(['id', 'decoder_hash', 'encoder_hash'])
    .where('source', '=', source)
    .limit(REMOVE_BATCH)
    .execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await trx.deleteFrom('library_profiles').where('id', 'in', ids).execute()
  await forgetScripts(
    trx,
    rows.flatMap((row) => [row.decoder_hash, row.encoder_hash]),
  )
  return rows.length
}
