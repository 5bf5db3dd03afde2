// npm test: installs, builds, checks the source and runs every test: on Bun, and the core on Node
// as well (`test-runtimes.mjs`), several at a time (`lanes.mjs`). The last line counts them.
// `npm test -- broker` runs only the test files whose path contains "broker" and leaves the source
// checks out. In a run of all files, a few files that failed run once more by themselves
// (`second-run.mjs`).
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { chooseRuntime } from '../bin/runtime.mjs'
import { runInLanes } from './lanes.mjs'
import { runAgain } from './second-run.mjs'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'
import { runTestFile } from './test-file.mjs'
import { mostlyWaits, testFiles } from './test-runtimes.mjs'

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

/** @type {readonly (readonly [title: string, program: string, ...args: string[]])[]} */
const CHECKS = [
  ['format', 'oxfmt', '--check'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings'],
  ['types', 'tsc', '--noEmit'],
  ['types of the console', 'tsc', '--noEmit', '-p', 'console'],
  ['types of the documentation', 'tsc', '--noEmit', '-p', 'site/browser'],
  ['dead code', 'knip'],
]
if (wanted.length === 0) {
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
/**
 * The results of the test files, in the order in which they ended.
 * @type {import('./test-file.mjs').FileResult[]}
 */
const results = []
// The checks keep one lane busy at the beginning, one after the other.
const checks = { mostlyWaits: false, run: runChecks }
const tests = testFiles(files).map((testFile) => ({
  mostlyWaits: mostlyWaits(testFile.file),
  run: async () => countResult(await runTestFile(testFile, runOptions())),
}))
await runInLanes(wanted.length === 0 ? [checks, ...tests] : tests)
if (wanted.length === 0) {
  const again = await runAgain(
    results.filter((result) => result.failed > 0),
    (first) => runTestFile(first, runOptions()),
  )
  passed += again.passed
  failed += again.failed
  skipped += again.skipped
  for (const result of again.unsteady)
    console.log(`UNSTEADY: ${nameOf(result)} failed among all files, and passed alone. Mend it.`)
  console.log(`The slowest files: ${slowest()}`)
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exit(failed === 0 ? 0 : 1)

function runOptions() {
  return { root, bun: chooseRuntime(root, 'bun'), node: pinnedNode, environment }
}

async function runChecks() {
  for (const [title, program, ...args] of CHECKS) {
    const child = spawn(join(root, 'node_modules', '.bin', program), args, {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => (output += text))
    const ok = await new Promise((resolve) => {
      child.once('error', (error) => {
        output += String(error)
        resolve(false)
      })
      child.once('close', (code) => resolve(code === 0))
    })
    console.log(`${ok ? '✔' : '✖'} ${title}`)
    if (ok) passed += 1
    else {
      failed += 1
      console.log(output)
    }
  }
}

/** @param {import('./test-file.mjs').FileResult} result */
function countResult(result) {
  results.push(result)
  passed += result.passed
  failed += result.failed
  skipped += result.skipped
  const counts = `${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped`
  console.log(`${result.failed === 0 ? '✔' : '✖'} ${nameOf(result)}: ${counts} (${result.seconds.toFixed(1)} s)`)
  for (const note of result.notes) console.log(`  ${note}`)
  if (result.failed > 0) console.log(result.output)
}

/** @param {import('./test-file.mjs').TestFile} testFile */
function nameOf({ file, on }) {
  return on === 'bun' ? file : `${file} on Node`
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
    'chromium-headless-shell': 'chromium-headless-shell',
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
  return results
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, 10)
    .map((result) => `${nameOf(result)} ${result.seconds.toFixed(0)} s`)
    .join(', ')
}
