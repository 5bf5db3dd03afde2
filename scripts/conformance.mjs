// npm run conformance: writes docs/conformance.md, on the pinned Node.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
const run = spawnSync(pinnedNode, [join(root, 'test', 'conformance', 'write-report.ts')], { stdio: 'inherit' })
process.exit(run.status ?? 1)
