// Runs a test file on Bun or on Node, in a process of its own.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readTally } from './tally.mjs'

/**
 * @typedef {object} TestFile
 * @property {string} file The path from the root.
 * @property {'bun' | 'node'} on The runtime.
 *
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped Skipped tests, and tests still to be written.
 * @property {readonly string[]} [notes] The diagnostics of the tests, where the report has them.
 *
 * @typedef {object} FileResult
 * @property {string} file
 * @property {'bun' | 'node'} on
 * @property {number} passed
 * @property {number} failed At least 1 for a file that crashed, hung, or told no results.
 * @property {number} skipped Skipped tests, and tests still to be written.
 * @property {number} seconds
 * @property {string} output The end of everything that the process wrote, without passed tests.
 * @property {readonly string[]} notes The diagnostics of the tests.
 *
 * @typedef {object} RunOptions
 * @property {string} root The folder that the paths of the files start from.
 * @property {import('../bin/runtime.mjs').Runtime} bun
 * @property {string} node The path of the program.
 * @property {NodeJS.ProcessEnv} environment
 * @property {number} [fileMs] The time limit of a file; the default is 10 minutes.
 */

/** The time limit of a test. */
const TEST_MS = 120_000
/** The time limit of a file, whose process is killed at its end. */
const FILE_MS = 600_000
/** The stack of the processes in which scripts run; see `helper-process.ts`. */
const BUN_ENVIRONMENT = { BUN_JSC_maxPerThreadStackUsage: '1500000' }
/**
 * Node keeps compiled files here, from `root`: without it, each test file compiles the core again,
 * which takes a third of the processor time of a small file.
 */
const COMPILE_CACHE = join('node_modules', '.cache', 'node-compile')
/** The bounds of what is kept of a file's output, and of each line that is shown. */
const MAXIMUM_OUTPUT = 1_000_000
const MAXIMUM_LINES = 200
const MAXIMUM_LINE = 500

const TALLY_REPORTER = fileURLToPath(new URL('tally-reporter.mjs', import.meta.url))
/** The line of a passed test or group: of Bun, and of Node. */
const PASSED_LINE = /^(?:\(pass\) |\s*✔ )/

/**
 * Runs a file to its end.
 * @param {TestFile} testFile
 * @param {RunOptions} options
 * @returns {Promise<FileResult>}
 */
export async function runTestFile({ file, on }, options) {
  const { root, environment, fileMs = FILE_MS } = options
  const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-test-'))
  const report = join(scratch, 'report')
  const startedMs = performance.now()
  const [program, ...args] = on === 'bun' ? bunCommand(file, report, options) : nodeCommand(file, report, options)
  const child = spawn(program, args, {
    cwd: root,
    env: { ...environment, ...(on === 'bun' ? BUN_ENVIRONMENT : { NODE_COMPILE_CACHE: join(root, COMPILE_CACHE) }) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: fileMs,
    // At SIGTERM the runner of Node ends the process of the file too.
    killSignal: on === 'bun' ? 'SIGKILL' : 'SIGTERM',
  })
  let all = ''
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (all = (all + text).slice(-MAXIMUM_OUTPUT)))
  child.stdout.setEncoding('utf8').on('data', (text) => {
    all = (all + text).slice(-MAXIMUM_OUTPUT)
    said = (said + text).slice(-MAXIMUM_OUTPUT)
  })
  const end = await endOf(child)
  child.stdout.destroy()
  child.stderr.destroy()
  const counts = on === 'bun' ? readBunReport(report) : readNodeReport(report)
  rmSync(scratch, { recursive: true, force: true })
  const seconds = (performance.now() - startedMs) / 1_000
  const faults = [
    ...(end === 'code 0' || end === 'code 1' ? [] : [`The process ended with ${end}.`]),
    ...(counts === undefined ? ['The runtime has told no results.'] : []),
  ]
  const isGood = end === 'code 0' && counts !== undefined
  return {
    file,
    on,
    passed: counts?.passed ?? 0,
    failed: isGood ? counts.failed : Math.max(1, counts?.failed ?? 0),
    skipped: counts?.skipped ?? 0,
    seconds,
    output: [tailOf(all), ...faults].join('\n'),
    notes: counts?.notes ?? linesOf(said).slice(1),
  }
}

/**
 * @param {string} file
 * @param {string} report The path where Bun writes its counts.
 * @param {RunOptions} options
 * @returns {readonly [string, ...string[]]}
 */
function bunCommand(file, report, { bun }) {
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  return [bun.program, ...bun.flags, 'test', `--timeout=${TEST_MS}`, ...reporter, `./${file}`]
}

/**
 * The file has a process of its own, below the one of `node --test`: without it, an `after` of the
 * whole file that throws would not count as failed.
 * @param {string} file
 * @param {string} report The path where the reporter writes its counts.
 * @param {RunOptions} options
 * @returns {readonly [string, ...string[]]}
 */
function nodeCommand(file, report, { node }) {
  return [
    node,
    '--test',
    `--test-timeout=${TEST_MS}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${TALLY_REPORTER}`,
    `--test-reporter-destination=${report}`,
    file,
  ]
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<string>} How the process ended: `code 1`, `signal SIGKILL`, or an error.
 */
function endOf(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(String(error)))
    // A process that a test left behind may hold the output open: then only "exit" comes.
    child.once('exit', (code, signal) => {
      const told = () => resolve(code === null ? `signal ${signal}` : `code ${code}`)
      const timer = setTimeout(told, 1_000)
      child.once('close', () => {
        clearTimeout(timer)
        told()
      })
    })
  })
}

/**
 * Reads the counts of a report. Bun writes none when it can't load the file, when the process
 * crashes or exits within a test, and when the file has no test.
 * @param {string} report
 * @returns {Counts | undefined}
 */
function readBunReport(report) {
  const [head = ''] = existsSync(report) ? (/<testsuites [^>]*>/.exec(readFileSync(report, 'utf8')) ?? []) : []
  const [tests, failed, skipped] = ['tests', 'failures', 'skipped'].map((name) =>
    Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? Number.NaN),
  )
  if (tests === undefined || failed === undefined || skipped === undefined) return undefined
  return Number.isNaN(tests + failed + skipped) ? undefined : { passed: tests - failed - skipped, failed, skipped }
}

/**
 * Reads the counts of a report. Node leaves it empty when its runner is ended.
 * @param {string} report
 * @returns {Counts | undefined}
 */
function readNodeReport(report) {
  return existsSync(report) && readFileSync(report, 'utf8') !== '' ? readTally(report) : undefined
}

/** @param {string} text */
function tailOf(text) {
  return linesOf(text)
    .filter((line) => !PASSED_LINE.test(line))
    .slice(-MAXIMUM_LINES)
    .join('\n')
}

/** @param {string} text */
function linesOf(text) {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.slice(0, MAXIMUM_LINE)]))
}
