// npm run generators: generates clients of the OpenAPI document by four generators, and runs the
// main flow with each.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
const run = spawnSync(pinnedNode, [join(root, 'test', 'openapi', 'run-generators.ts')], { stdio: 'inherit' })
process.exit(run.status ?? 1)
