import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The product's version, `1.2.3`, as its package says. */
export const version: string = readVersion()

/**
 * The package is the same, two folders up or one, whether this runs from `dist/` or from the
 * source.
 */
function readVersion(): string {
  const file = findPackageJSON('.', import.meta.url)
  const manifest = file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: unknown })
  return typeof manifest.version === 'string' ? manifest.version : 'unknown'
}
