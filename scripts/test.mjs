// npm test: installs, builds, checks the source and runs every test: on Bun, and the core on Node
// as well (`test-runtimes.mjs`). The last line counts them. `npm test -- broker` runs only the test
// files whose path contains "broker" and leaves the source checks out. In a run of all files, a few
// files that failed run once more by themselves (`second-run.mjs`).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runBunTests } from './bun-tests.mjs'
import { chooseRuntime } from '../bin/runtime.mjs'
import { runAgain } from './second-run.mjs'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'
import { readTally } from './tally.mjs'
import { mostlyWaits, runtimesOf } from './test-runtimes.mjs'

ensureInstalled()
if (Number(process.versions.node.split('.')[0]) < 24) {
  const again = spawnSync(pinnedNode, [join(root, 'scripts', 'test.mjs'), ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  })
  process.exit(again.status ?? 1)
}
ensureBuilt()

const wanted = process.argv.slice(2)
const environment = {
  ...process.env,
  PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}`,
  NO_COLOR: '1',
}
let passed = 0
let failed = 0
let skipped = 0

if (wanted.length === 0) {
  for (const [title, command, ...args] of [
    ['format', 'oxfmt', '--check'],
    ['lint', 'oxlint', '--type-aware', '--deny-warnings'],
    ['types', 'tsc', '--noEmit'],
    ['types of the console', 'tsc', '--noEmit', '-p', 'console'],
    ['types of the documentation', 'tsc', '--noEmit', '-p', 'site/browser'],
    ['dead code', 'knip'],
  ]) {
    const result = spawnSync(join(root, 'node_modules', '.bin', command), args, {
      cwd: root,
      env: environment,
      encoding: 'utf8',
    })
    const ok = result.status === 0
    console.log(`${ok ? '✔' : '✖'} ${title}`)
    if (ok) passed += 1
    else {
      failed += 1
      console.log(result.stdout + result.stderr)
    }
  }
  ensureDebianPackages()
  await buildNatsServer()
}

const files = ['src', 'console', 'simulator', 'site', 'bench', 'test']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith('.test.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((word) => file.includes(word)))
  .toSorted((a, b) => a.localeCompare(b))
/** The duration of each test file in seconds, by its path and its runtime. */
const seconds = new Map()
const { bun: onBun, node: onNode } = runtimesOf(files)
const failedOnBun = (await runBunTests(onBun, { ...bunOptions(), onResult: countResult })).filter(
  (result) => result.failed > 0,
)
const failedOnNode = onNode.length > 0 ? runOnNode(onNode) : []
if (wanted.length === 0) {
  for (const again of [await runAgain(failedOnBun, runOnBunAlone), await runAgain(failedOnNode, runOnNodeAlone)]) {
    passed += again.passed
    failed += again.failed
    skipped += again.skipped
    for (const file of again.unsteady)
      console.log(`UNSTEADY: ${relative(root, file)} failed among all files, and passed alone. Mend it.`)
  }
  console.log(`The slowest files: ${slowest()}`)
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exit(failed === 0 ? 0 : 1)

function bunOptions() {
  return { root, bun: chooseRuntime(root, 'bun'), environment, mostlyWaits }
}

/** @param {string} file */
async function runOnBunAlone(file) {
  const [result] = await runBunTests([file], bunOptions())
  return result ?? { passed: 0, failed: 1, skipped: 0 }
}

/** @param {string} file */
async function runOnNodeAlone(file) {
  return runNodeTests([file])
}

/** @param {import('./bun-tests.mjs').FileResult} result */
function countResult(result) {
  passed += result.passed
  failed += result.failed
  skipped += result.skipped
  seconds.set(`${result.file} on Bun`, result.seconds)
  const counts = `${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped`
  console.log(`${result.failed === 0 ? '✔' : '✖'} ${result.file}: ${counts} (${result.seconds.toFixed(1)} s)`)
  for (const note of result.notes) console.log(`  ${note}`)
  if (result.failed > 0) console.log(result.output)
}

/** @param {readonly string[]} names */
function runOnNode(names) {
  console.log(`Files on Node: ${names.length}`)
  const tally = runNodeTests(names)
  if (process.env.CI) for (const note of tally.notes) console.log(note)
  passed += tally.passed
  failed += tally.failed
  skipped += tally.skipped
  for (const [file, taken] of Object.entries(tally.seconds)) seconds.set(`${relative(root, file)} on Node`, taken)
  return tally.failedFiles
}

/**
 * Runs files on Node to their end. A run that fails counts one failed test at least.
 * @param {readonly string[]} names
 */
function runNodeTests(names) {
  const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-test-'))
  const tallyFile = join(scratch, 'tally.json')
  const run = spawnSync(
    pinnedNode,
    [
      '--test',
      '--test-concurrency=2',
      '--test-timeout=120000',
      `--test-reporter=${process.env.CI ? 'dot' : 'spec'}`,
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(root, 'scripts', 'tally-reporter.mjs')}`,
      `--test-reporter-destination=${tallyFile}`,
      ...names,
    ],
    { cwd: root, env: environment, stdio: ['ignore', 'inherit', 'inherit'] },
  )
  const tally = readTally(tallyFile)
  rmSync(scratch, { recursive: true, force: true })
  return { ...tally, failed: run.status === 0 ? tally.failed : Math.max(1, tally.failed) }
}

/**
 * Installs the clients and the browser that the end-to-end tests need, as root on Debian. Elsewhere
 * it prints the names of the missing packages.
 */
function ensureDebianPackages() {
  const needed = Object.entries({
    mosquitto_sub: 'mosquitto-clients',
    '/usr/sbin/mosquitto': 'mosquitto',
    curl: 'curl',
    openssl: 'openssl',
    faketime: 'faketime',
    jq: 'jq',
    chromium: 'chromium',
    'redis-server': 'redis-server',
    influxd: 'influxdb',
    '/usr/lib/postgresql': 'postgresql',
    xz: 'xz-utils',
  })
  const missing = needed.filter(([program]) => !isThere(program)).map(([, debian]) => debian)
  if (missing.length === 0) return
  if (process.getuid?.() === 0 && spawnSync('which', ['apt-get']).status === 0) {
    console.log(`Installing ${missing.join(', ')} for the end-to-end tests ...`)
    const apt = {
      stdio: /** @type {const} */ (['ignore', 'ignore', 'inherit']),
      // At run level 1, apt does not start the services of the packages.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    }
    spawnSync('apt-get', ['update', '-qq'], apt)
    if (spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], apt).status === 0) return
  }
  console.log(
    `Missing for the end-to-end tests: ${missing.join(', ')}. Install them (Debian: apt-get install ${missing.join(' ')}).`,
  )
  failed += 1
}

/**
 * Finds or builds the server of NATS before any test runs, so that no test waits for the compiler.
 * Imported here, for an old Node can't read the file.
 */
async function buildNatsServer() {
  const { natsServerProgram } = await import('../src/engine/nats/nats-server-binary.testing.ts')
  natsServerProgram()
}

/** @param {string} program A name on the PATH, or a path. */
function isThere(program) {
  return program.startsWith('/') ? existsSync(program) : spawnSync('which', [program]).status === 0
}

/** The files that took longest, with their seconds. */
function slowest() {
  return [...seconds]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 10)
    .map(([file, taken]) => `${file} ${taken.toFixed(0)} s`)
    .join(', ')
}
