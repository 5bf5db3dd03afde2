// Runs test files on Bun, each in a process of its own.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * @typedef {object} FileResult
 * @property {string} file
 * @property {number} passed
 * @property {number} failed At least 1 for a file that crashed, hung, or told no results.
 * @property {number} skipped Skipped tests, and tests still to be written.
 * @property {number} seconds
 * @property {string} output The end of everything that the process wrote, without passed tests.
 * @property {readonly string[]} notes The diagnostics of the tests.
 */

/**
 * @typedef {object} BunTests
 * @property {string} root The folder that the paths of the files start from.
 * @property {import('../bin/runtime.mjs').Runtime} bun
 * @property {NodeJS.ProcessEnv} environment
 * @property {(file: string) => boolean} [mostlyWaits] True for a file that hardly uses the
 *   processor: one of these runs beside three of the others. The default is false.
 * @property {(result: FileResult) => void} [onResult] Called after each file.
 * @property {number} [fileMs] The time limit of a file; the default is 10 minutes.
 */

/**
 * Files that run at the same time, beside one that mostly waits. Tests wait for half of their time,
 * so three of them keep two processors busy.
 */
const CONCURRENCY = 3
/** The time limit of a test. */
const TEST_MS = 120_000
/** The time limit of a file, whose process is killed at its end. */
const FILE_MS = 600_000
/** The stack of the processes in which scripts run; see `helper-process.ts`. */
const STACK_BYTES = '1500000'
/** The bounds of what is kept of a file's output, and of each line that is shown. */
const MAXIMUM_OUTPUT = 1_000_000
const MAXIMUM_LINES = 200
const MAXIMUM_LINE = 500

/**
 * Runs the files in their order: three at a time, and beside them one that mostly waits. Resolves
 * with all results when all have ended.
 * @param {readonly string[]} files
 * @param {BunTests} options
 * @returns {Promise<readonly FileResult[]>}
 */
export async function runBunTests(files, options) {
  const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-bun-tests-'))
  const all = files.map((file, index) => ({ file, report: join(scratch, `${index}.xml`) }))
  const { mostlyWaits = () => false } = options
  const { busy = [], waiting = [] } = Object.groupBy(all, ({ file }) => (mostlyWaits(file) ? 'waiting' : 'busy'))
  /** @type {FileResult[]} */
  const results = []
  const work = async (/** @type {() => (typeof all)[number] | undefined} */ take) => {
    for (let next = take(); next !== undefined; next = take()) {
      const result = await runFile(next.file, next.report, options)
      results.push(result)
      options.onResult?.(result)
    }
  }
  try {
    const lanes = Array.from({ length: CONCURRENCY }, () => work(() => busy.shift() ?? waiting.shift()))
    await Promise.all([...lanes, work(() => waiting.shift())])
    return results
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * @param {string} file
 * @param {string} report The path where Bun writes its counts.
 * @param {BunTests} options
 * @returns {Promise<FileResult>}
 */
async function runFile(file, report, { root, bun, environment, fileMs = FILE_MS }) {
  const startedMs = performance.now()
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  const child = spawn(bun.program, [...bun.flags, 'test', `--timeout=${TEST_MS}`, ...reporter, `./${file}`], {
    cwd: root,
    env: { ...environment, BUN_JSC_maxPerThreadStackUsage: STACK_BYTES },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: fileMs,
    killSignal: 'SIGKILL',
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
  const counts = readCounts(report)
  const seconds = (performance.now() - startedMs) / 1_000
  const faults = [
    ...(end === 'code 0' || end === 'code 1' ? [] : [`The process ended with ${end}.`]),
    ...(counts === undefined ? ['Bun has told no results.'] : []),
  ]
  const isGood = end === 'code 0' && counts !== undefined
  return {
    file,
    passed: counts?.passed ?? 0,
    failed: isGood ? counts.failed : Math.max(1, counts?.failed ?? 0),
    skipped: counts?.skipped ?? 0,
    seconds,
    output: [tailOf(all), ...faults].join('\n'),
    notes: linesOf(said).slice(1),
  }
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
 */
function readCounts(report) {
  const [head = ''] = existsSync(report) ? (/<testsuites [^>]*>/.exec(readFileSync(report, 'utf8')) ?? []) : []
  const [tests, failed, skipped] = ['tests', 'failures', 'skipped'].map((name) =>
    Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? Number.NaN),
  )
  if (tests === undefined || failed === undefined || skipped === undefined) return undefined
  return Number.isNaN(tests + failed + skipped) ? undefined : { passed: tests - failed - skipped, failed, skipped }
}

/** @param {string} text */
function tailOf(text) {
  return linesOf(text)
    .filter((line) => !line.startsWith('(pass) '))
    .slice(-MAXIMUM_LINES)
    .join('\n')
}

/** @param {string} text */
function linesOf(text) {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.slice(0, MAXIMUM_LINE)]))
}
