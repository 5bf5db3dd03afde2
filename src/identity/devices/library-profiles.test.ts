import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addOrganization, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'
import { NO_PROFILE } from './device-profile.testing.ts'
import { LIBRARY_PROFILE } from './library-profile.testing.ts'
import { boundedProfile, deviceFieldsOf, LIBRARY_BOUNDS, toldChanges } from './library-rules.ts'
import { PROFILE_BOUNDS } from './profile-rules.ts'

const ALL = { limit: 1_000, offset: 0 }

test('a profile of the library is kept as it was given, and is found by vendor, region, source and words', async () => {
  await using opened = await openTestRegistry()
  const { deviceLibrary: library } = opened.registry
  const { id } = valueOf(await library.save(LIBRARY_PROFILE, 2, nobody))
  const other = {
    ...LIBRARY_PROFILE,
    vendor: 'Zenith',
    model: 'Valve 50%',
    regions: [],
    source: { ...LIBRARY_PROFILE.source, name: 'Other', version: '' },
  }
  valueOf(await library.save(other, 0, nobody))
  assert.partialDeepStrictEqual(await library.get(id), { ...LIBRARY_PROFILE, revision: 1, failedExamples: 2 })
  const found = async (choice: object, search = ''): Promise<readonly string[]> =>
    (await library.list(choice, { ...ALL, search })).items.map(({ model }) => model)
  assert.deepEqual(await found({}), ['Meter 1', 'Valve 50%'])
  assert.deepEqual(await found({ vendor: 'Zenith' }), ['Valve 50%'])
  assert.deepEqual(await found({ region: 'US915' }), ['Meter 1'])
  assert.deepEqual(await found({ region: 'US91' }), [])
  assert.deepEqual(await found({ source: 'Other' }), ['Valve 50%'])
  assert.deepEqual(await found({}, '50%'), ['Valve 50%'])
  assert.deepEqual(await found({}, 'WATER'), ['Meter 1', 'Valve 50%'])
  const [listed] = (await library.list({}, ALL)).items
  assert.equal(listed !== undefined && 'payloadDecoderScript' in listed, false)
  assert.deepEqual(await library.vendors({ region: 'EU868' }, ALL), {
    totalCount: 1,
    items: [{ vendor: 'Maker', profiles: 1 }],
  })
  assert.deepEqual(await library.regions(), ['EU868', 'US915'])
  assert.partialDeepStrictEqual(await library.sources(), [
    { name: 'Collection', licence: 'MIT', version: 'abc', profiles: 1 },
    { name: 'Other', licence: 'MIT', version: '', profiles: 1 },
  ])
})

test('the same model is changed, also when it has a further region, and another codec of another region is not', async () => {
  await using opened = await openTestRegistry()
  const { deviceLibrary: library } = opened.registry
  const { id } = valueOf(await library.save(LIBRARY_PROFILE, 0, nobody))
  const same = { id, members: [], isOtherVersion: false, failedExamples: 0 }
  assert.deepEqual(await library.compare(LIBRARY_PROFILE), same)
  const newer = { ...LIBRARY_PROFILE, source: { ...LIBRARY_PROFILE.source, version: 'def' } }
  assert.deepEqual(await library.compare(newer), { ...same, isOtherVersion: true })
  assert.equal(valueOf(await library.save(newer, 0, nobody)).id, id)
  assert.partialDeepStrictEqual(await library.get(id), { revision: 1, source: { version: 'def' } })
  const further = {
    ...LIBRARY_PROFILE,
    regions: [...LIBRARY_PROFILE.regions, { region: 'IN865', deviceClass: 'A' }],
    payloadDecoderScript: '// another',
  }
  const members = ['regions', 'payloadDecoderScript']
  assert.deepEqual(await library.compare(further), { ...same, members, isOtherVersion: true })
  assert.equal(valueOf(await library.save(further, 0, nobody)).id, id)
  assert.deepEqual(await library.revisions([id, 'none']), new Map([[id, 2]]))
  assert.partialDeepStrictEqual(await library.get(id), { ...further, revision: 2 })
  const elsewhere = { ...LIBRARY_PROFILE, regions: [{ region: 'KR920', deviceClass: 'A' }] }
  assert.equal(await library.compare(elsewhere), undefined)
  assert.notEqual(valueOf(await library.save(elsewhere, 0, nobody)).id, id)
  assert.equal((await library.list({}, ALL)).totalCount, 2)
})

test('a source is removed with its profiles, and the scripts that another source has as well stay', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const { deviceLibrary: library } = registry
  const other = { ...LIBRARY_PROFILE, source: { ...LIBRARY_PROFILE.source, name: 'Other' } }
  const { id } = valueOf(await library.save(other, 0, nobody))
  for (let number = 1; number <= 101; number += 1) {
    const own = `// ${number % 2}`
    const profile = { ...LIBRARY_PROFILE, model: `Meter ${number}`, payloadEncoderScript: own }
    valueOf(await library.save(profile, 0, nobody))
  }
  assert.deepEqual(valueOf(await library.removeSource('Collection', nobody)), { removed: 101 })
  assert.equal(reasonOf(await library.removeSource('Collection', nobody)), 'library_source_not_found')
  assert.equal((await library.list({}, ALL)).totalCount, 1)
  assert.partialDeepStrictEqual(await library.get(id), other)
  const viewer = { userId: '1', isAdmin: true }
  const { items } = await registry.audit.list(viewer, ALL)
  const entries = items.filter(({ action }) => action === 'device_library.source_removed')
  assert.deepEqual(
    entries.map(({ subject, detail }) => [subject, detail]),
    [['Collection', { profiles: 101 }]],
  )
})

test('a profile that breaks a rule, or for which there is no room, is refused', async () => {
  await using opened = await openTestRegistry()
  const { deviceLibrary: library } = opened.registry
  const save = async (fields: object): Promise<string> =>
    reasonOf(await library.save({ ...LIBRARY_PROFILE, ...fields }, 0, nobody))
  const long = 'x'.repeat(PROFILE_BOUNDS.script + 1)
  assert.equal(await save({ payloadDecoderScript: long }), 'invalid_payload_script')
  assert.equal(await save({ vendor: 'a\nb' }), 'invalid_device_profile')
  const count = LIBRARY_BOUNDS.characters / PROFILE_BOUNDS.script
  for (let number = 0; number < count; number += 1) {
    const script = `// ${number} `.padEnd(PROFILE_BOUNDS.script, 'x')
    const scripts = { payloadDecoderScript: script, payloadEncoderScript: script }
    const reason = await save({ model: `Long ${number}`, ...scripts })
    // The settings and the examples take the room of the last script.
    assert.equal(reason, number === count - 1 ? 'library_too_large' : 'ok')
  }
  // A script that is kept already needs no room of its own.
  const kept = '// 0 '.padEnd(PROFILE_BOUNDS.script, 'x')
  assert.equal(await save({ model: 'Shared', payloadDecoderScript: kept, payloadEncoderScript: kept }), 'ok')
})

test('texts of a collection are cut to the bounds, and examples without a name get one', () => {
  const vector = { direction: 'up', name: '', fPort: 1, bytes: '05', expected: { data: {} } } as const
  const bounded = boundedProfile({
    ...LIBRARY_PROFILE,
    model: `a\n${'b'.repeat(300)}`,
    testVectors: Array.from({ length: 150 }, () => vector),
  })
  assert.equal(bounded.model, `a ${'b'.repeat(198)}`)
  assert.equal(bounded.testVectors.length, 100)
  assert.deepEqual(bounded.testVectors[1], { name: 'example 2', fPort: 1, bytes: '05', expected: { data: {} } })
  const large = { ...vector, expected: { data: 'x'.repeat(100_000) } }
  assert.equal(boundedProfile({ ...LIBRARY_PROFILE, testVectors: [large, large, large] }).testVectors.length, 2)
})

test('a device profile takes the members of a region, keeps its own, and learns what is otherwise', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const own = { name: 'own', fPort: 1, bytes: '01', expected: { data: { a: 1 } } }
  const chosen = deviceFieldsOf(LIBRARY_PROFILE, 'US915')
  assert.partialDeepStrictEqual(chosen, { vendor: 'Maker', region: 'US915', deviceClass: 'C' })
  const fields = {
    ...NO_PROFILE,
    ...chosen,
    testVectors: [...chosen.testVectors, own],
    library: { profileId: 'an-id', revision: 3 },
  }
  const { id } = valueOf(await registry.deviceProfiles.create(acme, fields, nobody))
  const saved = await registry.deviceProfiles.get(id)
  assert.ok(saved !== undefined)
  assert.deepEqual(saved.library, { profileId: 'an-id', revision: 3 })
  assert.deepEqual(toldChanges(saved, LIBRARY_PROFILE), {})
  const vectors = [{ name: 'six', fPort: 1, bytes: '06', expected: { data: { a: 6 } } }]
  const later = { ...LIBRARY_PROFILE, description: 'Later', testVectors: vectors }
  const [five] = LIBRARY_PROFILE.testVectors
  assert.deepEqual(toldChanges(saved, later), { description: 'Later', testVectors: [...vectors, five, own] })
})
