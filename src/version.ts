/** The product's version, read from its package. */
import { existsSync, readFileSync } from 'node:fs'
import { objectOf, textAt } from './json.ts'

/** Where `package.json` lies as seen from `src/` and from `dist/src/`. */
const MANIFESTS = ['../package.json', '../../package.json']

/** The version in `package.json`, such as `1.2.3`; `unknown` when there is none. */
export const version: string = readVersion()

function readVersion(): string {
  const file = MANIFESTS.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  const manifest: unknown = file === undefined ? undefined : JSON.parse(readFileSync(file, 'utf8'))
  return textAt(objectOf(manifest), 'version') ?? 'unknown'
}
