// Compiles the bundle of the service for Bun, in dist/bun/: one file of JavaScript, and beside it
// the bytecode of all its functions. A start then neither parses nor compiles 9 MB of text. Bun
// reads only the bytecode that its own version wrote, and else the text.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { BUN_FLAGS, findBun } from '../bin/runtime.mjs'

/**
 * Stands before the bundle, in the function that Bun makes of it. The bundle was made of modules,
 * which are strict. Without the names Bun would write the paths of the build's folder into it.
 */
const BANNER = `"use strict";
const programUrl = require("node:url").pathToFileURL(__filename).href, programFolder = __dirname;`

/**
 * Does nothing but remove an older file where Bun does not run: Node takes the bundle itself.
 * Returns false when Bun could not compile the bundle; it has written why.
 * @param {string} folder The folder of the package.
 */
export function compileForBun(folder) {
  const target = join(folder, 'dist', 'bun')
  rmSync(target, { recursive: true, force: true })
  const bun = findBun(folder)
  if (bun === undefined) return true
  const { status } = spawnSync(
    bun,
    [
      ...BUN_FLAGS,
      'build',
      join(folder, 'dist', 'program', 'main.js'),
      `--outdir=${target}`,
      '--target=bun',
      '--format=cjs',
      '--bytecode',
      // The packages that are left have files of their own.
      '--packages=external',
      '--define=import.meta.url=programUrl',
      '--define=__dirname=programFolder',
      '--banner',
      BANNER,
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  return status === 0
}
