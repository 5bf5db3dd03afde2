import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CollectionFault, MAXIMUM_FILE_BYTES } from './collection-tree.ts'
import { openZip } from './zip-tree.ts'
import { zipOf } from './zip.testing.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'

describe('a zip archive', () => {
  it('gives its files without the folder around them, and its commit', () => {
    const files = [
      { path: 'name-main/', content: '', isDeflated: false },
      { path: 'name-main/vendor/b.yaml', content: 'b: 1' },
      { path: 'name-main/a.json', content: '[]', isDeflated: false },
      { path: 'name-main/picture.png', content: 'x' },
    ]
    const tree = openZip(zipOf(files, COMMIT))
    assert.deepEqual(tree.paths, ['a.json', 'vendor/b.yaml'])
    assert.deepEqual([tree.read('a.json'), tree.read('vendor/b.yaml'), tree.version], ['[]', 'b: 1', COMMIT])
    assert.throws(() => tree.read('c.yaml'), CollectionFault)
    assert.deepEqual(openZip(zipOf([{ path: 'vendors/a/vendor.toml', content: '' }])).paths, ['vendors/a/vendor.toml'])
  })

  it('leaves out paths that leave it, links, encrypted files and a second file of a name', () => {
    const tree = openZip(
      zipOf([
        { path: '../up.json', content: '' },
        { path: '/root.json', content: '' },
        { path: String.raw`a\..\b.json`, content: '' },
        { path: 'link.json', content: '/etc/passwd', mode: 0o120777 },
        { path: 'secret.json', content: '', flags: 1 },
        { path: `${'d/'.repeat(20)}deep.json`, content: '' },
        { path: 'good.json', content: '1' },
        { path: 'good.json', content: '2' },
      ]),
    )
    assert.deepEqual(tree.paths, ['good.json'])
    assert.equal(tree.read('good.json'), '1')
    assert.equal(tree.left.length, 7)
  })

  it('unpacks no more than the bound of a file', () => {
    const tree = openZip(zipOf([{ path: 'bomb.json', content: Buffer.alloc(MAXIMUM_FILE_BYTES + 1) }]))
    assert.throws(() => tree.read('bomb.json'), {
      name: 'CollectionFault',
      message: /bomb\.json has more than 2097152 bytes/,
    })
  })

  for (const isDeflated of [true, false]) {
    it(`is refused with a sentence wherever it is ${isDeflated ? '' : 'not packed and '}cut or changed`, () => {
      const whole = zipOf([{ path: 'a.json', content: '[1, 2, 3]', isDeflated }])
      for (let length = 0; length < whole.length; length += 1) {
        assert.throws(() => openZip(whole.subarray(0, length)), CollectionFault)
      }
      for (let at = 0; at < whole.length; at += 1) {
        const changed = Buffer.from(whole)
        changed[at] = (changed[at] ?? 0) ^ 0xff
        try {
          const tree = openZip(changed)
          for (const path of tree.paths) assert.equal(tree.read(path), '[1, 2, 3]', `byte ${at}`)
        } catch (error) {
          assert.ok(error instanceof CollectionFault, `byte ${at}: ${String(error)}`)
        }
      }
    })
  }
})
