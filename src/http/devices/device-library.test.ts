import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { LIBRARY_PROFILE } from '../../identity/devices/library-profile.testing.ts'
import { ArchiveHelper } from '../../lorawan/library/archive-helper.ts'
import { chirpStackFiles } from '../../lorawan/library/collections.testing.ts'
import { zipOf } from '../../lorawan/library/zip.testing.ts'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment
let operator: string
let admin: string

before(async () => {
  deployment = await openTestDeployment()
  operator = await deployment.session('globalAdmin')
  admin = await deployment.session('organizationAdmin')
})

after(async () => {
  await deployment.close()
})

interface Imported {
  readonly model: string
  readonly outcome: string
  readonly members?: readonly string[]
  readonly reason?: string
  readonly message?: string
}

interface Answer {
  readonly id: string
  readonly message: string
  readonly details: readonly { readonly reason: string }[]
  readonly layout: string
  readonly createdCount: number
  readonly unchangedCount: number
  readonly profiles: readonly Imported[]
  readonly result: readonly { readonly id: string; readonly model: string }[]
  readonly deviceProfile: Readonly<Record<string, unknown>>
  readonly members: readonly string[]
  readonly breaks: readonly { readonly name: string }[]
}

async function send(session: string, request: InjectOptions) {
  const answer = await deployment.ask(session, request)
  return { status: answer.statusCode, body: answer.json<Answer>() }
}

async function put(profiles: readonly object[], wishes: object = {}): Promise<readonly Imported[]> {
  const payload = { profiles, ...wishes }
  const { status, body } = await send(operator, { method: 'POST', url: '/api/device-library/profiles', payload })
  assert.equal(status, 200, body.message)
  return body.profiles
}

const post = (url: string, payload: object = {}) => send(admin, { method: 'POST', url, payload })

const get = (url: string) => send(admin, { method: 'GET', url })

async function idOf(model: string): Promise<string> {
  const { body } = await get(`/api/device-library/profiles?model=${encodeURIComponent(model)}`)
  const [found] = body.result
  assert.ok(found !== undefined)
  return found.id
}

const WRONG = 'function decodeUplink() { return { data: { a: 1 } } }'

test('an import looks first, then creates, and changes what is there only with update', async () => {
  const model = 'Looked at'
  const profile = { ...LIBRARY_PROFILE, model }
  assert.partialDeepStrictEqual(await put([profile], { dryRun: true }), [{ model, outcome: 'created' }])
  assert.deepEqual((await get(`/api/device-library/profiles?model=Looked%20at`)).body.result, [])
  assert.partialDeepStrictEqual(await put([profile]), [{ model, outcome: 'created' }])
  assert.deepEqual(await put([profile]), [])
  const later = { ...profile, description: 'Later' }
  assert.partialDeepStrictEqual(await put([later]), [{ model, outcome: 'kept', members: ['description'] }])
  const changed = [{ model, outcome: 'changed', members: ['description'] }]
  assert.partialDeepStrictEqual(await put([later], { dryRun: true }), changed)
  assert.partialDeepStrictEqual(await put([later], { update: true }), changed)
  assert.deepEqual(await put([later]), [])
  const versioned = { ...later, source: { ...later.source, version: 'def' } }
  assert.deepEqual(await put([versioned], { update: true }), [])
  const saved = await deployment.registry.deviceLibrary.get(await idOf(model))
  assert.deepEqual([saved?.revision, saved?.source.version], [2, 'def'])
})

test('a profile whose own example does not hold is refused with the reason, and taken with force', async () => {
  const model = 'Wrong'
  const profile = { ...LIBRARY_PROFILE, model, payloadDecoderScript: WRONG }
  const [refused] = await put([profile])
  assert.partialDeepStrictEqual(refused, { outcome: 'refused', reason: 'codec_test_failed' })
  assert.match(refused?.message ?? '', /its own example five does not hold: expected \{"a":5\}, got \{"a":1\}/)
  assert.partialDeepStrictEqual(await put([profile], { force: true }), [{ model, outcome: 'created' }])
  assert.equal((await deployment.registry.deviceLibrary.get(await idOf(model)))?.failedExamples, 1)
})

test('one request with the same model and region twice takes the first one', async () => {
  const profile = { ...LIBRARY_PROFILE, model: 'Twice' }
  const outcomes = (await put([profile, { ...profile, description: 'Again' }])).map(({ outcome }) => outcome)
  assert.deepEqual(outcomes, ['created', 'refused'])
})

const ARCHIVE = zipOf(Object.entries(chirpStackFiles).map(([path, content]) => ({ path, content })))

function upload(payload: Buffer, query = '') {
  const headers = { 'content-type': 'application/zip' }
  return send(operator, { method: 'POST', url: `/api/device-library/import${query}`, headers, payload })
}

test('an archive is imported, is unchanged the second time, and can’t be read when it is none', async () => {
  const looked = await upload(ARCHIVE, '?dryRun=true&force=true')
  assert.equal(looked.status, 200, looked.body.message)
  assert.equal(looked.body.layout, 'ChirpStack device profiles')
  const first = await upload(ARCHIVE, '?force=true')
  assert.ok(first.body.createdCount > 0)
  assert.equal(first.body.createdCount, looked.body.createdCount)
  const second = await upload(ARCHIVE)
  assert.deepEqual([second.body.createdCount, second.body.unchangedCount], [0, first.body.createdCount])
  const { status, body } = await upload(Buffer.from('no archive'))
  assert.deepEqual([status, body.details[0]?.reason], [400, 'collection_unreadable'])
  const { items } = await deployment.registry.audit.list({ userId: '1', isAdmin: true }, { limit: 1, offset: 0 })
  assert.partialDeepStrictEqual(items, [{ action: 'device_library.imported' }])
})

test('an archive whose reader takes too long is refused, the library stays, and the next archive is read', async (context) => {
  await upload(ARCHIVE, '?force=true')
  const kept = (await get('/api/device-library/profiles')).body
  // oxlint-disable-next-line typescript/unbound-method -- It is called with its object.
  const { open } = ArchiveHelper.prototype
  context.mock.timers.enable({ apis: ['setTimeout'] })
  context.mock.method(ArchiveHelper.prototype, 'open', function (this: ArchiveHelper) {
    const opening = open.call(this)
    context.mock.timers.tick(60_000)
    return opening
  })
  const closed = context.mock.method(ArchiveHelper.prototype, 'close')
  const { status, body } = await upload(ARCHIVE, '?update=true&force=true')
  assert.deepEqual([status, body.details[0]?.reason], [400, 'collection_unreadable'])
  assert.match(body.message, /takes too long/)
  assert.equal(closed.mock.callCount(), 1)
  context.mock.reset()
  context.mock.timers.reset()
  assert.deepEqual((await get('/api/device-library/profiles')).body, kept)
  assert.equal((await upload(ARCHIVE)).status, 200)
})

test('a device profile is made of the library, learns of an update, and takes it with one call', async () => {
  const model = 'Chosen'
  await put([{ ...LIBRARY_PROFILE, model }])
  const libraryProfileID = await idOf(model)
  const organizationID = deployment.organizationId
  const made = (members: object) =>
    post('/api/device-profiles', { deviceProfile: { name: 'Chosen', organizationID, libraryProfileID, ...members } })
  assert.equal((await made({ region: 'KR920' })).body.details[0]?.reason, 'library_region_unknown')
  const unknown = await made({ libraryProfileID: 'none' })
  assert.equal(unknown.body.details[0]?.reason, 'library_profile_unknown')
  const { id } = (await made({ region: 'US915', tags: { kind: 'meter' } })).body
  const url = `/api/device-profiles/${id}`
  assert.partialDeepStrictEqual((await get(url)).body.deviceProfile, {
    vendor: 'Maker',
    region: 'US915',
    deviceClass: 'C',
    tags: { kind: 'meter' },
    source: LIBRARY_PROFILE.source,
    testVectors: LIBRARY_PROFILE.testVectors,
    libraryProfileID,
    libraryRevision: 1,
    hasLibraryUpdate: false,
  })
  assert.equal((await post(`${url}/library-update`)).body.details[0]?.reason, 'library_update_missing')
  const own = { name: 'own', fPort: 1, bytes: '02', expected: { data: { a: 2 } } }
  const testVectors = [...LIBRARY_PROFILE.testVectors, own]
  await send(admin, { method: 'PUT', url, payload: { deviceProfile: { testVectors } } })
  await put([{ ...LIBRARY_PROFILE, model, payloadDecoderScript: WRONG, testVectors: [] }], { update: true })
  assert.equal((await get(url)).body.deviceProfile['hasLibraryUpdate'], true)
  const update = (await get(`${url}/library-update`)).body
  assert.deepEqual(update.members, ['payloadDecoderScript'])
  assert.deepEqual(
    update.breaks.map(({ name }) => name),
    ['five', 'own'],
  )
  assert.equal((await post(`${url}/library-update`)).body.details[0]?.reason, 'codec_test_failed')
  assert.equal((await post(`${url}/library-update`, { force: true })).status, 200)
  assert.partialDeepStrictEqual((await get(url)).body.deviceProfile, {
    payloadDecoderScript: WRONG,
    testVectors,
    tags: { kind: 'meter' },
    libraryRevision: 2,
    hasLibraryUpdate: false,
  })
})
