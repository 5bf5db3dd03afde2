// npm run network-servers: installs and builds what is missing, then tests Fieldgate with real
// network servers and with their failures. The tests take half an hour. Each test prints a line,
// and the last line counts the tests. `npm run network-servers -- killed` runs only the tests whose
// title contains "killed".
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'
import { readTally } from './tally.mjs'

ensureInstalled()
ensureBuilt()
const folder = join('test', 'network-servers')
const files = readdirSync(join(root, folder))
  .filter((name) => /\.(?:test|long)\.ts$/.test(name))
  .map((name) => join(folder, name))
const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-network-servers-'))
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
