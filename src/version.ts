/** The product's version, read from its package. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The version in `package.json`, such as `1.2.3`; `unknown` when there is none. */
export const version: string = readVersion()

/** Node finds the package above this file, whether the program runs from `dist/` or `src/`. */
function readVersion(): string {
  const file = findPackageJSON('.', import.meta.url)
  const manifest = file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: unknown })
  return typeof manifest.version === 'string' ? manifest.version : 'unknown'
}
