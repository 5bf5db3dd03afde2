/** The product's version, read from its package. */
import { existsSync, readFileSync } from 'node:fs'

/** The version in `package.json`, such as `1.2.3`; `unknown` when there is none. */
export const version: string = readVersion()

/** The package is above this file, whether the program runs from `dist/` or `src/`. */
function readVersion(): string {
  const file = ['../package.json', '../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url))
  const manifest = file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: unknown })
  return typeof manifest.version === 'string' ? manifest.version : 'unknown'
}
