// npm start: installs and builds what is missing, then serves the demonstration deployment.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const nodeFlags = JSON.parse(readFileSync(join(root, 'bin', 'node-flags.json'), 'utf8'))
const child = spawn(
  pinnedNode,
  [...nodeFlags, join(root, 'dist', 'src', 'main.js'), 'demo', ...process.argv.slice(2)],
  {
    stdio: 'inherit',
  },
)
// The terminal sends Ctrl-C to the whole group; the child leaves in order, and this process waits for it.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
