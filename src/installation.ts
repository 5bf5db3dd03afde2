/**
 * The files of this installation. A program runs from its source in `src/`, from its translation in
 * `dist/src/`, from the bundle in `dist/program/`, or from the one for Bun in `dist/bun/`.
 */
import { existsSync } from 'node:fs'

/** The folder of `package.json`. */
export const packageFolder: URL = findPackageFolder()

const isSource = import.meta.url.endsWith('.ts')

/**
 * Another program of this installation, in the form in which this program runs. `name` is the path
 * of its source without its ending, such as `simulator/main`.
 */
export function programFile(name: string): URL {
  return new URL(isSource ? `${name}.ts` : `dist/${name}.js`, packageFolder)
}

/** A folder of pages that the build has made, such as `console`. */
export function builtFolder(name: string): URL {
  return new URL(`dist/${name}/`, packageFolder)
}

function findPackageFolder(): URL {
  const folders = ['../', '../../', '../../../'].map((path) => new URL(path, import.meta.url))
  return folders.find((folder) => existsSync(new URL('package.json', folder))) ?? new URL('../', import.meta.url)
}
