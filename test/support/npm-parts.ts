/**
 * Programs from the npm registry that only tests run: installed when a test first needs them, from
 * their own lock file.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { access, cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './program.ts'

/** The time limit of npm. */
const INSTALL_MS = 110_000

/**
 * Installs the packages of a folder that holds `package.json`, `package-lock.json` and `.npmrc`,
 * unless an earlier run did. Returns the path of a folder that holds `node_modules`. No script of a
 * package runs.
 */
export async function npmParts(folder: string): Promise<string> {
  const files = ['package.json', 'package-lock.json', '.npmrc']
  const hash = createHash('sha256').update(process.version)
  for (const file of files) hash.update(await readFile(join(folder, file)))
  const cache = join(tmpdir(), 'fieldgate-test-parts')
  const place = join(cache, hash.digest('hex').slice(0, 32))
  if (await isThere(place)) return place
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'new-'))
  for (const file of files) await cp(join(folder, file), join(fresh, file))
  const { HOME = fresh } = process.env
  const args = ['ci', '--prefix', fresh, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { code, stderr } = await runProgram('npm', args, { environment: { ...npmSettings(), HOME }, ms: INSTALL_MS })
  assert.equal(code, 0, `npm ci failed in ${folder}: ${stderr}`)
  try {
    await rename(fresh, place)
  } catch (error) {
    // Another test file was quicker.
    if (!(await isThere(place))) throw error
    await rm(fresh, { recursive: true, force: true })
  }
  return place
}

/** npm's registry, if the environment names one. */
function npmSettings(): Record<string, string> {
  const passed = Object.entries(process.env).filter(([name]) =>
    /^(npm_config_|NODE_EXTRA_CA_CERTS|https?_proxy)/i.test(name),
  )
  return Object.fromEntries(passed.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
