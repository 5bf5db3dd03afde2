import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LibraryProfile, TestVector } from '../../lorawan/library/library-profile.ts'
import { changesTo, membersOf, planImport } from './codecs-plan.ts'

function frog(more: Partial<LibraryProfile> = {}): LibraryProfile {
  return {
    vendor: 'Pond',
    model: 'Frog',
    description: '',
    firmwareVersion: '1',
    regions: [
      { region: 'EU868', deviceClass: 'A' },
      { region: 'US915', deviceClass: 'C' },
    ],
    payloadCodec: '',
    payloadDecoderScript: '',
    payloadEncoderScript: '',
    testVectors: [],
    source: { name: 'a collection', licence: '', url: '', version: '' },
    ...more,
  }
}

function vectors(count: number, name = ''): TestVector[] {
  return Array.from({ length: count }, () => ({
    direction: 'up',
    name,
    fPort: 1,
    bytes: '00',
    expected: { data: {} },
  }))
}

describe('the plan of an import', () => {
  it('gives each profile a name of its own, the same ones each time', () => {
    const profiles = [frog(), frog(), frog(), frog({ model: 'POND Frog' }), frog({ model: 'x'.repeat(300) })]
    const planned = planImport(profiles, [])
    const names = planned.map(({ name }) => name)
    assert.deepEqual(names.slice(0, 4), ['Pond Frog 1', 'Pond Frog 1 EU868', 'Pond Frog 1 EU868 (2)', 'POND Frog 1'])
    assert.equal(names[4]?.length, 100)
    const made = planned.map(({ profile, name }) => Object.assign(membersOf(profile), { name }))
    const again = planImport(profiles, made)
    assert.deepEqual(
      again.map(({ name, existing }) => [name, existing !== undefined]),
      names.map((name) => [name, true]),
    )
  })

  it('takes no device profile of another source, firmware or region for one that it made', () => {
    const profile = frog()
    for (const other of [
      { source: null },
      { source: { name: 'another collection', licence: '', url: '', version: '' } },
      { firmwareVersion: '2' },
      { region: 'AS923' },
    ]) {
      const [planned] = planImport([profile], [{ ...membersOf(profile), name: 'Pond Frog 1', ...other }])
      assert.equal(planned?.existing, undefined, JSON.stringify(other))
      assert.equal(planned?.name, 'Pond Frog 1 EU868')
    }
  })

  it('keeps the bounds of device profiles', () => {
    const members = membersOf(
      frog({ vendor: 'v'.repeat(300), model: 'a\u0007b', description: 'd'.repeat(2_000), testVectors: vectors(150) }),
    )
    assert.equal(String(members['vendor']).length, 200)
    assert.equal(members['model'], 'a b')
    assert.equal(String(members['description']).length, 1_000)
    const kept = members['testVectors'] as readonly { readonly name: string }[]
    assert.deepEqual([kept.length, kept[0]?.name, kept[99]?.name], [100, 'example 1', 'example 100'])
  })

  it('keeps the region and the test vectors of the organization in an update', () => {
    const profile = frog({ testVectors: vectors(100, 'theirs') })
    const own = { name: 'ours', bytes: '01', expected: { data: {} } }
    const existing = { ...membersOf(profile, 'US915'), testVectors: [own] }
    const changes = changesTo(existing, profile)
    assert.deepEqual(Object.keys(changes), ['testVectors'])
    const after = changes['testVectors'] as readonly { readonly name: string }[]
    assert.deepEqual([after.length, after[98]?.name, after[99]], [100, 'theirs', own])
    assert.deepEqual(changesTo({ ...existing, ...changes }, profile), {})
    assert.deepEqual(changesTo(existing, profile, 'EU868')['region'], 'EU868')
  })
})
