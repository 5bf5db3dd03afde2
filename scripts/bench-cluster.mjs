// npm run bench-cluster: installs and builds what is missing, then measures a cluster of nodes:
// `npm run bench-cluster -- [--nodes 3] [--loads 2000,11000,0] [--rounds 3] [--seconds 8]
// [--window 256] [--readers share|all] [--sessions 0]`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const child = spawn(pinnedNode, [join(root, 'bench', 'cluster.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
// The terminal sends Ctrl-C to the whole group; the child's exit ends this process.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
