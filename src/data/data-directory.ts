/**
 * The data directory: made private, held by one process at a time, and of a format that this
 * version knows.
 *
 * The lock is SQLite's exclusive lock on an empty file, held for the life of the process. The
 * kernel keeps it (a POSIX record lock): two starts at the same moment can't both have it, it ends
 * with the process however that ends, and no process number is ever trusted, so a recycled one
 * can't be taken for the holder. A lock file with a process number in it has neither property, Node
 * has no flock of its own, and a bound Unix socket leaves a file behind that nobody can remove
 * without a race. What a person wants to know of the holder stands beside it in `instance.json`,
 * which alone never locks anything.
 */
import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { version } from '../version.ts'

/**
 * The layout of the directory that this version writes. A directory with a higher number is
 * refused.
 */
export const DATA_DIRECTORY_FORMAT = 1
/** Stands in a directory from the first to the last write of a restore. */
const UNFINISHED = 'restore-unfinished'
/**
 * What a process that only tried to take the directory leaves in it, and what a file system has at
 * its top.
 */
const TRACES = new Set(['lock', 'instance.json', 'lost+found'])

/** The process that holds a data directory, as it introduced itself. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** When it took the directory: RFC 3339, UTC. */
  readonly since: string
  /** What it does with it: `serve`, or a command's name. */
  readonly purpose: string
  /** Of Fieldgate. */
  readonly version: string
  /**
   * Where its HTTP API answers on this machine (`https://127.0.0.1:8443`); absent while it starts,
   * and for a command.
   */
  readonly httpsAddress?: string
  /** The file with the very certificate that it serves there. */
  readonly certFile?: string
}

/** A data directory that this process holds. */
export interface DataDirectory {
  /** Absolute. */
  readonly path: string
  /**
   * Tells other processes of this machine where the service's HTTP API listens, and the file of the
   * certificate it serves.
   */
  announce(listener: { readonly host: string; readonly port: number; readonly certFile: string }): Promise<void>
  /** Lets go of the directory. A second call does nothing. */
  release(): Promise<void>
}

/** Why a data directory can't be had. `message` is a whole sentence for people. */
export type DataDirectoryRefusal =
  | { readonly ok: false; readonly code: 'in_use'; readonly message: string; readonly holder: Holder | undefined }
  | {
      readonly ok: false
      readonly code: 'missing' | 'newer_format' | 'unusable' | 'not_empty'
      readonly message: string
    }

/** A directory that a backup is being restored into. */
export interface NewDataDirectory {
  /** Absolute. */
  readonly path: string
  /**
   * Makes it a data directory; durable when resolved. Without it, no later process takes the
   * directory for one.
   */
  finish(): Promise<void>
  /** Removes what has been put into it. */
  discard(): Promise<void>
  /** Lets go of the directory. A second call does nothing. */
  release(): Promise<void>
}

/** The file of the registry in a data directory. */
export function registryFileIn(path: string): string {
  return join(path, 'registry.db')
}

/** The directory of messages and Sessions in a data directory. */
export function messagesIn(path: string): string {
  return join(path, 'messages')
}

/**
 * Takes a data directory for this process; makes it (mode 0700) unless `mustExist`. Resolved with
 * `ok`, no other process has it until `release` or the end of this one.
 */
export async function openDataDirectory(
  path: string,
  options: { readonly purpose: string; readonly clock: { now(): number }; readonly mustExist?: boolean },
): Promise<{ readonly ok: true; readonly dataDirectory: DataDirectory } | DataDirectoryRefusal> {
  try {
    if (options.mustExist === true && !(await exists(join(path, 'format-version')))) {
      const message = `There is no Fieldgate data directory at ${path}. Run \`fieldgate init\`, or name another by FIELDGATE_DATA_DIR.`
      return { ok: false, code: 'missing', message }
    }
    await mkdir(path, { recursive: true, mode: 0o700 })
    const lock = takeLock(join(path, 'lock'))
    if (lock === undefined) return inUse(path, await readHolder(path))
    const holder = introduce(options)
    try {
      await writeIntroduction(path, holder)
      const fault = await checkFormat(path)
      if (fault === undefined) return { ok: true, dataDirectory: heldDirectory(path, lock, holder) }
      await rm(join(path, 'instance.json'), { force: true })
      lock.close()
      return fault
    } catch (error) {
      lock.close()
      throw error
    }
  } catch (error) {
    return unusable(path, error)
  }
}

/**
 * Takes a directory that is missing or empty, for a restore. Resolved with `ok`, no other process
 * has it until `release`.
 */
export async function openNewDataDirectory(
  path: string,
  options: { readonly purpose: string; readonly clock: { now(): number } },
): Promise<{ readonly ok: true; readonly dataDirectory: NewDataDirectory } | DataDirectoryRefusal> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const refusal = await refuseUnlessEmpty(path)
    if (refusal !== undefined) return refusal
    const lock = takeLock(join(path, 'lock'))
    if (lock === undefined) return inUse(path, await readHolder(path))
    const holder = introduce(options)
    try {
      // Asked again: another process may have had the directory until a moment ago.
      const late = await refuseUnlessEmpty(path)
      if (late !== undefined) {
        lock.close()
        return late
      }
      // Before anything else: whatever is there beside it is the part of a whole.
      await writeWhole(path, UNFINISHED, '')
      await syncFolder(path)
      await writeWhole(path, 'instance.json', JSON.stringify(holder))
    } catch (error) {
      lock.close()
      throw error
    }
    const held = heldDirectory(path, lock, holder)
    return {
      ok: true,
      dataDirectory: {
        path,
        finish: () => finishNew(path),
        discard: () => discardNew(path),
        release: () => held.release(),
      },
    }
  } catch (error) {
    return unusable(path, error)
  }
}

async function finishNew(path: string): Promise<void> {
  await writeWhole(path, 'format-version', `${DATA_DIRECTORY_FORMAT}\n`)
  await syncFolder(path)
  await rm(join(path, UNFINISHED))
  await syncFolder(path)
}

/** The mark goes last. */
async function discardNew(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (!TRACES.has(name) && name !== UNFINISHED) await rm(join(path, name), { recursive: true, force: true })
  }
  await rm(join(path, UNFINISHED), { force: true })
}

async function refuseUnlessEmpty(path: string): Promise<DataDirectoryRefusal | undefined> {
  const found = (await readdir(path)).find((name) => !TRACES.has(name))
  if (found === undefined) return undefined
  const message = `The directory ${path} is not empty: there is ${found} in it. A backup is restored into a new or an empty one.`
  return { ok: false, code: 'not_empty', message }
}

function introduce({ purpose, clock }: { readonly purpose: string; readonly clock: { now(): number } }): Holder {
  return { pid: process.pid, host: hostname(), since: new Date(clock.now()).toISOString(), purpose, version }
}

function unusable(path: string, error: unknown): DataDirectoryRefusal {
  if (!(error instanceof Error)) throw error
  return { ok: false, code: 'unusable', message: `The data directory ${path} can’t be used: ${error.message}.` }
}

function heldDirectory(path: string, lock: DatabaseSync, holder: Holder): DataDirectory {
  return {
    path,
    announce: async ({ host, port, certFile }) => {
      const introduced: Holder = { ...holder, httpsAddress: localAddress(host, port), certFile }
      await writeIntroduction(path, introduced)
    },
    release: async () => {
      if (!lock.isOpen) return
      await rm(join(path, 'instance.json'), { force: true })
      lock.close()
    },
  }
}

/**
 * How this machine reaches a listener: an unspecified address means every one, the loopback's among
 * them.
 */
function localAddress(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `https://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`
}

/**
 * The lock, or undefined when another process or another opening in this one has it. The file must not be opened in any other way by this
 * process: closing any descriptor of it would drop the record lock (POSIX), except SQLite's own, which know of one another.
 */
function takeLock(file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // In memory, for nothing is ever written: a journal left by a kill would be one more file to explain.
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

function isBusy(error: unknown): boolean {
  const SQLITE_BUSY = 5
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
}

/** How the process that holds a data directory introduced itself; undefined where there is none. */
export async function readIntroduction(path: string): Promise<Holder | undefined> {
  const holder = parseHolder(await readFile(join(path, 'instance.json'), 'utf8').catch(() => ''))
  return holder !== undefined && !isFromTheDead(holder) ? holder : undefined
}

/** The holder's introduction. It is written just after the lock is taken, so it is waited for, two seconds at most. */
async function readHolder(path: string): Promise<Holder | undefined> {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    const holder = await readIntroduction(path)
    if (holder !== undefined) return holder
    await wait(50)
  }
  return undefined
}

/** Left by a process that was killed, and not yet replaced by the one that has the lock now. */
function isFromTheDead(holder: Holder): boolean {
  if (holder.host !== hostname()) return false
  try {
    process.kill(holder.pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const given = JSON.parse(text) as Record<string, unknown>
    const { pid, host, since, purpose, httpsAddress, certFile } = given
    if (typeof pid !== 'number' || typeof host !== 'string' || typeof since !== 'string') return undefined
    return {
      pid,
      host,
      since,
      purpose: typeof purpose === 'string' ? purpose : 'unknown',
      version: typeof given['version'] === 'string' ? given['version'] : 'unknown',
      ...(typeof httpsAddress === 'string' ? { httpsAddress } : {}),
      ...(typeof certFile === 'string' ? { certFile } : {}),
    }
  } catch {
    return undefined
  }
}

function inUse(path: string, holder: Holder | undefined): DataDirectoryRefusal {
  const who =
    holder === undefined
      ? 'another process'
      : `process ${holder.pid} on ${holder.host} (\`fieldgate ${holder.purpose}\`) since ${holder.since}${
          holder.httpsAddress === undefined ? '' : `, which answers at ${holder.httpsAddress}`
        }`
  const message = `The data directory ${path} is in use by ${who}. Stop it, or name another directory by FIELDGATE_DATA_DIR.`
  return { ok: false, code: 'in_use', message, holder }
}

/** On a full disk there is none: it locks nothing, and who can't write can read what is there. An older one would name another process. */
async function writeIntroduction(path: string, holder: Holder): Promise<void> {
  try {
    await writeWhole(path, 'instance.json', JSON.stringify(holder))
  } catch (error) {
    if (!isWithoutRoom(error)) throw error
    for (const name of ['instance.json.new', 'instance.json']) await rm(join(path, name), { force: true })
  }
}

function isWithoutRoom(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

/** Writes the format's version into a new directory; refuses one that a later version wrote. */
async function checkFormat(path: string): Promise<DataDirectoryRefusal | undefined> {
  if (await exists(join(path, UNFINISHED))) {
    const message = `The data directory ${path} holds a part of a backup: its restore was not finished. Remove it, and restore again.`
    return { ok: false, code: 'unusable', message }
  }
  const file = join(path, 'format-version')
  if (!(await exists(file))) {
    await writeWhole(path, 'format-version', `${DATA_DIRECTORY_FORMAT}\n`)
    return undefined
  }
  const text = (await readFile(file, 'utf8')).trim()
  if (text === String(DATA_DIRECTORY_FORMAT)) return undefined
  if (/^\d{1,6}$/.test(text) && Number(text) > DATA_DIRECTORY_FORMAT) {
    const message = `The data directory ${path} is of format ${text}, made by a later version of Fieldgate; this one knows formats up to ${DATA_DIRECTORY_FORMAT}.`
    return { ok: false, code: 'newer_format', message }
  }
  const message = `The data directory ${path} can’t be used: ${file} holds no format version.`
  return { ok: false, code: 'unusable', message }
}

/** Replaces a file as a whole: a reader, or a power cut, meets the old text or the new one. Only the lock's holder writes. */
async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const file = join(folder, name)
  const handle = await open(`${file}.new`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.new`, file)
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}
