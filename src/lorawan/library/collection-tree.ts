/**
 * A collection of device profiles as a tree of text files, whatever it comes in: a folder, or a zip
 * archive. The content is foreign. So every size has a bound.
 */
import { posix } from 'node:path'

/** Files of a collection. The largest public collection has 6,300. */
export const MAXIMUM_FILES = 50_000
/** Bytes of a file that is read. The longest script of a device maker has 400,000. */
export const MAXIMUM_FILE_BYTES = 2 * 1024 * 1024
/** Bytes of all files that are read. They stay in memory while the tree is in use. */
const MAXIMUM_READ_BYTES = 128 * 1024 * 1024
/** Folders within folders. The layouts have four. */
export const MAXIMUM_DEPTH = 10

/** A collection that can't be read, or one file of it. The message is a sentence for people. */
export class CollectionFault extends Error {
  override readonly name = 'CollectionFault'
  readonly code = 'collection_unreadable'
}

/** A file of the collection that could not be used, and why. */
export interface CollectionProblem {
  readonly path: string
  readonly reason: string
}

/** The text files of a collection. */
export interface CollectionTree {
  /** Paths with `/` between the folders, sorted. No path leaves the collection. */
  readonly paths: readonly string[]
  /** Files that are no part of the tree, for example symbolic links. */
  readonly left: readonly CollectionProblem[]
  /** The commit of the collection, where the archive tells it; otherwise empty. */
  readonly version: string
  has(path: string): boolean
  /** The text of a file, as UTF-8. Throws CollectionFault. */
  read(path: string): string
}

/** The names of files that the layouts read. All other files are left out without a word. */
const READ_NAMES = /(?:\.(?:yaml|yml|toml|json|js)|(?:^|\/)LICEN[CS]E(?:\.md|\.txt)?)$/i

/** Whether a layout may read a file of this path. */
export function isReadable(path: string): boolean {
  return READ_NAMES.test(path)
}

/** The tree of files whose bytes `load` gets. `load` throws CollectionFault. */
export function createTree(
  files: Iterable<string>,
  load: (path: string) => Buffer,
  { left, version }: Pick<CollectionTree, 'left' | 'version'>,
): CollectionTree {
  const known = new Set(files)
  const texts = new Map<string, string>()
  let readBytes = 0
  return {
    paths: [...known].toSorted(),
    left,
    version,
    has: (path) => known.has(path),
    read(path) {
      const before = texts.get(path)
      if (before !== undefined) return before
      if (!known.has(path)) throw new CollectionFault(`${path} is not in the collection.`)
      if (readBytes >= MAXIMUM_READ_BYTES) {
        throw new CollectionFault(`The collection has more than ${MAXIMUM_READ_BYTES} bytes of text.`)
      }
      const bytes = load(path)
      readBytes += bytes.length
      const text = bytes.toString('utf8')
      texts.set(path, text)
      return text
    },
  }
}

/** The path of `name` as a file in `folder` tells it: `../profiles/a.yaml`. */
export function pathIn(folder: string, name: string): string {
  return posix.normalize(`${folder}/${name}`)
}

/** The folder of a file. */
export function folderOf(path: string): string {
  return posix.dirname(path)
}

/** The fault of a file that is too long. */
export function tooLong(path: string): CollectionFault {
  return new CollectionFault(`${path} has more than ${MAXIMUM_FILE_BYTES} bytes.`)
}
