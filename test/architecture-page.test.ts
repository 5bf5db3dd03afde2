/**
 * docs/architecture.md names each room and sub-room of src/, and the files that it, the page of the
 * lifecycle and CONTRIBUTING.md send their readers to exist.
 */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

test('the page of the architecture has a row for each room and sub-room', () => {
  const page = read('docs/architecture.md')
  const folders = globSync('src/**/', { cwd: root })
    .map((folder) =>
      folder
        .replaceAll('\\', '/')
        .replace(/^src\/?/, '')
        .replace(/\/?$/, '/'),
    )
    .filter((folder) => folder !== '/')
  assert.ok(folders.length > 40, `${folders.length} folders`)
  assert.deepEqual(
    folders.filter((folder) => !page.includes(`| \`${folder}\` | `)),
    [],
  )
})

test('the files and folders that the pages for contributors name exist', () => {
  for (const file of ['docs/architecture.md', 'docs/lifecycle.md', 'CONTRIBUTING.md']) {
    const named = Array.from(
      read(file).matchAll(/`((?:src|test|console|simulator|bench|site|scripts|docs|examples|deploy)\/[\w./-]*)`/g),
      ([, path = '']) => path,
    )
    assert.ok(named.length > 0, file)
    assert.deepEqual(
      named.filter((path) => !existsSync(join(root, path))),
      [],
      file,
    )
  }
})
