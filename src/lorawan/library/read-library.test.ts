import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CollectionFault, createTree } from './collection-tree.ts'
import { actilityFiles, chirpStackFiles, deviceRepositoryFiles } from './collections.testing.ts'
import type { Files } from './collections.testing.ts'
import { readLibrary } from './read-library.ts'

function read(files: Files) {
  const tree = createTree(Object.keys(files), (path) => Buffer.from(files[path] ?? ''), { left: [], version: 'abc' })
  return readLibrary(tree)
}

describe('a collection of device profiles', () => {
  it('is read in the layout of ChirpStack, each firmware for itself', () => {
    const { layout, profiles, problems } = read(chirpStackFiles)
    assert.equal(layout, 'ChirpStack device profiles')
    assert.deepEqual(
      profiles.map(({ firmwareVersion, payloadCodec }) => [firmwareVersion, payloadCodec]),
      [
        ['1.2', 'CUSTOM_JS'],
        ['2.0', ''],
      ],
    )
    const [frog] = profiles
    assert.ok(frog)
    assert.deepEqual([frog.vendor, frog.model, frog.description], ['Pond', 'Frog', 'Level of a pond'])
    assert.deepEqual(frog.regions, [
      { region: 'EU868', deviceClass: 'C' },
      { region: 'US915', deviceClass: 'B' },
    ])
    assert.match(frog.payloadDecoderScript, /^function decodeUplink/)
    assert.deepEqual(frog.source, {
      name: 'ChirpStack device profiles',
      licence: 'The Licence of Tests',
      url: 'https://pond.example/frog',
      version: 'abc',
    })
    assert.deepEqual(frog.testVectors, [
      {
        direction: 'up',
        name: 'full',
        fPort: 3,
        bytes: '1002',
        recvTime: '2026-01-02T03:04:05Z',
        expected: { data: { level: 32, fPort: 3 } },
      },
      { direction: 'up', name: 'empty: // no comment', fPort: 3, bytes: '', expected: { errors: ['no bytes'] } },
      { direction: 'down', name: 'up', fPort: 1, object: { level: 8 }, expectedBytes: '04', expectedFPort: 7 },
    ])
    assert.deepEqual(problems, [
      { path: 'vendors/pond/codecs/test_decode_frog.json', reason: 'has 1 examples that can’t be used' },
      { path: 'vendors/pond/devices/gone.toml', reason: 'is missing' },
    ])
  })

  it('is read in the layout of a device repository, each codec of a firmware for itself', () => {
    const { layout, profiles, problems } = read(deviceRepositoryFiles)
    assert.equal(layout, 'device repository')
    assert.deepEqual(
      profiles.map(({ vendor, firmwareVersion, regions, testVectors }) => {
        return [vendor, firmwareVersion, regions, testVectors.length]
      }),
      [
        [
          'Pond Inc.',
          '1.5',
          [
            { region: 'EU863-870', deviceClass: 'C' },
            { region: 'US902-928', deviceClass: 'A' },
          ],
          3,
        ],
        ['Pond Inc.', '1.5', [{ region: 'AS923', deviceClass: 'A' }], 0],
      ],
    )
    assert.equal(problems.length, 1)
    assert.equal(problems[0]?.path, 'vendor/pond/broken.yaml')
    assert.match(problems[0].reason, /^can’t be parsed: /)
  })

  it('is read in the layout of Actility, with the driver of another vendor', () => {
    const { layout, profiles, problems } = read(actilityFiles)
    assert.equal(layout, 'Actility catalogue')
    const [frog, stone] = profiles
    assert.ok(frog)
    assert.deepEqual([frog.vendor, frog.model, frog.firmwareVersion], ['Pond SA', 'Frog', '3'])
    assert.deepEqual(frog.regions, [
      { region: 'EU868', deviceClass: 'C' },
      { region: 'RU864', deviceClass: 'C' },
    ])
    assert.deepEqual(
      frog.testVectors.map((vector) => [vector.name, vector.direction === 'up' ? vector.bytes : vector.expectedBytes]),
      [
        ['full', '1002'],
        ['older', '10'],
        ['up', '04'],
      ],
    )
    assert.deepEqual([stone?.model, stone?.payloadCodec], ['Stone', ''])
    assert.deepEqual(problems, [])
  })

  it('reads on past files that hide a path outside of the collection, or aliases without an end', () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level}, `.repeat(9)}]`,
    )
    const { profiles, problems } = read({
      ...deviceRepositoryFiles,
      'vendor/pond/index.yaml': 'endDevices: [frog, ../../../etc/passwd, bomb]\n',
      'vendor/pond/bomb.yaml': `a0: &a0 [x]\n${levels.join('\n')}\n`,
    })
    assert.equal(profiles.length, 2)
    const paths = problems.map(({ path, reason }) => `${path} ${reason}`)
    assert.deepEqual(paths, [
      '../etc/passwd.yaml is missing',
      'vendor/pond/bomb.yaml can’t be parsed: Excessive alias count indicates a resource exhaustion attack',
    ])
  })

  it('is refused without one of the layouts', () => {
    assert.throws(() => read({ 'readme.json': '{}' }), CollectionFault)
  })
})
