// Replaces this process by the compiled program, so that a signal to this process reaches the
// service. Runs on Node 18 and newer.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseRuntime } from './runtime.mjs'

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
/** The command line of npm's shell, which neither passes signals on nor waits when it gets one. */
const SCRIPT_SHELL = /^(?:\S*\/)?(?:ba|da|z|k)?sh -c /

/**
 * The programs that started this one and must live as long as it does, the nearest first. There are
 * none unless npm, or a package manager like npm, started this process. A signal to npm or to its
 * shell ends them, and does not reach this process. The service watches the programs of this list,
 * and stops when one has ended.
 */
export function launchersAbove() {
  if (process.env.npm_lifecycle_event === undefined) return []
  const parent = process.ppid
  const { args, parent: above } = describeProcess(parent)
  return SCRIPT_SHELL.test(args) && above > 1 ? [parent, above] : [parent]
}

/**
 * The forms of the program, below `dist/`: the one that is compiled for Bun, and the one that both
 * runtimes read.
 */
const PROGRAMS = { bun: ['bun/main.js', 'program/main.js'], node: ['program/main.js'] }

/**
 * Runs the program on the runtime that is chosen for the package in `folder`, in the place of this
 * process. Where there is no runtime or no program, this process prints the reason and ends with 1.
 * @param {string} folder
 * @param {readonly string[]} args The arguments of the program.
 * @param {{ flags?: readonly string[], launchers?: readonly number[] }} options More flags of the
 * runtime; the programs that must live as long as this one.
 */
export function launch(folder, args, { flags = [], launchers = launchersAbove() } = {}) {
  try {
    const runtime = chooseRuntime(folder)
    become(runtime, [...flags, programFor(runtime.name, folder), ...args], launchers)
  } catch (error) {
    fail(/** @type {Error} */ (error).message)
  }
}

/**
 * The program's file for a runtime. Throws an error for the user where there is none.
 * @param {import('./runtime.mjs').Runtime['name']} runtime
 * @param {string} folder The folder of the package.
 */
export function programFor(runtime, folder) {
  const program = PROGRAMS[runtime].map((file) => join(folder, 'dist', file)).find((file) => existsSync(file))
  if (program !== undefined) return program
  throw new Error('not built yet. Run `npm ci --ignore-scripts` and `npm run build` in the checkout.')
}

/**
 * Replaces this process by the runtime. A Node before 22.15 can't replace itself: then the runtime
 * is a child process that gets the signals of this process, and this process ends after the child,
 * with its exit code.
 * @param {import('./runtime.mjs').Runtime} runtime
 * @param {readonly string[]} args
 * @param {readonly number[]} launchers
 */
function become({ program, flags, environment }, args, launchers) {
  const all = [...flags, ...args]
  const withLaunchers = (/** @type {readonly number[]} */ ids) => ({
    ...process.env,
    ...environment,
    FIELDGATE_LAUNCHERS: ids.join(),
  })
  if (typeof process.execve === 'function') process.execve(program, [program, ...all], withLaunchers(launchers))
  const child = spawn(program, all, { stdio: 'inherit', env: withLaunchers([process.pid, ...launchers]) })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(`${program} could not be started: ${error.message}`))
  child.on('exit', (code) => process.exit(code ?? 1))
}

function fail(/** @type {string} */ message) {
  console.error(`fieldgate: ${message}`)
  process.exit(1)
}

/** The command line and the parent of a process; "" and 0 when the system does not tell them. */
function describeProcess(/** @type {number} */ pid) {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    // The name in brackets may hold any characters; the state and the parent come after it.
    const parent = / \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
    return { args, parent: Number(parent?.[1] ?? 0) }
  } catch {
    return describeProcessByPs(pid)
  }
}

/** The same for systems without /proc, such as macOS. */
function describeProcessByPs(/** @type {number} */ pid) {
  try {
    const line = execFileSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' })
    const [, parent = '0', args = ''] = /^\s*(\d+)\s+(.*)/.exec(line) ?? []
    return { args, parent: Number(parent) }
  } catch {
    return { args: '', parent: 0 }
  }
}
