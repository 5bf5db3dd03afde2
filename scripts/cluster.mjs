// npm run cluster: installs and builds what is missing, then plays the scenarios of a cluster:
// `npm run cluster -- [rounds] [seed] [scenario…] [--nodes=n] [--verbose]`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const child = spawn(pinnedNode, [join(root, 'test', 'cluster', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
})
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
