import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LibraryProfile } from '../api/device-library.ts'
import { firmwaresOf, modelsOf, nameOf } from './library-choice.ts'

const PROFILE: LibraryProfile = {
  id: 'a',
  vendor: 'Maker',
  model: 'Meter',
  firmwareVersion: '1.0',
  description: '',
  regions: [{ region: 'EU868', deviceClass: 'A' }],
  payloadCodec: 'CUSTOM_JS',
  vectorCount: 0,
  failedExamples: 0,
  source: { name: 'Collection', licence: 'MIT', url: '', version: '' },
}

test('a model is offered once, and its firmware with the regions where it has several codecs', () => {
  const profiles = [
    PROFILE,
    { ...PROFILE, id: 'b', regions: [{ region: 'US915', deviceClass: 'A' }] },
    { ...PROFILE, id: 'c', firmwareVersion: '' },
    { ...PROFILE, id: 'd', model: 'Valve' },
  ]
  assert.deepEqual(modelsOf(profiles), ['Meter', 'Valve'])
  assert.deepEqual(firmwaresOf(profiles, 'Meter'), [
    { value: 'a', label: '1.0 · EU868' },
    { value: 'b', label: '1.0 · US915' },
    { value: 'c', label: 'any firmware' },
  ])
  assert.deepEqual(firmwaresOf(profiles, null), [])
})

test('two sources of the same firmware are told apart', () => {
  const other = { ...PROFILE, id: 'b', source: { ...PROFILE.source, name: 'Other' } }
  assert.deepEqual(
    firmwaresOf([PROFILE, other], 'Meter').map(({ label }) => label),
    ['1.0 · EU868 · Collection', '1.0 · EU868 · Other'],
  )
})

test('the name that is offered has the vendor once', () => {
  assert.equal(nameOf(PROFILE), 'Maker Meter 1.0')
  assert.equal(nameOf({ ...PROFILE, model: 'maker Meter', firmwareVersion: '' }), 'maker Meter')
})
