// Installs and builds what is missing or out of date. Runs on any Node 18 or newer, before the pinned one is there.
import { createHash } from 'node:crypto'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
/** The pinned Node's binary, installed as a package for this platform. */
export const pinnedNode = join(root, 'node_modules', '.bin', 'node')
const installStamp = join(root, 'node_modules', '.fieldgate-install')
const buildStamp = join(root, 'dist', '.fieldgate-build')
const built = ['src', 'simulator']

const digest = (/** @type {readonly string[]} */ parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex')
}

const read = (/** @type {string} */ file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** Installs the locked packages unless the ones in place come from this very lock file. */
export function ensureInstalled() {
  const wanted = digest([readFileSync(join(root, 'package-lock.json'), 'utf8'), process.platform, process.arch])
  if (read(installStamp) === wanted && existsSync(pinnedNode)) return
  console.error('Installing the packages of package-lock.json (once; about a minute) ...')
  const result = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (result.error) fail(`npm could not be started: ${result.error.message}`)
  if (result.status !== 0) fail('npm ci failed; see its message above. Is the npm registry reachable?')
  if (!existsSync(pinnedNode)) {
    fail(
      `There is no packaged Node for ${process.platform}-${process.arch}. Install Node 26 and use it to run dist/src/main.js.`,
    )
  }
  const version = execFileSync(pinnedNode, ['--version'], { encoding: 'utf8' }).trim()
  console.error(`Installed; this project runs on its own Node ${version}.`)
  writeFileSync(installStamp, wanted)
}

/** Compiles src/ and simulator/ to dist/ unless dist/ comes from these very files. */
export function ensureBuilt() {
  const files = built
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((name) => statSync(join(root, name)).isFile() && !name.endsWith('.test.ts'))
    // oxlint-disable-next-line unicorn/no-array-sort -- this runs on Node 18, which has no toSorted
    .sort((a, b) => (a < b ? -1 : 1))
  const sources = [...files, 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json']
  const wanted = digest(sources.flatMap((name) => [name, readFileSync(join(root, name), 'utf8')]))
  if (read(buildStamp) === wanted) return
  console.error('Building dist/ ...')
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const result = spawnSync(pinnedNode, [tsc, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (result.status !== 0) fail('The build failed; see the compiler’s messages above.')
  for (const name of files.filter((file) => !file.endsWith('.ts'))) {
    const target = join(root, 'dist', name)
    mkdirSync(join(target, '..'), { recursive: true })
    writeFileSync(target, readFileSync(join(root, name)))
  }
  writeFileSync(buildStamp, wanted)
}

function fail(/** @type {string} */ message) {
  console.error(`fieldgate: ${message}`)
  process.exit(1)
}
