#!/usr/bin/env node
// The entry of the command line. It runs dist/ under the runtime that is chosen for this machine.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { launch } from './launch.mjs'
import { chooseRuntime } from './runtime.mjs'

const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
if (existsSync(main)) start()
else {
  console.error('fieldgate: not built yet. Run `npm ci --ignore-scripts` and `npm run build` in the checkout.')
  process.exit(1)
}

function start() {
  try {
    const runtime = chooseRuntime(fileURLToPath(new URL('..', import.meta.url)))
    launch(runtime, [...process.execArgv, main, ...process.argv.slice(2)])
  } catch (error) {
    console.error(`fieldgate: ${/** @type {Error} */ (error).message}`)
    process.exit(1)
  }
}
