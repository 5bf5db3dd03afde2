// npm run bench: installs and builds what is missing, then compares brokers. `npm run bench --
// --help` lists the options.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const child = spawn(pinnedNode, [join(root, 'bench', 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
// The terminal sends Ctrl-C to the whole group; the child's exit ends this process.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
