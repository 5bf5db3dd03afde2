// npm run contracts: writes the JSON Schemas of the contracts to sdk/schemas/, and refuses a change
// that breaks clients.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
const run = spawnSync(pinnedNode, [join(root, 'test', 'contracts', 'write-snapshot.ts')], { stdio: 'inherit' })
process.exit(run.status ?? 1)
