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
 * Files and folders that use the processor for less than a tenth of their time: real network
 * servers with their receive windows, and limits of time.
 */
const WAITING = ['test/network-servers/', 'test/e2e/half-open.test.ts', 'test/e2e/simulator-families.test.ts']

/** The slowest files and folders, the slowest first. */
const SLOW = ['test/network-servers/', 'test/console/', 'test/neighbours/', 'test/e2e/', 'src/http/']

/**
 * Divides test files, as paths from the root, among the runtimes. A file may be in both lists.
 * @param {readonly string[]} files
 * @returns {{ readonly bun: readonly string[], readonly node: readonly string[] }}
 */
export function runtimesOf(files) {
  return {
    bun: files.filter((file) => NODE_ALONE[file] === undefined).toSorted((a, b) => rankOf(a) - rankOf(b)),
    node: files.filter((file) => NODE_ALONE[file] !== undefined || isCore(file)),
  }
}

/**
 * Files that take minutes come first: as the last ones they would run alone, beside an idle
 * processor.
 * @param {string} file
 */
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

/** @param {string} file */
function isCore(file) {
  return isIn(CORE, file)
}

/**
 * @param {readonly string[]} parts Files, and folders that end with `/`.
 * @param {string} file
 */
function isIn(parts, file) {
  return parts.some((part) => (part.endsWith('/') ? file.startsWith(part) : file === part))
}
