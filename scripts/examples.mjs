// npm run examples: records the examples of the OpenAPI document anew, by the requests of the
// access matrix.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
const run = spawnSync(pinnedNode, [join(root, 'test', 'openapi', 'write-examples.ts')], { stdio: 'inherit' })
process.exit(run.status ?? 1)
