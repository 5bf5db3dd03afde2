#!/usr/bin/env node
// The entry of the command line. It runs dist/ under this Node if this Node is new enough, or else
// under the pinned Node, with the flags of node-flags.json.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launch, nodePackage } from './launch.mjs'

const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
const isNewEnough = Number(process.versions.node.split('.')[0]) >= 24
const node = isNewEnough ? process.execPath : pinnedNode()
// The broker makes thousands of short-lived objects per second. With a large young generation, most
// garbage collections find nothing to copy.
const nodeFlags = JSON.parse(readFileSync(new URL('node-flags.json', import.meta.url), 'utf8'))

if (!existsSync(main)) {
  console.error('fieldgate: not built yet. Run `npm ci --ignore-scripts` and `npm run build` in the checkout.')
  process.exit(1)
} else if (node === undefined) {
  console.error(
    `fieldgate: needs Node 24 or newer; this is ${process.version}. Run \`npm ci --ignore-scripts\` in the checkout.`,
  )
  process.exit(1)
} else {
  launch(node, [...nodeFlags, ...process.execArgv, main, ...process.argv.slice(2)])
}

/**
 * Finds the Node that was installed with the package: in its own node_modules, or in a node_modules
 * above it, where npm puts shared packages.
 */
function pinnedNode() {
  for (let folder = fileURLToPath(new URL('..', import.meta.url)); ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', nodePackage(), 'bin', 'node')
    if (existsSync(candidate)) return candidate
    if (dirname(folder) === folder) return undefined
  }
}
