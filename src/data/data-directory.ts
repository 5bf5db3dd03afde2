/**
 * The data directory: private, held by one process at a time, and of a format that this version
 * knows.
 *
 * The lock is SQLite's exclusive lock on an empty file, held for the life of the process. The
 * kernel keeps it (a POSIX record lock). So two starts at the same moment can't both get the lock,
 * and the lock ends with the process, however the process ends. No process number is trusted: a new
 * process with the number of a dead holder is not taken for the holder. A lock file with a process
 * number in it has neither property. Node has no flock of its own. A bound Unix socket leaves a
 * file behind that nobody can remove without a race. The file `instance.json` beside the lock
 * describes the holder for people; this file locks nothing.
 */
import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { given } from '../given.ts'
import { parseObject, textAt } from '../json.ts'
import { version } from '../version.ts'

/**
 * The layout of the directory that this version writes. A directory with a higher number is
 * refused.
 */
export const DATA_DIRECTORY_FORMAT = 1
/** The name of a file that marks a directory from the first to the last write of a restore. */
const UNFINISHED = 'restore-unfinished'
/**
 * A directory with only these files counts as empty: a process that tried to take the directory
 * leaves the first two, and the top of a file system has the third.
 */
const TRACES = new Set(['lock', 'instance.json', 'lost+found'])

/** How often the introduction of another holder is looked for, before it counts as missing. */
const INTRODUCTION_ATTEMPTS = 40
const INTRODUCTION_INTERVAL_MS = 50

/** The process that holds a data directory, as it introduced itself. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** The time at which it took the directory: RFC 3339, UTC. */
  readonly since: string
  /** The name of the command that holds the directory, such as `serve`. */
  readonly purpose: string
  /** The holder's version of Fieldgate. */
  readonly version: string
  /**
   * The address of its HTTP API on this machine (`https://127.0.0.1:8443`). Absent during the start
   * of a service, and for all other commands.
   */
  readonly httpsAddress?: string
  /** The file with the certificate that the holder serves at `httpsAddress`. */
  readonly certFile?: string
}

/** A data directory that this process holds. */
export interface DataDirectory {
  /** The absolute path. */
  readonly path: string
  /**
   * Tells other processes of this machine the address of the service's HTTP API, and the file of
   * its certificate.
   */
  announce(listener: { readonly host: string; readonly port: number; readonly certFile: string }): Promise<void>
  /** Releases the directory for other processes. A second call does nothing. */
  release(): Promise<void>
}

/** Why a data directory can't be taken. `message` is a whole sentence for people. */
export type DataDirectoryRefusal =
  | { readonly ok: false; readonly code: 'in_use'; readonly message: string; readonly holder: Holder | undefined }
  | {
      readonly ok: false
      readonly code: 'missing' | 'newer_format' | 'unusable' | 'not_empty'
      readonly message: string
    }

/** A directory that a backup is being restored into. */
export interface NewDataDirectory {
  /** The absolute path. */
  readonly path: string
  /**
   * Completes the data directory; durable when it resolves. Without this call, no later process
   * accepts the directory as a data directory.
   */
  finish(): Promise<void>
  /** Removes all files that were put into the directory. */
  discard(): Promise<void>
  /** Releases the directory for other processes. A second call does nothing. */
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
 * Takes a data directory for this process. Makes a missing directory (mode 0700) unless
 * `mustExist`. When it resolves with `ok`, no other process can take the directory until `release`
 * or the end of this process.
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
 * Takes a directory that is missing or empty, for a restore. When it resolves with `ok`, no other
 * process can take the directory until `release` or the end of this process.
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
      // Checked again under the lock: another process may have held the directory a moment ago.
      const late = await refuseUnlessEmpty(path)
      if (late !== undefined) {
        lock.close()
        return late
      }
      // This mark is written before all other files: they are an incomplete restore until it goes.
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

/** Removes all files; the mark of an unfinished restore goes last. */
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
 * The address by which this machine reaches a listener. A listener on the unspecified address is
 * reached by the loopback address.
 */
function localAddress(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `https://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`
}

/**
 * Takes the lock; undefined when another process has it, or another call in this process. This
 * process must not open the file in any other way: when a process closes any descriptor of a file,
 * POSIX drops the record lock. SQLite's own descriptors know of one another.
 */
function takeLock(file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // The journal is in memory because nothing is ever written: a killed process leaves no journal
    // file behind.
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

/** Reads how the holder of a data directory introduced itself; undefined when nobody holds it. */
export async function readIntroduction(path: string): Promise<Holder | undefined> {
  const holder = parseHolder(await readFile(join(path, 'instance.json')).catch(() => Buffer.alloc(0)))
  return holder !== undefined && !isFromTheDead(holder) ? holder : undefined
}

/**
 * Reads the holder's introduction. The holder writes it just after it has taken the lock, so this
 * waits for it, up to two seconds.
 */
async function readHolder(path: string): Promise<Holder | undefined> {
  for (let attempt = 0; attempt < INTRODUCTION_ATTEMPTS; attempt += 1) {
    const holder = await readIntroduction(path)
    if (holder !== undefined) return holder
    await wait(INTRODUCTION_INTERVAL_MS)
  }
  return undefined
}

/**
 * Whether the introduction is of a process that was killed; the process that has the lock now has
 * not replaced it yet.
 */
function isFromTheDead(holder: Holder): boolean {
  if (holder.host !== hostname()) return false
  try {
    process.kill(holder.pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

function parseHolder(json: Buffer): Holder | undefined {
  const introduction = parseObject(json)
  const { pid } = introduction ?? {}
  const host = textAt(introduction, 'host')
  const since = textAt(introduction, 'since')
  if (typeof pid !== 'number' || host === undefined || since === undefined) return undefined
  return {
    pid,
    host,
    since,
    purpose: textAt(introduction, 'purpose') ?? 'unknown',
    version: textAt(introduction, 'version') ?? 'unknown',
    ...given({ httpsAddress: textAt(introduction, 'httpsAddress'), certFile: textAt(introduction, 'certFile') }),
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

/**
 * Writes the holder's introduction. On a full disk there is none: it locks nothing, and a service
 * that can't write can still serve what is stored. An old introduction is removed then, because it
 * names another process.
 */
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

/** Writes the version of the format into a new directory; refuses a directory of a later format. */
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

/**
 * Replaces a file as a whole: a reader, or a start after a power cut, finds the old text or the new
 * text. Only the lock's holder writes.
 */
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
