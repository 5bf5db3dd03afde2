// The runtime that runs each test file. Bun runs nearly all of them, because the service runs on
// Bun by default. Node runs the core as well, because the service can run on Node.

/** Parts of the service that run on both runtimes: files, and folders that end with `/`. */
const CORE = [
  'src/mqtt/',
  'src/broker/',
  'src/engine/',
  'src/listeners/',
  'src/http/server.test.ts',
  'test/conformance/',
  'test/limits.test.ts',
]

/**
 * The files whose test program must run on Node, each with the reason. A service that they start as
 * a process runs on the default runtime nevertheless.
 * @type {Readonly<Record<string, string>>}
 */
export const NODE_ALONE = {
  'test/documentation/snippets.test.ts': 'Bun has no stripTypeScriptTypes of node:module',
}

/**
 * Files and folders that use the processor for less than a quarter of their time: real network
 * servers with their receive windows, servers of NATS that fail, the demonstration, and limits of
 * time.
 */
const WAITING = [
  'test/network-servers/core.test.ts',
  'test/network-servers/lost-answers.test.ts',
  'test/network-servers/recordings.test.ts',
  'test/network-servers/simulator.test.ts',
  'test/documentation/',
  'src/engine/nats/nats-faults.test.ts',
  'test/e2e/half-open.test.ts',
  'test/e2e/simulator-families.test.ts',
]

/** The slowest files and folders, the slowest first. */
const SLOW = [
  'test/network-servers/core.test.ts',
  'test/network-servers/lost-answers.test.ts',
  'test/documentation/',
  'src/engine/nats/nats-faults.test.ts',
  'test/network-servers/',
  'test/console/administration.test.ts',
  'test/console/pages.test.ts',
  'test/postgresql/',
  'test/console/',
  'test/neighbours/',
  'src/engine/nats/',
  'test/crash/',
  'test/e2e/',
  'src/http/',
]

/**
 * Divides test files, as paths from the root, among the runtimes: the slowest ones come first,
 * because as the last ones they would run beside an idle processor. The core comes twice.
 * @param {readonly string[]} files
 * @returns {readonly import('./test-file.mjs').TestFile[]}
 */
export function testFiles(files) {
  const onBun = files
    .filter((file) => NODE_ALONE[file] === undefined)
    .map((file) => ({ file, on: /** @type {const} */ ('bun') }))
  const onNode = files
    .filter((file) => NODE_ALONE[file] !== undefined || isIn(CORE, file))
    .map((file) => ({ file, on: /** @type {const} */ ('node') }))
  return [...onBun, ...onNode].toSorted((a, b) => rankOf(a.file) - rankOf(b.file))
}

/** @param {string} file */
function rankOf(file) {
  const rank = SLOW.findIndex((part) => file.startsWith(part))
  return rank === -1 ? SLOW.length : rank
}

/**
 * True for a file that mostly waits.
 * @param {string} file
 */
export function mostlyWaits(file) {
  return isIn(WAITING, file)
}

/**
 * @param {readonly string[]} parts Files, and folders that end with `/`.
 * @param {string} file
 */
function isIn(parts, file) {
  return parts.some((part) => (part.endsWith('/') ? file.startsWith(part) : file === part))
}
