// Installs the packages and builds dist/, unless they are up to date. Runs on Node 18 and newer,
// because the pinned Node may not be installed yet.
import { createHash } from 'node:crypto'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodePackage } from '../bin/runtime.mjs'
import { compileForBun } from './compile-for-bun.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
/**
 * The binary of the pinned Node, which is installed as a package for this platform. The link in
 * `.bin` is not used, because npm 9 does not make it.
 */
export const pinnedNode = join(root, 'node_modules', nodePackage(), 'bin', 'node')
const installStamp = join(root, 'node_modules', '.fieldgate-install')
const programs = ['src', 'simulator']
const programsStamp = join(root, 'dist', '.fieldgate-build')
const consoleStamp = join(root, 'dist', 'console', '.fieldgate-build')
const documentationStamp = join(root, 'dist', 'docs', '.fieldgate-build')

const BUILD_FAILED = 'The build failed; see the messages above.'

const digest = (/** @type {readonly string[]} */ parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex')
}

const read = (/** @type {string} */ file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** Installs the locked packages, unless the installed packages are of this lock file. */
export function ensureInstalled() {
  const wanted = digest([readFileSync(join(root, 'package-lock.json'), 'utf8'), process.platform, process.arch])
  if (read(installStamp) === wanted && existsSync(pinnedNode)) return
  // npm empties the folder first. Through a link it would empty the packages of another checkout,
  // which may be in use.
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    fail('node_modules is a link to a folder with other packages than package-lock.json names. Remove the link.')
  }
  requireNpm()
  console.error('Installing the packages of package-lock.json (once; about a minute) ...')
  const result = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (result.error) fail(`npm could not be started: ${result.error.message}`)
  if (result.status !== 0) fail('npm ci failed; see its message above. Is the npm registry reachable?')
  if (!existsSync(pinnedNode)) {
    fail(
      `There is no packaged Node for ${process.platform}-${process.arch}. Install Node 26 and use it to run dist/program/main.js.`,
    )
  }
  const nodeVersion = execFileSync(pinnedNode, ['--version'], { encoding: 'utf8' }).trim()
  console.error(`Installed; this project has its own Bun and its own Node ${nodeVersion}.`)
  writeFileSync(installStamp, wanted)
}

/**
 * Refuses npm before 10: it leaves out packages for this platform, and the build fails later
 * without a clear reason.
 */
function requireNpm() {
  const { error, stdout } = spawnSync('npm', ['--version'], { encoding: 'utf8' })
  if (error) fail(`npm could not be started: ${error.message}`)
  if (Number(stdout.split('.')[0]) >= 10) return
  fail(`npm 10 or newer is needed; this is ${stdout.trim()}. \`npm install --global npm@11\` installs one.`)
}

/**
 * Builds the programs, the console and the documentation in dist/. A part whose files have not
 * changed is not built again.
 */
export function ensureBuilt() {
  buildPrograms()
  buildConsole()
  buildDocumentation()
}

function buildPrograms() {
  const files = filesOf(programs).filter((name) => !name.endsWith('.test.ts'))
  const wanted = stampOf([
    ...files,
    'tsconfig.json',
    'tsconfig.build.json',
    join('scripts', 'program.vite.mjs'),
    join('scripts', 'compile-for-bun.mjs'),
    'package-lock.json',
  ])
  if (read(programsStamp) === wanted) return
  console.error('Building dist/ ...')
  for (const folder of programs) rmSync(join(root, 'dist', folder), { recursive: true, force: true })
  run(join('typescript', 'bin', 'tsc'), ['-p', 'tsconfig.build.json'])
  for (const name of files.filter((file) => !file.endsWith('.ts'))) {
    const target = join(root, 'dist', name)
    mkdirSync(join(target, '..'), { recursive: true })
    writeFileSync(target, readFileSync(join(root, name)))
  }
  run(join('vite', 'bin', 'vite.js'), ['build', '--config', join('scripts', 'program.vite.mjs')])
  if (!compileForBun(root)) fail(BUILD_FAILED)
  writeFileSync(programsStamp, wanted)
}

function buildConsole() {
  const files = filesOf(['console']).filter((name) => !name.endsWith('.test.ts'))
  const wanted = stampOf([...files, join('src', 'organization-bounds.ts'), 'package-lock.json'])
  if (read(consoleStamp) === wanted) return
  console.error('Building the console ...')
  run(join('vite', 'bin', 'vite.js'), ['build', 'console', '--logLevel', 'warn'])
  writeFileSync(consoleStamp, wanted)
}

function buildDocumentation() {
  const linked = filesOf(['examples']).filter((name) => !name.split(sep).includes('target'))
  const settings = ['bounds', 'kinds', 'secret-file', 'settings'].map((name) => join('src', 'settings', `${name}.ts`))
  const wanted = stampOf([
    ...filesOf(['docs', 'site']),
    ...linked,
    ...settings,
    join('src', 'organization-bounds.ts'),
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'LICENSE',
    'package-lock.json',
  ])
  if (read(documentationStamp) === wanted) return
  console.error('Building the documentation ...')
  run(join('..', 'site', 'build.ts'), [])
  writeFileSync(documentationStamp, wanted)
}

/** The files of folders, as paths from the root, always in the same order. */
function filesOf(/** @type {readonly string[]} */ folders) {
  return (
    folders
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
      )
      .filter((name) => statSync(join(root, name)).isFile())
      // oxlint-disable-next-line unicorn/no-array-sort -- Node 18 has no toSorted
      .sort((a, b) => (a < b ? -1 : 1))
  )
}

function stampOf(/** @type {readonly string[]} */ names) {
  return digest(names.flatMap((name) => [name, readFileSync(join(root, name), 'utf8')]))
}

/** Runs a program of the packages, named by its path in node_modules, on the pinned Node. */
function run(/** @type {string} */ program, /** @type {readonly string[]} */ args) {
  const stdio = /** @type {const} */ (['ignore', 'inherit', 'inherit'])
  const result = spawnSync(pinnedNode, [join(root, 'node_modules', program), ...args], { cwd: root, stdio })
  if (result.status !== 0) fail(BUILD_FAILED)
}

function fail(/** @type {string} */ message) {
  console.error(`fieldgate: ${message}`)
  process.exit(1)
}
