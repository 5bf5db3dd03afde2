/**
 * Watches the programs that started this one. npm runs a script in a shell, and neither passes on
 * all signals: SIGTERM to npm ends only npm and the shell. So the service itself checks that they
 * are still running.
 */
import { readFileSync } from 'node:fs'

/** How often the launchers are looked for. */
const LOOK_MS = 500

/**
 * The variable by which `bin/launch.mjs` names the launchers: process ids with commas, the nearest
 * launcher first. Empty when no launcher is to be watched.
 */
const LAUNCHERS_VARIABLE = 'FIELDGATE_LAUNCHERS'

/**
 * Calls `gone` once when a launcher has ended, also if it ended before this call. The returned
 * function ends the watch.
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
 * Whether each launcher is still the parent of the process before it: a process whose parent ends
 * gets another parent. The id alone proves nothing, because the system reuses ids.
 */
function isChainWhole(launchers: readonly number[]): boolean {
  let parent: number | undefined = process.ppid
  return launchers.every((launcher) => {
    const isParent = parent === undefined ? isAlive(launcher) : parent === launcher
    parent = parentOf(launcher)
    return isParent
  })
}

/** The parent of a process; undefined when /proc does not tell it. */
function parentOf(pid: number): number | undefined {
  try {
    // The name in brackets may hold any characters; the state and the parent come after it.
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
