// Builds the SDK for TypeScript, and packs it for npm.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pinnedNode, root } from './setup.mjs'

/**
 * Returns the path of the package. Throws with the words of the compiler or of npm.
 * @param {string} folder where the package is to be written
 */
export function packSdk(folder) {
  const sdk = join(root, 'sdk', 'typescript')
  mkdirSync(folder, { recursive: true })
  // Two packers at once must not write into the same folder.
  const copy = mkdtempSync(join(tmpdir(), 'fieldgate-sdk-pack-'))
  try {
    for (const name of ['package.json', 'README.md', 'LICENSE']) cpSync(join(sdk, name), join(copy, name))
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    run(pinnedNode, [compiler, '-p', sdk, '--outDir', join(copy, 'dist')])
    const name = run('npm', ['pack', copy, '--pack-destination', folder, '--silent']).trim().split('\n').at(-1) ?? ''
    return join(folder, name)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** @param {string} command @param {readonly string[]} args */
function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} failed: ${stdout}${stderr}`)
  return stdout
}
