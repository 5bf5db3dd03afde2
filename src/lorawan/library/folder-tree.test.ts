import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, it } from 'node:test'
import { CollectionFault, MAXIMUM_FILE_BYTES } from './collection-tree.ts'
import { openFolder } from './folder-tree.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldgate-library-'))
after(() => rmSync(folder, { recursive: true }))

it('a folder gives its files, and follows no link, not even one that comes later', () => {
  mkdirSync(join(folder, 'vendor/.git'), { recursive: true })
  mkdirSync(join(folder, 'd/'.repeat(12)), { recursive: true })
  for (const [name, text] of Object.entries({
    'vendor/a.yaml': 'a: 1',
    'vendor/.git/b.yaml': '',
    'vendor/picture.png': '',
    'later.json': '[]',
    'long.js': ' '.repeat(MAXIMUM_FILE_BYTES + 1),
  })) {
    writeFileSync(join(folder, name), text)
  }
  symlinkSync('/etc', join(folder, 'etc'))
  const tree = openFolder(folder)
  assert.deepEqual(tree.paths, ['later.json', 'long.js', 'vendor/a.yaml'])
  assert.equal(tree.read('vendor/a.yaml'), 'a: 1')
  assert.deepEqual(tree.left.map(({ reason }) => reason).toSorted(), [
    'is 10 folders deep',
    'is a symbolic link, which is not followed',
  ])
  rmSync(join(folder, 'later.json'))
  symlinkSync('/etc/passwd', join(folder, 'later.json'))
  assert.throws(() => tree.read('later.json'), CollectionFault)
  assert.throws(() => tree.read('long.js'), CollectionFault)
  assert.throws(() => tree.read('../outside.json'), CollectionFault)
})

it('a clone by git has the commit of its head, and nothing else of a foreign folder is taken for one', () => {
  const clone = mkdtempSync(join(tmpdir(), 'fieldgate-clone-'))
  after(() => rmSync(clone, { recursive: true }))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    writeFileSync(join(clone, path), text)
  }
  const [one, two, three] = ['1', '2', '3'].map((digit) => digit.repeat(40))
  assert.equal(openFolder(clone).version, '')
  write('.git/HEAD', 'ref: refs/heads/main\n')
  assert.equal(openFolder(clone).version, '')
  write('.git/packed-refs', `# pack-refs\n${two} refs/heads/other\n${one} refs/heads/main\n`)
  assert.equal(openFolder(clone).version, one)
  write('.git/refs/heads/main', `${two}\n`)
  assert.equal(openFolder(clone).version, two)
  write('.git/HEAD', `${three}\n`)
  assert.equal(openFolder(clone).version, three)
  write('secret', 'not a commit')
  write('.git/HEAD', 'ref: refs/heads/../../../secret\n')
  assert.equal(openFolder(clone).version, '')
  rmSync(join(clone, '.git'), { recursive: true })
  symlinkSync('/etc', join(clone, '.git'))
  assert.equal(openFolder(clone).version, '')
})
