#!/usr/bin/env node
// The entry of the command line. It runs dist/ under the runtime that is chosen for this machine.
import { fileURLToPath } from 'node:url'
import { launch } from './launch.mjs'

launch(fileURLToPath(new URL('..', import.meta.url)), process.argv.slice(2), { flags: process.execArgv })
