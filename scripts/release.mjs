// npm run release -- <version>: turns the unreleased changes into a release. It writes
// CHANGELOG.md, package.json, package-lock.json and the documents of the current directory, commits
// and tags them, and never pushes.
import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const USAGE = `Usage: npm run release -- <version> [--dry-run]

Makes a release of the current commit, in the repository of the current directory:
  1. CHANGELOG.md: the section "Unreleased" becomes the section of the version, with the date of today (UTC).
  2. package.json and package-lock.json: the version is set.
  3. README.md and docs/: the name of the package's file, fieldgate-<version>.tgz, gets the new version.
  4. git: these files are committed, and the commit gets the tag v<version>. Nothing is pushed.

Nothing is changed unless the working tree is clean, the section "Unreleased" has entries, and the version is
higher than each version that was released before.

Options:
  --dry-run  run the checks, print what would be done, and change nothing
  --help     print this text

Examples:
  npm run release -- 0.2.0 --dry-run
  npm run release -- 0.2.0`

/** The section "Unreleased" up to the next heading or link; the group is its content. */
const UNRELEASED = /^## \[Unreleased\][^\n]*\n(.*?)(?=^## |^\[[^\]\n]+\]: |(?![\s\S]))/ms
const RELEASED_SECTION = /^## \[(\d+\.\d+\.\d+)\]/gm
const VERSION = /^(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}$/

/** A reason not to release. The message is a sentence for people. */
class Refusal extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode 1: the repository is not ready; 2: the call was wrong.
   */
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

try {
  main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(`release: ${error.message}`)
  process.exitCode = error.exitCode
}

/** @param {readonly string[]} args */
function main(args) {
  const { version, isDryRun, isHelp } = readArguments(args)
  if (isHelp) {
    console.log(USAGE)
    return
  }
  requireRepository()
  const files = releasedFiles(version)
  if (isDryRun) {
    console.log(`${version} can be released. Without --dry-run this would be done:`)
    for (const { name, change } of files) console.log(`  ${name}: ${change}`)
    console.log(`  git commit -m "${commitMessage(version)}"\n  git tag -a v${version}`)
    return
  }
  commit(version, files)
  console.log(`Released ${version}: the commit ${git('rev-parse', '--short', 'HEAD')} with the tag v${version}.`)
  console.log('Nothing was pushed. To publish the release: git push --follow-tags')
}

/** @param {readonly string[]} args */
function readArguments(args) {
  const { values, positionals } = parsed(args)
  const isHelp = values.help === true
  const [version = '', ...more] = positionals
  if (!isHelp && (version === '' || more.length > 0)) throw new Refusal(`give one version.\n\n${USAGE}`, 2)
  if (!isHelp && !VERSION.test(version)) {
    throw new Refusal(`"${version}" is no version: give three numbers with dots, without a "v", such as 0.2.0.`, 2)
  }
  return { version, isDryRun: values['dry-run'] === true, isHelp }
}

/** @param {readonly string[]} args */
function parsed(args) {
  try {
    const options = /** @type {const} */ ({ 'dry-run': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } })
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new Refusal(`${messageOf(error)}\n\n${USAGE}`, 2)
  }
}

/** The commit would hold other changes, or be lost, if one of these checks failed. */
function requireRepository() {
  const top = git('rev-parse', '--show-toplevel')
  if (realpathSync(top) !== realpathSync('.')) throw new Refusal(`run this in the root of the repository, ${top}.`)
  if (git('branch', '--show-current') === '') throw new Refusal('HEAD is detached. Check out a branch first.')
  const changes = git('status', '--porcelain')
  if (changes !== '') throw new Refusal(`the working tree is not clean. Commit or remove these changes:\n${changes}`)
}

/**
 * The files of the release with their new texts. Throws Refusal when the version can't be released.
 * @param {string} version
 */
function releasedFiles(version) {
  const changelog = read('CHANGELOG.md')
  const manifest = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))
  const before = String(manifest.version)
  requireHigher(version, before, changelog)
  const lines = entriesOf(changelog)
  const date = new Date().toISOString().slice(0, 10)
  const heading = `## [${version}] - ${date}`
  const released = changelog.replace(UNRELEASED, (section) =>
    section.replace(/^[^\n]*\n/, (unreleased) => `${unreleased}\n${heading}\n`),
  )
  const change = before === version ? `the version stays ${version}` : `the version ${before} becomes ${version}`
  const root = { ...lock.packages[''], version }
  return [
    { name: 'CHANGELOG.md', change: `${lines} lines of "Unreleased" go below "${heading}"`, text: released },
    { name: 'package.json', change, text: jsonText({ ...manifest, version }) },
    {
      name: 'package-lock.json',
      change,
      text: jsonText({ ...lock, version, packages: { ...lock.packages, '': root } }),
    },
    ...(before === version ? [] : releasedDocuments(`fieldgate-${before}.tgz`, `fieldgate-${version}.tgz`)),
  ]
}

/**
 * The documents that tell people to install the package's file, with its new name.
 * @param {string} before
 * @param {string} after
 */
function releasedDocuments(before, after) {
  return git('ls-files', '--', 'README.md', 'docs/*.md')
    .split('\n')
    .filter((name) => name !== '' && read(name).includes(before))
    .map((name) => ({ name, change: `${before} becomes ${after}`, text: read(name).replaceAll(before, after) }))
}

/**
 * A version is released by its tag, or by its section of CHANGELOG.md. The version of package.json
 * may be released if it was not released yet.
 * @param {string} version
 * @param {string} current The version of package.json.
 * @param {string} changelog
 */
function requireHigher(version, current, changelog) {
  const tagged = git('tag', '--list', 'v*')
    .split('\n')
    .map((tag) => tag.slice(1))
    .filter((tag) => VERSION.test(tag))
  const released = [...tagged, ...[...changelog.matchAll(RELEASED_SECTION)].map(([, found]) => found)]
  if (released.includes(version)) throw new Refusal(`${version} is released already.`)
  const higher = released.find((other) => compare(other, version) > 0)
  if (higher !== undefined) throw new Refusal(`${version} is lower than ${higher}, which is released already.`)
  if (compare(current, version) > 0)
    throw new Refusal(`${version} is lower than ${current}, the version of package.json.`)
}

/**
 * @param {string} left
 * @param {string} right
 * @returns {number} Below 0 when `left` is the lower version, above 0 when it is the higher one.
 */
function compare(left, right) {
  const others = right.split('.').map(Number)
  for (const [index, number] of left.split('.').map(Number).entries()) {
    const difference = number - (others[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** @param {string} changelog */
function entriesOf(changelog) {
  const content = UNRELEASED.exec(changelog)?.[1]
  if (content === undefined) throw new Refusal('CHANGELOG.md has no section "## [Unreleased]".')
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  const hasEntries = lines.some((line) => !line.startsWith('#'))
  if (!hasEntries) throw new Refusal('the section "Unreleased" of CHANGELOG.md is empty: there is nothing to release.')
  return lines.length
}

/**
 * Writes, commits and tags the files. When git refuses the commit, the files get their old texts.
 * @param {string} version
 * @param {readonly { readonly name: string, readonly text: string }[]} files
 */
function commit(version, files) {
  const names = files.map(({ name }) => name)
  const old = names.map((name) => ({ name, text: read(name) }))
  try {
    write(files)
    git('add', '--', ...names)
    git('commit', '--quiet', '-m', commitMessage(version))
  } catch (error) {
    write(old)
    git('reset', '--quiet', '--', ...names)
    throw error
  }
  git('tag', '-a', `v${version}`, '-m', `Fieldgate ${version}`)
}

/** @param {string} version */
function commitMessage(version) {
  return `all: Release ${version}`
}

/** @param {readonly { readonly name: string, readonly text: string }[]} files */
function write(files) {
  for (const { name, text } of files) writeFileSync(name, text)
}

/** @param {string} name */
function read(name) {
  try {
    return readFileSync(name, 'utf8')
  } catch (error) {
    throw new Refusal(`${name} can't be read: ${messageOf(error)}.`)
  }
}

/** The text that npm itself writes. @param {object} value */
function jsonText(value) {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

/** @param {readonly string[]} args */
function git(...args) {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd()
  } catch (error) {
    const told = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new Refusal(`git ${args[0]} failed: ${told === '' ? messageOf(error) : told}`)
  }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}
