import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * All texts from which people copy commands: documents, and texts of the console and of the command
 * line.
 */
const files = globSync(
  ['*.md', '{docs,examples,deploy,bench,sdk}/**/*.{md,py}', 'deploy/**/*', '{src,console/src,simulator}/**/*.{ts,tsx}'],
  {
    cwd: root,
    withFileTypes: true,
  },
)
  .filter((entry) => entry.isFile() && !/\.test(?:ing)?\.ts$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))

/**
 * Commands that fetch a package by its bare name, which is free on the public registries of npm and
 * of Python: anybody could publish a program there.
 */
const FETCHES = [
  /\b(?:npx|npm exec|npm x|pnpm dlx|pnpx|yarn dlx|bunx)\s+(?:-\S+\s+)*(?:--\s+)?fieldgate\b/,
  /\b(?:pip3?|uv add|uv pip|poetry add)\s+(?:install\s+)?(?:-\S+\s+)*["']?fieldgate(?![-\w/]|\.\w)/,
  /\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add|create)\s+(?:-\S+\s+)*fieldgate(?![-\w/]|\.\w)/,
]
/** The one sentence that warns of these commands. */
const WARNING = '**Do not run `npx fieldgate`** or `npm install fieldgate` outside of a checkout'

test('no document and no text of the program has people fetch the package from the public registry', () => {
  assert.ok(files.length > 100, 'the files are found')
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .replace(WARNING, '')
      .split('\n')
      .filter((line) => FETCHES.some((pattern) => pattern.test(line)))
      .map((line) => `${file}: ${line}`),
  )
  assert.deepEqual(found, [])
})

test('the patterns know the ways to fetch it', () => {
  for (const line of [
    'npx fieldgate serve',
    'npx --yes fieldgate',
    'npm exec -- fieldgate',
    'npm i -g fieldgate',
    'npm install fieldgate.',
    'pip install fieldgate',
    'pip install "fieldgate[proxy]"',
  ]) {
    assert.ok(
      FETCHES.some((pattern) => pattern.test(line)),
      line,
    )
  }
  for (const line of [
    'npm install --global ./fieldgate-0.1.0.tgz',
    'npm run fieldgate -- serve',
    'npx openapi-typescript@7.13.0',
  ]) {
    assert.ok(!FETCHES.some((pattern) => pattern.test(line)), line)
  }
})

test('the package can’t be published by mistake, and the documents name its version', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  assert.equal(manifest['private'], true)
  for (const file of ['README.md', 'docs/operate.md']) {
    const text = readFileSync(join(root, file), 'utf8')
    assert.ok(text.includes(`./fieldgate-${String(manifest['version'])}.tgz`), file)
  }
})

test('the package has the text of its licence', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly license: string
    readonly files: readonly string[]
  }
  assert.equal(manifest.license, 'Apache-2.0')
  // scripts/package.mjs packs the files of this list, README.md and CHANGELOG.md alone.
  assert.ok(manifest.files.includes('LICENSE'))
  assert.match(readFileSync(join(root, 'LICENSE'), 'utf8'), /Apache License\s+Version 2\.0, January 2004/)
})
