/**
 * The SDK for TypeScript as npm installs it: built, packed, and installed from the package into a
 * folder that also has the examples.
 */
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packSdk } from '../../scripts/pack-sdk.mjs'
import { pinnedNode } from '../../scripts/setup.mjs'
import { npmParts } from '../support/npm-parts.ts'
import { outputOf, Program } from '../support/program.ts'
import type { SdkWorld } from './sdk-world.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const EXAMPLES = join(ROOT, 'examples', 'sdk', 'typescript')
const PARTS = join(ROOT, 'test', 'sdk', 'node-parts')

export interface InstalledPackage {
  /** The folder of the examples, with `node_modules`. */
  readonly folder: string
  /** Starts an example. Its settings come from the environment, as a user gives them. */
  start(
    world: SdkWorld,
    script: string,
    more?: Readonly<Record<string, string>>,
    runtime?: Runtime,
    args?: readonly string[],
  ): Program
  [Symbol.asyncDispose](): Promise<void>
}

/** The command that runs a TypeScript file. */
export type Runtime = readonly [command: string, ...args: string[]]

export const NODE: Runtime = [pinnedNode]

/** Packs and installs. npm finds everything but the SDK in its parts, and asks no registry. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-sdk-package-'))
  const parts = await npmParts(PARTS)
  for (const name of ['package.json', 'package-lock.json', 'node_modules'])
    await cp(join(parts, name), join(folder, name), { recursive: true, verbatimSymlinks: true })
  const { HOME = folder } = process.env
  const environment = { HOME }
  const install = ['install', '--prefix', folder, '--offline', '--no-save', '--ignore-scripts', '--loglevel=error']
  await outputOf('npm', [...install, packSdk(folder)], { environment, folder })
  // `import` and top-level `await` need a module.
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n')
  for (const name of await readdir(EXAMPLES)) {
    if (name !== 'package.json') await cp(join(EXAMPLES, name), join(folder, name))
  }
  return {
    folder,
    start: (world, script, more = {}, [command, ...options] = NODE, args = []) =>
      new Program(command, [...options, join(folder, script), ...args], {
        folder,
        environment: {
          HOME: folder,
          FIELDGATE_URL: world.service.https,
          FIELDGATE_CA: world.service.caFile,
          FIELDGATE_USER: String(world.options.username),
          FIELDGATE_PASSWORD: String(world.options.password),
          FIELDGATE_SDK_DIR: join(folder, 'positions'),
          ...more,
        },
      }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
