// npm run crash: installs and builds what is missing, then kills the service under load, 200 times
// or as often as given.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const child = spawn(pinnedNode, [join(root, 'test', 'crash', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
})
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
