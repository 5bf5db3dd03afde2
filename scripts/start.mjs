// npm start: installs and builds what is missing, then serves the demonstration deployment.
import { launch, launchersAbove } from '../bin/launch.mjs'
import { ensureBuilt, ensureInstalled, root } from './setup.mjs'

// The launchers are listed before the build, which takes a while. If one of them ends during the
// build, the service stops as soon as it has started.
const launchers = launchersAbove()
ensureInstalled()
ensureBuilt()
launch(root, ['demo', ...process.argv.slice(2)], { launchers })
