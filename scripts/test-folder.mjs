// Runs all tests of a folder with real programs, also those that are too long for npm test. A word
// on the command line runs only the tests whose title contains it. The last line counts the tests.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'
import { readTally } from './tally.mjs'

/**
 * Installs and builds what is missing, runs the tests of a folder of `test/`, and ends the process.
 *
 * @param {string} folderName
 */
export function runTestFolder(folderName) {
  ensureInstalled()
  ensureBuilt()
  const folder = join('test', folderName)
  const files = readdirSync(join(root, folder))
    .filter((name) => /\.(?:test|long)\.ts$/.test(name))
    .map((name) => join(folder, name))
  const scratch = mkdtempSync(join(tmpdir(), `fieldgate-${folderName}-`))
  const tallyFile = join(scratch, 'tally.json')
  const child = spawn(
    pinnedNode,
    [
      '--test',
      '--test-concurrency=1',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(root, 'scripts', 'tally-reporter.mjs')}`,
      `--test-reporter-destination=${tallyFile}`,
      ...process.argv.slice(2).map((word) => `--test-name-pattern=${word}`),
      ...files,
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  )
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('exit', (code) => {
    const { passed, failed, skipped } = readTally(tallyFile)
    rmSync(scratch, { recursive: true, force: true })
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    process.exit(code === 0 && failed === 0 ? 0 : 1)
  })
}
