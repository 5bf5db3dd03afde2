/**
 * The kernel's figures of a process: CPU time of all its threads and of its helpers, and resident
 * memory. Only Linux has `/proc`.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second in `/proc/<pid>/stat`: 100 on every Linux on which Node runs. */
const TICKS_PER_SECOND = 100

/**
 * CPU time, user and system, of all living threads of a process and of the living processes that it
 * has started, in ns. Broker threads and the processes of codecs live as long as the broker does.
 * If the kernel keeps no `schedstat`, the ticks of `stat` replace it, in steps of 10 ms. Throws if
 * there is no such process.
 */
export function cpuNanoseconds(pid: number): number {
  let own = 0
  let ofChildren = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    own += runNanoseconds(pid, thread)
    for (const child of childrenOf(pid, thread)) ofChildren += livingNanoseconds(child)
  }
  return (own > 0 ? own : parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))) + ofChildren
}

/**
 * CPU time, user and system, of the process's main thread, in ns; 0 if the kernel keeps no
 * `schedstat`.
 */
export function mainThreadCpuNanoseconds(pid: number): number {
  return runNanoseconds(pid, String(pid))
}

/** Resident memory of a process in bytes. Throws if there is no such process. */
export function residentBytes(pid: number): number {
  return parseResident(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

/**
 * The most files and sockets that this process and its children may open; Node raises its soft
 * limit to the hard one.
 */
export function openFilesLimit(): number {
  return parseOpenFilesLimit(readFileSync('/proc/self/limits', 'utf8'))
}

/** The soft limit of `Max open files`; Infinity for `unlimited`. */
export function parseOpenFilesLimit(text: string): number {
  const limit = /^Max open files\s+(\S+)/m.exec(text)?.[1]
  return limit === 'unlimited' ? Infinity : wholeNumber(limit, 'limits')
}

/** Time on a CPU in ns: the first of the three numbers of `schedstat`. */
export function parseSchedstat(text: string): number {
  return wholeNumber(text.split(' ', 1)[0], 'schedstat')
}

/**
 * User and system time in ns from `stat`. The program's name stands in parentheses and may itself
 * hold blanks and parentheses.
 */
export function parseStat(text: string): number {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = wholeNumber(fields[11], 'stat') + wholeNumber(fields[12], 'stat')
  return (ticks / TICKS_PER_SECOND) * 1e9
}

/** `VmRSS` of `status`, in bytes. */
export function parseResident(text: string): number {
  return wholeNumber(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1], 'status') * 1024
}

/** The processes that a thread has started; none for a kernel that does not tell. */
function childrenOf(pid: number, thread: string): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** 0 for a process that has ended between the listing and the reading. */
function livingNanoseconds(pid: number): number {
  try {
    return cpuNanoseconds(pid)
  } catch {
    return 0
  }
}

function runNanoseconds(pid: number, thread: string): number {
  try {
    return parseSchedstat(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))
  } catch {
    // A thread that ended between the listing and the reading, or a kernel without schedstat.
    return 0
  }
}

function wholeNumber(text: string | undefined, file: string): number {
  if (text === undefined || !/^\d+$/.test(text.trim()))
    throw new Error(`/proc/<pid>/${file} has another form than known`)
  return Number(text)
}
