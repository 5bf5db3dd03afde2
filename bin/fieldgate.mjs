#!/usr/bin/env node
// The command line: dist/ under this Node if it is new enough, else under the one that the project pins, with the flags it wants.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
const pinnedNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
const isNewEnough = Number(process.versions.node.split('.')[0]) >= 24
const node = isNewEnough ? process.execPath : pinnedNode
// Messages die young, thousands a second: a young generation with room for many means that most collections find nothing to copy.
const nodeFlags = JSON.parse(readFileSync(new URL('node-flags.json', import.meta.url), 'utf8'))
const args = [...nodeFlags, ...process.execArgv, main, ...process.argv.slice(2)]

if (!existsSync(main)) {
  console.error('fieldgate: not built yet. Run `npm ci --ignore-scripts` and `npm run build` in the checkout.')
  process.exit(1)
} else if (!existsSync(node)) {
  console.error(
    `fieldgate: needs Node 24 or newer; this is ${process.version}. Run \`npm ci --ignore-scripts\` in the checkout.`,
  )
  process.exit(1)
} else if (isNewEnough && process.platform !== 'win32') {
  // The same process goes on as Node with its flags: no parent stays behind to pass signals on.
  process.execve(node, [node, ...args], process.env)
} else {
  const child = spawn(node, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
}
