// npm run network-servers: installs and builds what is missing, then holds Fieldgate against real network servers, with all that can
// happen to them. It takes half an hour. A line for each test; the last line counts them.
// `npm run network-servers -- killed` runs only the tests whose title contains "killed".
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const folder = join('test', 'network-servers')
const files = readdirSync(join(root, folder))
  .filter((name) => /\.(?:test|long)\.ts$/.test(name))
  .map((name) => join(folder, name))
const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-network-servers-'))
const tap = join(scratch, 'result.tap')
const child = spawn(
  pinnedNode,
  [
    '--test',
    '--test-concurrency=1',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${tap}`,
    ...process.argv.slice(2).map((word) => `--test-name-pattern=${word}`),
    ...files,
  ],
  { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
)
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code) => {
  const summary = readFileSync(tap, 'utf8')
  rmSync(scratch, { recursive: true, force: true })
  const count = (/** @type {string} */ name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(summary)?.[1] ?? 0)
  const failed = count('fail') + count('cancelled')
  const skipped = count('skipped') + count('todo')
  console.log(`${count('pass')} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exit(code === 0 && failed === 0 ? 0 : 1)
})
