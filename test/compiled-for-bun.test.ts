/** The program that the build compiles for Bun, and its bytecode. */
import assert from 'node:assert/strict'
import { mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { BUN_FLAGS, findBun } from '../bin/runtime.mjs'
import { runProgram } from './support/program.ts'
import type { ProgramEnd } from './support/program.ts'
import { makeFolder } from './support/running-service.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const COMPILER = pathToFileURL(join(root, 'scripts', 'compile-for-bun.mjs')).href
const bun = findBun(root) ?? ''
const skip = bun === '' ? 'Bun does not run on this machine' : false

/** It tells its own place, and whether it is strict code. */
const PROGRAM = `
import { fileURLToPath } from 'node:url'
function isStrict() { return this === undefined }
console.log(fileURLToPath(new URL('.', import.meta.url)), isStrict())
`

describe('the program that is compiled for Bun', { skip }, () => {
  let folder: string
  let program: string
  let bytecode: string
  before(async () => {
    folder = await makeFolder()
    await mkdir(join(folder, 'dist', 'program'), { recursive: true })
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'dist', 'program', 'main.js'), PROGRAM)
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    program = join(folder, 'dist', 'bun', 'main.js')
    bytecode = `${program}.jsc`
  })
  after(() => rm(folder, { recursive: true, force: true }))

  /** Compiles the program as `npm run build` does, under settings of a service. */
  async function compile(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const script = `import { compileForBun } from '${COMPILER}'; process.exit(compileForBun(process.argv.at(-1)) ? 0 : 1)`
    const options = { environment: settings, ms: 60_000 }
    const { code, stderr } = await runProgram(process.execPath, ['-e', script, folder], options)
    assert.equal(code, 0, stderr)
  }

  /** Runs the program. Bun tells of each bytecode whether it took it. */
  function run(): Promise<ProgramEnd> {
    return runProgram(bun, [...BUN_FLAGS, program], {
      environment: { BUN_JSC_verboseDiskCache: '1' },
      ms: 60_000,
    })
  }

  function assertRan({ code, stdout, stderr }: ProgramEnd): void {
    assert.equal(code, 0, stderr)
    assert.ok(stdout.includes(`${join(folder, 'dist', 'bun')}/ true\n`), stdout)
  }

  it('is strict code that knows its own place, and Bun takes its bytecode', async () => {
    await compile()
    const end = await run()
    assertRan(end)
    assert.match(end.stdout + end.stderr, /^\[Disk Cache\] Cache hit/m)
  })

  it('is compiled whatever the settings of a service say', async () => {
    await compile({ FIELDGATE_RUNTIME: 'deno', FIELDGATE_RUNTIME_MEMORY: 'large' })
    assertRan(await run())
  })

  it('runs from its text where the bytecode is of another Bun, cut off, empty or missing', async () => {
    await compile()
    const whole = await readFile(bytecode)
    // The first bytes name the version that wrote the bytecode.
    const foreign = Buffer.from(whole)
    foreign.writeUInt32LE((foreign.readUInt32LE(0) ^ 0xffff_ffff) >>> 0, 0)
    await writeFile(bytecode, foreign)
    const end = await run()
    assertRan(end)
    assert.doesNotMatch(end.stdout + end.stderr, /^\[Disk Cache\] Cache hit/m)
    for (const length of [whole.length >> 1, 0]) {
      await writeFile(bytecode, whole)
      await truncate(bytecode, length)
      assertRan(await run())
    }
    await rm(bytecode)
    assertRan(await run())
  })
})
