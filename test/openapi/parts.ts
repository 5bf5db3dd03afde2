/**
 * External programs for the OpenAPI document: linters and generators, installed on demand, apart
 * from the service's packages.
 */
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmParts } from '../support/npm-parts.ts'
import { Program } from '../support/program.ts'
import type { ProgramOptions } from '../support/program.ts'

const PARTS = fileURLToPath(new URL('parts/', import.meta.url))

/**
 * The folder that keeps installed programs between runs; `name` distinguishes kinds and versions.
 */
export function cacheFolder(name: string): string {
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  return join(base, 'fieldgate', name)
}

/** The folder whose `node_modules` has the packages of `parts/`. */
export function installParts(): Promise<string> {
  return npmParts(PARTS)
}

/**
 * Makes a folder by `install`, first in another place, so that an existing folder is always
 * complete.
 */
export async function installOnce(folder: string, install: (scratch: string) => Promise<void>): Promise<void> {
  if (await isThere(folder)) return
  await mkdir(join(folder, '..'), { recursive: true })
  const scratch = await mkdtemp(`${folder}.`)
  try {
    await install(scratch)
    await rename(scratch, folder)
  } catch (error) {
    // Another process was faster.
    if (!(await isThere(folder))) throw error
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** The options of running a program. */
interface RunOptions {
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
  /** The time limit, in milliseconds. */
  readonly timeoutMs?: number
  /** Exit codes that are no failure. Default: only 0. */
  readonly acceptedCodes?: readonly number[]
}

/**
 * Runs a program in a folder, with this process's environment and further variables. Returns its
 * output, and throws with the output if the program fails.
 */
export async function ran(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  // Node's test runner talks to its children by this variable.
  const environment = { ...Object.fromEntries(inherited), NODE_TEST_CONTEXT: '', ...options.environment }
  const how: ProgramOptions = { environment, folder: options.folder }
  await using program = new Program(command, args, how)
  const { code, stdout, stderr } = await program.ended(options.timeoutMs ?? 110_000)
  if (!(options.acceptedCodes ?? [0]).includes(code ?? -1))
    throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout + stderr
}

/** Runs a program of an installed package, named by its file, on the Node of the PATH. */
export async function ranPart(
  parts: string,
  file: string,
  args: readonly string[],
  options: RunOptions,
): Promise<string> {
  return ran('node', [join(parts, 'node_modules', file), ...args], options)
}
