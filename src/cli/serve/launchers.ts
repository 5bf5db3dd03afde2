/**
 * The programs that started this one and live for as long as it does. npm runs scripts by a shell,
 * and neither of them passes on every signal: SIGTERM to npm ends npm and the shell alone. So the
 * service looks itself whether they are still there.
 */
import { readFileSync } from 'node:fs'

/** How soon the end of a launcher is noticed. */
const LOOK_MS = 500

/**
 * The variable by which `bin/launch.mjs` names them: process ids with commas, the nearest first.
 * Empty where nothing is to be watched.
 */
const LAUNCHERS_VARIABLE = 'FIELDGATE_LAUNCHERS'

/**
 * Calls `gone` once when one of them has ended; a launcher that had ended before counts. The result
 * ends the watch.
 */
export function watchLaunchers(
  environment: Readonly<Record<string, string | undefined>>,
  gone: () => void,
): () => void {
  const launchers = (environment[LAUNCHERS_VARIABLE] ?? '')
    .split(',')
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
  if (launchers.length === 0) return () => {}
  const timer = setInterval(() => {
    if (isChainWhole(launchers)) return
    clearInterval(timer)
    gone()
  }, LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Each is the parent of the one before it: whose parent ends, gets another. A process id alone may
 * be somebody else's by now.
 */
function isChainWhole(launchers: readonly number[]): boolean {
  let parent: number | undefined = process.ppid
  return launchers.every((launcher) => {
    const isParent = parent === undefined ? isAlive(launcher) : parent === launcher
    parent = parentOf(launcher)
    return isParent
  })
}

/** Undefined where /proc does not tell. */
function parentOf(pid: number): number | undefined {
  try {
    // The name in brackets may hold anything; behind it come the state and the parent.
    const parent = / \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))?.[1]
    return parent === undefined ? undefined : Number(parent)
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
