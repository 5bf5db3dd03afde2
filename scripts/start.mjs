// npm start: installs and builds what is missing, then serves the demonstration deployment.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { launch, launchersAbove } from '../bin/launch.mjs'
import { ensureBuilt, ensureInstalled, pinnedNode, root } from './setup.mjs'

// The launchers are listed before the build, which takes a while. If one of them ends during the
// build, the service stops as soon as it has started.
const launchers = launchersAbove()
ensureInstalled()
ensureBuilt()
const nodeFlags = JSON.parse(readFileSync(join(root, 'bin', 'node-flags.json'), 'utf8'))
launch(pinnedNode, [...nodeFlags, join(root, 'dist', 'src', 'main.js'), 'demo', ...process.argv.slice(2)], launchers)
