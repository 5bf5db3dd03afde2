// npm run sdk -- ts|py [kills] [seed] [events]: installs and builds what is missing, then runs the
// proof of an SDK.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const child = spawn(pinnedNode, [join(root, 'test', 'sdk', 'proof', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
})
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
