/** The release script, run in git repositories of its own. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../scripts/release.mjs', import.meta.url))
const CHANGELOG = `# Changelog

This page lists the changes.

## [Unreleased]

### Added

- A thing.

## [0.1.0] - 2026-01-31

### Added

- The first thing.
`
/** No configuration of the machine may change the outcome: hooks, signatures, an identity. */
const ENVIRONMENT = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Anna',
  GIT_AUTHOR_EMAIL: 'anna@example.org',
  GIT_COMMITTER_NAME: 'Anna',
  GIT_COMMITTER_EMAIL: 'anna@example.org',
}

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fieldgate-release-'))
  write('CHANGELOG.md', CHANGELOG)
  write('package.json', json({ name: 'fieldgate', version: '0.1.0', private: true }))
  const packages = { '': { name: 'fieldgate', version: '0.1.0' }, 'node_modules/x': { version: '0.1.0' } }
  write('package-lock.json', json({ name: 'fieldgate', version: '0.1.0', packages }))
  write('README.md', 'npm install ./fieldgate-0.1.0.tgz\n')
  git('init', '--quiet', '--initial-branch=main')
  git('add', '.')
  git('commit', '--quiet', '-m', 'all: Begin')
  git('tag', 'v0.1.0')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}

function read(name: string): string {
  return readFileSync(join(folder, name), 'utf8')
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, env: ENVIRONMENT, encoding: 'utf8' }).trimEnd()
}

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function release(...args: readonly string[]): Ran {
  return spawnSync(process.execPath, [SCRIPT, ...args], { cwd: folder, env: ENVIRONMENT, encoding: 'utf8' })
}

function assertUnchanged(): void {
  assert.equal(git('log', '--format=%s'), 'all: Begin')
  assert.equal(git('tag'), 'v0.1.0')
}

function assertRefused(ran: Ran, reason: RegExp, status = 1): void {
  assert.match(ran.stderr, reason)
  assert.equal(ran.status, status)
  assert.equal(ran.stdout, '')
  assertUnchanged()
}

test('a release dates the changes, sets the version everywhere, commits and tags', () => {
  const { status, stdout, stderr } = release('0.2.0')
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^Released 0\.2\.0: .* tag v0\.2\.0\.\nNothing was pushed\./)
  const date = new Date().toISOString().slice(0, 10)
  assert.equal(
    read('CHANGELOG.md'),
    CHANGELOG.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [0.2.0] - ${date}\n`),
  )
  assert.equal(read('package.json'), json({ name: 'fieldgate', version: '0.2.0', private: true }))
  const packages = { '': { name: 'fieldgate', version: '0.2.0' }, 'node_modules/x': { version: '0.1.0' } }
  assert.equal(read('package-lock.json'), json({ name: 'fieldgate', version: '0.2.0', packages }))
  assert.equal(read('README.md'), 'npm install ./fieldgate-0.2.0.tgz\n')
  assert.equal(git('log', '--format=%s'), 'all: Release 0.2.0\nall: Begin')
  assert.equal(git('status', '--porcelain'), '')
  assert.equal(git('rev-parse', 'v0.2.0^{commit}'), git('rev-parse', 'HEAD'))
  assert.equal(git('cat-file', '-t', 'v0.2.0'), 'tag')
})

test('a second release finds no changes', () => {
  assert.equal(release('0.2.0').status, 0)
  const second = release('0.3.0')
  assert.equal(second.status, 1)
  assert.match(second.stderr, /"Unreleased" of CHANGELOG\.md is empty/)
})

test('a dry run checks and prints, and changes nothing', () => {
  const { status, stdout } = release('0.2.0', '--dry-run')
  assert.equal(status, 0)
  assert.match(stdout, /0\.2\.0 can be released/)
  assert.match(stdout, /package\.json: the version 0\.1\.0 becomes 0\.2\.0/)
  assert.equal(git('status', '--porcelain'), '')
  assertUnchanged()
})

test('a tree with changes is refused, also with a file that git does not know', () => {
  write('new.txt', '')
  assertRefused(release('0.2.0'), /working tree is not clean.*\n.*new\.txt/)
})

test('a version that is released already, or is lower, is refused', () => {
  assertRefused(release('0.1.0'), /0\.1\.0 is released already/)
  assertRefused(release('0.0.9'), /0\.0\.9 is lower than 0\.1\.0/)
})

test('versions are compared by their numbers', () => {
  write('package.json', json({ name: 'fieldgate', version: '0.9.0' }))
  git('commit', '--quiet', '--amend', '--no-edit', '--all')
  assertRefused(release('0.8.10'), /lower than 0\.9\.0, the version of package\.json/)
  assert.equal(release('0.10.0', '--dry-run').status, 0)
})

test('a version of package.json that was never released can be released', () => {
  git('tag', '--delete', 'v0.1.0')
  write('CHANGELOG.md', CHANGELOG.slice(0, CHANGELOG.indexOf('## [0.1.0]')))
  git('commit', '--quiet', '--amend', '--no-edit', '--all')
  assert.equal(release('0.1.0').status, 0)
  assert.match(read('CHANGELOG.md'), /## \[Unreleased\]\n\n## \[0\.1\.0\] - .*\n\n### Added\n\n- A thing\.\n/)
})

test('a changelog without unreleased changes is refused', () => {
  write('CHANGELOG.md', CHANGELOG.replace('- A thing.\n\n', ''))
  git('commit', '--quiet', '--amend', '--no-edit', '--all')
  assertRefused(release('0.2.0'), /"Unreleased" of CHANGELOG\.md is empty/)
  write('CHANGELOG.md', CHANGELOG.replace('[Unreleased]', '[0.0.1]'))
  git('commit', '--quiet', '--amend', '--no-edit', '--all')
  assertRefused(release('0.2.0'), /no section "## \[Unreleased\]"/)
})

test('a detached HEAD is refused', () => {
  git('checkout', '--quiet', '--detach')
  assertRefused(release('0.2.0'), /HEAD is detached/)
})

test('when git refuses the commit, the files are as before', () => {
  const hook = join(folder, '.git', 'hooks', 'pre-commit')
  writeFileSync(hook, '#!/bin/sh\necho "not today" >&2\nexit 1\n', { mode: 0o755 })
  assertRefused(release('0.2.0'), /git commit failed: not today/)
  assert.equal(git('status', '--porcelain'), '')
  assert.equal(read('CHANGELOG.md'), CHANGELOG)
})

test('a wrong call is refused with the usage', () => {
  assertRefused(release(), /give one version\.\n\nUsage: /, 2)
  assertRefused(release('0.2.0', '0.3.0'), /give one version/, 2)
  assertRefused(release('v0.2.0'), /"v0\.2\.0" is no version: .* such as 0\.2\.0/, 2)
  assertRefused(release('0.2.0', '--push'), /'--push'[^]*Usage: /, 2)
  const { status, stdout } = release('--help')
  assert.equal(status, 0)
  assert.match(stdout, /^Usage: npm run release -- <version> \[--dry-run\]/)
})
