/** The product's version, read from its package, and the runtime that it runs on. */
import { existsSync, readFileSync } from 'node:fs'
import { packageFolder } from './installation.ts'
import { objectOf, textAt } from './json.ts'

/** The version in `package.json`, such as `1.2.3`; `unknown` when there is none. */
export const version: string = readVersion()

const { bun, node } = process.versions

/** The runtime and its version, for people: `Bun 1.4.5` or `Node 26.10.0`. */
export const runtime: string = bun === undefined ? `Node ${node}` : `Bun ${bun}`

function readVersion(): string {
  const file = new URL('package.json', packageFolder)
  const manifest: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  return textAt(objectOf(manifest), 'version') ?? 'unknown'
}
