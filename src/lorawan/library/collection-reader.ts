/** The way of a layout through the files of a collection. A file that can't be read is noted. */
import { parse as parseToml } from 'smol-toml'
import { parse as parseYaml } from 'yaml'
import { isObject, memberOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CollectionFault } from './collection-tree.ts'
import type { CollectionProblem, CollectionTree } from './collection-tree.ts'
import { parseLiteral } from './literal.ts'

/** Problems that are kept; the first ones tell enough. */
const MAXIMUM_PROBLEMS = 1_000

/** Reads files of one collection. */
export class CollectionReader {
  readonly tree: CollectionTree
  readonly problems: CollectionProblem[] = []

  constructor(tree: CollectionTree) {
    this.tree = tree
    this.problems.push(...tree.left)
  }

  /** Notes that a file could not be used. `reason` goes on after the path: `is no JSON`. */
  note(path: string, reason: string): void {
    if (this.problems.length >= MAXIMUM_PROBLEMS) return
    // Several models may share a file.
    if (this.problems.some((known) => known.path === path && known.reason === reason)) return
    this.problems.push({ path, reason })
  }

  /** The text of a file; undefined, and noted, when it can't be read. */
  text(path: string): string | undefined {
    if (!this.tree.has(path)) {
      this.note(path, 'is missing')
      return undefined
    }
    try {
      return this.tree.read(path)
    } catch (error) {
      if (!(error instanceof CollectionFault)) throw error
      this.note(path, `can’t be read: ${error.message}`)
      return undefined
    }
  }

  /** The object in a file of YAML; undefined, and noted, when there is none. */
  yaml(path: string): JsonObject | undefined {
    return this.#object(path, (text) => parseYaml(text, { logLevel: 'error' }) as unknown)
  }

  /** The object in a file of TOML; undefined, and noted, when there is none. */
  toml(path: string): JsonObject | undefined {
    return this.#object(path, (text) => parseToml(text))
  }

  /** The objects of a list in a file of JSON, or of JavaScript's literals. */
  list(path: string): readonly JsonObject[] {
    const value = this.#parsed(path, parseLiteral)
    if (value === undefined) return []
    if (Array.isArray(value)) return value.filter(isObject)
    this.note(path, 'is no list')
    return []
  }

  #object(path: string, parse: (text: string) => unknown): JsonObject | undefined {
    const value = this.#parsed(path, parse)
    if (value === undefined || isObject(value)) return value
    this.note(path, 'has no members')
    return undefined
  }

  #parsed(path: string, parse: (text: string) => unknown): unknown {
    const text = this.text(path)
    if (text === undefined) return undefined
    try {
      return parse(text)
    } catch (error) {
      const [line] = error instanceof Error ? error.message.split('\n') : []
      this.note(path, `can’t be parsed: ${line ?? 'it is damaged'}`)
      return undefined
    }
  }
}

/** The version in an object; YAML reads `1.5` as a number. Empty without one. */
export function versionOf(object: JsonObject | undefined): string {
  const version = memberOf(object, 'version')
  return typeof version === 'string' || typeof version === 'number' ? String(version) : ''
}
