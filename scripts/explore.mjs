// npm run explore -- [runs] [seed] [depth] [words]: explores what may come next between nodes of a
// deployment. Plays all runs of each story with `depth` unusual choices (1), and then as many drawn
// runs (2,000). The words choose the stories by their names.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, pinnedNode, root } from './setup.mjs'

ensureInstalled()
const { status } = spawnSync(pinnedNode, [join(root, 'test', 'exploration', 'main.ts'), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})
process.exit(status ?? 1)
