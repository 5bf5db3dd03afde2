// npm run codecs -- <folder>...: runs the examples of collections of device makers' scripts through
// the service's codecs, and through Node alone as the control.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
// Scripts of the collections see the time zone that scripts of the service see.
const env = { ...process.env, TZ: 'UTC' }
const program = join(root, 'test', 'codecs', 'main.ts')
const run = spawnSync(pinnedNode, [program, ...process.argv.slice(2)], { stdio: 'inherit', env })
process.exit(run.status ?? 1)
