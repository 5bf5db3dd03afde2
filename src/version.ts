/** The product's version, read from its package, and the runtime that it runs on. */
import { existsSync, readFileSync } from 'node:fs'
import { objectOf, textAt } from './json.ts'

/** Where `package.json` lies as seen from `src/` and from `dist/src/`. */
const MANIFESTS = ['../package.json', '../../package.json']

/** The version in `package.json`, such as `1.2.3`; `unknown` when there is none. */
export const version: string = readVersion()

const { bun, node } = process.versions

/** The runtime and its version, for people: `Bun 1.4.5` or `Node 26.10.0`. */
export const runtime: string = bun === undefined ? `Node ${node}` : `Bun ${bun}`

function readVersion(): string {
  const file = MANIFESTS.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  const manifest: unknown = file === undefined ? undefined : JSON.parse(readFileSync(file, 'utf8'))
  return textAt(objectOf(manifest), 'version') ?? 'unknown'
}
