#!/usr/bin/env node
// The entry of the command line. It runs dist/ under the runtime that is chosen for this machine.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { launch } from './launch.mjs'

const main = fileURLToPath(new URL('../dist/program/main.js', import.meta.url))
if (!existsSync(main)) {
  console.error('fieldgate: not built yet. Run `npm ci --ignore-scripts` and `npm run build` in the checkout.')
  process.exit(1)
}
launch(fileURLToPath(new URL('..', import.meta.url)), [...process.execArgv, main, ...process.argv.slice(2)])
