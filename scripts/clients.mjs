// npm run clients: installs what is missing, then runs the programs of examples/clients against a
// started service. `npm run clients -- paho` runs those whose name contains the word.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
const child = spawn(pinnedNode, [join(root, 'test', 'clients', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
})
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
