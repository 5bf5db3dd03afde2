// Starts the compiled program in the place of this process, so that a signal to this process
// reaches the service. Runs on any Node 18 or newer.
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
/** How npm runs a script: by a shell that neither passes signals on nor waits when it gets one. */
const SCRIPT_SHELL = /^(?:\S*\/)?(?:ba|da|z|k)?sh -c /

/** The package with the pinned Node of this platform, an optional dependency of package.json. */
export function nodePackage() {
  return `${process.platform === 'darwin' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`
}

/**
 * The programs above this one that must live for as long as it does, nearest first: none, unless
 * npm (or a package manager like it) started this. A signal to npm or to its shell ends them and
 * never comes here; the service notices by this list, and stops.
 */
export function launchersAbove() {
  if (process.env.npm_lifecycle_event === undefined) return []
  const parent = process.ppid
  const { args, parent: above } = describeProcess(parent)
  return SCRIPT_SHELL.test(args) && above > 1 ? [parent, above] : [parent]
}

/**
 * Goes on as `node` with these arguments. Where this Node can't replace itself (before 22.15),
 * `node` is a child: it gets the signals of this process, which ends when the child has ended, with
 * its exit code.
 */
export function launch(
  /** @type {string} */ node,
  /** @type {readonly string[]} */ args,
  launchers = launchersAbove(),
) {
  if (typeof process.execve === 'function') {
    process.execve(node, [node, ...args], withLaunchers(launchers))
  }
  const child = spawn(node, args, { stdio: 'inherit', env: withLaunchers([process.pid, ...launchers]) })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`fieldgate: ${node} could not be started: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code) => process.exit(code ?? 1))
}

function withLaunchers(/** @type {readonly number[]} */ launchers) {
  return { ...process.env, FIELDGATE_LAUNCHERS: launchers.join() }
}

/** The command line and the parent of a process; a command line of "" where nobody tells. */
function describeProcess(/** @type {number} */ pid) {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    // The name in brackets may hold anything; behind it come the state and the parent.
    const parent = / \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
    return { args, parent: Number(parent?.[1] ?? 0) }
  } catch {
    return describeProcessByPs(pid)
  }
}

/** Without /proc, as on macOS. */
function describeProcessByPs(/** @type {number} */ pid) {
  try {
    const line = execFileSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' })
    const [, parent = '0', args = ''] = /^\s*(\d+)\s+(.*)/.exec(line) ?? []
    return { args, parent: Number(parent) }
  } catch {
    return { args: '', parent: 0 }
  }
}
