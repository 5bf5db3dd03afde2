/** A collection of device profiles in a folder. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  CollectionFault,
  createTree,
  isReadable,
  MAXIMUM_DEPTH,
  MAXIMUM_FILE_BYTES,
  MAXIMUM_FILES,
  tooLong,
} from './collection-tree.ts'
import type { CollectionProblem, CollectionTree } from './collection-tree.ts'

/** Problems that are noted; a folder full of links is no reason to fill the memory. */
const MAXIMUM_LEFT = 1_000

/**
 * Reads the names of a folder's files. Symbolic links are not followed, so that nothing outside of
 * the folder is read. Hidden folders and `node_modules` are left out. Throws CollectionFault for a
 * folder with too many files, and the error of the file system for a folder that can't be opened.
 */
export function openFolder(folder: string): CollectionTree {
  const files: string[] = []
  const left: CollectionProblem[] = []
  const note = (path: string, reason: string): void => {
    if (left.length < MAXIMUM_LEFT) left.push({ path, reason })
  }
  const pending = [{ path: '', depth: 0 }]
  let seen = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const entry of readdirSync(join(folder, next.path), { withFileTypes: true })) {
      seen += 1
      if (seen > MAXIMUM_FILES) throw new CollectionFault(`The folder has more than ${MAXIMUM_FILES} files.`)
      const path = next.path === '' ? entry.name : `${next.path}/${entry.name}`
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
      if (entry.isSymbolicLink()) note(path, 'is a symbolic link, which is not followed')
      else if (entry.isDirectory() && next.depth >= MAXIMUM_DEPTH) note(path, `is ${MAXIMUM_DEPTH} folders deep`)
      else if (entry.isDirectory()) pending.push({ path, depth: next.depth + 1 })
      else if (entry.isFile() && isReadable(path)) files.push(path)
    }
  }
  return createTree(files, (path) => bytesOf(folder, path), { left, version: versionOf(folder) })
}

const COMMIT = /^[0-9a-f]{40}$/
const BRANCH = /^ref: (refs\/heads\/[\w./-]+)$/

/** The commit of a clone by git; empty where the folder is none. */
function versionOf(folder: string): string {
  try {
    if (!lstatSync(join(folder, '.git')).isDirectory()) return ''
    const head = bytesOf(folder, '.git/HEAD').toString().trim()
    const [, branch] = BRANCH.exec(head) ?? []
    const commit = branch === undefined || branch.includes('..') ? head : commitOf(folder, branch)
    return COMMIT.test(commit) ? commit : ''
  } catch {
    // A collection without git, or with another form of it, is as good without its commit.
    return ''
  }
}

/** The commit of a branch: in a file of its own, or packed with others. */
function commitOf(folder: string, branch: string): string {
  try {
    return bytesOf(folder, `.git/${branch}`).toString().trim()
  } catch {
    const lines = bytesOf(folder, '.git/packed-refs').toString().split('\n')
    return lines.find((line) => line.endsWith(` ${branch}`))?.split(' ')[0] ?? ''
  }
}

/** Opens the file without following a link that has come in its place since. */
function bytesOf(folder: string, path: string): Buffer {
  let file: number
  try {
    file = openSync(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw new CollectionFault(`${path} can’t be opened: ${(error as Error).message}`)
  }
  try {
    const state = fstatSync(file)
    if (!state.isFile()) throw new CollectionFault(`${path} is no file.`)
    if (state.size > MAXIMUM_FILE_BYTES) throw tooLong(path)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
