#!/usr/bin/env node
// The command line. Runs dist/ under this Node if it is new enough, else under the one that the project pins.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = new URL('../dist/src/main.js', import.meta.url)
const pinnedNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))

if (!existsSync(main)) {
  console.error('fieldgate: not built yet. Run `npm ci --ignore-scripts` and `npm run build` in the checkout.')
  process.exit(1)
}
if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(main.href)
} else if (existsSync(pinnedNode)) {
  const child = spawn(pinnedNode, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
} else {
  console.error(
    `fieldgate: needs Node 24 or newer; this is ${process.version}. Run \`npm ci --ignore-scripts\` in the checkout.`,
  )
  process.exit(1)
}
